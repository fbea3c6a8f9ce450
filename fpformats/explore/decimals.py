"""A value in decimal, twice: the shortest digits that read back to it in its format, and all of its digits."""

from __future__ import annotations

import math
from fractions import Fraction

from .. import reference
from ..format import Format
from ..registry import get_element
from .words import Exact, dyadic, text

__all__ = ["decimals", "exact_decimal", "shortest_decimal"]

#: more digits than these are told as an integer times a power of two
MOST_DIGITS = 120


def decimals(value: Exact, fmt: str | Format, /) -> tuple[str, str]:
    """(shortest, exact) decimal of a value of a format.

    Parameters
    ----------
    value : Fraction or float
        A value of the format; infinities and NaN too.
    fmt : str or Format
        An element format.

    Examples
    --------
    >>> decimals(0.1015625, "e4m3"), decimals(2.0**-24, "fp16")
    (('0.1', '0.1015625'), ('6e-8', '0.000000059604644775390625'))
    """
    return shortest_decimal(value, fmt), exact_decimal(value)


def exact_decimal(value: Exact) -> str:
    """All digits of a rational whose denominator is a power of two (or of ten); else `dyadic`'s form.

    >>> exact_decimal(Fraction(13, 128)), exact_decimal(-0.0), exact_decimal(Fraction(1, 3))
    ('0.1015625', '-0', '1/3')
    """
    if isinstance(value, float) and not (math.isfinite(value) and value):
        return str(value).removesuffix(".0")
    exact = Fraction(value)
    below, places = exact.denominator, 0
    while below % 10 == 0:
        below, places = below // 10, places + 1
    for prime in (2, 5):
        while below % prime == 0 and places <= MOST_DIGITS:
            below, places = below // prime, places + 1
    if below != 1 or places > MOST_DIGITS or abs(exact) >= 10**MOST_DIGITS:
        return dyadic(exact)
    digits = str(abs(exact.numerator) * 10**places // exact.denominator).rjust(places + 1, "0")
    whole, rest = (digits[:-places], digits[-places:].rstrip("0")) if places else (digits, "")
    return ("-" if exact < 0 else "") + whole + (f".{rest}" if rest else "")


def shortest_decimal(value: Exact, fmt: str | Format, /) -> str:
    """The fewest digits that nearest-even rounding reads back as this value of the format; of several the closest.

    The format's last values are read as if exponents went on, so that no number is theirs by saturation.

    >>> shortest_decimal(448, "e4m3"), shortest_decimal(0.001953125, "e4m3"), shortest_decimal(1 / 3, "fp64")
    ('450', '0.002', '0.3333333333333333')
    """
    if not value or (isinstance(value, float) and not math.isfinite(value)):
        return exact_decimal(value)
    row, exact = get_element(fmt), abs(Fraction(value))
    line, top = _nearest_line(exact, row), _floor_log10(exact)
    for places in range(top, top - MOST_DIGITS, -1):
        ten = Fraction(10) ** places
        below = exact // ten
        for _, near in sorted((abs(n * ten - exact), n * ten) for n in (below, below + 1)):
            if near and _nearest_line(near, row) == line:
                return text(-near if value < 0 else near)
    return exact_decimal(value)


def _nearest_line(x: Fraction, fmt: Format) -> int:
    """Where roundTiesToEven goes on a line without end."""
    line, v, step = reference.line_and_fraction(x, fmt)
    return line + step * (v > Fraction(1, 2) or (v == Fraction(1, 2) and bool((line - fmt.min_line) & 1)))


def _floor_log10(x: Fraction) -> int:
    guess = math.floor(reference.floor_log2(x) * math.log10(2)) - 1
    while Fraction(10) ** (guess + 1) <= x:
        guess += 1
    return guess
