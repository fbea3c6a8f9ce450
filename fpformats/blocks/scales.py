"""How a number becomes a scale: each rule from binary32 numbers to codes or binary32 scales.

E8M0 rules read exponents from bits. Where a package takes a logarithm, the numbers just beside a power of two, whose
logarithm rounds to it, are known: `_close` counts them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..elements import decode32, encode32
from ..rounding import Rules

__all__ = ["RULES", "scale_codes"]

Array = NDArray[Any]
MANTISSA = np.uint32(0x7FFFFF)
INF_BITS = 0x7F800000


def _bits(v: Array) -> Array:
    return v.view(np.uint32)


def _field(bits: Array) -> Array:
    return (bits >> np.uint32(23)).astype(np.int32)


def _less(bits: Array, emax: int) -> Array:
    """Exponent fields of magnitudes (a NaN's may have become 0) as codes, emax less and not below 0."""
    field = (bits >> np.uint32(23)).astype(np.uint8)
    return np.maximum(field, np.uint8(emax)) - np.uint8(emax)


# --- E8M0: of an amax, less the element's largest exponent ------------------------------------------
def floor(a: Array, emax: int) -> Array:
    """The exponent of a."""
    return _less(_bits(a), emax)


def ceil(a: Array, emax: int) -> Array:
    """The next one, unless a is a power of two."""
    return _less(_bits(a) + MANTISSA, emax)


def half_up(a: Array, bits: int, emax: int) -> Array:
    """The exponent once a has been rounded to so many mantissa bits, ties up."""
    return _less(_bits(a) + np.uint32(1 << (22 - bits)), emax)


# --- E8M0: the smallest power of two that is not below v ----------------------------------------------
def rp(v: Array) -> Array:
    """PTX cvt.rp.satfinite.ue8m0: 0 up to 2^-127, an infinity is 254."""
    bits = _bits(v)
    code = np.minimum((bits + MANTISSA) >> np.uint32(23), np.uint32(254))
    # of the subnormal numbers, those up to 2^-127 are 0
    return code * (bits > np.uint32(0x400000))


def up(v: Array) -> Array:
    """Mantissa bits carried into the exponent (triton_kernels ROUND_UP): anything above 0 is at least 1."""
    return _field(_bits(v) + MANTISSA) & 0xFF


def down(v: Array) -> Array:
    """Mantissa bits cut off (triton_kernels ROUND_DOWN)."""
    return _field(_bits(v))


@lru_cache(maxsize=1)
def _close() -> tuple[Array, Array]:
    """(above, below): for each exponent field, how many binary32 numbers next to 2^e have a logarithm that rounds to e.

    log2(1 + k 2^-23) has to be at most half the spacing of binary32 at e, on the side where it lies; below a power of
    two the numbers are half as far apart. The logarithm is irrational there, so there are no ties.
    """
    above, below = np.zeros(256, np.uint32), np.zeros(256, np.uint32)
    for field in range(1, 256):
        e = field - 127
        if e == 0:
            continue  # numbers near 1 have logarithms as small as need be
        size = abs(e).bit_length() - 1
        inward = size - (abs(e) == 1 << size)  # the spacing on the side of zero
        over, under = (size, inward) if e > 0 else (inward, size)
        above[field] = math.floor(math.expm1(2.0 ** (over - 24) * math.log(2)) * 2**23)
        below[field] = math.floor(-math.expm1(-(2.0 ** (under - 24)) * math.log(2)) * 2**24)
    return above, below


def _just_above(bits: Array, field: Array) -> Array:
    """Which are so little above a power of two that their logarithm is its."""
    return (bits & MANTISSA) <= _close()[0][np.minimum(field, 255)]


def _just_below(bits: Array, field: Array) -> Array:
    """The same from below. Few are: most arrays have none that is near enough for the table to be asked."""
    near = (bits & MANTISSA) >= np.uint32((1 << 23) - int(_close()[1].max()))
    if near.any():
        short = np.uint32(1 << 23) - (bits[near] & MANTISSA)
        near[near] = short <= _close()[1][np.minimum(field[near] + 1, 255)]
    return near


def ceil_log2f(v: Array) -> Array:
    """ceil(RN(log2 v)) + 127, from 0 to 254: one less just above a power of two. Subnormal v give 0 or 1."""
    bits = _bits(v)
    field = _field(bits)
    code = field + ~_just_above(bits, field)
    subnormal = np.where(bits <= np.uint32(0x400000 + 11), 0, 1)
    return np.clip(np.where(field == 0, subnormal, code), 0, 254)


def floor_log2f(a: Array, emax: int) -> Array:
    """floor(RN(log2 a)) + 127 - emax: one more just below a power of two."""
    return _floor_log2f(a) - emax


def _floor_log2f(a: Array) -> Array:
    bits = _bits(a)
    field = _field(bits)
    return field + _just_below(bits, field)


def ceil_log2f_of(a: Array, emax: int) -> Array:
    """ceil(RN(log2 a)) + 127 - emax."""
    bits = _bits(a)
    field = _field(bits)
    return field + ~_just_above(bits, field) - emax


def floor_log2f_wrap(a: Array, emax: int) -> Array:
    """The same as a C cast to uint8 leaves it, negative codes of subnormal numbers included."""
    code = _floor_log2f(a)
    subnormal = _bits(a) < np.uint32(1 << 23)
    if subnormal.any():
        m, e = np.frexp(a[subnormal])  # exact: a = m 2^e, 1/2 <= m < 1
        size = 6 + (e <= -128)
        close = (1 - m.astype(np.float64)) * 2**24 <= np.floor(-np.expm1(-(2.0 ** (size - 24)) * math.log(2)) * 2**24)
        code[subnormal] = e.astype(np.int32) - 1 + close + 127
    return (code - emax) & 0xFF


def rp_wrap(v: Array) -> Array:
    """The smallest power of two that is not below v, down to 2^-149, as the last eight bits of its exponent + 127.

    0 counts as 1.
    """
    return (_rp_exponent(v) + 127) & 0xFF


def _rp_exponent(v: Array) -> Array:
    m, e = np.frexp(v)  # exact: v = m 2^e, 1/2 <= m < 1
    return e.astype(np.int32) - (m == 0.5)


# --- E4M3 -------------------------------------------------------------------------------------------
def rne(v: Array) -> Array:
    """To nearest even, saturating."""
    return encode32(v, "e4m3", Rules(overflow="saturate"))


def ggml(v: Array) -> Array:
    """ggml's UE4M3: half up; 0x7E from 248 on; below 2^-6 steps of 2^-9, at most 7."""
    v = np.where(v > 0, v, np.float32(0))
    code = encode32(np.minimum(v, np.float32(256)), "e4m3", Rules("nearest_away"))
    small = v < np.float32(2.0**-6)
    if small.any():
        code[small] = np.minimum(np.floor(v[small] * np.float32(512) + np.float32(0.5)), 7)
    code[v >= np.float32(248)] = 0x7E
    return code


# --- binary32 ---------------------------------------------------------------------------------------
def fp32(v: Array) -> Array:
    """v itself."""
    return v


def pow2_floor(v: Array) -> Array:
    """The largest power of two that is not above v; 0 stays."""
    return (_bits(v) & np.uint32(INF_BITS)).view(np.float32)


def pow2_floor_log2f(v: Array) -> Array:
    """2^floor(RN(log2 v)); 0, an infinity and NaN stay."""
    power = _power(np.clip(_floor_log2f(v), 0, 254))
    return np.where((v > 0) & np.isfinite(v), power, v)


def rp_1_254(v: Array) -> Array:
    """The smallest power of two that is not below v, from 2^-126 to 2^127."""
    return _power(np.clip(rp(v), 1, 254))


def pow2_ceil_log2f(v: Array) -> Array:
    """2^ceil(RN(log2 v)); 0, an infinity and NaN stay."""
    return np.where((v > 0) & np.isfinite(v), _power(ceil_log2f(v)), v)


def rp_power(v: Array) -> Array:
    """The smallest power of two that is not below v, down to 2^-149; 1 for 0."""
    return np.ldexp(np.float32(1), _rp_exponent(v)).astype(np.float32)


def _power(codes: Array) -> Array:
    """2^(code - 127)."""
    return decode32(codes.astype(np.uint8), "e8m0")


RULES: dict[str, Callable[..., Array]] = {
    rule.__name__: rule
    for rule in (
        floor, ceil, half_up, rp, up, down, ceil_log2f, floor_log2f, ceil_log2f_of, floor_log2f_wrap, rp_wrap, rne,
        ggml, fp32, pow2_floor, pow2_floor_log2f, pow2_ceil_log2f, rp_1_254, rp_power,
    )
}  # fmt: skip


@lru_cache(maxsize=256)
def _taken_apart(rule: str) -> tuple[Callable[..., Array], tuple[int, ...]]:
    name, *integers = rule.split()
    return RULES[name], tuple(map(int, integers))


def scale_codes(rule: str, v: Array, codes: bool) -> Array:
    """Codes (uint8), or binary32 scales, of the numbers v by a rule and its integers, as in ``half_up 1 8``."""
    find, integers = _taken_apart(rule)
    made = find(np.ascontiguousarray(v, np.float32), *integers)
    if not codes:
        return made
    if made.dtype.kind == "u":
        return made.astype(np.uint8, copy=False)
    return np.clip(made, 0, 255).astype(np.uint8)
