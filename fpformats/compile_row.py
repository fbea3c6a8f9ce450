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

from .format import Format
from .kernels import rows as R
from .rounding import ROUNDINGS, Rules

__all__ = ["WIDTHS", "Width", "build_row", "fit", "plain_ends", "value_bits"]


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


def plain_ends(fmt: Format) -> bool:
    """Whether negative numbers are the mirrored positive ones."""
    return fmt.signed and not fmt.twos_complement


def fit(fmt: Format, width: Width) -> str | None:
    """How the target lies in a source: "narrow", "aligned", "powers", "general", or None when it does not."""
    m, field = fmt.mantissa_bits, fmt.emin + width.bias
    drop = width.mantissa - m
    if drop < 0 or field < 0 or fmt.maxexp > width.bias + 1 or fmt.bits > width.bits:
        return None
    whole = fmt.has_zero and fmt.subnormals and fmt.emax is None
    if field == 0:
        return "powers" if m == 0 and not fmt.has_zero and fmt.emax is None else None
    if whole and plain_ends(fmt) and field == 1:
        return "aligned" if fmt.negative_zero else "general"
    if field - m - 2 < 1:  # the smallest unit (and half of it) must be normal in the source
        return None
    # the pushing constant 1.5 * 2^(e + drop) must be finite, and the sum stay in its binade, also one beyond
    if whole and m >= 1 and drop >= 2 and fmt.maxexp + drop < width.bias:
        return "narrow"
    return "general"


StandIns = dict[str, tuple[int, int]]  # what -> (positive, negative) bits
Ends = dict[str, tuple[str, str]]  # "over", "inf" -> (positive, negative) what

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

# The share of a step that must be lost for a step up, of positive and negative numbers: "any" at all, at least
# "half", "more" than half, or a whole "step", which never is (to odd: on odd lines)
_SHARES = {
    "nearest_away": ("half", "half"),
    "nearest_zero": ("more", "more"),
    "toward_zero": ("step", "step"),
    "away_from_zero": ("any", "any"),
    "toward_positive": ("any", "step"),
    "toward_negative": ("step", "any"),
    "to_odd": ("any", "any"),
}

# How StochasticA, B, C use N random bits: (extra fraction bits, times, plus, nearest first)
_RANDOM = {"stochastic": (0, 1, 0, 0), "stochastic_b": (1, 2, 1, 0), "stochastic_c": (0, 1, 0, 1)}


def _line_bits(fmt: Format, line: int, width: Width) -> int:
    """The source's bits of the value at a line; infinity's beyond the source's last number."""
    drop, field = width.mantissa - fmt.mantissa_bits, fmt.emin + width.bias
    if (line >= 1 << fmt.mantissa_bits and field) or field == 1:
        return min((line << drop) + ((field - 1) << width.mantissa), width.inf)
    return value_bits(fmt.value_of_line(line), width)


def _last(fmt: Format, mode: str, width: Width) -> int:
    """The largest magnitude whose rounded line is at most `max_line`, in the source's bits."""
    inside, beyond = (_line_bits(fmt, fmt.max_line + i, width) for i in (0, 1))
    odd = (fmt.max_line - fmt.min_line) & 1
    middle, between = (inside + beyond) // 2, beyond - inside > 1  # no number between: none at the middle
    last = {
        "nearest_even": middle - (odd and between),
        "nearest_away": middle - between,
        "nearest_zero": middle,
        "to_odd": beyond - 1 if odd else inside,
    }.get(mode, inside)
    return min(last, width.inf - 1)


def _ends(fmt: Format, rules: Rules, mode: str) -> Ends:
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


def _stand_ins(fmt: Format, width: Width, *, codes: bool) -> StandIns:
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
    largest = _line_bits(fmt, fmt.max_line, width)
    lowest = _line_bits(fmt, fmt.max_line + fmt.twos_complement, width) | sign
    nan = width.inf | 1 << (width.mantissa - 1)
    one_nan = fmt.nan_at_sign or not fmt.signed
    return {
        "max": (largest, lowest),
        "inf": (width.inf, width.inf | sign),
        "nan": (nan, nan if one_nan else nan | sign),
    }


def build_row(
    fmt: Format,
    rules: Rules,
    width: Width,
    *,
    codes: bool,
    source: Format,
    kernel: str = "random",
    seeded: bool = False,
) -> NDArray[Any]:
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
    kernel : str
        A key of `rows.PREFIX`: what it does not read is left 0.
    seeded : bool
        Whether random words come whole, to be cut to N bits, or are N bits already.
    """
    row = [0] * R.SIZE
    size = R.PREFIX[kernel]
    stand_ins = _stand_ins(fmt, width, codes=codes)
    ends = _ends(fmt, rules, rules.rounding)
    _rounding_fields(row, fmt, rules, width)
    _end_fields(row, fmt, rules, width, stand_ins, ends, codes)
    if size > R.CLAMP:
        _code_fields(row, fmt, rules, width, ends)
    if size > R.SIGN_CODE:
        _mode_fields(row, fmt, rules, width, source)
    if kernel == "modes" and fit(fmt, width) == "narrow":
        row[R.CLAMP] = _power_bits(fmt.maxexp + 1, width)
    if size > R.UNITY:
        _random_fields(row, fmt, rules, width, seeded)
    if size > R.MAX_LINE_NEGATIVE:
        _general_fields(row, fmt, rules, width)
        if ROUNDINGS[rules.rounding].random_bits:  # more would leave the kernel's integers
            row[R.CLAMP] = _power_bits(fmt.maxexp + 1, width)
    everything = (1 << width.bits) - 1
    return np.array([value & everything for value in row[:size]], dtype=width.uint)


def _power_bits(exponent: int, width: Width) -> int:
    """The source's bits of a power of two that is normal there."""
    return min(max(exponent + width.bias, 0), 2 * width.bias + 1) << width.mantissa


def _rounding_fields(row: list[int], fmt: Format, rules: Rules, width: Width) -> None:
    m, drop = fmt.mantissa_bits, width.mantissa - fmt.mantissa_bits
    sign = 1 << (width.bits - 1)
    row[R.FIELD], row[R.DROP] = fmt.emin + width.bias, drop
    row[R.EMIN] = row[R.FIELD] << width.mantissa or 1 << (width.mantissa - 1)
    row[R.UP] = _power_bits(drop, width) | 1 << (width.mantissa - 1)  # 1.5 * 2^drop
    row[R.DOWN] = row[R.UP] | sign
    row[R.HALF] = (1 << (drop - 1)) - 1 if drop else 0
    row[R.KEEP] = ~((1 << drop) - 1)
    row[R.ONE_IF_DROP] = int(drop > 0)
    row[R.STEP] = _power_bits(-m, width)
    row[R.SPREAD], row[R.SPREAD_HALF] = 1 << width.mantissa, 1 << (width.mantissa - 1)


def _end_fields(
    row: list[int], fmt: Format, rules: Rules, width: Width, stand_ins: StandIns, ends: Ends, codes: bool
) -> None:
    """Overflow, infinity and NaN."""
    row[R.LAST] = _last(fmt, "nearest_even" if ROUNDINGS[rules.rounding].random_bits else rules.rounding, width)
    nan = stand_ins.get("nan", stand_ins["max"])
    smallest = 0 if codes or fmt.has_zero else value_bits(fmt.value_of_line(fmt.min_line), width)
    row[R.BELOW] = nan[0] if rules.negative_of(fmt.has_inf) == "nan" and fmt.has_nan else smallest
    row[R.ZERO_VALUE] = nan[0] if rules.zero == "nan" and fmt.has_nan else smallest
    row[R.LARGEST] = _line_bits(fmt, fmt.max_line, width)
    row[R.LARGEST_MORE] = _line_bits(fmt, fmt.max_line + fmt.twos_complement, width) - row[R.LARGEST]
    for name, where, flip in (("over", R.OVER, R.OVER_FLIP), ("inf", R.INF, R.INF_FLIP)):
        positive, negative = (stand_ins[end][i] for i, end in enumerate(ends[name]))
        row[where], row[flip] = positive, positive ^ (negative if fmt.signed else row[R.BELOW])
    sign = 1 << (width.bits - 1)
    row[R.NEGATIVE_KEEP], row[R.NEGATIVE_SET] = (~0, sign) if fmt.signed else (0, row[R.BELOW])
    row[R.ZERO_SIGN] = sign if fmt.has_negative_zero else 0
    row[R.OVER_UP] = stand_ins[ends["over"][rules.rounding == "toward_negative"]][0]
    row[R.NAN], row[R.NAN_FLIP] = nan[0], nan[0] ^ nan[1]


def _code_fields(row: list[int], fmt: Format, rules: Rules, width: Width, ends: Ends) -> None:
    """Lines, signs and codes."""
    m, drop, field = fmt.mantissa_bits, row[R.DROP], row[R.FIELD]
    # an overflow's code is max_code or the one after it
    row[R.CLAMP] = _line_bits(fmt, fmt.max_line + (ends["over"][0] != "max"), width)
    # the offset makes the low 16 bits of the sum the line itself
    row[R.MAGIC] = _power_bits(drop, width) + (-(field << m) & 0xFFFF if drop >= 17 - m else 0)
    row[R.SIGN_SHIFT], row[R.SIGN_CODE] = width.bits - fmt.bits, fmt.sign_bit
    row[R.LINE_MASK] = fmt.sign_bit - 1 if fmt.signed else (1 << fmt.bits) - 1
    row[R.SUBNORMAL] = 0 if field == 1 else 1 << m
    row[R.MAX_LINE] = fmt.max_line
    row[R.INF_LINE] = fmt.max_line if fmt.inf_code is None else fmt.inf_code
    row[R.SIGN_KEEP] = 0 if not fmt.signed and rules.negative_of(fmt.has_inf) == "abs" else 1 << (width.bits - 1)
    row[R.NAN_CODE] = fmt.sign_bit if fmt.nan_at_sign else ~0


def _mode_fields(row: list[int], fmt: Format, rules: Rules, width: Width, source: Format) -> None:
    """Any deterministic mode, and flushing."""
    mode = "nearest_even" if ROUNDINGS[rules.rounding].random_bits else rules.rounding
    sign = 1 << (width.bits - 1)
    # just under half a step: a tie is more, and nothing else in between exists
    row[R.TIE] = _power_bits(-fmt.mantissa_bits - 1, width) - 1
    shares = {"any": 0, "half": row[R.TIE], "more": row[R.TIE] + 1, "step": row[R.STEP]}
    positive, negative = (shares[share] for share in _SHARES.get(mode, ("step", "step")))
    row[R.SHARE], row[R.SHARE_FLIP] = positive, positive ^ negative
    row[R.SHARE_ODD] = row[R.STEP] * (mode == "to_odd")
    row[R.ODD_FLIP] = fmt.min_line & 1
    in_signed, mirrored, _ = MODES[mode]
    row[R.DOMAIN] = ~0 if in_signed else ~sign
    row[R.FLIP] = sign if mirrored else 0
    row[R.HALVE], always, if_negative, if_odd, row[R.PLUS], row[R.PLUS_ODD] = _ADDEND[mode]
    row[R.ALWAYS], row[R.IF_NEGATIVE], row[R.IF_ODD] = -always, -if_negative, -if_odd
    if rules.subnormals == "flush_inputs":
        row[R.FLUSH_IN] = _power_bits(source.emin, width)
    elif rules.subnormals == "flush_before_rounding" and fmt.has_zero:
        row[R.FLUSH_IN] = _line_bits(fmt, _normal_line(fmt), width)
    elif rules.subnormals == "flush_after_rounding":
        row[R.FLUSH_OUT] = _line_bits(fmt, _normal_line(fmt), width)


def _normal_line(fmt: Format) -> int:
    """The first line that is not subnormal; 0 in a format without exponents, where none is."""
    return 1 << fmt.mantissa_bits if fmt.exponent_bits else 0


def _random_fields(row: list[int], fmt: Format, rules: Rules, width: Width, seeded: bool) -> None:
    if not ROUNDINGS[rules.rounding].random_bits:
        return
    bits = rules.random_bits or 32
    row[R.UNITY] = (2 * width.bias + fmt.mantissa_bits) << width.mantissa
    row[R.WORD_SHIFT] = 32 - bits if seeded else 0
    row[R.WORD_LEFT] = 32 - bits
    row[R.WORD_DROP] = max(32 - row[R.DROP], 0)
    row[R.WORD_SPAN] = _power_bits(32, width)
    row[R.WORD_ONES] = ~0
    extra, row[R.WORD_TIMES], row[R.WORD_PLUS], row[R.WORD_NEAREST] = _RANDOM[rules.rounding]
    row[R.DEPTH] = bits + extra


def _general_fields(row: list[int], fmt: Format, rules: Rules, width: Width) -> None:
    row[R.MAX_LINE_NEGATIVE] = row[R.TWOS_COMPLEMENT] = int(fmt.twos_complement)
    row[R.MIN_LINE] = fmt.min_line
    row[R.GAP] = 0 if fmt.subnormals else fmt.mantissa_bits
    row[R.FLUSH_LINE] = _normal_line(fmt) if rules.subnormals == "flush_after_rounding" else 0
    row[R.ZERO_LINE] = fmt.max_line + 1 if rules.zero == "nan" and not fmt.has_zero else fmt.min_line
    if rules.quirk is not None:
        low, high, code = rules.quirk
        row[R.QUIRK_LOW], row[R.QUIRK_HIGH] = _power_bits(low, width), _power_bits(high, width)
        row[R.QUIRK_LINE] = code + fmt.min_line
    row[R.NEGATIVE_ZERO], row[R.UNSIGNED] = int(fmt.has_negative_zero), int(not fmt.signed)
    row[R.CODE_MASK] = (1 << fmt.bits) - 1
