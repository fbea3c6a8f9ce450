"""A format's facts as numbers and as short text: what `table`, the drawings and the command line show."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from .. import reference
from ..format import Format
from .words import dyadic

__all__ = ["binades", "decibels", "facts", "layout", "number", "per_binade", "specials"]


def layout(fmt: Format) -> str:
    """The fields of a code: ``s1 e4 m3``, without the fields that are empty."""
    widths = (("s", int(fmt.signed)), ("e", fmt.exponent_bits), ("m", fmt.mantissa_bits))
    return " ".join(f"{field}{width}" for field, width in widths if width)


def number(value: int | float | Fraction) -> str:
    """A fact as text: the float's shortest digits, or a power of two where float64 ends."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else dyadic(value)


def specials(fmt: Format) -> str:
    """Which of infinity, NaN and -0 a format has, and what else is special about it.

    >>> from fpformats import E4M3, E2M1, E8M0
    >>> specials(E4M3), specials(E2M1), specials(E8M0)
    ('NaN, -0', '-0', 'NaN, no zero')
    """
    has = {
        "inf": fmt.has_inf,
        "NaN": fmt.has_nan,
        "-0": fmt.has_negative_zero,
        "no zero": not fmt.has_zero,
        "no subnormals": fmt.has_zero and not fmt.subnormals,
        "two's complement": fmt.twos_complement,
    }
    return ", ".join(name for name, holds in has.items() if holds) or "none"


def per_binade(fmt: Format) -> int | None:
    """Values from a power of two up to the next, in whole normal binades; None where there is none."""
    return 1 << fmt.mantissa_bits if fmt.exponent_bits else None


def binades(fmt: Format) -> int:
    """How many binades hold a positive value: 18 of E4M3, 32 of E5M2, 40 of binary16 (arXiv:2209.05433, section 3)."""
    return reference.floor_log2(Fraction(fmt.max)) - reference.floor_log2(Fraction(fmt.smallest_subnormal)) + 1


def decibels(fmt: Format) -> float:
    """The largest over the smallest positive value, in decibels: 20 log10 of it.

    >>> from fpformats import E4M3
    >>> round(decibels(E4M3), 2)
    107.21
    """
    ratio = Fraction(fmt.max) / Fraction(fmt.smallest_subnormal)
    return 20 * (math.log10(ratio.numerator) - math.log10(ratio.denominator))


def facts(fmt: Format) -> dict[str, Any]:
    """Every fact as plain data. Numbers beyond float64 are text, such as ``2^16383``."""
    data: dict[str, Any] = {"name": fmt.name}
    for key in (
        "bits", "signed", "exponent_bits", "mantissa_bits", "bias", "minexp", "maxexp", "max", "min", "smallest_normal",
        "smallest_subnormal", "eps", "epsneg", "has_zero", "has_negative_zero", "has_inf", "has_nan", "subnormals",
        "twos_complement", "max_line", "max_code", "inf_code", "nan_code", "clause",
    ):  # fmt: skip
        value = getattr(fmt, key)
        wide = isinstance(value, Fraction) or (isinstance(value, int) and abs(value) >= 1 << 64)
        data[key] = dyadic(value) if wide else value
    return data
