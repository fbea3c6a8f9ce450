"""The line of both signs: every number of a format has a rank, and its neighbours have the ranks beside.

Rules of this file

1. A rank is an integer: 0 for both zeros, then one up for every value above, one down for every value below. The
   infinities are the last ranks where a format has them; codes that stand for nothing have none.
2. `Ranks` works on float64 arrays, in integers and in operations that are exact (frexp, ldexp, floor); it takes formats
   whose values float64 holds. `exact_ranks` takes any number and any format, in Fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import reference
from ..format import Format

__all__ = ["Ranks", "exact_ranks"]

Array = NDArray[Any]


class Ranks:
    """The ranks of one format."""

    def __init__(self, fmt: Format) -> None:
        self.format = fmt
        #: lines between zero and the smallest value, which have no rank
        self.gap = (1 << fmt.mantissa_bits) - 1 if fmt.has_zero and not fmt.subnormals else 0
        self.last = fmt.max_line - self.gap  # of a finite value
        self.high = self.last + fmt.has_inf
        self.low = -(self.high + fmt.twos_complement) if fmt.signed else max(fmt.min_line - self.gap, 0)

    def line_of(self, rank: int) -> int:
        """The line of a finite value's rank."""
        return abs(rank) + (self.gap if rank else 0)

    def exact(self, rank: int) -> Fraction | float:
        """The number of a rank; the infinities are floats."""
        if self.format.has_inf and abs(rank) > self.last:
            return float("inf") if rank > 0 else float("-inf")
        value = self.format.value_of_line(self.line_of(rank))
        return -value if rank < 0 else value

    def numbers(self, ranks: Array) -> Array:
        """The numbers of ranks as float64, which must hold them."""
        fmt, m = self.format, self.format.mantissa_bits
        size = np.abs(ranks)
        line = size + self.gap * (size > 0)
        binade = line >> m
        significand = np.where(binade > 0, (1 << m) + (line & ((1 << m) - 1)), line)
        with np.errstate(over="ignore"):  # the rank of the infinity, as a number beyond fp64's largest
            value = np.ldexp(significand.astype(np.float64), np.maximum(binade - 1, 0) + (fmt.emin - m))
        if fmt.has_inf:
            value = np.where(size > self.last, np.inf, value)
        return np.where(ranks < 0, -value, value)

    def step(self, x: Array) -> Array:
        """2^(e - M), e the exponent of x and at least emin, as if the exponents had no upper end."""
        size = np.where(np.isfinite(x), np.abs(x), 0)
        step = np.ldexp(1.0, self._exponent(size) - self.format.mantissa_bits)
        return np.where(np.isfinite(x), step, np.abs(x))

    def _exponent(self, size: Array) -> Array:
        """floor(log2(size)), and emin below; frexp gives zero another one."""
        exponent = np.maximum(np.frexp(size)[1] - 1, self.format.emin)
        return np.where(size == 0, self.format.emin, exponent).astype(np.int64)

    def around(self, x: Array) -> tuple[Array, Array]:
        """Ranks of the last value <= x and of the first >= x; one beyond `low` or `high` where there is none.

        NaN gets ranks that mean nothing.
        """
        fmt, m = self.format, self.format.mantissa_bits
        size = np.where(np.isfinite(x), np.abs(x), 0)
        exponent = self._exponent(size)
        scaled = np.ldexp(size, m - exponent)
        whole = np.floor(scaled)
        rank = ((exponent - fmt.emin) << m) + whole.astype(np.int64)
        off = (whole != scaled) | ((scaled == 0) & (size != 0))
        if self.gap:
            tiny = rank <= self.gap
            rank = np.where(tiny, 0, rank - self.gap)
            off = np.where(tiny, size != 0, off)
        return self._signed(x < 0, np.isinf(x), rank, off)

    def _signed(self, negative: Array, infinite: Array, rank: Array, off: Array) -> tuple[Array, Array]:
        last = self.last + (negative & self.format.twos_complement)
        beyond = (rank > last) | infinite
        rank = np.where(beyond, last + (infinite & self.format.has_inf), rank)
        off = np.where(beyond, ~infinite | (not self.format.has_inf), off).astype(bool)
        return np.where(negative, -rank - off, rank), np.where(negative, -rank, rank + off)


def exact_ranks(x: Any, fmt: Format) -> tuple[int, int] | None:
    """`Ranks.around` of one number of any size; None for NaN.

    >>> from fpformats import E4M3
    >>> exact_ranks("3.1", E4M3), exact_ranks(Fraction(-3), E4M3), exact_ranks(10**400, E4M3)
    ((68, 69), (-68, -68), (126, 127))
    """
    negative, size = reference.exact(x)
    if size == "nan":
        return None
    ranks = Ranks(fmt)
    infinite = size == "inf"
    line, v = 0, Fraction(0)
    if isinstance(size, Fraction):
        line, v, _ = reference.line_and_fraction(size, fmt)
    last = ranks.last + (negative and fmt.twos_complement)
    rank, off = max(line - ranks.gap, 0), v > 0
    if infinite or rank > last:
        rank, off = last + (infinite and fmt.has_inf), not (infinite and fmt.has_inf)
    return (-rank - off, -rank) if negative else (rank, rank + off)
