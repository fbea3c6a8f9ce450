"""Random bits for the stochastic modes: seeds, explicit bits, and hardware's way of sharing words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rounding import ROUNDINGS, Rules

__all__ = ["drawn_words", "random_words", "with_bits"]


def random_words(rules: Rules, rng: Any, shape: tuple[int, ...]) -> tuple[NDArray[np.uint32] | None, int]:
    """(explicit bits, one word an element; -1) or (None; seed).

    Raises
    ------
    ValueError
        No `rng`, a negative seed, bits of another shape, or bits that are too large.
    """
    if isinstance(rng, tuple):
        rng = rng[0]
    bits = rules.random_bits or 32
    if rng is None or isinstance(rng, bool):
        raise ValueError(f"rounding={rules.rounding!r} needs rng: a seed or an array of random bits")
    size = int(np.prod(shape, dtype=np.int64))
    if isinstance(rng, (int, np.integer)):
        seed = int(rng)
        if not 0 <= seed < 1 << 63:
            raise ValueError(f"rng={seed}: a seed from 0 to 2**63 - 1 was expected")
        if rules.words == "plain":
            return None, seed
        rng = drawn_words(seed, -(-size // (2 if rules.words == "ptx_x2" else 4)))
        return _SHARED[rules.words](rng, size, bits), -1
    given = np.asarray(rng)
    if given.dtype.kind not in "iu":
        raise TypeError(f"rng has dtype {given.dtype}; a seed or integers were expected")
    if rules.words == "plain":
        if given.shape != shape:
            raise ValueError(f"rng has shape {given.shape}; {shape} was expected, one integer an element")
        limit = bits
    else:
        count = -(-size // (2 if rules.words == "ptx_x2" else 4))
        if given.size != count:
            raise ValueError(f"rng has {given.size} words; {count} were expected, one for each group of elements")
        limit = 32
    if given.size and (int(given.min()) < 0 or int(given.max()) >> limit):
        raise ValueError(f"rng: integers of {limit} bits were expected")
    words = np.ascontiguousarray(given, dtype=np.uint32).reshape(-1)
    return (words if rules.words == "plain" else _SHARED[rules.words](words, size, bits)), -1


def with_bits(rules: Rules, rng: Any) -> Rules:
    """The number of random bits: the profile's, the caller's, or the width of the explicit bits."""
    if rng is None or not ROUNDINGS[rules.rounding].random_bits or rules.random_bits is not None:
        return rules
    if isinstance(rng, tuple):
        if len(rng) != 2:
            raise ValueError(f"rng={rng!r}: (seed or bits, number of bits) was expected")
        if not isinstance(rng[1], (int, np.integer)) or not 1 <= int(rng[1]) <= 32:
            raise ValueError(f"rng: 1 to 32 random bits were expected, got {rng[1]!r}")
        return replace(rules, random_bits=int(rng[1]))
    if isinstance(rng, (int, np.integer)):
        return rules
    return replace(rules, random_bits=min(8 * np.asarray(rng).dtype.itemsize, 32))


def drawn_words(seed: int, count: int) -> NDArray[np.uint32]:
    """The first words that a seed gives."""
    from .kernels.philox import philox

    words = np.empty(-(-count // 4) * 4, dtype=np.uint32)
    philox(words, seed, 0)
    return words[:count]


def _reverse16(x: NDArray[np.uint32]) -> NDArray[np.uint32]:
    for shift, mask in ((1, 0x5555), (2, 0x3333), (4, 0x0F0F), (8, 0x00FF)):
        s, m = np.uint32(shift), np.uint32(mask)
        x = ((x >> s) & m) | ((x & m) << s)
    return x


def _four(high: NDArray[np.uint32], low: NDArray[np.uint32], size: int) -> NDArray[np.uint32]:
    """Elements a, b, e, f of cvt.rs ... x4: a and e read their half-word bit-reversed."""
    return np.stack([_reverse16(high), high, _reverse16(low), low], axis=1).reshape(-1)[:size]


def _x4(words: NDArray[np.uint32], size: int, bits: int) -> NDArray[np.uint32]:
    return _four(words >> np.uint32(16), words & np.uint32(0xFFFF), size)


def _x4_bytes(words: NDArray[np.uint32], size: int, bits: int) -> NDArray[np.uint32]:
    """FP4: the halves are bytes 3 and 1, and bytes 2 and 0."""
    byte = [(words >> np.uint32(8 * i)) & np.uint32(0xFF) for i in range(4)]
    return _four(byte[3] << np.uint32(8) | byte[1], byte[2] << np.uint32(8) | byte[0], size)


def _x2(words: NDArray[np.uint32], size: int, bits: int) -> NDArray[np.uint32]:
    """Pairs: the upper half-word for the first element; its low `bits` bits."""
    mask = np.uint32((1 << bits) - 1)
    return np.stack([(words >> np.uint32(16)) & mask, words & mask], axis=1).reshape(-1)[:size]


_SHARED = {"ptx_x4": _x4, "ptx_x4_bytes": _x4_bytes, "ptx_x2": _x2}
