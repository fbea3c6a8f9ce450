"""The values of a format as a sequence: an integer for each, in order, 0 at zero; exact."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ..explore.line import Ranks
from ..format import Format
from ..reference import line_and_fraction
from .labels import exponent_of

__all__ = ["MOST", "Grid", "limits_of", "reading_order"]

#: A picture with a mark for every value holds this many.
MOST = 1024


class Grid:
    """The finite values of a format, numbered: ``value(low) < ... < value(high)``, and so on beyond the ends.

    The number is the rank (`explore.line.Ranks`); the infinities are not among them.

    >>> from fpformats import E2M1
    >>> grid = Grid(E2M1)
    >>> grid.low, grid.high, [float(grid.value(i)) for i in range(8)]
    (-7, 7, [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
    """

    def __init__(self, fmt: Format) -> None:
        self.format = fmt
        self.ranks = Ranks(fmt)
        self.high = self.ranks.last
        self.low = -(self.high + fmt.twos_complement) if fmt.signed else self.ranks.low
        #: the number of the smallest normal value; of integers, every value is as far from the next
        self.normal = (1 << fmt.mantissa_bits) - self.ranks.gap if fmt.exponent_bits else 1

    @property
    def count(self) -> int:
        """How many finite values there are; -0 and 0 are one."""
        return self.high - self.low + 1

    def value(self, index: int) -> Fraction:
        """The value with that number; beyond the ends, what would come next."""
        size = self.format.value_of_line(self.ranks.line_of(index))
        return size if index >= 0 else -size

    def floor(self, x: Fraction) -> int:
        """The number of the largest value, of the format or beyond its ends, that is not above x."""
        index = max(line_and_fraction(abs(x), self.format)[0] - self.ranks.gap, 0)
        if x >= 0:
            return index
        return -index if self.value(index) == -x else -index - 1

    def between(self, limits: tuple[Fraction, Fraction] | None, what: str) -> range:
        """The numbers of the values between two limits; of all values without.

        Raises
        ------
        ValueError
            More than `MOST`, or none at all.
        """
        first, last = self.low, self.high
        if limits is not None:
            low, high = limits
            below = self.floor(low)
            first = max(first, below if self.value(below) == low else below + 1)
            last = min(last, self.floor(high))
        count = last - first + 1
        name = self.format.name
        if count > MOST:
            where = "has" if limits is None else f"between limits={_pair(limits)} has"
            raise ValueError(
                f"{name} {where} {count} values; limits=(low, high) around at most {MOST} was expected {what}"
            )
        if count < 1:
            assert limits is not None
            raise ValueError(f"limits={_pair(limits)}: {name} has no value between them")
        return range(first, last + 1)


def _pair(limits: tuple[Fraction, Fraction]) -> str:
    return f"({float(limits[0])!r}, {float(limits[1])!r})"


def limits_of(limits: Any) -> tuple[Fraction, Fraction] | None:
    """(low, high) as exact numbers.

    Raises
    ------
    ValueError
        Anything but two finite numbers, the smaller one first.
    """
    if limits is None:
        return None
    try:
        low, high = (float(limit) if not isinstance(limit, (int, Fraction)) else limit for limit in limits)
        if math.isfinite(low) and math.isfinite(high) and low < high:
            return Fraction(low), Fraction(high)
    except (TypeError, ValueError, OverflowError):  # the last: an integer beyond float64
        pass
    raise ValueError(f"limits={limits!r}: two finite numbers were expected, the smaller one first")


def reading_order(index: int, grid: Grid, chosen: range) -> tuple[int, int]:
    """Which values get a label first: zero, the ends, 1, other powers of two, the rest; the largest first."""
    if not index:
        return 0, 0
    if index in (chosen[0], chosen[-1]):
        return 1, 0
    exponent = exponent_of(grid.value(index))
    return (4 if exponent is None else 3 if exponent else 2), -abs(index)
