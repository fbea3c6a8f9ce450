"""The numbers that jobs work on.

``plain`` is N(0, 1). ``wide`` is N(0, 1) * 2^U(-14, 10) with 5 % random bit patterns: NaN, infinities,
subnormals and overflow of every format. Formats without a NaN get infinities in place of wide data's
NaN, because `quantize` refuses NaN there by default. Codes: ``wide`` are all codes alike, ``plain``
the codes of plain numbers. Longer arrays repeat the first 2^20 elements.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

import fpformats as fp

__all__ = ["KINDS", "codes", "forget", "memory", "values"]

KINDS = ("wide", "plain")
PERIOD = 1 << 20
SEED = 20260

Array = NDArray[np.generic]


def _repeat(block: Array, size: int) -> Array:
    return block if block.size == size else np.tile(block, size // block.size)


@lru_cache(maxsize=4)
def values(kind: str, log2_size: int, dtype: str = "float32", nan: bool = True) -> Array:
    """2^log2_size floats of that kind; without NaN if asked."""
    size = 1 << log2_size
    rng = np.random.default_rng(SEED)
    count = min(size, PERIOD)
    block = rng.standard_normal(count)
    if kind == "wide":
        block *= np.exp2(rng.uniform(-14, 10, count))
    block = block.astype(dtype)
    if kind == "wide":
        patterns = rng.integers(0, 1 << 8 * block.itemsize, count, dtype=f"uint{8 * block.itemsize}").view(dtype)
        chosen = rng.random(count) < 0.05
        block[chosen] = patterns[chosen]
        if not nan:
            block[np.isnan(block)] = np.inf
    return _repeat(block, size)


@lru_cache(maxsize=4)
def codes(kind: str, log2_size: int, fmt: str) -> Array:
    """2^log2_size codes of a format, in the unsigned type that `encode` returns."""
    size = 1 << log2_size
    if kind == "plain":
        return _repeat(fp.encode(values("plain", min(log2_size, 20)), fmt), size)
    bits = fp.get(fmt).bits
    rng = np.random.default_rng(SEED)
    dtype = fp.encode(np.ones(1, np.float32), fmt).dtype
    return _repeat(rng.integers(0, 1 << bits, min(size, PERIOD), dtype=dtype), size)


@lru_cache(maxsize=6)
def memory(use: str, size: int, dtype: str) -> Array:
    """Memory for one use, touched; fresh pages of large arrays would cost more than the race."""
    array = np.empty(size, dtype)
    array.fill(1)
    return array


def forget() -> None:
    """Free the arrays kept for reuse."""
    memory.cache_clear()
    values.cache_clear()
    codes.cache_clear()
