"""What `explain` returns: one number's way into a format, as fields, as data, as text and as HTML."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any

from ..format import Format
from ..rounding import ROUNDINGS, Rules
from .decimals import decimals
from .html import bits_html, cut_html, rows_html
from .words import Exact, dyadic, fields, plain, text

__all__ = ["Bits", "Explanation", "Other", "Point"]


@dataclass(frozen=True)
class Point:
    """A value next to x. ``code`` is None where the format ends before it."""

    value: Exact
    line: int
    code: int | None


@dataclass(frozen=True)
class Other:
    """What some named implementations give instead."""

    code: int
    value: Exact
    profiles: tuple[str, ...]


@dataclass(frozen=True)
class Bits:
    """The magnitude in binary: ``kept`` is a significand with M bits after its point, ``dropped`` what follows them.

    Both times 2^exponent; ``more`` says that `dropped` goes on.
    """

    kept: str
    dropped: str
    more: bool
    exponent: int

    def __str__(self) -> str:
        rest = f"{self.dropped or 'nothing'}{'...' if self.more else ''}"
        return f"{self.kept}|{rest} * 2^{self.exponent}"


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
    bits : Bits or None
        x in binary, cut where the format cuts it; None where nothing is cut bit by bit: zero, inf, NaN, and the gap
        around the zero of a format without subnormals.
    discarded : Fraction or None
        The discarded part v of the magnitude, 0 <= v < 1, in steps between the neighbours.
    tie : bool
        Whether x is exactly the midpoint.
    parity : str
        Of a tie, which of the two is even, and by which bit.
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
    others : tuple of Other
        The named implementations (`profiles`) that give another code for this x. Those that draw random bits, and those
        that cannot cast to the format, are left out.
    """

    x: str
    format: Format
    rules: Rules
    exact: Exact
    via: Exact | None
    below: Point | None
    above: Point | None
    midpoint: Exact | None
    bits: Bits | None
    discarded: Fraction | None
    tie: bool
    parity: str
    decision: str
    events: tuple[str, ...]
    code: int
    value: Exact
    error: Exact
    ulps: float
    others: tuple[Other, ...] = ()

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
            return None if at is None else {"value": plain(at.value), "line": at.line, "code": at.code}

        return {
            "x": self.x,
            "format": self.format.name,
            "rounding": self.rules.rounding,
            "overflow": self.rules.overflow_of(self.format.has_inf),
            "exact": plain(self.exact),
            "via": plain(self.via),
            "below": point(self.below),
            "above": point(self.above),
            "midpoint": plain(self.midpoint),
            "bits": self.bits
            and {
                "kept": self.bits.kept,
                "dropped": self.bits.dropped,
                "more": self.bits.more,
                "exponent": self.bits.exponent,
            },
            "discarded": plain(self.discarded),
            "guard_round_sticky": self.grs and list(self.grs),
            "tie": self.tie,
            "parity": self.parity,
            "rule": self.rule,
            "decision": self.decision,
            "events": list(self.events),
            "value": plain(self.value),
            "decimals": dict(zip(("shortest", "exact"), decimals(self.value, self.format), strict=True)),
            "code": self.code,
            "fields": fields(self.code, self.format),
            "error": plain(self.error),
            "ulps": plain(self.ulps),
            "others": [
                {"code": other.code, "value": plain(other.value), "profiles": list(other.profiles)}
                for other in self.others
            ],
        }

    def _lines(self) -> list[tuple[str, str, int | None]]:
        """(name, text, the code that the text ends in)."""
        fmt = self.format

        def place(at: Point) -> tuple[str, int | None]:
            code = f"not in {fmt.name}" if at.code is None else f"code {at.code:#x} = {fields(at.code, fmt)}"
            return f"{text(at.value)} (line {at.line}, {code})", at.code

        lines: list[tuple[str, str, int | None]] = []

        def say(name: str, words: str, code: int | None = None) -> None:
            lines.append((name, words, code))

        about = text(self.exact)
        say("exact value", f"{about} = {dyadic(self.exact)}" if about.startswith("~") else about)
        if self.via is not None:
            say(f"through {self.rules.via}", text(self.via))
        if self.below and self.above and self.below == self.above:
            say("a value", *place(self.below))
        else:
            for side, at in (("below", self.below), ("above", self.above)):
                if at:
                    say(side, *place(at))
        if self.discarded:
            say("midpoint", f"{text(self.midpoint)}{', x is on it: a tie' if self.tie else ''}")
            if self.parity:
                say("even or odd", self.parity)
            if self.bits:
                say("bits", str(self.bits))
            bits = "guard {}, round {}, sticky {}".format(*self.grs or ())
            say("discarded", f"v = {text(self.discarded)} of the step; {bits}")
            say("rule", self.rule)
        say("" if self.discarded else "rule", self.decision)
        for event in self.events:
            say("then", event)
        say("result", f"{text(self.value)} = code {self.code:#x} = {fields(self.code, fmt)}", self.code)
        if math.isfinite(self.ulps) and self.value:
            shortest, exact = decimals(self.value, fmt)
            if len(exact) > len(shortest) + 2:
                say("in decimal", f"{shortest} reads back to it, {exact} is all of it")
        say("error", f"{text(self.error)} = {self.ulps:.4g} ulp")
        for i, other in enumerate(self.others):
            what = f"{text(other.value)} = code {other.code:#x} = {fields(other.code, fmt)}"
            say("" if i else "elsewhere", f"{what}: {', '.join(other.profiles)}")
        return lines

    def __str__(self) -> str:
        lines = (f"  {name:<12} {words}" for name, words, _ in self._lines())
        return "\n".join([f"{self.x} into {self.format.name}", *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def shown(name: str, words: str, code: int | None) -> str:
            if name == "bits" and self.bits and self.bits.dropped:
                tail = words.removeprefix(f"{self.bits.kept}|{self.bits.dropped}")
                return cut_html(self.bits.kept, self.bits.dropped) + escape(tail)
            before, found, after = words.rpartition(fields(code, self.format) if code is not None else " ")
            if code is None or not found:
                return escape(words)
            return escape(before) + bits_html(code, self.format) + escape(after)

        rows = [(name, shown(name, words, code)) for name, words, code in self._lines()]
        return rows_html(f"{self.x} into {self.format.name}", rows)
