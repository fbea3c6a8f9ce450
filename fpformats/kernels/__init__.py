"""The fast implementation. It sees integers and floats, never a `Format`.

`bodies` is the arithmetic of one number, written once over a small vocabulary; `vector` runs it on
whole NumPy arrays, `compiled` in loops that Numba turns into machine code, and the proofs in the
tests run it on a solver's bit vectors. `rows` names the integers that a body reads.
"""

__all__ = ["AHEAD", "LARGE", "PAST", "SCALE_AT", "VALUE_AT"]

#: bytes of a result from which on it is written past the caches, as memcpy does: they hold no such array anyway
LARGE = 1 << 25

#: how a loop over blocks goes: results past the caches; scales, and values, from tables; as many numbers as it reads
#: come into the caches from behind them, for the next call
PAST, SCALE_AT, VALUE_AT, AHEAD = 1, 2, 4, 8
