"""Single numbers and integers: exact on their way into the kernels."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .format import Format

__all__ = ["as_scalar", "exact_integers"]


def as_scalar(x: Any) -> tuple[Any, Callable[[Any], Any]] | None:
    """(number, way back) for a single number; None for arrays.

    The number is a 0-d array where a float holds it exactly, else itself, for the definition.
    """
    kind = type(x)
    if kind is float:
        return np.array(x), float
    if isinstance(x, np.generic):
        if x.dtype.kind in "SUO":
            raise TypeError(f"x is a {kind.__name__}; a number was expected")
        return np.asarray(x), lambda made: made[()]
    if isinstance(x, (bool, int)):
        if -(1 << 53) <= x <= 1 << 53:
            return np.array(float(x)), float
        return x, float
    if isinstance(x, (Fraction, Decimal, str)):
        return x, float
    if isinstance(x, float):
        return np.array(float(x)), float
    if isinstance(x, complex):
        raise TypeError("x is complex; a real number was expected")
    return None


def exact_integers(x: NDArray[Any], fmt: Format) -> NDArray[Any] | None:
    """Integers and bools as binary64 bits that round to `fmt` as the integers would.

    Up to 2**53 a double holds them. Beyond, the double is rounded to odd: its last bit says
    whether anything was lost, which is all that a later rounding to 51 bits or fewer asks
    (Boldo and Melquiond, IEEE TC 57(4), 2008). None where the format has more bits than that.
    """
    if x.dtype.itemsize < 8:
        return x.astype(np.float64).view(np.uint64)
    if x.size == 0 or (int(x.max()) <= 1 << 53 and int(x.min()) >= -(1 << 53)):
        return x.astype(np.float64).view(np.uint64)
    if fmt.mantissa_bits > 50:
        return None
    negative = x < 0
    magnitude = np.where(negative, np.uint64(0) - x.astype(np.uint64), x.astype(np.uint64))
    # cut to 53 bits, the last one sticky: 11 bits can be lost at most
    lost = np.zeros(x.shape, dtype=np.uint64)
    for bit in range(11):
        lost += (magnitude >> np.uint64(53 + bit)) != 0
    cut = magnitude >> lost
    sticky = (cut << lost) != magnitude
    odd = (cut | sticky.astype(np.uint64)) << lost
    value = odd.astype(np.float64)  # exact: 53 significant bits
    return np.where(negative, -value, value).view(np.uint64)
