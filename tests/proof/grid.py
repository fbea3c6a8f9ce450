"""Rounding to a format's line, said by z3's IEEE 754 conversions.

A `Grid` is an IEEE sort with the format's precision and so much room above that nothing overflows. An IEEE sort fixes
its own smallest exponent, so the number is first multiplied by the power of two that brings the format's to it, exactly,
in a sort wide enough. The conversion into the sort (`fp.to_fp`) then rounds, subnormals included, and the bits of its
magnitude *are* the line: exponent field and fraction together count the magnitudes from zero upwards.

z3 has five of the eight modes, and no sort with fewer than two fraction bits. The rest are made from a conversion toward
zero with two bits more and from whether that was exact, which together say on which side of the middle the number lies.
`test_lemmas` holds this second way against the first wherever there are both.
"""

from __future__ import annotations

import z3

from fpformats.format import Format

__all__ = ["BITS", "Grid"]

#: Width in which lines and codes are compared: more than any of them has.
BITS = 64


def _exponent_bits(lowest: int, highest: int) -> int:
    """The narrowest sort in which 2^lowest and 2^highest are normal numbers."""
    bits = 2
    while 2 - (1 << (bits - 1)) > lowest or (1 << (bits - 1)) - 1 < highest:
        bits += 1
    return bits


class Grid:
    """The lines of a format, and the sources of one width.

    Parameters
    ----------
    fmt : Format
    width : int
        Bits of a source, 32 or 64.
    """

    def __init__(self, fmt: Format, width: int) -> None:
        self.format, self.width = fmt, width
        self.source = z3.Float32() if width == 32 else z3.Float64()
        bias = (1 << (self.source.ebits() - 1)) - 1
        top = bias + 1  # where the largest sources may be rounded to
        self.room = 2
        while (1 << self.room) - 3 < top - fmt.emin:
            self.room += 1
        self.shift = 2 - (1 << (self.room - 1)) - fmt.emin
        lowest = 2 - bias - self.source.sbits()  # the smallest subnormal source
        reach = [end + shift for end in (lowest, top) for shift in (0, self.shift, -self.shift)]
        self.wide = z3.FPSort(_exponent_bits(min(reach), max(reach)), self.source.sbits())

    def sort(self, extra: int) -> z3.FPSortRef:
        """The format's grid with `extra` more fraction bits."""
        return z3.FPSort(self.room, self.format.mantissa_bits + 1 + extra)

    def _times_power(self, x: z3.FPRef, exponent: int) -> z3.FPRef:
        """x times 2^exponent by adding exponents, for an x of the wide sort that is zero or normal, as is the product."""
        bits, e, m = z3.fpToIEEEBV(x), self.wide.ebits(), self.wide.sbits() - 1
        moved = z3.Extract(m + e - 1, m, bits) + exponent
        return z3.If(z3.fpIsZero(x), x, z3.fpFP(z3.Extract(m + e, m + e, bits), moved, z3.Extract(m - 1, 0, bits)))

    def scaled(self, x: z3.BitVecRef) -> z3.FPRef:
        """A finite source times 2^shift, exact."""
        return self._times_power(z3.fpFPToFP(z3.RNE(), z3.fpBVToFP(x, self.source), self.wide), self.shift)

    def value(self, line: z3.BitVecRef) -> z3.BitVecRef:
        """The bits of the number at a line, as a source, where the source holds it as a normal number or zero.

        Normal numbers stand in the order of their bits in either format; subnormal ones are integers times a power of
        two. That is what z3's conversion out of the sort gives (`test_lemmas`), in a form that is quicker to reason with.
        """
        if not self.has_normal_values:
            return self.converted_value(line)
        m, fraction = self.format.mantissa_bits, self.source.sbits() - 1
        bias, sized = (1 << (self.source.ebits() - 1)) - 1, z3.Extract(self.width - 1, 0, line)
        normal = (sized << (fraction - m)) + ((self.format.emin + bias - 1) << fraction)
        small = z3.fpToIEEEBV(z3.fpUnsignedToFP(z3.RNE(), z3.Extract(m, 0, line), self.source))
        small = z3.If(line == 0, z3.BitVecVal(0, self.width), small + ((self.format.emin - m) << fraction))
        return z3.If(z3.ULT(line, 1 << m), small, normal)

    @property
    def has_normal_values(self) -> bool:
        """Whether no value is subnormal in the source."""
        return self.format.emin - self.format.mantissa_bits >= 2 - (1 << (self.source.ebits() - 1))

    def converted_value(self, line: z3.BitVecRef) -> z3.BitVecRef:
        """The bits of the number at a line by z3's conversion out of the sort, exact where the source holds it."""
        extra = max(0, 2 - self.format.mantissa_bits)
        sort = self.sort(extra)
        number = z3.fpBVToFP(z3.Extract(sort.ebits() + sort.sbits() - 1, 0, line << extra), sort)
        wide = self._times_power(z3.fpFPToFP(z3.RNE(), number, self.wide), -self.shift)
        return z3.fpToIEEEBV(z3.fpFPToFP(z3.RNE(), wide, self.source))

    def converted(self, scaled: z3.FPRef, mode: z3.FPRMRef, extra: int = 0) -> z3.BitVecRef:
        """z3's conversion, as the bits of the magnitude."""
        bits = z3.fpToIEEEBV(z3.fpFPToFP(mode, scaled, self.sort(extra)))
        return z3.ZeroExt(BITS - bits.size() + 1, z3.Extract(bits.size() - 2, 0, bits))

    @property
    def has_direct(self) -> bool:
        """Whether z3 has a sort with just these lines, odd where the codes are."""
        fmt = self.format
        return fmt.mantissa_bits >= 2 and fmt.subnormals and not fmt.min_line

    def direct(self, x: z3.BitVecRef, mode: str) -> z3.BitVecRef:
        """The line by z3's own roundings."""
        scaled = self.scaled(x)
        negative = z3.fpIsNegative(scaled)
        down = self.converted(scaled, z3.RTZ())
        up = z3.If(negative, self.converted(scaled, z3.RTN()), self.converted(scaled, z3.RTP()))
        match mode:
            case "nearest_even":
                return self.converted(scaled, z3.RNE())
            case "nearest_away":
                return self.converted(scaled, z3.RNA())
            case "toward_zero":
                return down
            case "toward_positive":
                return self.converted(scaled, z3.RTP())
            case "toward_negative":
                return self.converted(scaled, z3.RTN())
            case "away_from_zero":
                return up
            case "to_odd":
                return z3.If(down == up, down, down | 1)
            case "nearest_zero":
                # a tie is a source itself, so nearest-away of the source before x is below ties where x was on one
                size = x & ((1 << (self.width - 1)) - 1)
                before = self.converted(self.scaled(size - 1), z3.RNA())
                return z3.If(size == 0, z3.BitVecVal(0, BITS), before)
        raise ValueError(mode)

    def derived(self, x: z3.BitVecRef, mode: str) -> z3.BitVecRef:
        """The line by the definition of the mode: the line below x, and where in the step to the next one x lies."""
        fmt, scaled, extra = self.format, self.scaled(x), 2
        negative, magnitude = z3.fpIsNegative(scaled), z3.fpAbs(scaled)
        cut = self.converted(magnitude, z3.RTZ(), extra)
        more = cut != self.converted(magnitude, z3.RTP(), extra)
        unit = z3.BitVecVal(1 << extra, BITS)
        if not fmt.subnormals:  # one step from zero to 2^emin
            normal = 1 << (fmt.mantissa_bits + extra)
            unit = z3.If(z3.ULT(cut, normal), z3.BitVecVal(normal, BITS), unit)
        fraction = cut & (unit - 1)
        line, step = z3.LShR(cut - fraction, extra), z3.LShR(unit, extra)
        inexact = z3.Or(fraction != 0, more)
        tie = z3.And(fraction + fraction == unit, z3.Not(more))
        above = z3.And(z3.UGE(fraction + fraction, unit), z3.Not(tie))
        odd = (line - fmt.min_line) & 1 == 1
        away = {
            "nearest_even": z3.Or(above, z3.And(tie, odd)),
            "nearest_away": z3.Or(above, tie),
            "nearest_zero": above,
            "toward_zero": z3.BoolVal(False),
            "away_from_zero": inexact,
            "toward_positive": z3.And(inexact, z3.Not(negative)),
            "toward_negative": z3.And(inexact, negative),
            "to_odd": z3.And(inexact, z3.Not(odd)),
        }[mode]
        return z3.If(away, line + step, line)

    def line(self, x: z3.BitVecRef, mode: str) -> z3.BitVecRef:
        """The line that a finite source rounds to."""
        return self.direct(x, mode) if self.has_direct else self.derived(x, mode)
