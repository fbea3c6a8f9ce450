"""Codes as the asserts see them: any container's codes or values, which of them are NaN, how far two are apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Adapted, adapt
from ..format import Format
from ..plan import code_dtype
from ..registry import get_element
from ..rounding import Rules
from .source import Source

__all__ = ["FAR", "Codes", "as_codes", "is_nan", "magnitudes", "same", "ulp_distance", "valid"]

Array = NDArray[Any]
#: the distance between a NaN and anything that is none
FAR = np.iinfo(np.uint64).max


def magnitudes(codes: Array, fmt: Format) -> tuple[Array, Array]:
    """(lines counted from code 0, whether negative), as uint64 and bool."""
    wide = codes.astype(np.uint64)
    negative = (wide & np.uint64(fmt.sign_bit)) != 0
    if fmt.twos_complement:
        return np.where(negative, np.uint64(1 << fmt.bits) - wide, wide), negative
    return wide & np.uint64(((1 << fmt.bits) - 1) & ~fmt.sign_bit), negative


def is_nan(codes: Array, fmt: Format) -> NDArray[np.bool_]:
    """Which codes are NaN."""
    found = np.zeros(codes.shape, bool)
    if fmt.nan_at_sign:
        found |= codes == fmt.sign_bit
    if fmt.nan_codes:
        found |= magnitudes(codes, fmt)[0] > np.uint64(fmt.top_line - fmt.min_line - fmt.nan_codes)
    return found


def valid(codes: Array, fmt: Format) -> NDArray[np.bool_]:
    """Which codes stand for something: all, unless `emax` leaves codes out."""
    if fmt.emax is None:
        return np.ones(codes.shape, bool)
    above = magnitudes(codes, fmt)[0]
    last = fmt.top_line - fmt.min_line
    special = above > np.uint64(last - (fmt.nan_codes or 0) - (fmt.inf_codes or 0))
    return (above <= np.uint64(fmt.max_code)) | special


def same(a: Array, b: Array, fmt: Format, nan: str) -> NDArray[np.bool_]:
    """Which codes are equal; under ``nan="class"`` any two NaN are."""
    equal = a == b
    if nan == "class" and fmt.has_nan and not equal.all():
        differ = np.flatnonzero(~equal)
        equal[differ] = is_nan(a[differ], fmt) & is_nan(b[differ], fmt)
    return equal


class Codes:
    """Codes of an array that may have held values: ``problem`` says which number is no value, and where."""

    def __init__(self, codes: Array, shape: tuple[int, ...], problem: str = "") -> None:
        self.flat = codes.reshape(-1)
        self.shape = shape
        self.problem = problem


def _place(flat: int, shape: tuple[int, ...]) -> str:
    return str([int(i) for i in np.unravel_index(flat, shape)]) if shape else ""


def _integers(what: str, data: Array, fmt: Format) -> Array:
    wanted = np.dtype(code_dtype(fmt))
    if data.dtype.kind == "b":
        raise TypeError(f"{what} has dtype bool; codes of {fmt.name} ({wanted}) were expected")
    if data.dtype.kind in "iu" and 8 * data.dtype.itemsize < fmt.bits:
        raise TypeError(f"{what} has dtype {data.dtype}, which cannot hold {fmt.name}'s {fmt.bits}-bit codes; "
                        f"{wanted} was expected")  # fmt: skip
    if data.size and (8 * data.dtype.itemsize != fmt.bits or data.dtype.kind == "i"):
        low, high = int(data.min()), int(data.max())
        if low < 0 or high >> fmt.bits:
            bad = low if low < 0 else high
            where = int((data if low >= 0 else -data).argmax())
            hint = f"; .view(np.{wanted}) reads signed integers as codes" if low < 0 else ""
            raise ValueError(f"{what}{_place(where, data.shape)} = {bad}; codes of {fmt.name} are "
                             f"0 ... {(1 << fmt.bits) - 1:#x}{hint}")  # fmt: skip
    return np.ascontiguousarray(data).astype(wanted, copy=False)


def as_codes(what: str, a: Any, fmt: Format) -> Codes:
    """Codes of `fmt`: given as integers, as an array of the format's own dtype, or as values in any wider float.

    Raises
    ------
    TypeError, ValueError
        What holds no codes: the message begins with `what`.
    """
    if isinstance(a, (bool, int, float, np.generic)):
        a = np.asarray(a)
    try:
        adapted: Adapted = adapt(a)
    except TypeError as error:
        raise TypeError(f"{what}: {error}".replace(": x ", ": it ")) from None
    if adapted.format is None:
        return Codes(_integers(what, adapted.data, fmt), adapted.data.shape)
    if adapted.format == fmt.name:
        return Codes(np.ascontiguousarray(adapted.data), adapted.data.shape)
    source = Source(np.ascontiguousarray(adapted.data).reshape(-1), get_element(adapted.format))
    codes = source.encode(fmt, Rules(nan="max"))
    back = Source(codes, fmt).wide()
    wide = source.wide()
    bad = ~((back == wide) | (np.isnan(back) & np.isnan(wide)))
    problem = ""
    if bad.any():
        first = int(bad.argmax())
        problem = (f"{what} holds {int(bad.sum())} numbers that are no values of {fmt.name}; the first is "
                   f"{what}{_place(first, adapted.data.shape)} = {source.text(first)}")  # fmt: skip
    return Codes(codes, adapted.data.shape, problem)


def ulp_distance(a: Any, b: Any, fmt: str | Format) -> Any:
    """How many steps of the format lie between two codes: the difference of their lines.

    Parameters
    ----------
    a, b : array_like
        Codes (integers), arrays of the format's own dtype, or floats that are values of the format; shapes broadcast.
    fmt : str or Format
        An element format.

    Returns
    -------
    numpy.ndarray of uint64, or int
        0 for +0 and -0 and for two NaN, 2**64 - 1 between a NaN and anything else. An infinity is one step beyond the
        largest finite value. The type is unsigned: subtract nothing from it.

    Raises
    ------
    TypeError, ValueError
        What are no codes or values of the format.

    Examples
    --------
    >>> from fpformats.testing import ulp_distance
    >>> ulp_distance([0x38, 0x00, 0x7F], [0x3A, 0x81, 0x00], "e4m3").tolist()
    [2, 1, 18446744073709551615]
    >>> ulp_distance(448.0, 416.0, "e4m3")
    1
    """
    fmt = get_element(fmt)
    sides = []
    for what, given in (("a", a), ("b", b)):
        seen = as_codes(what, given, fmt)
        if seen.problem:
            raise ValueError(seen.problem)
        sides.append(seen.flat.reshape(seen.shape))
    one, two = np.broadcast_arrays(*sides)
    (line1, minus1), (line2, minus2) = magnitudes(one, fmt), magnitudes(two, fmt)
    apart = np.where(minus1 == minus2, np.maximum(line1, line2) - np.minimum(line1, line2), line1 + line2)
    nan1, nan2 = is_nan(one, fmt), is_nan(two, fmt)
    apart = np.where(nan1 | nan2, np.where(nan1 & nan2, np.uint64(0), np.uint64(FAR)), apart)
    return apart if apart.ndim else int(apart)
