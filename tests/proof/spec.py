"""What a whole cast is: round (`grid`), saturate, encode; and what a code stands for.

Overflow is an integer rule on the line, and the ends and signs are a `Format`'s codes. Nothing here is a kernel's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import z3

from fpformats.format import Format
from fpformats.rounding import Rules

from .grid import BITS, Grid

__all__ = ["Result", "cast", "decoded"]

#: Whether (positive, negative) overflows leave the finite numbers: IEEE 754-2019 clause 7.4, P3109 SatNone.
#: All others do, but for to_odd, which goes to the odd one of the two codes.
_OUTWARD = {"toward_zero": (False, False), "toward_positive": (True, False), "toward_negative": (False, True)}


class End(NamedTuple):
    """NaN, or else infinite, or else the finite magnitude at a line, whose bits as a source are `value`."""

    nan: z3.BoolRef
    infinite: z3.BoolRef
    line: z3.BitVecRef
    value: z3.BitVecRef


_NO, _YES = z3.BoolVal(False), z3.BoolVal(True)


def _either(condition: z3.BoolRef, a: End, b: End) -> End:
    """The choice between two ends."""
    return End(*(x if x.eq(y) else z3.If(condition, x, y) for x, y in zip(a, b, strict=True)))


@dataclass(frozen=True)
class Result:
    """An end with a sign, which is a code or a value."""

    grid: Grid
    negative: z3.BoolRef
    end: End

    def _either_sign(self, positive: int, sign: int, width: int) -> z3.BitVecRef:
        return z3.If(self.negative, z3.BitVecVal(positive | sign, width), z3.BitVecVal(positive, width))

    def _keeps_sign(self) -> z3.BoolRef:
        nonzero = self.end.line != 0
        return z3.And(self.negative, z3.BoolVal(True) if self.grid.format.has_negative_zero else nonzero)

    def code(self) -> z3.BitVecRef:
        """The code, in `BITS` bits."""
        fmt, line = self.grid.format, self.end.line
        if fmt.twos_complement:
            code = z3.If(self.negative, -line & ((1 << fmt.bits) - 1), line)
        else:
            code = line - fmt.min_line
            code = z3.If(self._keeps_sign(), code | fmt.sign_bit, code)
        if fmt.has_inf:
            code = z3.If(self.end.infinite, self._either_sign(fmt.inf_code, fmt.sign_bit, BITS), code)
        if fmt.has_nan:
            sign = 0 if fmt.nan_at_sign else fmt.sign_bit
            code = z3.If(self.end.nan, self._either_sign(fmt.nan_code, sign, BITS), code)
        return code

    def value(self) -> z3.BitVecRef:
        """The value as bits of a source: sign of zero and bits of NaN included."""
        fmt, source = self.grid.format, self.grid.source
        width, fraction = self.grid.width, source.sbits() - 1
        sign, infinity = 1 << (width - 1), ((1 << source.ebits()) - 1) << fraction
        value = z3.If(self._keeps_sign(), self.end.value | sign, self.end.value)
        value = z3.If(self.end.infinite, self._either_sign(infinity, sign, width), value)
        sign_of_nan = sign if fmt.signed and not fmt.nan_at_sign else 0
        return z3.If(self.end.nan, self._either_sign(infinity | 1 << (fraction - 1), sign_of_nan, width), value)


def cast(grid: Grid, x: z3.BitVecRef, rules: Rules, tiny: int) -> Result:
    """What becomes of the source with bits `x`.

    Parameters
    ----------
    grid : Grid
    x : BitVecRef
    rules : Rules
        Without `via` and NaN codes, with which kernels have nothing to do.
    tiny : int
        Exponent of the source's smallest normal number, for ``flush_inputs``.
    """
    fmt, mode = grid.format, rules.rounding
    if not fmt.signed and rules.negative == "abs":  # the sign goes first, so that directed modes round |x|
        x = x & ((1 << (x.size() - 1)) - 1)
    number = z3.fpBVToFP(x, grid.source)
    size, minus = z3.fpAbs(number), z3.Extract(x.size() - 1, x.size() - 1, x) == 1
    overflow = rules.overflow or ("nonfinite" if fmt.has_inf else "saturate")
    negative_rule = rules.negative or ("nan" if overflow == "nonfinite" else "clamp")
    below, negative = (_NO, minus) if fmt.signed else (_NO if negative_rule == "abs" else minus, _NO)

    def finite(line: int | z3.BitVecRef) -> End:
        line = z3.BitVecVal(line, BITS) if isinstance(line, int) else line
        return End(_NO, _NO, line, grid.value(line))

    def below_power(exponent: int) -> z3.BoolRef:
        return z3.fpLT(size, z3.FPVal(1, exponent, grid.source))

    least, largest = finite(fmt.min_line), finite(fmt.max_line)
    if fmt.twos_complement:
        largest = _either(negative, finite(fmt.max_line + 1), largest)
    not_a_number = largest._replace(nan=_YES)
    beyond = largest._replace(infinite=_YES) if fmt.has_inf else not_a_number if fmt.has_nan else largest
    under = not_a_number if negative_rule == "nan" and fmt.has_nan else least

    # round
    zero = z3.fpIsZero(number)
    if rules.subnormals == "flush_inputs":
        zero = below_power(tiny)
    elif rules.subnormals == "flush_before_rounding" and fmt.has_zero and fmt.exponent_bits:
        zero = below_power(fmt.emin)
    rounded = finite(grid.line(x, mode))
    rounded = _either(z3.Or(zero, z3.ULT(rounded.line, least.line)), least, rounded)
    if rules.subnormals == "flush_after_rounding" and fmt.has_zero and fmt.exponent_bits:
        rounded = _either(z3.ULT(rounded.line, 1 << fmt.mantissa_bits), least, rounded)
    if rules.quirk is not None:
        low, high, code = rules.quirk
        above_low = z3.fpGT(size, z3.FPVal(1, low, grid.source))
        rounded = _either(z3.And(above_low, below_power(high)), finite(code + fmt.min_line), rounded)

    # saturate
    over = largest
    if overflow == "nonfinite":
        outward = (not fmt.max_code & 1,) * 2 if mode == "to_odd" else _OUTWARD.get(mode, (True, True))
        over = _either(negative, *(beyond if out else largest for out in reversed(outward)))
    infinity = beyond if overflow == "nonfinite" or (overflow == "propagate" and fmt.has_inf) else largest
    if rules.inf == "nan" and fmt.has_nan:
        infinity = not_a_number
    result = _either(z3.UGT(rounded.line, largest.line), over, rounded)
    if fmt.has_zero:
        result = _either(z3.And(below, rounded.line != 0), under, result)
    else:
        result = _either(zero, not_a_number if rules.zero == "nan" else result, _either(below, under, result))
    result = _either(z3.fpIsInf(number), _either(below, under, infinity), result)
    return Result(grid, negative, _either(z3.fpIsNaN(number), not_a_number, result))


def decoded(grid: Grid, code: z3.BitVecRef) -> tuple[Result, z3.BoolRef]:
    """What a code of `BITS` bits stands for, and whether it stands for anything."""
    fmt: Format = grid.format
    negative = code & fmt.sign_bit != 0
    unsigned = code & ~fmt.sign_bit & ((1 << fmt.bits) - 1)
    line = unsigned + fmt.min_line
    last = z3.BitVecVal(fmt.max_line, BITS)
    if fmt.twos_complement:
        line = z3.If(negative, (1 << fmt.bits) - code, code)
        last = z3.If(negative, last + 1, last)
    finite = z3.ULE(line, last)
    infinite = unsigned == fmt.inf_code if fmt.has_inf else z3.BoolVal(False)
    nan = z3.UGT(line, fmt.top_line - fmt.nan_codes) if fmt.nan_codes else z3.BoolVal(False)
    if fmt.nan_at_sign:
        nan = z3.Or(nan, code == fmt.sign_bit)
    if not fmt.subnormals:
        line = z3.If(z3.ULT(line, 1 << fmt.mantissa_bits), z3.BitVecVal(0, BITS), line)
    return Result(grid, negative, End(nan, infinite, line, grid.value(line))), z3.Or(finite, infinite, nan)
