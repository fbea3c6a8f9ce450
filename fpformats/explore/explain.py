"""One number on its way into a format, every step in exact arithmetic.

Rules of this file

1. The result is `reference.encode`'s; what is told around it comes from the same functions, never
   from a kernel. No floating-point arithmetic decides anything.
2. What a rule says is the text of its row (`ROUNDINGS`, `OVERFLOWS`, ...), so that a new row
   explains itself.
"""

from __future__ import annotations

import math
import operator
from decimal import Decimal
from fractions import Fraction
from typing import Any

from .. import reference
from ..block_format import BlockFormat
from ..blocks.given import Given
from ..casts import recipe_rounding, refuse_given, rules_for
from ..format import Format, pow2
from ..registry import ALIASES, get, get_element
from ..rounding import NAN_RULES, OVERFLOWS, ROUNDINGS, SUBNORMALS, Rules
from .explain_block import BlockExplanation, explain_block
from .explanation import Exact, Explanation, Point, text

__all__ = ["explain", "scalar"]

#: Decimal exponents beyond this are refused: no format reaches them, and exact arithmetic would take for ever.
DECIMAL_EXPONENT = 20_000


def scalar(x: Any) -> tuple[Any, str | None]:
    """One number for `reference`, and the name of the format it came in where it has one."""
    if isinstance(x, str):
        try:
            decimal = Decimal(x.strip())
        except ArithmeticError:
            reference.exact(x)  # "1/3" and hexadecimal floats; ValueError for anything else
        else:
            if decimal.is_finite() and abs(decimal.adjusted()) > DECIMAL_EXPONENT:
                raise ValueError(f"{x!r}: a decimal exponent within {DECIMAL_EXPONENT} was expected")
        return x, None
    if isinstance(x, (bool, int, float, Fraction, Decimal)) and not hasattr(x, "dtype"):
        return x, "fp64" if isinstance(x, float) else None
    shape = getattr(x, "shape", None)
    if isinstance(x, (list, tuple)) or shape not in (None, ()):
        extent = f"shape {tuple(shape)}" if shape else f"length {len(x)}"
        raise TypeError(f"explain takes one number, got {type(x).__name__} of {extent}; explain one element")
    name = str(getattr(x, "dtype", "")).rsplit(".", 1)[-1]  # NumPy's float32, torch's torch.float32
    if shape == () and hasattr(x, "item"):
        x = x.item()
    try:
        if isinstance(x, (bytes, bytearray)):
            raise TypeError
        value = operator.index(x) if hasattr(x, "__index__") else float(x)
    except (TypeError, ValueError):
        raise TypeError(f"explain takes one real number or decimal string, got {type(x).__name__}") from None
    return value, ALIASES.get(name, name) if name.startswith(("float", "bfloat")) else None


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
    near = _point(line, negative, fmt, limit)
    far = _point(line + step, negative, fmt, limit) if v else near
    gap = fmt.value_of_line(line + step) - fmt.value_of_line(line)
    return {
        "below": far if negative else near,
        "above": near if negative else far,
        "midpoint": _signed(negative, fmt.value_of_line(line) + gap / 2),
        "discarded": v,
        "tie": v == Fraction(1, 2),
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


def explain(
    x: Any,
    fmt: str | Format | BlockFormat,
    /,
    *,
    rounding: str = "nearest_even",
    overflow: str | None = None,
    nan: str = "raise",
    subnormals: str = "keep",
    via: str | Format | None = None,
    profile: str | None = None,
    random: tuple[int, int] | None = None,
    tensor_amax: Any = None,
    scale: Any = None,
    eps: float | None = None,
    amax_history: Any = None,
) -> Explanation | BlockExplanation:
    """Every step of one number's way into a format, in exact arithmetic; of one block's into a block format.

    Parameters
    ----------
    x : int, float, Fraction, Decimal, str or 0-d array
        One number. A string is a decimal, read exactly: ``"0.1"`` is one tenth, ``0.1`` is not. For a block format
        also a list or a one-dimensional array: the numbers of one block; one number is a block of its own.
    fmt : str, Format or BlockFormat
        The target format.
    rounding, overflow, nan, subnormals, via, profile
        As for `quantize`.
    random : (int, int), optional
        The random bits R and their number N, which the stochastic modes need.
    tensor_amax, scale, eps, amax_history : optional
        For block formats only, as for `encode_blocks`.

    Returns
    -------
    Explanation or BlockExplanation
        Prints as text; the fields, and ``as_dict()``, hold the same.

    Raises
    ------
    TypeError
        For an array or anything else that is not one real number.
    ValueError
        For unknown names, and for NaN into a format without one under ``nan="raise"``.

    Examples
    --------
    >>> import fpformats as fp
    >>> fp.explain("3.1", "e4m3")
    3.1 into e4m3
      exact value  3.1
      below        3 (line 68, code 0x44 = 0 1000 100)
      above        3.25 (line 69, code 0x45 = 0 1000 101)
      midpoint     3.125
      discarded    v = 0.4 of the step; guard 0, round 1, sticky 1
      rule         nearest_even, away from zero if: v > 1/2, or v = 1/2 and s odd
                   v = 0.4, s even (line 68), x > 0: toward zero
      result       3 = code 0x44 = 0 1000 100
      error        -0.1 = 0.4 ulp
    >>> fp.explain(17, "e4m3").tie
    True
    >>> fp.explain([3.1, -0.2], "mxfp4")
    2 numbers into mxfp4: OCP MX v1.0 section 6.3, floor rule; inf and NaN make a NaN block (torchao main FLOOR)
      a         the block's amax = 3.1
      v         a = 3.1
      code      floor 2, to e8m0 = 126
      s         the code's value = 0.5
      y         x * (1 / s)
      value     q * s
         x     y  code     q  value
       3.1   6.2   0x7     6      3
      -0.2  -0.4   0x9  -0.5  -0.25
    """
    fmt = get(fmt)
    given = {"tensor_amax": tensor_amax, "scale": scale, "eps": eps, "amax_history": amax_history}
    if isinstance(fmt, BlockFormat):
        if random is not None:
            raise ValueError(f"random={random!r}: {fmt.name} is a block format; random bits are for element formats")
        options = recipe_rounding(fmt, rounding=rounding, overflow=overflow, nan=nan, subnormals=subnormals, via=via,
                                  profile=profile)  # fmt: skip
        return explain_block(x, fmt, Given(**given), **options)
    refuse_given(fmt, given)
    number, source = scalar(x)
    rules = rules_for(fmt, rounding, overflow, nan, subnormals, via, profile)
    mode = ROUNDINGS[rules.rounding]
    if mode.random_bits and random is None:
        raise ValueError(
            f"rounding={mode.name!r} has two outcomes; random=(R, N) chooses one by N random bits of value R"
        )
    bits = random or (0, 32)
    if not 0 <= bits[0] < 1 << bits[1]:
        raise ValueError(f"random={random!r}: R must lie in 0 .. 2**N - 1")
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
    nothing = {"below": None, "above": None, "midpoint": None, "discarded": None, "tie": False}
    return Explanation(
        x=str(x),
        format=fmt,
        rules=rules,
        exact=exact,
        via=start if rules.via is not None and start != exact else None,
        code=code,
        value=value,
        error=error,
        ulps=ulps,
        **{**nothing, "decision": "not asked", **steps, "events": events + steps["events"]},
    )
