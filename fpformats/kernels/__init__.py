"""The fast implementation. It sees integers and floats, never a `Format`.

`bodies` is the arithmetic of one number, written once over a small vocabulary; `vector` runs it on
whole NumPy arrays, `compiled` in loops that Numba turns into machine code, and the proofs in the
tests run it on a solver's bit vectors. `rows` names the integers that a body reads.
"""

__all__ = ["AHEAD", "BLOCK_BODIES", "BLOCK_LOOPS", "LARGE", "PAST", "SCALE_AT", "VALUE_AT"]

#: bytes of a result from which on it is written past the caches, as memcpy does: they hold no such array anyway
LARGE = 1 << 25

#: how a loop over blocks goes: results past the caches; scales, and values, from tables; as many numbers as it reads
#: come into the caches from behind them, for the next call
PAST, SCALE_AT, VALUE_AT, AHEAD = 1, 2, 4, 8

#: the bodies of numbers in blocks, in their order in `bodies`, and the prefix of the row that each reads
BLOCK_BODIES = {
    "value": "round",
    "code": "encode",
    "integer_value": "modes",
    "integer_code": "encode",
    "nearest_zero_code": "modes",
    "decoded": "decode",
    "decoded_with_inf": "decode",
    "decoded_twos_complement": "decode",
}

#: loops over blocks: what is done to a number; by which operation with its scale before; with its value behind
BLOCK_LOOPS = {
    "amax": ("amax", "", ""),
    "amax_of_numbers": ("amax_of_numbers", "", ""),  # without NaN
    "times": ("scale", "times", ""),
    "over": ("scale", "over", ""),
    **{
        " ".join(filter(None, (body, ahead, behind))): (body, ahead, behind)
        for body in BLOCK_BODIES
        for ahead in ([""] if "decoded" in body else ["times", "over"])
        for behind in ([""] if "code" in body and "decoded" not in body else ["times", "over"])
    },
}
