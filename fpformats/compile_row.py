"""From a format and rules to a kernel's row: the one place that knows both.

A row is built once for each (format, rules, width) and says where the target's numbers lie in the
source's bits, which constant performs the rounding, and what stands for overflow, infinity and NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .format import Format, pow2
from .kernels import rows as R
from .rounding import ROUNDINGS, Rules

__all__ = ["WIDTHS", "Width", "build_row", "fit", "value_bits"]


@dataclass(frozen=True)
class Width:
    """A source that kernels work on."""

    bits: int
    mantissa: int
    bias: int
    uint: Any
    float: Any
    format: str

    @property
    def inf(self) -> int:
        return (2 * self.bias + 1) << self.mantissa


WIDTHS = {
    32: Width(32, 23, 127, np.uint32, np.float32, "fp32"),
    64: Width(64, 52, 1023, np.uint64, np.float64, "fp64"),
}


def value_bits(value: Fraction | float, width: Width) -> int:
    """The bits of a value that the source can hold; infinity's for what is beyond it."""
    try:
        with np.errstate(over="ignore"):
            return int(width.float(float(value)).view(width.uint))
    except OverflowError:
        return width.inf


def _plain(fmt: Format) -> bool:
    """Signed, with a zero, subnormals and whole half-lines."""
    return fmt.signed and fmt.has_zero and fmt.subnormals and not fmt.twos_complement and fmt.emax is None


def fit(fmt: Format, width: Width) -> str | None:
    """How the target lies in a source: "narrow", "aligned", "general", or None when it does not."""
    m, field = fmt.mantissa_bits, fmt.emin + width.bias
    drop = width.mantissa - m
    if drop < 0 or field < 1 or fmt.maxexp > width.bias + 1 or fmt.bits > width.bits:
        return None
    if _plain(fmt) and field == 1:
        return "aligned" if fmt.negative_zero else "general"
    if field - m - 2 < 1:  # the smallest unit (and half of it) must be normal in the source
        return None
    # the pushing constant 1.5 * 2^(e + drop) must be finite, and the sum stay in its binade
    if _plain(fmt) and m >= 1 and drop >= 2 and fmt.maxexp + drop <= width.bias:
        return "narrow"
    return "general"


# What each mode adds to the dropped bits: (halve, always, if_negative, if_odd, plus, plus_odd);
# True stands for "all bits".
_ADDEND = {
    "nearest_even": (1, True, False, False, 0, 1),
    "nearest_away": (1, True, False, False, 1, 0),
    "nearest_zero": (1, True, False, False, 0, 0),
    "toward_zero": (0, False, False, False, 0, 0),
    "away_from_zero": (0, True, False, False, 0, 0),
    "toward_positive": (0, True, True, False, 0, 0),
    "toward_negative": (0, False, True, False, 0, 0),
    "to_odd": (0, True, False, True, 0, 0),
}

# The domain in which a mode is "up", and the kernel's kind: (signed, mirrored, kind of `modes`)
MODES = {
    "nearest_even": (False, False, 0),
    "nearest_away": (False, False, 2),
    "nearest_zero": (False, True, 2),
    "toward_zero": (False, True, 1),
    "away_from_zero": (False, False, 1),
    "toward_positive": (True, False, 1),
    "toward_negative": (True, True, 1),
    "to_odd": (False, False, 3),
}

# How StochasticA, B, C use N random bits: (extra fraction bits, times, plus, nearest first)
_RANDOM = {"stochastic": (0, 1, 0, 0), "stochastic_b": (1, 2, 1, 0), "stochastic_c": (0, 1, 0, 1)}


def _last(fmt: Format, mode: str, width: Width) -> int:
    """The largest magnitude whose rounded line is at most `max_line`, in the source's bits."""
    inside = fmt.value_of_line(fmt.max_line)
    beyond = fmt.value_of_line(fmt.max_line + 1)
    middle = (inside + beyond) / 2
    odd = (fmt.max_line - fmt.min_line) & 1
    edge, included = {
        "nearest_even": (middle, not odd),
        "nearest_away": (middle, False),
        "nearest_zero": (middle, True),
        "to_odd": (beyond, False) if odd else (inside, True),
    }.get(mode, (inside, True))
    bits = value_bits(edge, width)
    at = Fraction(float(width.uint(bits).view(width.float))) if bits < width.inf else edge + 1
    return bits if at < edge or (at == edge and included) else bits - 1


def _ends(fmt: Format, rules: Rules, mode: str) -> dict[str, tuple[str, str]]:
    """What stands for (positive, negative) overflow and infinity: "max", "inf" or "nan"."""
    rule = rules.overflow_of(fmt.has_inf)
    beyond = "inf" if fmt.has_inf else "nan" if fmt.has_nan else "max"
    outward = [ROUNDINGS[mode].overflows_outward(negative, bool(fmt.max_code & 1)) for negative in (False, True)]
    over = tuple(beyond if rule == "nonfinite" and out else "max" for out in outward)
    infinity = beyond if rule == "nonfinite" or (rule == "propagate" and fmt.has_inf) else "max"
    if rules.inf == "nan" and fmt.has_nan:
        infinity = "nan"
    return {"over": over, "inf": (infinity, infinity)}  # type: ignore[dict-item]


def simple_ends(fmt: Format, rules: Rules) -> bool:
    """Whether an infinity becomes what an overflow becomes, so that one comparison serves both."""
    ends = _ends(fmt, rules, rules.rounding)
    return ends["over"] == ends["inf"]


def adjacent_ends(fmt: Format, rules: Rules) -> bool:
    """Whether the overflow's code is `max_code` or the one after it."""
    over = _ends(fmt, rules, rules.rounding)["over"][0]
    after = fmt.max_code + 1
    return over == "max" or after == (fmt.inf_code if over == "inf" else fmt.nan_code)


def _stand_ins(fmt: Format, width: Width, *, codes: bool) -> dict[str, tuple[int, int]]:
    """The (positive, negative) bits of "max", "inf" and "nan", as codes or values."""
    sign = 1 << (width.bits - 1)
    if codes:
        largest_negative = fmt.sign_bit if fmt.twos_complement else fmt.max_code | fmt.sign_bit
        out = {"max": (fmt.max_code, largest_negative)}
        if fmt.has_inf:
            out["inf"] = (fmt.inf_code, fmt.inf_code | fmt.sign_bit)  # type: ignore[assignment, operator]
        if fmt.has_nan:
            nan = fmt.nan_code
            out["nan"] = (nan, nan if fmt.nan_at_sign else nan | fmt.sign_bit)  # type: ignore[assignment, operator]
        return out
    largest = value_bits(fmt.value_of_line(fmt.max_line), width)
    lowest = value_bits(fmt.value_of_line(fmt.max_line + fmt.twos_complement), width) | sign
    nan = value_bits(float("nan"), width) & ~sign
    one_nan = fmt.nan_at_sign or not fmt.signed
    return {"max": (largest, lowest), "inf": (width.inf, width.inf | sign), "nan": (nan, nan if one_nan else nan | sign)}


def build_row(fmt: Format, rules: Rules, width: Width, *, codes: bool, source: Format) -> NDArray[Any]:
    """The row for one target, one set of rules and one width of source.

    Parameters
    ----------
    fmt, rules
        What to do.
    width : Width
        The bits the kernel works on.
    codes : bool
        Whether the kernel's specials are codes or values.
    source : Format
        The type the numbers came in; only ``flush_inputs`` asks.
    """
    mode = rules.rounding
    random = ROUNDINGS[mode].random_bits
    steady = "nearest_even" if random else mode
    m, field = fmt.mantissa_bits, fmt.emin + width.bias
    drop = width.mantissa - m
    everything, sign = (1 << width.bits) - 1, 1 << (width.bits - 1)
    stand_ins = _stand_ins(fmt, width, codes=codes)
    ends = _ends(fmt, rules, mode)
    row = [0] * R.SIZE

    row[R.FIELD], row[R.DROP] = field, drop
    row[R.EMIN] = field << width.mantissa
    half_ulp = 2.0**-m * (0.5 - 2.0 ** -(width.mantissa + 2))
    row[R.UP], row[R.DOWN] = value_bits(1.5 * 2.0**drop, width), value_bits(-1.5 * 2.0**drop, width)
    row[R.STEP], row[R.TIE] = value_bits(2.0**-m, width), value_bits(half_ulp, width)
    in_signed, mirrored, _ = MODES[steady]
    row[R.DOMAIN] = everything if in_signed else everything ^ sign
    row[R.FLIP] = sign if mirrored else 0
    halve, always, if_negative, if_odd, plus, plus_odd = _ADDEND[steady]
    row[R.HALVE], row[R.PLUS], row[R.PLUS_ODD] = halve, plus, plus_odd
    for place, flag in ((R.ALWAYS, always), (R.IF_NEGATIVE, if_negative), (R.IF_ODD, if_odd)):
        row[place] = everything if flag else 0
    row[R.HALF] = (1 << (drop - 1)) - 1 if drop else 0
    row[R.KEEP] = everything ^ ((1 << drop) - 1)
    row[R.ONE_IF_DROP] = int(drop > 0)

    # ends
    row[R.LAST] = _last(fmt, steady, width)
    row[R.LARGEST] = stand_ins["max"][0] if not codes else value_bits(fmt.value_of_line(fmt.max_line), width)
    for name, where, flip in (("over", R.OVER, R.OVER_FLIP), ("inf", R.INF, R.INF_FLIP)):
        positive, negative = (stand_ins[end][i] for i, end in enumerate(ends[name]))
        row[where], row[flip] = positive, positive ^ negative
    row[R.OVER_UP] = stand_ins[ends["over"][mode == "toward_negative"]][0]
    positive, negative = stand_ins.get("nan", stand_ins["max"])
    row[R.NAN], row[R.NAN_FLIP] = positive, positive ^ negative
    normal = 1 << m if fmt.exponent_bits else 0
    normal_bits = value_bits(fmt.value_of_line(normal), width)
    if rules.subnormals == "flush_inputs":
        row[R.FLUSH_IN] = value_bits(pow2(source.emin), width) if source.emin + width.bias >= 1 else 0
    elif rules.subnormals == "flush_before_rounding" and fmt.has_zero:
        row[R.FLUSH_IN] = normal_bits
    elif rules.subnormals == "flush_after_rounding":
        row[R.FLUSH_OUT], row[R.FLUSH_LINE] = normal_bits, normal
    row[R.ZERO_BELOW] = max(row[R.FLUSH_IN] - 1, 0)

    # lines
    row[R.MAX_LINE], row[R.MAX_LINE_NEGATIVE] = fmt.max_line, int(fmt.twos_complement)
    row[R.MIN_LINE], row[R.ODD_FLIP] = fmt.min_line, fmt.min_line & 1
    row[R.GAP] = 0 if fmt.subnormals else m
    row[R.SUBNORMAL] = 0 if field == 1 else 1 << m
    row[R.ZERO_LINE] = fmt.max_line + 1 if rules.zero == "nan" and not fmt.has_zero else fmt.min_line
    if rules.quirk is not None:
        low, high, code = rules.quirk
        row[R.QUIRK_LOW], row[R.QUIRK_HIGH] = value_bits(pow2(low), width), value_bits(pow2(high), width)
        row[R.QUIRK_LINE] = code + fmt.min_line
    # sign and code
    row[R.SIGN_CODE] = fmt.sign_bit
    row[R.SIGN_SHIFT] = width.bits - fmt.bits
    row[R.SIGN_KEEP] = 0 if not fmt.signed and rules.negative_of(fmt.has_inf) == "abs" else sign
    row[R.NEGATIVE_ZERO] = int(fmt.has_negative_zero)
    row[R.UNSIGNED] = int(not fmt.signed)
    row[R.TWOS_COMPLEMENT] = int(fmt.twos_complement)
    row[R.CODE_MASK] = (1 << fmt.bits) - 1
    smallest = 0 if codes else value_bits(fmt.value_of_line(fmt.min_line), width)
    row[R.BELOW] = row[R.NAN] if rules.negative_of(fmt.has_inf) == "nan" and fmt.has_nan else smallest
    # encode: overflow is the line max_line or max_line + 1
    clamped = fmt.max_line + (ends["over"][0] != "max")
    row[R.CLAMP] = value_bits(fmt.value_of_line(clamped), width)
    row[R.MAGIC] = value_bits(2.0**drop, width) + (-(field << m) & 0xFFFF if drop >= 17 - m else 0)
    row[R.LINE_MASK] = fmt.sign_bit - 1 if fmt.signed else (1 << fmt.bits) - 1
    row[R.INF_LINE] = fmt.inf_code if fmt.has_inf else fmt.max_line  # type: ignore[call-overload]
    row[R.NAN_CODE] = fmt.sign_bit if fmt.nan_at_sign else everything
    if random:
        bits = rules.random_bits or 32
        extra, times, plus, nearest = _RANDOM[mode]
        row[R.DEPTH], row[R.WORD_SHIFT] = bits + extra, 0
        row[R.WORD_TIMES], row[R.WORD_PLUS], row[R.WORD_NEAREST] = times, plus, nearest
        row[R.CLAMP] = value_bits(pow2(fmt.maxexp + 1), width)
    return np.array([value & everything for value in row], dtype=width.uint)
