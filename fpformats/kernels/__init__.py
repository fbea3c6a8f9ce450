"""The fast implementation. It sees integers and floats, never a `Format`.

`bodies` is the arithmetic of one number, written once over a small vocabulary; `vector` runs it on
whole NumPy arrays, `compiled` in loops that Numba turns into machine code, and the proofs in the
tests run it on a solver's bit vectors. `rows` names the integers that a body reads.
"""

__all__ = ["AHEAD", "BLOCK_BODIES", "BLOCK_LOOPS", "LARGE", "OPERATIONS", "PAST", "SCALE_AT", "USUAL", "VALUE_AT"]

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

#: operations with a scale: a product or a quotient, and that plus 0, which is without -0
OPERATIONS = ("times", "over", "times+0", "over+0")

#: loops over blocks: what is done to a number; by which operation with its scale before; with its value behind
BLOCK_LOOPS = {
    "amax": ("amax", "", ""),
    "amax_of_numbers": ("amax_of_numbers", "", ""),  # without NaN
    **{name: ("scale", name, "") for name in OPERATIONS},
    **{
        " ".join(filter(None, (body, ahead, behind))): (body, ahead, behind)
        for body in BLOCK_BODIES
        for ahead in ([""] if "decoded" in body else OPERATIONS[: 2 if "integer" in body else 4])
        for behind in ([""] if "code" in body and "decoded" not in body else OPERATIONS[:2])
    },
}

#: those that most recipes use
USUAL = (
    "amax", "amax_of_numbers", "code times", "code times+0", "value times times", "value times+0 times",
    "decoded times", "decoded_with_inf times",
)  # fmt: skip
