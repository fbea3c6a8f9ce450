"""The integers that travel from a format to a kernel: one small vector of the source's width.

Every body reads its row by these positions. They are ordered so that each kernel reads a prefix of
the row only, and compiles for that many scalars.
"""

from __future__ import annotations

__all__ = ["INDEX", "PREFIX", "SIZE"]

_FIELDS = {
    # round: nearest-even to a value
    "emin": "bits of 2^emin, as a float of the source's width",
    "drop": "mantissa bits of the source that the target does not have",
    "up": "float: 1.5 * 2^drop (the constant that pushes the dropped bits out)",
    "down": "float: -up",
    "last": "largest source magnitude that stays finite",
    "over": "what stands for an overflow",
    "nan": "what stands for NaN ...",
    "half": "aligned nearest-even: one less than half of what is dropped",
    "keep": "mask of the bits that stay",
    "one_if_drop": "1, or 0 where nothing is dropped",
    "over_flip": "... and what is xor-ed in for a negative one",
    # encode: nearest-even to a code
    "clamp": "encode: magnitudes beyond this count as this",
    "magic": "encode: float, 2^drop with the code's offset in its low bits",
    "sign_shift": "from the source's sign to the code's",
    "sign_code": "the sign's place in a code; 0 for unsigned",
    "line_mask": "the bits of a code that name the line",
    "sign_keep": "the sign bit, or 0 where the sign of the source is ignored",
    "below": "code or value for numbers below an unsigned format",
    "largest_more": "what a negative number's largest magnitude has more",
    "spread": "the bits of one binade",
    "spread_half": "half of that",
    "zero_value": "what stands for zero in a format without one",
    # decode: a code to its value
    "field": "emin as a biased exponent",
    "subnormal": "lines below this are subnormal in the target",
    "max_line": "the last finite line",
    "inf": "what stands for an infinity ...",
    "inf_line": "the last line that is no NaN",
    "nan_code": "the sign-only NaN, or a number that is no code",
    # modes: any mode to a value
    "step": "float: 2^-mantissa, one unit in the last place",
    "tie": "float: just under half of that",
    "domain": "mask: all bits to work on signed numbers, all but the sign to work on magnitudes",
    "flip": 'the sign bit where the mode is "up" for the mirrored number',
    "largest": "bits of the largest finite value",
    "over_up": 'what stands for an overflow on the "up" side of a directed mode',
    "inf_flip": "what is xor-ed into an infinity for a negative one",
    "nan_flip": "the same for NaN",
    "flush_in": "source magnitudes below this count as zero",
    "flush_out": "results below this become zero",
    "halve": "1 where the mode compares with a half, else 0",
    "always": "mask: add it",
    "if_negative": "mask: xor-ed in for negative numbers",
    "if_odd": "mask: xor-ed in on an odd line",
    "plus": "added on every line",
    "plus_odd": "added on an odd line",
    # modes of formats whose ends differ with the sign, or have none; and powers of two
    "zero_sign": "the sign bit where zero keeps its sign, else 0",
    "negative_keep": "mask: what stays of the magnitude of a negative number",
    "negative_set": "what is set in a negative number: its sign, or all of what stands for it",
    "share": "float: the part of a step that must be lost for a step up ...",
    "share_flip": "... and what is xor-ed in for a negative number",
    "share_odd": "what is or-ed in on an odd line",
    "odd_flip": "1 where code and line differ in parity",
    # draw: StochasticA, narrow or aligned, to a value
    "unity": "exponent bits that turn 2^e into 2^(M - e) when e's are taken from them",
    "word_shift": "from a word of 32 random bits to as many as are used ...",
    "word_left": "... and to the top of the word",
    "word_drop": "from the top of the word to the bits that are dropped",
    "word_span": "float: 2^32",
    "word_ones": "all bits of a word",
    # general: any format, any mode, to a value or a code
    "max_line_negative": "added for negative numbers (two's complement)",
    "min_line": "the line of code 0",
    "gap": "the width of the missing subnormals, in bits of the line",
    "flush_line": "lines below this become zero",
    "zero_line": "the line of zero",
    "quirk_low": "source magnitudes between these two ...",
    "quirk_high": "(both excluded)",
    "quirk_line": "... become this line",
    "negative_zero": "1 where -0 is kept",
    "unsigned": "1 for unsigned formats",
    "twos_complement": "1 where negative codes are two's complement",
    "code_mask": "",
    # random: the same with random bits
    "depth": "bits of the fraction that meet random ones",
    "word_times": "how a word enters: times this ...",
    "word_plus": "... plus this",
    "word_nearest": "1 where those bits of the fraction are rounded to nearest first",
}

(
    EMIN, DROP, UP, DOWN, LAST, OVER, NAN, HALF, KEEP, ONE_IF_DROP, OVER_FLIP, CLAMP, MAGIC, SIGN_SHIFT,
    SIGN_CODE, LINE_MASK, SIGN_KEEP, BELOW, LARGEST_MORE, SPREAD, SPREAD_HALF, ZERO_VALUE,
    FIELD, SUBNORMAL, MAX_LINE, INF, INF_LINE, NAN_CODE, STEP, TIE,
    DOMAIN, FLIP, LARGEST, OVER_UP, INF_FLIP, NAN_FLIP, FLUSH_IN, FLUSH_OUT, HALVE, ALWAYS, IF_NEGATIVE,
    IF_ODD, PLUS, PLUS_ODD, ZERO_SIGN, NEGATIVE_KEEP, NEGATIVE_SET, SHARE, SHARE_FLIP,
    SHARE_ODD, ODD_FLIP, UNITY, WORD_SHIFT, WORD_LEFT, WORD_DROP, WORD_SPAN, WORD_ONES,
    MAX_LINE_NEGATIVE, MIN_LINE, GAP, FLUSH_LINE, ZERO_LINE,
    QUIRK_LOW, QUIRK_HIGH, QUIRK_LINE, NEGATIVE_ZERO, UNSIGNED, TWOS_COMPLEMENT, CODE_MASK,
    DEPTH, WORD_TIMES, WORD_PLUS, WORD_NEAREST,
) = range(len(_FIELDS))  # fmt: skip

INDEX = {name: i for i, name in enumerate(_FIELDS)}
SIZE = len(_FIELDS)

#: how much of the row each kernel reads
PREFIX = {
    "round": OVER_FLIP + 1,
    "encode": ZERO_VALUE + 1,
    "decode": NAN_CODE + 1,
    "modes": ODD_FLIP + 1,
    "draw": WORD_ONES + 1,
    "general": CODE_MASK + 1,
    "random": WORD_NEAREST + 1,
}
