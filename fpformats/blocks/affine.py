"""Blocks with a zero point: the least and the largest number make the scale, and an integer stands for 0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..elements import decode32, encode32
from ..rounding import Rules
from .expressions import evaluate
from .run import CHUNK
from .scales import scale_codes
from .scaling import Scaling

__all__ = ["affine_levels", "decode_affine", "run_affine"]

Array = NDArray[Any]


def affine_levels(scaling: Scaling, x: Array) -> dict[str, Array]:
    """lo, hi, v, s and p of blocks of binary32 bits, one a row; p as int8."""
    fmt, values = scaling.fmt, x.view(np.float32)
    zero = np.zeros(len(values), np.float32)
    level = {
        "lo": np.minimum(values.min(axis=1, initial=0), zero),
        "hi": np.maximum(values.max(axis=1, initial=0), zero),
    }
    with np.errstate(all="ignore"):
        environment = {**scaling.environment, **level}
        v = np.asarray(evaluate(fmt.v, environment), np.float32)
        made = scale_codes(fmt.rule, v, False)
        s = made if scaling.given is None else np.array(np.broadcast_to(scaling.given, made.shape), np.float32)
        p = np.asarray(evaluate(fmt.zero_point, {**environment, "v": v, "s": s}), np.float32)
        p = encode32(np.where(np.isnan(p), np.float32(0), p), scaling.element, Rules())
    return {**level, "v": v, "s": s, "p": decode32(p, scaling.element).astype(np.int8)}


def run_affine(scaling: Scaling, x: Array, codes: Array, stored: Array, zero_points: Array) -> None:
    """As `run.run_encode`; zero points are int8."""
    level = affine_levels(scaling, x)
    stored[:], zero_points[:] = level["s"], level["p"]
    for rows, columns in _pieces(x.shape):
        y = _evaluated(scaling, scaling.fmt.y, "x", x[rows, columns].view(np.float32), stored[rows], zero_points[rows])
        made = np.empty(y.size, np.uint8)
        scaling.to_codes(y.reshape(-1).view(np.uint32), made, rows.start * x.shape[1] + columns.start, True)
        codes[rows, columns] = made.reshape(y.shape)


def decode_affine(scaling: Scaling, codes: Array, stored: Array, zero_points: Array, out: Array) -> None:
    """As `run.run_decode`."""
    for rows, columns in _pieces(codes.shape):
        q = decode32(np.ascontiguousarray(codes[rows, columns]), scaling.element)
        made = _evaluated(scaling, scaling.fmt.q, "q", q, stored[rows], zero_points[rows])
        out[rows, columns] = made.view(np.uint32)


def _evaluated(scaling: Scaling, text: str, name: str, values: Array, s: Array, p: Array) -> Array:
    level = {"s": s[:, None], "t": s[:, None], "p": p[:, None].astype(np.float32)}
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(evaluate(text, {**scaling.environment, name: values, **level}), np.float32)


def _pieces(shape: tuple[int, ...]) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of pieces that stay in cache, four rows at a time: so random words come."""
    blocks, k = shape
    step = max(4 * (CHUNK // (4 * max(k, 1))), 1)
    for first in range(0, blocks if k else 0, step):
        for start in range(0, k, CHUNK):
            yield slice(first, min(first + step, blocks)), slice(start, min(start + CHUNK, k))
