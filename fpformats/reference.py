"""The definition: one number at a time, in integers and `Fraction`, slow and meant to be read.

Nothing here is shared with the kernels but the rows (`Format`, `Rules`). If this file and a kernel
disagree, the kernel is wrong.

    code = encode(saturate(round(x)))          (P3109's Project)

`round` finds the exact line and the discarded fraction v, `saturate` looks at lines beyond the last
finite one, `encode` puts the sign back.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from .format import Format, pow2
from .registry import get_element as get
from .rounding import Rules
from .rounding import rounding as rounding_row

__all__ = ["Number", "decode", "encode", "exact", "floor_log2", "line_and_fraction"]

#: A finite number is (negative, magnitude); the rest are these names.
Number = tuple[bool, Fraction | str]


def floor_log2(x: Fraction) -> int:
    """Exact floor(log2(x)) of a positive rational.

    >>> floor_log2(Fraction(2**60 - 1)), floor_log2(Fraction(1, 3))
    (59, -2)
    """
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if x >= pow2(e) else e - 1


def exact(x: object) -> Number:
    """Any scalar as (negative, exact magnitude), or (negative, "inf" | "nan").

    Strings are decimal literals, read without rounding.

    >>> exact("-0.1")
    (True, Fraction(1, 10))
    """
    if isinstance(x, str):
        text = x.strip()
        try:
            x = Decimal(text)
        except ArithmeticError:
            try:
                x = float.fromhex(text) if "0x" in text.lower() else Fraction(text)
            except (ValueError, ZeroDivisionError, OverflowError):
                raise ValueError(f"{text!r} is not a decimal, rational or hexadecimal number") from None
    if isinstance(x, Decimal):
        if not x.is_finite():
            return x.is_signed(), "nan" if x.is_nan() else "inf"
        return x.is_signed(), abs(Fraction(x))
    if isinstance(x, (int, Fraction)):
        return x < 0, abs(Fraction(x))
    x = float(x)  # type: ignore[arg-type]
    negative = math.copysign(1.0, x) < 0
    if math.isfinite(x):
        return negative, abs(Fraction(x))
    return negative, "nan" if math.isnan(x) else "inf"


def decode(code: int, fmt: str | Format, /) -> Fraction | float:
    """The value of a code: a `Fraction`; inf, nan and -0.0 as floats.

    >>> decode(0x7E, "e4m3"), decode(0x80, "e4m3")
    (Fraction(448, 1), -0.0)
    """
    fmt = get(fmt)
    code = int(code)
    if not 0 <= code < 1 << fmt.bits:
        raise ValueError(f"code {code:#x} is outside {fmt.name}'s {fmt.bits} bits")
    if fmt.nan_at_sign and code == fmt.sign_bit:
        return math.nan
    negative = bool(code & fmt.sign_bit)
    if fmt.twos_complement:
        line = (1 << fmt.bits) - code if negative else code
    else:
        line = (code & ~fmt.sign_bit) + fmt.min_line
    if line > fmt.max_line + (negative and fmt.twos_complement):
        if fmt.top_line - line < (fmt.nan_codes or 0):
            return math.nan
        if fmt.has_inf and line - fmt.min_line == fmt.inf_code:
            return -math.inf if negative else math.inf
        raise ValueError(f"code {code:#x} of {fmt.name} stands for no value")
    if not fmt.subnormals and line < 1 << fmt.mantissa_bits:
        line = 0  # fields of a subnormal in a format that has none: zero
    value = fmt.value_of_line(line)
    if negative:
        return -value if value else -0.0
    return value


def line_and_fraction(x: Fraction, fmt: Format) -> tuple[int, Fraction, int]:
    """Where a magnitude falls: the line at or below it, the discarded fraction v, the step up.

    The step is 1 but for the gap around zero of a format without subnormals.
    """
    m = fmt.mantissa_bits
    if x < pow2(fmt.emin) and not fmt.subnormals:
        return 0, x / pow2(fmt.emin), 1 << m
    if not x:
        return 0, Fraction(0), 1
    e = max(floor_log2(x), fmt.emin)
    scaled = x / pow2(e - m)
    s = scaled.numerator // scaled.denominator
    return ((e - fmt.emin) << m) + s, scaled - s, 1


def _away(mode: str, negative: bool, odd: bool, v: Fraction, bits: tuple[int, int]) -> bool:
    """Whether to take the upper of the two lines."""
    half = Fraction(1, 2)
    r, n = bits
    match mode:
        case "nearest_even":
            return v > half or (v == half and odd)
        case "nearest_away":
            return v >= half
        case "nearest_zero":
            return v > half
        case "toward_zero":
            return False
        case "away_from_zero":
            return v > 0
        case "toward_positive":
            return v > 0 and not negative
        case "toward_negative":
            return v > 0 and negative
        case "to_odd":
            return v > 0 and not odd
        case "stochastic":
            return math.floor(v * 2**n) + r >= 2**n
        case "stochastic_b":
            return math.floor(v * 2 ** (n + 1)) + 2 * r + 1 >= 2 ** (n + 1)
        case "stochastic_c":
            return round(v * 2**n) + r >= 2**n  # Fraction.__round__ is half-even
    raise ValueError(f"no such rounding: {mode!r}")


def _nan(fmt: Format, rules: Rules, negative: bool, payload: int = 0) -> int:
    if rules.nan_codes is not None:
        code = rules.nan_codes[negative]
        if width := rules.nan_payload_bits:
            kept = payload >> (52 - width)
            code |= kept
            if not kept and code & ~fmt.sign_bit == fmt.inf_code:
                code |= 1
        return code
    if fmt.nan_code is not None:
        return fmt.nan_code | (0 if fmt.nan_at_sign else fmt.sign_bit * negative)
    if rules.nan == "raise":
        raise ValueError(f"NaN has no code in {fmt.name}; nan='max' or nan='zero' would choose one")
    return fmt.max_code if rules.nan == "max" else 0


def _nonfinite(fmt: Format, rules: Rules, negative: bool) -> int:
    """Infinity, else NaN, else the largest finite value."""
    if fmt.has_inf and (fmt.signed or not negative):
        return fmt.inf_code | fmt.sign_bit * negative  # type: ignore[operator]
    if fmt.has_nan:
        return _nan(fmt, rules, negative)
    return _largest(fmt, negative)


def _largest(fmt: Format, negative: bool) -> int:
    if fmt.twos_complement and negative:
        return fmt.sign_bit
    return fmt.max_code | fmt.sign_bit * negative


def encode(
    x: object,
    fmt: str | Format,
    /,
    rules: Rules = Rules(),
    *,
    random: tuple[int, int] = (0, 32),
    source: str | Format | None = None,
    payload: int = 0,
) -> int:
    """The code that `x` becomes: the definition of every cast in this package.

    Parameters
    ----------
    x : int, float, Fraction, Decimal or str
        One number, taken exactly.
    fmt : str or Format
        Target format.
    rules : Rules
        Rounding, overflow and the rest.
    random : (int, int)
        R and N of the stochastic modes: N random bits with the value R.
    source : str or Format, optional
        The type `x` came in, which only ``subnormals="flush_inputs"`` asks for.
    payload : int
        Mantissa bits of a NaN as a binary64, which only NaN-keeping profiles ask for.

    Returns
    -------
    int

    Examples
    --------
    >>> hex(encode(449, "e4m3")), hex(encode("1e9", "e5m2"))
    ('0x7e', '0x7c')
    """
    fmt = get(fmt)
    rounding_row(rules.rounding)  # an unknown name ends here
    overflow = rules.overflow_of(fmt.has_inf)
    negative, magnitude = exact(x)
    if rules.subnormals == "flush_inputs" and source is not None and magnitude not in ("nan", "inf"):
        if magnitude < pow2(get(source).emin):  # type: ignore[operator]
            magnitude = Fraction(0)
    if rules.via is not None:
        via = get(rules.via)
        middle = decode(encode(_number(negative, magnitude), via, rules.first), via)
        if magnitude != "nan":
            negative, magnitude = exact(middle)
    if magnitude == "nan":
        return _nan(fmt, rules, negative, payload)
    if magnitude == "inf":
        if negative and not fmt.signed:
            if rules.negative_of(fmt.has_inf) != "abs":
                return _below(fmt, rules)
            negative = False
        if rules.inf == "nan":
            return _nan(fmt, rules, negative)
        if overflow == "saturate" or (overflow == "propagate" and not fmt.has_inf):
            return _largest(fmt, negative)
        return _nonfinite(fmt, rules, negative)
    assert isinstance(magnitude, Fraction)
    return _finite(negative, magnitude, fmt, rules, overflow, random)


def _number(negative: bool, magnitude: Fraction | str) -> float | Fraction:
    """The inverse of `exact`."""
    if isinstance(magnitude, Fraction):
        return -magnitude if negative and magnitude else (-0.0 if negative else magnitude)
    return math.copysign(math.nan if magnitude == "nan" else math.inf, -1.0 if negative else 1.0)


def _below(fmt: Format, rules: Rules) -> int:
    """A number below an unsigned format."""
    if rules.negative_of(fmt.has_inf) == "nan" and fmt.has_nan:
        return _nan(fmt, rules, True)
    return 0


def _finite(negative: bool, x: Fraction, fmt: Format, rules: Rules, overflow: str, random: tuple[int, int]) -> int:
    mode = rounding_row(rules.rounding)
    if negative and not fmt.signed and rules.negative_of(fmt.has_inf) == "abs":
        negative = False
    normal = 1 << fmt.mantissa_bits if fmt.exponent_bits else 0
    tiny = x < fmt.value_of_line(normal)
    if rules.subnormals == "flush_before_rounding" and tiny and fmt.has_zero:
        x = Fraction(0)
    if not x and not fmt.has_zero:
        return _nan(fmt, rules, negative) if rules.zero == "nan" else 0
    # round
    line, v, step = line_and_fraction(x, fmt)
    if line < fmt.min_line:
        line, v = fmt.min_line, Fraction(0)
    odd = bool((line - fmt.min_line) & 1)
    if _away(mode.name, negative, odd, v, random):
        line += step
    if rules.subnormals == "flush_after_rounding" and line < normal:
        line = 0
    if rules.quirk is not None:
        low, high, code = rules.quirk
        if pow2(low) < x < pow2(high):
            line = code + fmt.min_line
    # saturate
    if negative and not fmt.signed and (line or not fmt.has_zero):
        return _below(fmt, rules)
    if line > fmt.max_line + (fmt.twos_complement and negative):
        inward = not mode.overflows_outward(negative, bool(fmt.max_code & 1))
        if overflow != "nonfinite" or inward:
            return _largest(fmt, negative)
        return _nonfinite(fmt, rules, negative)
    # encode
    if fmt.twos_complement:
        return -line & ((1 << fmt.bits) - 1) if negative else line
    if not line and not fmt.has_negative_zero:
        return 0
    return (line - fmt.min_line) | (fmt.sign_bit * negative)
