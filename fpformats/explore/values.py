"""`values`: all numbers of a format in order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import reference
from ..arrays import element_format
from ..block_format import BlockFormat
from ..casts import encode
from ..format import Format
from ..plan import code_dtype, holds
from ..registry import get, get_element
from .line import Ranks

__all__ = ["values"]

Array = NDArray[Any]
#: formats of more bits are too many numbers to list
MOST_BITS = 20


def values(
    fmt: str | Format | BlockFormat, /, *, codes: bool = False, nan: bool = False, dtype: Any = np.float64
) -> Any:
    """All numbers of a format, in ascending order.

    Parameters
    ----------
    fmt : str, Format or BlockFormat
        A format of at most 20 bits. Of a block format, its elements' grid: what elements are before they are scaled.
    codes : bool
        Give the code of each as well.
    nan : bool
        Put the NaN codes at the end; without them the array can be plotted and searched.
    dtype : dtype
        The type of the result, which must hold every number: float64, float32, any float of NumPy's or ml_dtypes', or
        ``object`` for `fractions.Fraction` (-0, infinities and NaN are floats there), which holds all formats.

    Returns
    -------
    numpy.ndarray, or (values, codes)
        From the most negative to the largest, infinities at the ends where the format has them, -0 before +0. Codes are
        of the narrowest unsigned type, as `encode` gives them.

    Raises
    ------
    ValueError
        A format of more than 20 bits, or one with numbers that `dtype` does not hold.
    TypeError
        A `dtype` that is no float.

    Examples
    --------
    >>> import fpformats as fp
    >>> fp.values("e2m1").tolist()
    [-6.0, -4.0, -3.0, -2.0, -1.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    >>> numbers, codes = fp.values("e2m1", codes=True)
    >>> codes[:4].tolist(), numbers[:4].tolist()
    ([15, 14, 13, 12], [-6.0, -4.0, -3.0, -2.0])
    >>> len(fp.values("e4m3")), len(fp.values("e4m3", nan=True)), len(fp.values("nvfp4"))
    (254, 256, 16)
    """
    row = get(fmt)
    element = get_element(row.element) if isinstance(row, BlockFormat) else row
    if element.bits > MOST_BITS:
        raise ValueError(
            f"{element.name} has 2^{element.bits} codes; values lists formats of up to {MOST_BITS} bits. "
            "next_up, next_down and spacing take any"
        )
    found = _codes(element)
    special = _nan_codes(element) if nan else np.zeros(0, np.int64)
    made = _values(element, found, special.size, dtype)
    return (made, np.concatenate([found, special]).astype(code_dtype(element))) if codes else made


def _codes(fmt: Format) -> Array:
    """The codes of all numbers, in the order of what they stand for."""
    ranks = Ranks(fmt)
    size = np.arange(0 if fmt.has_zero else fmt.min_line, ranks.last + 1, dtype=np.int64)
    plus = size + ranks.gap * (size > 0) - fmt.min_line
    if fmt.inf_code is not None:
        plus = np.append(plus, fmt.inf_code)
    if not fmt.signed:
        return plus
    if fmt.twos_complement:
        return np.concatenate([np.arange(fmt.sign_bit, 1 << fmt.bits), plus])
    return np.concatenate([(plus | fmt.sign_bit)[::-1][: None if fmt.has_negative_zero else -1], plus])


def _nan_codes(fmt: Format) -> Array:
    first = fmt.top_line - fmt.min_line - (fmt.nan_codes or 0) + 1
    plus = np.arange(first, first + (fmt.nan_codes or 0), dtype=np.int64)
    if fmt.nan_at_sign:
        return np.sort(np.concatenate([plus, plus | fmt.sign_bit, [fmt.sign_bit]]))
    return np.concatenate([plus, plus | fmt.sign_bit]) if fmt.signed else plus


def _values(fmt: Format, codes: Array, nan: int, dtype: Any) -> Array:
    """What the codes of `_codes` stand for, and so many NaN."""
    if dtype is object:
        made = np.empty(codes.size + nan, object)
        made[:] = [reference.decode(code, fmt) for code in codes.tolist()] + [np.nan] * nan
        return made
    name = element_format(np.dtype(dtype))
    if name is None:
        raise TypeError(f"dtype={dtype!r}: a float type, or object for fractions, was expected")
    if not holds(get_element(name), fmt):
        raise ValueError(f"{fmt.name} has numbers that {name} does not hold; dtype=object gives them as fractions")
    ranks = Ranks(fmt)
    minus = codes.size - (ranks.high - max(ranks.low, 0) + 1)  # how many come before +0
    below = np.arange(-minus + fmt.has_negative_zero, fmt.has_negative_zero)
    made = ranks.numbers(np.concatenate([below, np.arange(max(ranks.low, 0), ranks.high + 1)]))
    if fmt.has_negative_zero:
        made[minus - 1] = -0.0
    made = np.append(made, np.full(nan, np.nan))
    return made if name == "fp64" else encode(made, name).view(dtype)
