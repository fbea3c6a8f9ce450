"""Counter-based random words: Philox4x32-10 (Salmon et al., SC 2011; Random123).

Word i of seed s is output i mod 4 of the block with counter i div 4 and key s: it depends on
(s, i) alone, so chunks, threads and order never change it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["philox"]

M0, M1 = 0xD2511F53, 0xCD9E8D57  # multipliers
W0, W1 = 0x9E3779B9, 0xBB67AE85  # Weyl increments of the key: golden ratio, sqrt(3) - 1


def philox(out: Any, seed: int, start: int) -> None:
    """Fill `out` (uint32, its length a multiple of 4) with the words from index `start` (too) on."""
    mask, low32 = np.uint64(0xFFFFFFFF), np.uint64(32)
    block = np.uint64(start // 4) + np.arange(out.size // 4, dtype=np.uint64)
    c0, c1 = block & mask, block >> low32
    c2, c3 = np.zeros_like(c0), np.zeros_like(c0)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = np.uint64(M0) * c0, np.uint64(M1) * c2
        c0, c1, c2, c3 = (p1 >> low32) ^ c1 ^ np.uint64(k0), p1 & mask, (p0 >> low32) ^ c3 ^ np.uint64(k1), p0 & mask
        k0, k1 = (k0 + W0) & 0xFFFFFFFF, (k1 + W1) & 0xFFFFFFFF
    out.reshape(-1, 4)[...] = np.stack([c0, c1, c2, c3], axis=1)
