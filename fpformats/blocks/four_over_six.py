"""4over6: of two scales, one of which maps the amax to 6 and the other to 4, the one with the smaller error.

The error is a sum in binary32, in order over 16 numbers; those of 16 rows are added as a binary tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import engine
from ..elements import decode32
from .expressions import evaluate
from .run import CHUNK
from .scaling import Scaling, decode_scales

__all__ = ["run_select"]

Array = NDArray[Any]
ROW = 16


def run_select(scaling: Scaling, x: Array, codes: Array, stored: Array) -> None:
    """As `run.run_encode`."""
    blocks, k = x.shape
    if not x.size:
        return
    kernel = engine.blocks_kernel(x.size)
    step = max(4 * (CHUNK // (4 * k)), 1)

    def run(lo: int, hi: int) -> None:
        room, none = np.empty(step, np.uint32), np.zeros(1, np.uint32)
        with np.errstate(all="ignore"):
            for first in range(lo * step, min(hi * step, blocks), step):
                count = min(step, blocks - first)
                bits = np.array(x[first : first + count]).reshape(-1)
                kernel(bits, room[:count], none, "amax", k)
                a = room[:count].view(np.float32)
                four = _candidate(scaling, f"({scaling.fmt.v}) * 1.5", bits, a, first, k)
                six = _candidate(scaling, scaling.fmt.v, bits, a, first, k)
                better = four[0] < six[0]
                stored[first : first + count] = np.where(better, four[1], six[1])
                codes[first : first + count] = np.where(better[:, None], four[2], six[2])

    engine.spread(run, -(-blocks // step), x.size)


def _candidate(scaling: Scaling, v: str, bits: Array, a: Array, first: int, k: int) -> tuple[Array, Array, Array]:
    """(error, stored scale, codes) of blocks."""
    stored, _, f = scaling.scales(a, 0x7FFFFFFF, first, v)
    f = scaling.factors_of(stored) if f is None else f
    y, made = np.empty_like(bits), np.empty(bits.size, np.uint8)
    scaling.recipe.scaled(engine.blocks_kernel(bits.size), bits, y, f, k)
    scaling.to_codes(y, made, first * k, True)
    level = scaling.block_environment(first, first + a.size)
    columns = {name: value if np.ndim(value) == 0 else value[:, None] for name, value in level.items() if name in "zG"}
    t = decode_scales(scaling.fmt, stored)[:, None]
    q = decode32(made, scaling.element).reshape(-1, k)
    off = np.asarray(evaluate(scaling.fmt.q, {**columns, "q": q, "s": t})) - bits.view(np.float32).reshape(-1, k)
    each = (off * off if scaling.fmt.select == "mse" else np.abs(off)).reshape(a.size, -1, ROW)
    total = each[..., 0].copy()
    for j in range(1, ROW):
        total += each[..., j]
    while total.shape[1] > 1:
        half = total.shape[1] // 2
        total = total[:, :half] + total[:, half:]
    return total[:, 0], stored, made.reshape(-1, k)
