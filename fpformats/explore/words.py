"""Numbers and codes in words: as a person writes them, as a power of two, as JSON, as fields."""

from __future__ import annotations

import decimal
import math
from fractions import Fraction
from itertools import pairwise

from ..format import Format

__all__ = ["Exact", "dyadic", "fields", "plain", "text"]

Exact = Fraction | float  # a float only for inf, nan and -0.0

#: longer numerators and denominators than this are not written out
MOST_BITS = 4096


def text(value: Exact | None) -> str:
    """A number as a person writes it: all its digits where they are few, ~ where they are not."""
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:g}"
    with decimal.localcontext(prec=24, Emin=-999999, Emax=999999) as context:
        digits = decimal.Decimal(value.numerator) / value.denominator
        about = "" if not context.flags[decimal.Inexact] else "~"
        if about:
            context.prec = 12
            digits = +digits
        digits = digits.normalize()
        return about + (f"{digits:f}" if -6 < digits.adjusted() < 16 else f"{digits:e}".replace("e+", "e"))


def dyadic(value: int | float | Fraction) -> str:
    """A rational exactly: as odd integer times a power of two where it is one, else as a fraction.

    >>> dyadic(448), dyadic(0.0625), dyadic(-3), dyadic(0.0)
    ('7*2^6', '2^-4', '-3', '0')
    """
    exact = Fraction(value)
    if not exact:
        return "0"
    odd, exponent = exact.numerator, 1 - exact.denominator.bit_length()
    if exact.denominator != 1 << -exponent:
        return _ratio(exact)
    zeros = (odd & -odd).bit_length() - 1
    odd, exponent = odd >> zeros, exponent + zeros
    power = f"2^{exponent}"
    if exponent == 0:
        return str(odd)
    return {1: power, -1: f"-{power}"}.get(odd, f"{odd}*{power}")


def _ratio(value: Fraction) -> str:
    """A fraction in full; where that would be thousands of digits, about."""
    many = max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS
    return text(value) if many else str(value)


def plain(value: Exact | None) -> float | str | None:
    """For JSON: the float where that is exact, else the fraction as text."""
    if value is None or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, float):
        return str(value)
    try:
        if Fraction(float(value)) == value:
            return float(value)
    except OverflowError:  # beyond float64
        pass
    return _ratio(value)


def fields(code: int, fmt: Format) -> str:
    """A code's bits, the sign, exponent and mantissa fields apart.

    >>> import fpformats as fp
    >>> fields(0x7E, fp.E4M3)
    '0 1111 110'
    """
    bits = f"{code:0{fmt.bits}b}"
    cuts = (0, int(fmt.signed), fmt.signed + fmt.exponent_bits, fmt.bits)
    return " ".join(bits[a:b] for a, b in pairwise(cuts) if a < b)
