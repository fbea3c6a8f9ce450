"""The Hadamard transform of 16 numbers at a time, every sum exact until its one rounding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import adapt
from ..execute import run_plan
from ..format import Format
from ..plan import holds, quantize_plan
from ..registry import get_element
from ..rounding import Rules
from ..scalars import as_scalar
from .numbers import binary32

__all__ = ["hadamard"]

Array = NDArray[Any]
SIZE = 16
#: Transformer Engine's, the same for every tensor
TE_SIGNS = (1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1)
#: a sum in float64, rounded to odd, is rounded once more to so many at most
MOST_BITS = 50
_INDEX = np.arange(SIZE)
#: Sylvester's matrix: -1 where i and j have an odd number of ones in common
SYLVESTER = np.where(np.bitwise_count(_INDEX[:, None] & _INDEX) % 2, -1.0, 1.0)


def hadamard(x: Any, /, *, signs: Any = "te", axis: int = -1, inverse: bool = False, fmt: str | Format = "bf16") -> Any:
    """Every 16 numbers along an axis times signs, times Sylvester's 16x16 Hadamard matrix, over 4.

    Transformer Engine does this to the column-wise operand before it is quantized to NVFP4: with random signs an
    outlier is spread over its 16 numbers.

    Parameters
    ----------
    x : array_like
        As `encode_blocks` takes it; converted to float32 first.
    signs : "te", None, or 16 numbers 1 or -1
        By which the 16 numbers are multiplied first: Transformer Engine's fixed ones, or none.
    axis : int
        Its length is a multiple of 16. Of a matrix, ``axis=0`` is Transformer Engine's column-wise operand.
    inverse : bool
        The way back: the matrix first, then the signs.
    fmt : str or Format
        Element format that every result is rounded to.

    Returns
    -------
    array
        The same container and shape; float32 and float64 keep their type, narrower ones where they hold `fmt`.

    Raises
    ------
    ValueError
        An axis of another length, signs that are not 16 numbers 1 or -1, NaN into a format without one, or a format of
        more than 50 mantissa bits.
    TypeError
        As `quantize`; a single number.

    Notes
    -----
    A result is the exact sum of 16 numbers, rounded once, to nearest even. Transformer Engine multiplies matrices in
    bfloat16, in an order that it does not state; where an order matters (numbers very unlike in size), it may differ in
    the last place (transformer_engine/common/hadamard_transform, 2.20).

    Examples
    --------
    >>> import fpformats as fp, numpy as np
    >>> x = np.zeros(16, np.float32)
    >>> x[3] = 8.0
    >>> y = fp.hadamard(x)
    >>> y[:4].tolist(), fp.hadamard(y, inverse=True)[3].item()
    ([-2.0, 2.0, 2.0, -2.0], 8.0)
    """
    s = _signs(signs)
    adapted = None if as_scalar(x) is not None else adapt(x)
    if adapted is None or not adapted.data.ndim:
        raise TypeError("x is a single number; an array was expected")
    bits, _ = binary32(adapted)
    if not isinstance(axis, (int, np.integer)) or isinstance(axis, bool) or not -bits.ndim <= axis < bits.ndim:
        raise ValueError(f"axis={axis!r}: an int from {-bits.ndim} to {bits.ndim - 1} was expected")
    moved = np.moveaxis(np.ascontiguousarray(bits).view(np.float32), axis, -1)
    if moved.shape[-1] % SIZE:
        raise ValueError(f"axis {axis} has {moved.shape[-1]} numbers; a multiple of {SIZE} was expected")
    target = get_element(fmt)
    if target.mantissa_bits > MOST_BITS:
        raise ValueError(f"fmt={target.name}: an element format of at most {MOST_BITS} mantissa bits was expected")
    rows = moved.reshape(-1, SIZE).astype(np.float64)
    sums = _sums(rows) * s if inverse else _sums(rows * s)
    values = np.moveaxis((sums / 4 + 0.0).reshape(moved.shape), -1, axis)
    if not target.has_nan and np.isnan(values).any():
        raise ValueError(f"x holds NaN, or infinities whose difference is NaN, which {target.name} cannot hold")
    own = get_element(adapted.format or "fp32")
    result = own if own.name in ("fp32", "fp64") or holds(own, target) else get_element("fp32")
    plan = quantize_plan(get_element("fp64"), target, Rules(nan="max"), result)
    made = np.empty(values.shape, plan.result)
    run_plan(plan, np.ascontiguousarray(values).view(np.uint64), made, None)
    return adapted.wrap(made, result.name)


def _signs(signs: Any) -> Array:
    if isinstance(signs, str) and signs == "te":
        return np.array(TE_SIGNS, np.float64)
    if signs is None:
        return np.ones(SIZE)
    given = np.asarray(signs)
    if given.dtype.kind not in "if" or given.shape != (SIZE,) or not (np.abs(given) == 1).all():
        raise ValueError(f"signs={signs!r}: 'te', None, or {SIZE} numbers 1 or -1 were expected")
    return given.astype(np.float64)


def _sums(rows: Array) -> Array:
    """rows @ SYLVESTER in float64, exact or, where it is not, to odd: a later rounding cannot tell."""
    with np.errstate(invalid="ignore"):
        total, exact = rows, np.ones(rows.shape, bool)
        for half in (1, 2, 4, 8):
            parts = total.reshape(-1, SIZE // (2 * half), 2, half)
            a, b = parts[:, :, 0], parts[:, :, 1]
            both = np.stack([a + b, a - b], axis=2)
            off = np.stack([_error(a, b, both[:, :, 0]), _error(a, -b, both[:, :, 1])], axis=2)
            pairs = exact.reshape(parts.shape)
            fine = (pairs[:, :, 0] & pairs[:, :, 1])[:, :, None]
            exact = ((off == 0) & fine).reshape(rows.shape)
            total = both.reshape(rows.shape)
    for i, j in np.argwhere(~exact & np.isfinite(total)):
        total[i, j] = _to_odd((rows[i] * SYLVESTER[j]).tolist())
    return total


def _error(a: Array, b: Array, total: Array) -> Array:
    """What a + b lost when it was rounded to total, exactly."""
    part = total - a
    return (a - (total - part)) + (b - part)


def _to_odd(terms: list[float]) -> float:
    """The sum of the terms in float64: exact, or of its two neighbours the odd one."""
    near = math.fsum(terms)
    rest = math.fsum([*terms, -near])
    if rest and not np.float64(near).view(np.uint64) & np.uint64(1):
        return math.nextafter(near, math.copysign(math.inf, rest))
    return near
