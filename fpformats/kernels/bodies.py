"""The arithmetic of one number, once.

Rules of this file

1. Plain expressions over a small vocabulary (`Words`): unsigned integers with `+ - & | ^`
   and shifts, comparisons, a choice, minimum and maximum, and bit casts. Where a float is added,
   it is one IEEE addition to nearest-even (the product beside it is by a power of two, hence exact).
2. No branch, no table, no logarithm, no loop: what runs on a number runs on an array, in machine
   code, and in a solver.
3. `x` is always the source's bits, `r` the row (`rows` names its fields). Every result is bits again.

Four ways to round, by how the target lies in the source:

narrow    the target's exponents fit well inside the source's. Adding 1.5 * 2^(e + drop) to x pushes
          the dropped bits out of the significand, so the adder rounds them, subnormals included;
          subtracting it again leaves the rounded number. Other modes than nearest-even compare the
          result with x and move it by one unit.
          Formats whose ends differ with the sign (unsigned, two's complement) or that have no -0
          round the magnitude; modes are then a share of the step above which they go up.
aligned   the target has the source's exponents (bf16, tf32): the line is the source's bits, shifted.
powers    the target is the source's powers of two and no zero (E8M0): the same, with a binade more.
general   any other: the source's bits, less the exponents below the target's, are the line times
          2^shift, where the shift grows below the smallest normal number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import rows as R

__all__ = ["Words", "bodies"]

Word = Any  # a number in the instantiation's own type


@dataclass(frozen=True)
class Words:
    """The vocabulary, for one width of the source."""

    mantissa: int
    exponent: int
    #: an unsigned integer of the source's width
    uint: Callable[[Word], Word]
    #: an integer constant
    const: Callable[[int], Word]
    #: keeps a float operation in the source's width
    float: Callable[[Word], Word]
    #: bits as a float, and back
    to_float: Callable[[Word], Word]
    to_bits: Callable[[Word], Word]
    #: a float's integer part as an integer of the same width, and back (both exact where used)
    to_int: Callable[[Word], Word]
    from_int: Callable[[Word], Word]
    where: Callable[[Word, Word, Word], Word]
    minimum: Callable[[Word, Word], Word]
    maximum: Callable[[Word, Word], Word]
    #: makes a body callable from another one
    function: Callable[[Callable[..., Word]], Callable[..., Word]]


def bodies(words: Words) -> dict[str, tuple[Callable[..., Word], ...]]:
    """Every kernel's bodies, by the kernel's name; a kernel chooses among them by its `kind`."""
    u, fl, flt, bits, where = words.uint, words.float, words.to_float, words.to_bits, words.where
    lesser, greater, function = words.minimum, words.maximum, words.function
    to_int, from_int = words.to_int, words.from_int
    width = 1 + words.exponent + words.mantissa
    ZERO, ONE = words.const(0), words.const(1)
    MANT = words.const(words.mantissa)
    TOP = words.const(width - 1)  # the sign's place; as a mask, it keeps shift counts in range
    FAR = words.const(words.mantissa + 2)  # shifted that far, only "more than nothing" is left
    SIGN = words.const(1 << (width - 1))
    ABS = words.const((1 << (width - 1)) - 1)
    INF_BITS = words.const(((1 << words.exponent) - 1) << words.mantissa)

    # --- pieces ---------------------------------------------------------------------------
    @function
    def signed(y, x):
        """The magnitude y with the sign of x."""
        return u(u(y & ABS) | u(x & SIGN))

    @function
    def leading(x, r):
        """The power of two at or below |x|, at least 2^emin, as a float."""
        return flt(greater(u(x & INF_BITS), r[R.EMIN]))

    @function
    def pushed(f, e, r):
        """f with the bits to drop pushed out."""
        return fl(f + fl(e * flt(r[R.UP])))

    @function
    def pulled(t, e, r):
        """The way back."""
        return fl(t + fl(e * flt(r[R.DOWN])))

    @function
    def specials(y, x, r):
        """Infinities and NaN by their rows."""
        a = u(x & ABS)
        return where(a > INF_BITS, r[R.NAN], where(a == INF_BITS, r[R.INF], y))

    @function
    def addend(mask, odd, minus, r):
        """What to add to the bits under `mask` before they are cut off; `minus` is all ones for x < 0."""
        chosen = u(u(r[R.ALWAYS] ^ u(minus & r[R.IF_NEGATIVE])) ^ u(u(ZERO - odd) & r[R.IF_ODD]))
        return u(u(u(mask >> u(r[R.HALVE] & TOP)) & chosen) + u(u(r[R.PLUS] + u(odd & r[R.PLUS_ODD])) & mask))

    @function
    def value_of_line(line, r):
        """The float that stands at a line. Subnormals: 2^emin (1 + line / 2^M) - 2^emin, exact."""
        y = u(u(line << u(r[R.DROP] & TOP)) + u(u(r[R.FIELD] - ONE) << MANT))
        small = bits(fl(flt(u(y + u(ONE << MANT))) - flt(r[R.EMIN])))
        return where(line < r[R.SUBNORMAL], small, y)

    # --- narrow ---------------------------------------------------------------------------
    @function
    def nearest_finite_result(x, r):
        """Nearest-even, where it is finite and not -0."""
        e = leading(x, r)
        return bits(pulled(pushed(flt(x), e, r), e, r))

    @function
    def nearest_but_sign(x, r):
        """The same with overflow; what it makes of NaN is not NaN's code."""
        return where(u(x & ABS) > r[R.LAST], r[R.OVER], nearest_finite_result(x, r))

    @function
    def nearest(x, r):
        """Nearest-even."""
        y = where(u(x & ABS) > INF_BITS, r[R.NAN], nearest_but_sign(x, r))
        return u(y | u(x & SIGN))

    @function
    def nearest_no_negative_zero(x, r):
        """Nearest-even into a format without -0, whose NaN has no sign: x + c - c is never -0."""
        a = u(x & ABS)
        y = where(a > r[R.LAST], u(r[R.OVER] | u(x & r[R.OVER_FLIP])), nearest_finite_result(x, r))
        return where(a > INF_BITS, r[R.NAN], y)

    @function
    def nearest_finite(x, r):
        """Nearest-even into a format without NaN; the caller looks for NaN among the x."""
        return u(nearest_but_sign(x, r) | u(x & SIGN))

    @function
    def nearest_flushed(x, r):
        """Nearest-even with its own rule for infinity, and flush to zero."""
        y = u(nearest_but_sign(x, r) & ABS)
        y = where(y < r[R.FLUSH_OUT], ZERO, y)
        y = where(u(x & ABS) < r[R.FLUSH_IN], ZERO, y)
        return signed(specials(y, x, r), x)

    @function
    def directed(x, r):
        """Up, in the domain where the mode is "up": signed numbers, mirrored ones, or magnitudes."""
        f = flt(u(u(x & r[R.DOMAIN]) ^ r[R.FLIP]))
        lowest = flt(u(r[R.LARGEST] | SIGN))
        f = where(f < lowest, lowest, f)
        e = leading(bits(f), r)
        y = pulled(pushed(f, e, r), e, r)
        y = bits(where(y < f, fl(y + fl(e * flt(r[R.STEP]))), y))
        y = where(f > flt(r[R.LARGEST]), r[R.OVER_UP], y)
        return signed(specials(y, x, r), x)

    @function
    def tied(x, r):
        """Nearest, where a tie that went down in the domain goes up."""
        e = leading(x, r)
        f = flt(u(u(x & r[R.DOMAIN]) ^ r[R.FLIP]))
        y = pulled(pushed(f, e, r), e, r)
        y = bits(where(fl(f - y) > fl(e * flt(r[R.TIE])), fl(y + fl(e * flt(r[R.STEP]))), y))
        y = where(u(x & ABS) > r[R.LAST], r[R.OVER], y)
        return signed(specials(y, x, r), x)

    @function
    def odd(x, r):
        """To odd: the line below, its last bit set when anything was lost."""
        e = leading(x, r)
        f = flt(u(x & ABS))
        t = pushed(f, e, r)
        y = pulled(t, e, r)
        line = u(bits(t) - where(y > f, ONE, ZERO))
        line = u(line | where(y == f, ZERO, ONE))
        y = bits(pulled(flt(line), e, r))
        y = where(u(x & ABS) > r[R.LAST], r[R.OVER], y)
        return signed(specials(y, x, r), x)

    # --- narrow, whatever the format does at its ends -----------------------------------------
    @function
    def ended(y, x, minus, r):
        """The magnitude y with its sign; what stands beyond the ends may differ with the sign."""
        a = u(x & ABS)
        out = u(u(y & u(r[R.NEGATIVE_KEEP] | u(minus ^ u(ZERO - ONE)))) | u(minus & r[R.NEGATIVE_SET]))
        out = where(y == ZERO, u(minus & r[R.ZERO_SIGN]), out)
        last = u(r[R.LARGEST] + u(minus & r[R.LARGEST_MORE]))
        out = where(y > last, u(r[R.OVER] ^ u(minus & r[R.OVER_FLIP])), out)
        out = where(a == INF_BITS, u(r[R.INF] ^ u(minus & r[R.INF_FLIP])), out)
        return where(a > INF_BITS, u(r[R.NAN] ^ u(minus & r[R.NAN_FLIP])), out)

    @function
    def negative(x, r):
        """All ones for x < 0, unless the sign does not count."""
        return u(ZERO - u(u(x & r[R.SIGN_KEEP]) >> TOP))

    @function
    def flushed(y, x, r):
        """Zero for small results, and for small sources."""
        y = where(y < r[R.FLUSH_OUT], ZERO, y)
        return where(u(x & ABS) < r[R.FLUSH_IN], ZERO, y)

    @function
    def nearest_ended(x, r):
        """Nearest-even."""
        y = nearest_finite_result(lesser(u(x & ABS), r[R.CLAMP]), r)
        return ended(flushed(y, x, r), x, negative(x, r), r)

    @function
    def threshold_ended(x, r):
        """Down, and up again where more than a share of the step, fixed for each sign or on odd lines, was lost."""
        b = lesser(u(x & ABS), r[R.CLAMP])
        minus = negative(x, r)
        f, e = flt(b), leading(b, r)
        step = fl(e * flt(r[R.STEP]))
        t = pushed(f, e, r)
        y = pulled(t, e, r)
        odd = u(u(bits(t) ^ where(y > f, ONE, ZERO)) & ONE)
        y = where(y > f, fl(y - step), y)
        share = u(u(r[R.SHARE] ^ u(minus & r[R.SHARE_FLIP])) | u(u(ZERO - odd) & r[R.SHARE_ODD]))
        share = fl(e * flt(share))
        y = bits(where(fl(f - y) > share, fl(y + step), y))
        return ended(flushed(y, x, r), x, minus, r)

    @function
    def nearest_unsigned(x, r):
        """Nearest-even into an unsigned format, an infinity as an overflow."""
        a = u(x & ABS)
        y = where(a > r[R.LAST], r[R.OVER], nearest_finite_result(a, r))
        y = where(u(y & negative(x, r)) == ZERO, y, r[R.BELOW])
        return where(a > INF_BITS, r[R.NAN], y)

    @function
    def nearest_twos_complement(x, r):
        """Nearest-even into two's complement, which is all finite: x + c - c is never -0."""
        b = lesser(u(x & ABS), u(r[R.LARGEST] + u(u(x >> TOP) * r[R.LARGEST_MORE])))
        return nearest_finite_result(u(b | u(x & SIGN)), r)

    # --- aligned --------------------------------------------------------------------------
    @function
    def aligned(x, r):
        """Nearest-even: add one less than half, and one more on an odd line."""
        a = u(x & ABS)
        y = u(u(u(a + r[R.HALF]) + u(u(a >> u(r[R.DROP] & TOP)) & r[R.ONE_IF_DROP])) & r[R.KEEP])
        y = where(a > r[R.LAST], r[R.OVER], y)
        return u(where(a > INF_BITS, r[R.NAN], y) | u(x & SIGN))

    @function
    def aligned_any(x, r):
        """Any mode."""
        a = u(x & ABS)
        minus = u(ZERO - u(x >> TOP))
        lsb = u(u(a >> u(r[R.DROP] & TOP)) & ONE)
        y = u(u(a + addend(u(r[R.KEEP] ^ u(ZERO - ONE)), lsb, minus, r)) & r[R.KEEP])
        y = where(y < r[R.FLUSH_OUT], ZERO, y)
        y = where(a < r[R.FLUSH_IN], ZERO, y)
        y = where(y > r[R.LARGEST], u(r[R.OVER] ^ u(minus & r[R.OVER_FLIP])), y)
        return signed(specials(y, x, r), x)

    # --- powers of two, one more than the source has normal ones ------------------------------
    @function
    def powers(x, r):
        """Any mode. Above the subnormals the bits less one binade's are the logarithm; doubled, also below."""
        a = u(x & ABS)
        minus = negative(x, r)
        w = spread(a, r)
        lsb = u(u(u(w >> u(r[R.DROP] & TOP)) ^ r[R.ODD_FLIP]) & ONE)
        w = u(u(w + addend(u(r[R.KEEP] ^ u(ZERO - ONE)), lsb, minus, r)) & r[R.KEEP])
        w = greater(w, r[R.SPREAD])
        y = ended(greater(u(w >> ONE), u(w - r[R.SPREAD])), x, minus, r)
        return where(a == ZERO, r[R.ZERO_VALUE], y)

    @function
    def spread(a, r):
        return lesser(u(a + a), u(a + r[R.SPREAD]))

    @function
    def nearest_spread(a, r):
        """Nearest-even, of magnitudes that are spread."""
        w = spread(a, r)
        odd = u(u(w >> u(r[R.DROP] & TOP)) & ONE)
        return greater(u(u(w + r[R.SPREAD_HALF]) - odd), r[R.SPREAD])

    @function
    def nearest_power(x, r):
        """Nearest-even, an infinity as an overflow."""
        a = u(x & ABS)
        w = u(nearest_spread(a, r) & r[R.KEEP])
        y = where(a > r[R.LAST], r[R.OVER], greater(u(w >> ONE), u(w - r[R.SPREAD])))
        y = where(negative(x, r) == ZERO, y, r[R.BELOW])
        return where(a > INF_BITS, r[R.NAN], where(a == ZERO, r[R.ZERO_VALUE], y))

    # --- general --------------------------------------------------------------------------
    @function
    def place(a, r):
        """(significand, shift, hole): significand / 2^shift / 2^hole is the line, with its fraction."""
        e = u(a >> MANT)
        g = greater(lesser(e, r[R.FIELD]), ONE)
        w = u(a - u(u(g - ONE) << MANT))
        hole = where(e < r[R.FIELD], r[R.GAP], ZERO)
        return w, u(u(u(r[R.DROP] + r[R.FIELD]) - g) + hole), hole

    @function
    def rounded_line(a, minus, r):
        """The line that a magnitude rounds to."""
        w, shift, hole = place(a, r)
        shift = u(lesser(shift, FAR) & TOP)
        mask = u(u(ONE << shift) - ONE)
        lsb = where(hole == ZERO, u(u(u(w >> shift) ^ r[R.ODD_FLIP]) & ONE), ZERO)
        w = u(w + addend(mask, lsb, minus, r))
        return u(u(w >> shift) << u(hole & TOP))

    @function
    def random_line(a, word, r):
        """P3109's StochasticA, B or C: `depth` bits of the fraction meet random ones."""
        w, shift, hole = place(a, r)
        depth = r[R.DEPTH]
        # where fewer than `depth` bits are dropped, zeros are appended
        more = where(shift < depth, u(depth - shift), ZERO)
        cut = u(lesser(where(shift < depth, ZERO, u(shift - depth)), TOP) & TOP)
        mask = u(u(u(ONE << cut) - ONE) & u(ZERO - r[R.WORD_NEAREST]))
        lsb = u(u(w >> cut) & ONE)
        w = u(w + u(u(mask >> ONE) + u(lsb & mask)))
        w = u(u(w >> cut) << u(more & TOP))
        w = u(w + u(u(u(word >> u(r[R.WORD_SHIFT] & TOP)) * r[R.WORD_TIMES]) + r[R.WORD_PLUS]))
        return u(u(w >> u(depth & TOP)) << u(hole & TOP))

    @function
    def drawn(word, r):
        """N random bits at the top of a word."""
        return u(u(word >> u(r[R.WORD_SHIFT] & TOP)) << u(r[R.WORD_LEFT] & TOP))

    @function
    def random_narrow(x, word, r):
        """StochasticA, narrow: the fraction as 32 bits, and the carry when random ones are added."""
        a = u(x & ABS)
        e = greater(u(x & INF_BITS), r[R.EMIN])
        scaled = fl(flt(a) * flt(u(r[R.UNITY] - e)))
        whole = to_int(scaled)
        fraction = to_int(fl(fl(scaled - from_int(whole)) * flt(r[R.WORD_SPAN])))
        # their sum carries; written with a constant, LLVM would see that and keep the loop scalar
        up = where(fraction > u(drawn(word, r) ^ r[R.WORD_ONES]), ONE, ZERO)
        y = bits(fl(from_int(u(whole + up)) * fl(flt(e) * flt(r[R.STEP]))))
        y = where(y > r[R.LARGEST], r[R.OVER], y)
        y = specials(y, x, r)
        # without -0, neither zero nor NaN has a sign
        bare = u(where(y == ZERO, ONE, ZERO) | where(y > INF_BITS, ONE, ZERO))
        return u(y | u(x & where(bare == ONE, r[R.ZERO_SIGN], SIGN)))

    @function
    def random_aligned(x, word, r):
        """StochasticA, aligned: as many random bits as are dropped, added to them."""
        a = u(x & ABS)
        y = u(u(a + u(drawn(word, r) >> u(r[R.WORD_DROP] & TOP))) & r[R.KEEP])
        y = where(y > r[R.LARGEST], r[R.OVER], y)
        return signed(specials(y, x, r), x)

    @function
    def unflushed(x, r):
        """|x|, zero where a source that small counts as zero."""
        a = u(x & ABS)
        return where(a < r[R.FLUSH_IN], ZERO, a)

    @function
    def settled(line, a, r):
        """The rules that look at a line, or at x, before overflow does."""
        line = greater(line, r[R.MIN_LINE])
        line = where(line < r[R.FLUSH_LINE], ZERO, line)
        line = where(a == ZERO, r[R.ZERO_LINE], line)
        inside = u(where(a > r[R.QUIRK_LOW], ONE, ZERO) & where(a < r[R.QUIRK_HIGH], ONE, ZERO))
        return where(inside == ONE, r[R.QUIRK_LINE], line)

    @function
    def ends(y, x, a, line, minus, r):
        """Overflow, numbers below an unsigned format, infinities and NaN, each as its row says."""
        last = u(r[R.MAX_LINE] + u(minus & r[R.MAX_LINE_NEGATIVE]))
        y = where(line > last, u(r[R.OVER] ^ u(minus & r[R.OVER_FLIP])), y)
        y = where(a == INF_BITS, u(r[R.INF] ^ u(minus & r[R.INF_FLIP])), y)
        under = u(u(minus & r[R.UNSIGNED]) & where(lesser(line, a) > ZERO, ONE, ZERO))
        y = where(under == ONE, r[R.BELOW], y)
        return where(a > INF_BITS, u(r[R.NAN] ^ u(minus & r[R.NAN_FLIP])), y)

    @function
    def code_of(line, x, a, minus, r):
        """Line and sign as a code."""
        sign = u(minus & r[R.SIGN_CODE])
        sign = where(line == ZERO, u(sign & u(ZERO - r[R.NEGATIVE_ZERO])), sign)
        y = u(u(line - r[R.MIN_LINE]) | sign)
        y = where(u(minus & r[R.TWOS_COMPLEMENT]) == ONE, u(u(ZERO - line) & r[R.CODE_MASK]), y)
        return ends(y, x, a, line, minus, r)

    @function
    def value_of(line, x, a, minus, r):
        """Line and sign as a float of the source's width."""
        y = value_of_line(line, r)
        sign = u(u(minus & SIGN) & u(r[R.UNSIGNED] - ONE))
        y = u(y | where(line == ZERO, u(sign & u(ZERO - r[R.NEGATIVE_ZERO])), sign))
        return ends(y, x, a, line, minus, r)

    @function
    def general_value(x, r):
        a = unflushed(x, r)
        minus = negative(x, r)
        return value_of(settled(rounded_line(a, minus, r), a, r), x, a, minus, r)

    @function
    def general_code(x, r):
        a = unflushed(x, r)
        minus = negative(x, r)
        return code_of(settled(rounded_line(a, minus, r), a, r), x, a, minus, r)

    @function
    def random_value(x, word, r):
        a = unflushed(x, r)
        minus = negative(x, r)
        return value_of(settled(random_line(lesser(a, r[R.CLAMP]), word, r), a, r), x, a, minus, r)

    @function
    def random_code(x, word, r):
        a = unflushed(x, r)
        minus = negative(x, r)
        return code_of(settled(random_line(lesser(a, r[R.CLAMP]), word, r), a, r), x, a, minus, r)

    # --- encode and decode ----------------------------------------------------------------
    @function
    def line_of(b, r):
        """Nearest-even, narrow: the line of a magnitude, right in its low bits (the rest is for the store to drop)."""
        e = greater(u(b & INF_BITS), r[R.EMIN])
        t = fl(flt(b) + fl(flt(e) * flt(r[R.MAGIC])))
        return u(bits(t) + u(e >> u(r[R.DROP] & TOP)))

    @function
    def encode_line(x, r):
        """The same of a number, clamped to the largest or the overflow's."""
        return line_of(lesser(u(x & ABS), r[R.CLAMP]), r)

    @function
    def code_sign(x, r):
        return u(u(x >> u(r[R.SIGN_SHIFT] & TOP)) & r[R.SIGN_CODE])

    @function
    def encode(x, r):
        y = where(u(x & ABS) > INF_BITS, r[R.NAN], encode_line(x, r))
        return u(y | code_sign(x, r))

    @function
    def encode_no_negative_zero(x, r):
        y = encode_line(x, r)
        sign = where(u(y & r[R.LINE_MASK]) == ZERO, ZERO, code_sign(x, r))
        return where(u(x & ABS) > INF_BITS, r[R.NAN], u(y | sign))

    @function
    def encode_finite(x, r):
        return u(encode_line(x, r) | code_sign(x, r))

    @function
    def value_in_block(x, r):
        """Nearest-even into any narrow format, saturating; NaN has one result, without a sign."""
        a = u(x & ABS)
        y = u(nearest_finite_result(lesser(a, r[R.OVER]), r) | u(x & SIGN))
        return where(a > INF_BITS, r[R.NAN], y)

    @function
    def code_in_block(x, r):
        """The same to a code."""
        nan = u(x & ABS) > INF_BITS
        sign = u(where(nan, ZERO, u(x >> u(r[R.SIGN_SHIFT] & TOP))) & r[R.SIGN_CODE])
        return u(where(nan, r[R.NAN], encode_line(x, r)) | sign)

    @function
    def integer_value_in_block(x, r):
        """Nearest-even into two's complement; the same of NaN."""
        return where(u(x & ABS) > INF_BITS, r[R.NAN], nearest_twos_complement(x, r))

    @function
    def integer_code_in_block(x, r):
        return where(u(x & ABS) > INF_BITS, r[R.NAN], encode_twos_complement(x, r))

    @function
    def nearest_zero_code_in_block(x, r):
        """A code as above, where a tie goes towards zero; whether -0 stays is the row's."""
        a = u(x & ABS)
        b = lesser(a, r[R.CLAMP])
        e = leading(b, r)
        c = fl(e * flt(r[R.MAGIC]))
        t = fl(flt(b) + c)
        up = fl(fl(t - c) - flt(b)) > fl(e * flt(r[R.TIE]))  # by half a step: from a tie
        line = u(u(bits(t) + u(bits(e) >> u(r[R.DROP] & TOP))) - where(up, ONE, ZERO))
        minus = code_sign(x, r)
        y = u(line | where(u(line & r[R.LINE_MASK]) == ZERO, u(minus & r[R.ZERO_SIGN]), minus))
        return where(a > INF_BITS, r[R.NAN], y)

    @function
    def encode_aligned(x, r):
        """Nearest-even, aligned."""
        a = u(x & ABS)
        b = lesser(a, r[R.CLAMP])
        shift = u(r[R.DROP] & TOP)
        y = u(u(u(b + r[R.HALF]) + u(u(b >> shift) & r[R.ONE_IF_DROP])) >> shift)
        return u(where(a > INF_BITS, r[R.NAN], y) | code_sign(x, r))

    @function
    def encode_twos_complement(x, r):
        """Nearest-even into two's complement, which is all finite."""
        minus = u(ZERO - u(x >> TOP))
        b = lesser(u(x & ABS), u(r[R.CLAMP] + u(minus & r[R.LARGEST_MORE])))
        y = u(u(line_of(b, r) ^ minus) - minus)
        return u(y & u(r[R.LINE_MASK] | r[R.SIGN_CODE]))

    @function
    def encode_unsigned(x, r):
        y = u(encode_line(x, r) & r[R.LINE_MASK])
        y = where(u(y & negative(x, r)) == ZERO, y, r[R.BELOW])
        return where(u(x & ABS) > INF_BITS, r[R.NAN], y)

    @function
    def encode_power(x, r):
        a = u(x & ABS)
        w = nearest_spread(lesser(a, r[R.CLAMP]), r)
        y = where(negative(x, r) == ZERO, u(u(w >> u(r[R.DROP] & TOP)) - ONE), r[R.BELOW])
        return where(a > INF_BITS, r[R.NAN], where(a == ZERO, r[R.ZERO_VALUE], y))

    @function
    def decoded(code, r):
        """A finite value or NaN, with the code's sign; all lines beyond `MAX_LINE` are NaN."""
        line = u(code & r[R.LINE_MASK])
        y = where(line > r[R.MAX_LINE], r[R.NAN], value_of_line(line, r))
        return u(y | u(u(code << u(r[R.SIGN_SHIFT] & TOP)) & r[R.SIGN_KEEP]))

    @function
    def decoded_with_inf(code, r):
        """The same, where the line after the last finite one is an infinity."""
        line = u(code & r[R.LINE_MASK])
        y = where(line > r[R.MAX_LINE], r[R.INF], value_of_line(line, r))
        y = where(line > r[R.INF_LINE], r[R.NAN], y)
        return u(y | u(u(code << u(r[R.SIGN_SHIFT] & TOP)) & r[R.SIGN_KEEP]))

    @function
    def decoded_with_one_nan(code, r):
        """The same, where the sign-only code is the NaN."""
        return where(code == r[R.NAN_CODE], r[R.NAN], decoded_with_inf(code, r))

    @function
    def decoded_twos_complement(code, r):
        """Negative lines as two's complement; no infinity, no NaN."""
        line = where(u(code & r[R.SIGN_CODE]) == ZERO, code, u(ZERO - code))
        y = value_of_line(u(line & u(r[R.LINE_MASK] | r[R.SIGN_CODE])), r)
        return u(y | u(u(code << u(r[R.SIGN_SHIFT] & TOP)) & r[R.SIGN_KEEP]))

    @function
    def decoded_power(code, r):
        """The code is the source's exponent, but for the first, which is subnormal there, and NaN."""
        y = where(code == ZERO, r[R.EMIN], u(code << u(r[R.DROP] & TOP)))
        return where(u(code + ONE) > r[R.MAX_LINE], r[R.NAN], y)

    @function
    def decoded_top(code, r):
        """The code is the source's top bits: whatever it is, it is moved there."""
        return u(code << u(r[R.SIGN_SHIFT] & TOP))

    return {
        "round": (nearest, nearest_no_negative_zero, nearest_finite, aligned),
        "modes": (
            nearest_flushed,
            directed,
            tied,
            odd,
            aligned_any,
            nearest_ended,
            threshold_ended,
            powers,
            encode_aligned,
            nearest_unsigned,
            nearest_twos_complement,
            nearest_power,
        ),
        "general": (general_value, general_code),
        "random": (random_value, random_code),
        "draw": (random_narrow, random_aligned),
        "blocks": (
            value_in_block,
            code_in_block,
            integer_value_in_block,
            integer_code_in_block,
            nearest_zero_code_in_block,
            decoded,
            decoded_with_inf,
            decoded_twos_complement,
        ),
        "encode": (
            encode,
            encode_no_negative_zero,
            encode_finite,
            encode_aligned,
            encode_twos_complement,
            encode_unsigned,
            encode_power,
        ),
        "decode": (
            decoded,
            decoded_with_inf,
            decoded_with_one_nan,
            decoded_twos_complement,
            decoded_power,
            decoded_top,
        ),
    }
