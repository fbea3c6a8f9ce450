"""fpformats' recipes with the face of the block oracles."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from oracles.block_result import BlockResult

import fpformats as fp
from fpformats.arrays import Adapted

__all__ = ["OURS", "ours", "typed"]


def typed(x: NDArray[np.float32], dtype: str) -> Any:
    """The numbers as an array of that type; bfloat16 needs no other package."""
    if dtype in ("float32", "float16"):
        return x.astype(dtype)
    bits = (x.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return Adapted(bits, "bf16", lambda made, _: made)  # as the adapter of ml_dtypes and torch sees them


def ours(
    name: str, x: NDArray[np.float32], *, dtype: str = "float32", amax: float | None = None, **more: float
) -> BlockResult:
    """`encode_blocks`, as a `BlockResult`."""
    if amax is not None:
        more["tensor_amax"] = amax
    made = fp.encode_blocks(typed(x, dtype), name, **more)
    second = None if made.tensor_scale is None else np.atleast_1d(made.tensor_scale)
    if made.zero_points is not None:
        second = made.zero_points.astype(np.float32)
    return BlockResult(made.codes, made.scales, second)


OURS: dict[str, Callable[..., BlockResult]] = {name: functools.partial(ours, name) for name in fp.formats("block")}
