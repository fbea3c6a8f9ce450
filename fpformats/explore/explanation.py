"""What `explain` returns: one number's way into a format, as fields, as data and as text."""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from ..format import Format
from ..rounding import ROUNDINGS, Rules

__all__ = ["Exact", "Explanation", "Point", "dyadic", "fields", "text"]

Exact = Fraction | float  # a float only for inf, nan and -0.0


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
        return str(exact)
    zeros = (odd & -odd).bit_length() - 1
    odd, exponent = odd >> zeros, exponent + zeros
    power = f"2^{exponent}"
    if exponent == 0:
        return str(odd)
    return {1: power, -1: f"-{power}"}.get(odd, f"{odd}*{power}")


def _plain(value: Exact | None) -> float | str | None:
    """For JSON: the float where that is exact, else the fraction as text."""
    if value is None or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, float):
        return str(value)
    try:
        return float(value) if Fraction(float(value)) == value else str(value)
    except OverflowError:  # beyond float64; the digits may be too many to print
        return text(value)


def fields(code: int, fmt: Format) -> str:
    """A code's bits, the sign, exponent and mantissa fields apart.

    >>> import fpformats as fp
    >>> fields(0x7E, fp.E4M3)
    '0 1111 110'
    """
    bits = f"{code:0{fmt.bits}b}"
    cuts = (0, int(fmt.signed), fmt.signed + fmt.exponent_bits, fmt.bits)
    return " ".join(bits[a:b] for a, b in pairwise(cuts) if a < b)


@dataclass(frozen=True)
class Point:
    """A value next to x. ``code`` is None where the format ends before it."""

    value: Exact
    line: int
    code: int | None


@dataclass(frozen=True)
class Explanation:
    """How one number gets into one format. Prints as text; `as_dict` gives the same as data.

    Attributes
    ----------
    x : str
        The number as it was given.
    format : Format
    rules : Rules
        Rounding, overflow and the rest, as they were in force.
    exact : Fraction or float
        Its exact value (inf and nan are floats).
    via : Fraction, float or None
        What an intermediate format made of it; the steps below start from there.
    below, above : Point or None
        The neighbours, by value; both are the same when the format holds x. None for inf and NaN,
        and where the format has no value on that side.
    midpoint : Fraction or None
    discarded : Fraction or None
        The discarded part v of the magnitude, 0 <= v < 1, in steps between the neighbours.
    tie : bool
        Whether x is exactly the midpoint.
    decision : str
        What the rounding rule looked at, and its answer.
    events : tuple of str
        What else applied: overflow, flush, NaN, a negative number into an unsigned format, ...
    code : int
    value : Fraction or float
        The result.
    error : Fraction or float
        Result minus exact value.
    ulps : float
        Size of the error in steps between the neighbours.
    """

    x: str
    format: Format
    rules: Rules
    exact: Exact
    via: Exact | None
    below: Point | None
    above: Point | None
    midpoint: Fraction | None
    discarded: Fraction | None
    tie: bool
    decision: str
    events: tuple[str, ...]
    code: int
    value: Exact
    error: Exact
    ulps: float

    @property
    def grs(self) -> tuple[int, int, int] | None:
        """Guard, round and sticky bit: the first two discarded bits, and whether any other is set."""
        if self.discarded is None:
            return None
        guard, rest = divmod(self.discarded * 2, 1)
        second, rest = divmod(rest * 2, 1)
        return int(guard), int(second), int(rest > 0)

    @property
    def rule(self) -> str:
        """The rounding rule that was in force."""
        mode = ROUNDINGS[self.rules.rounding]
        return f"{mode.name}, away from zero if: {mode.rule}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON: numbers are floats where that is exact, else fractions as text."""

        def point(at: Point | None) -> dict[str, Any] | None:
            return None if at is None else {"value": _plain(at.value), "line": at.line, "code": at.code}

        return {
            "x": self.x,
            "format": self.format.name,
            "rounding": self.rules.rounding,
            "overflow": self.rules.overflow_of(self.format.has_inf),
            "exact": _plain(self.exact),
            "via": _plain(self.via),
            "below": point(self.below),
            "above": point(self.above),
            "midpoint": _plain(self.midpoint),
            "discarded": _plain(self.discarded),
            "guard_round_sticky": self.grs and list(self.grs),
            "tie": self.tie,
            "rule": self.rule,
            "decision": self.decision,
            "events": list(self.events),
            "value": _plain(self.value),
            "code": self.code,
            "fields": fields(self.code, self.format),
            "error": _plain(self.error),
            "ulps": _plain(self.ulps),
        }

    def __str__(self) -> str:
        fmt = self.format

        def place(at: Point) -> str:
            code = f"not in {fmt.name}" if at.code is None else f"code {at.code:#x} = {fields(at.code, fmt)}"
            return f"{text(at.value)} (line {at.line}, {code})"

        lines = [("exact value", text(self.exact))]
        if isinstance(self.exact, Fraction) and lines[0][1].startswith("~"):
            lines = [("exact value", f"{lines[0][1]} = {dyadic(self.exact)}")]
        if self.via is not None:
            lines.append((f"through {self.rules.via}", text(self.via)))
        if self.below and self.above and self.below == self.above:
            lines.append(("a value", place(self.below)))
        else:
            lines += [(side, place(at)) for side, at in (("below", self.below), ("above", self.above)) if at]
        if self.discarded:
            lines.append(("midpoint", f"{text(self.midpoint)}{', x is on it: a tie' if self.tie else ''}"))
            bits = "guard {}, round {}, sticky {}".format(*self.grs or ())
            lines.append(("discarded", f"v = {text(self.discarded)} of the step; {bits}"))
        lines += [("rule", self.rule), ("", self.decision)] if self.discarded else [("rule", self.decision)]
        lines += [("then", event) for event in self.events]
        lines.append(("result", f"{text(self.value)} = code {self.code:#x} = {fields(self.code, fmt)}"))
        lines.append(("error", f"{text(self.error)} = {self.ulps:.4g} ulp"))
        return "\n".join([f"{self.x} into {fmt.name}", *(f"  {name:<12} {text}" for name, text in lines)])

    __repr__ = __str__
