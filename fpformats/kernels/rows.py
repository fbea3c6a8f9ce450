"""The integers that travel from a format to a kernel: one small vector of the source's width.

Every body reads its row by these positions. A field that a body does not name, it does not read.
"""

from __future__ import annotations

NAMES = (
    # where the target's numbers lie in the source: exponents are biased as the source's
    "emin",  # bits of 2^emin, as a float of the source's width
    "field",  # emin as a biased exponent
    "drop",  # mantissa bits of the source that the target does not have
    "mantissa",  # mantissa bits of the target
    # add-and-subtract rounding: multiples of the leading power of two
    "up",  # float: 1.5 * 2^drop (the constant that pushes the dropped bits out)
    "down",  # float: -up
    "step",  # float: 2^-mantissa, one unit in the last place
    "tie",  # float: just under half of that
    "domain",  # mask: all bits to work on signed numbers, all but the sign to work on magnitudes
    "flip",  # the sign bit where the mode is "up" for the mirrored number
    # shift rounding: what is added before the shift
    "halve",  # 1 where the mode compares with a half, else 0
    "always",  # mask: add it
    "if_negative",  # mask: xor-ed in for negative numbers
    "if_odd",  # mask: xor-ed in on an odd line
    "plus",  # added on every line
    "plus_odd",  # added on an odd line
    "half",  # aligned nearest-even: one less than half of what is dropped
    "keep",  # mask of the bits that stay
    "one_if_drop",  # 1, or 0 where nothing is dropped
    # ends of the format, as magnitudes in the source (bits) or as lines
    "last",  # largest source magnitude that stays finite
    "largest",  # bits of the largest finite value
    "over",  # what stands for an overflow ...
    "over_flip",  # ... and what is xor-ed in for a negative one
    "over_up",  # ... and for an overflow on the "up" side of a directed mode
    "inf",
    "inf_flip",
    "nan",
    "nan_flip",
    "flush_in",  # source magnitudes below this count as zero
    "flush_out",  # results below this become zero
    # lines
    "max_line",
    "max_line_negative",  # added for negative numbers (two's complement)
    "min_line",
    "odd_flip",  # 1 where code and line differ in parity
    "gap",  # the width of the missing subnormals, in bits of the line
    "subnormal",  # lines below this are subnormal in the target
    "flush_line",
    "zero_below",  # source magnitudes up to this count as zero
    "zero_line",  # the line of zero
    "quirk_low",
    "quirk_high",
    "quirk_line",
    # sign and code
    "sign_shift",  # from the source's sign to the code's
    "sign_code",  # the sign's place in a code; 0 for unsigned
    "sign_keep",  # the sign bit, or 0 where the sign of the source is ignored
    "negative_zero",  # 1 where -0 is kept
    "below",  # code or value for numbers below an unsigned format
    "unsigned",  # 1 for unsigned formats
    "twos_complement",  # 1 where negative codes are two's complement
    "code_mask",
    "clamp",  # encode: magnitudes beyond this count as this
    "magic",  # encode: float, 2^drop with the code's offset in its low bits
    # decode
    "line_mask",
    "inf_line",
    "nan_code",  # the sign-only NaN, or a number that is no code
    # stochastic rounding
    "depth",  # bits of the fraction that meet random ones
    "word_shift",  # from a word of 32 random bits to as many as are used
    "word_times",
    "word_plus",
    "word_nearest",  # 1 where those bits of the fraction are rounded to nearest first
)

(
    EMIN, FIELD, DROP, MANTISSA, UP, DOWN, STEP, TIE, DOMAIN, FLIP,
    HALVE, ALWAYS, IF_NEGATIVE, IF_ODD, PLUS, PLUS_ODD, HALF, KEEP, ONE_IF_DROP,
    LAST, LARGEST, OVER, OVER_FLIP, OVER_UP, INF, INF_FLIP, NAN, NAN_FLIP, FLUSH_IN, FLUSH_OUT,
    MAX_LINE, MAX_LINE_NEGATIVE, MIN_LINE, ODD_FLIP, GAP, SUBNORMAL, FLUSH_LINE, ZERO_BELOW, ZERO_LINE,
    QUIRK_LOW, QUIRK_HIGH, QUIRK_LINE, SIGN_SHIFT, SIGN_CODE, SIGN_KEEP, NEGATIVE_ZERO, BELOW,
    UNSIGNED, TWOS_COMPLEMENT, CODE_MASK, CLAMP, MAGIC, LINE_MASK, INF_LINE, NAN_CODE,
    DEPTH, WORD_SHIFT, WORD_TIMES, WORD_PLUS, WORD_NEAREST,
) = range(len(NAMES))  # fmt: skip

INDEX = {name: i for i, name in enumerate(NAMES)}
SIZE = len(NAMES)
