"""One number's steps into an element format, in exact arithmetic: what `explain` tells.

Rules of this file

1. The result is `reference.encode`'s; what is told around it comes from the same functions, never
   from a kernel. No floating-point arithmetic decides anything.
2. What a rule says is the text of its row (`ROUNDINGS`, `OVERFLOWS`, ...), so that a new row
   explains itself.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from .. import reference
from ..format import Format, pow2
from ..profiles import PROFILES
from ..registry import FORMATS, UnknownFormatError, get, get_element
from ..rounding import NAN_RULES, OVERFLOWS, ROUNDINGS, SUBNORMALS, Rules
from .explanation import Bits, Explanation, Other, Point
from .words import Exact, text

__all__ = ["walked"]

#: discarded bits that are drawn
SHOWN_BITS = 20


def _signed(negative: bool, magnitude: Fraction | str) -> Exact:
    if isinstance(magnitude, str):
        return -float(magnitude) if negative else float(magnitude)
    return (-magnitude if magnitude else -0.0) if negative else magnitude


def _is_finite(value: Exact) -> bool:
    return not isinstance(value, float) or math.isfinite(value)  # math alone would turn a Fraction into a float


def _difference(result: Exact, x: Exact) -> Exact:
    if _is_finite(result) and _is_finite(x):
        return Fraction(result) - Fraction(x)
    if result == x:
        return Fraction(0)
    if _is_finite(x) or math.isnan(result):
        return float(result)
    return -float(x)  # an infinity became finite, or a NaN a number


def _point(line: int, negative: bool, fmt: Format, limit: int) -> Point:
    value = _signed(negative, fmt.value_of_line(line))
    coded = line <= limit and (fmt.signed or not negative or not line)
    return Point(value, line, reference.encode(value, fmt) if coded else None)


def _bits(x: Fraction, fmt: Format) -> Bits:
    """A magnitude in binary, cut where the format cuts it."""
    m, e = fmt.mantissa_bits, max(reference.floor_log2(x), fmt.emin)
    whole, rest = divmod(x / pow2(e - m), 1)
    dropped = ""
    while rest and len(dropped) < SHOWN_BITS:
        bit, rest = divmod(2 * rest, 1)
        dropped += str(bit)
    kept = f"{int(whole) >> m:b}" + (f".{int(whole) & ((1 << m) - 1):0{m}b}" if m else "")
    return Bits(kept, dropped, rest > 0, e)


def _parity(line: int, step: int, fmt: Format) -> str:
    """Of two neighbours, which is even: s in the rule is the lower one's rank, and its last bit decides."""
    low, high = line - fmt.min_line, line + step - fmt.min_line
    what = "line" if fmt.has_zero else "code"
    field = "mantissa" if fmt.mantissa_bits else "exponent"
    words = [f"{what} {n} is {'odd' if n & 1 else 'even'}, its last {field} bit is {n & 1}" for n in (low, high)]
    gap = f" ({low} decides: no line between is a value)" if step > 1 else ""
    return "; ".join(words) + gap


def _walk(negative: bool, x: Fraction, fmt: Format, rules: Rules, bits: tuple[int, int]) -> dict[str, Any]:
    """What happens to a finite magnitude, in `reference`'s order: the fields of an `Explanation`."""
    mode, overflow = ROUNDINGS[rules.rounding], rules.overflow_of(fmt.has_inf)
    normal = 1 << fmt.mantissa_bits if fmt.exponent_bits else 0
    smallest = text(fmt.value_of_line(normal))
    events = []
    if negative and not fmt.signed and rules.negative_of(fmt.has_inf) == "abs":
        events.append("unsigned: the profile takes the magnitude")
        negative = False
    if rules.subnormals == "flush_before_rounding" and fmt.has_zero and 0 < x < fmt.value_of_line(normal):
        events.append(f"flush: {SUBNORMALS[rules.subnormals]} ({smallest})")
        x = Fraction(0)
    if not x and not fmt.has_zero:
        becomes = "NaN" if rules.zero == "nan" else "the smallest value"
        return {"events": (*events, f"{fmt.name} has no zero: it becomes {becomes}")}
    # round
    line, v, step = reference.line_and_fraction(x, fmt)
    if line < fmt.min_line and not negative:
        events.append(f"below the smallest value, {text(fmt.value_of_line(fmt.min_line))}: it becomes that")
        return {"above": _point(fmt.min_line, False, fmt, fmt.max_line), "events": tuple(events)}
    odd = bool((line - fmt.min_line) & 1)
    away = reference._away(mode.name, negative, odd, v, bits)
    decision = "nothing is discarded, so no rule is asked"
    if v:
        here = f"v = {text(v)}, s {'odd' if odd else 'even'} (line {line}), x {'<' if negative else '>'} 0"
        here += f", N = {bits[1]}, R = {bits[0]}" if mode.random_bits else ""
        decision = f"{here}: {'away from' if away else 'toward'} zero"
    chosen = line + step * away
    # what else applies
    limit = fmt.max_line + (fmt.twos_complement and negative)
    if rules.subnormals == "flush_after_rounding" and fmt.min_line < chosen < normal:
        events.append(f"flush: {SUBNORMALS[rules.subnormals]} ({smallest})")
    elif 0 < chosen < normal:
        events.append(f"subnormal: below the smallest normal number, {smallest}; the spacing no longer shrinks")
    elif not chosen and x:
        first = text(Fraction(fmt.smallest_subnormal))
        events.append(f"underflow: x is not zero and the result is; the smallest value above zero is {first}")
    if rules.quirk is not None and pow2(rules.quirk[0]) < x < pow2(rules.quirk[1]):
        low, high, became = rules.quirk
        events.append(f"quirk of the profile: all between 2^{low} and 2^{high} becomes code {became:#x}")
    if negative and not fmt.signed and (chosen or not fmt.has_zero):
        first = text(fmt.value_of_line(fmt.min_line))
        events.append(f"unsigned: {fmt.name} ends at {first}; negative numbers: {rules.negative_of(fmt.has_inf)}")
    elif chosen > limit:
        outward = mode.overflows_outward(negative, bool(fmt.max_code & 1))
        inward = "" if outward or overflow != "nonfinite" else " (this mode goes inward here)"
        what = f"line {chosen} is beyond the last finite one, {limit}"
        events.append(f"overflow: {what}. {overflow}: {OVERFLOWS[overflow]}{inward}")
    tie = v == Fraction(1, 2)
    near = _point(line, negative, fmt, limit)
    far = _point(line + step, negative, fmt, limit) if v else near
    gap = fmt.value_of_line(line + step) - fmt.value_of_line(line)
    return {
        "below": far if negative else near,
        "above": near if negative else far,
        "midpoint": _signed(negative, fmt.value_of_line(line) + gap / 2),
        "bits": _bits(x, fmt) if step == 1 and x else None,
        "discarded": v,
        "tie": tie,
        "parity": _parity(line, step, fmt) if tie else "",
        "decision": decision,
        "events": tuple(events),
        "gap": gap,
    }


def _special(magnitude: str, negative: bool, fmt: Format, rules: Rules) -> dict[str, Any]:
    """NaN and the infinities: no rounding, one rule."""
    overflow = rules.overflow_of(fmt.has_inf)
    if magnitude == "nan":
        keeps = fmt.has_nan or rules.nan_codes is not None
        event = (
            "NaN: the quiet NaN of the format or profile"
            if keeps
            else f"NaN, which {fmt.name} has not: {NAN_RULES[rules.nan]}"
        )
    elif negative and not fmt.signed:
        event = f"unsigned: negative numbers: {rules.negative_of(fmt.has_inf)}"
    elif rules.inf == "nan":
        event = "infinity: the profile makes it NaN"
    else:
        event = f"infinity: {overflow}: {OVERFLOWS[overflow]}"
    return {"events": (event,)}


@lru_cache(maxsize=64)
def _implementations(fmt: Format) -> dict[Rules, list[str]]:
    """The rules by which named implementations cast to a format, but those that draw random bits; who has which."""
    found: dict[Rules, list[str]] = {}
    try:
        named = get(fmt.name) == fmt
    except UnknownFormatError:
        named = False
    if not named:  # a format of the caller's own, whatever it is called
        return found
    for profile in PROFILES.values():
        rules = profile.rows.get(fmt.name if fmt.name in FORMATS else "p3109")
        if rules is not None and not ROUNDINGS[rules.rounding].random_bits:
            found.setdefault(rules, []).append(profile.name)
    return found


def _others(number: Any, source: str | None, fmt: Format, code: int) -> tuple[Other, ...]:
    """The named implementations that give another code."""
    found: dict[int, list[str]] = {}
    for rules, names in _implementations(fmt).items():
        try:
            other = reference.encode(number, fmt, rules, source=source)
        except ValueError:  # a NaN that has no code
            continue
        if other != code:
            found.setdefault(other, []).extend(names)
    return tuple(Other(other, reference.decode(other, fmt), tuple(names)) for other, names in found.items())


def walked(
    number: Any,
    fmt: Format,
    rules: Rules,
    *,
    bits: tuple[int, int] = (0, 32),
    source: str | None = None,
    said: str = "",
    others: bool = True,
) -> Explanation:
    """Every step of a number that `reference.exact` reads.

    Parameters
    ----------
    number : int, float, Fraction, Decimal or str
    fmt : Format
    rules : Rules
    bits : (int, int)
        R and N of the stochastic modes.
    source : str, optional
        The type that the number came in.
    said : str
        The number as it was given.
    others : bool
        Whether to ask the other implementations.

    Raises
    ------
    ValueError
        For NaN into a format without one under ``nan="raise"``.
    """
    code = reference.encode(number, fmt, rules, random=bits, source=source)
    value = reference.decode(code, fmt)
    negative, magnitude = reference.exact(number)
    exact = _signed(negative, magnitude)
    events: tuple[str, ...] = ()
    start = exact
    if rules.subnormals == "flush_inputs" and source is not None and _is_finite(exact):
        if 0 < abs(Fraction(exact)) < pow2(get_element(source).emin):
            start = -0.0 if negative else Fraction(0)
            events = (f"flush: {SUBNORMALS[rules.subnormals]} ({source})",)
    if rules.via is not None:
        start = reference.decode(reference.encode(start, rules.via, rules.first), rules.via)
    negative, magnitude = reference.exact(start)
    if isinstance(magnitude, str):
        steps = _special(magnitude, negative, fmt, rules)
    else:
        steps = _walk(negative, magnitude, fmt, rules, bits)
    error = _difference(value, exact)
    gap = steps.pop("gap", None)
    ulps = float(abs(error) / gap) if gap and isinstance(error, Fraction) else abs(float(error))
    nothing = {
        "below": None,
        "above": None,
        "midpoint": None,
        "bits": None,
        "discarded": None,
        "tie": False,
        "parity": "",
    }
    return Explanation(
        x=said or str(number),
        format=fmt,
        rules=rules,
        exact=exact,
        via=start if rules.via is not None and start != exact else None,
        code=code,
        value=value,
        error=error,
        ulps=ulps,
        others=_others(number, source, fmt, code) if others else (),
        **{**nothing, "decision": "not asked", **steps, "events": events + steps["events"]},
    )
