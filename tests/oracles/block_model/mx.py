"""MX recipes: a block of 32 shares a power of two, stored as an exponent with bias 127 (E8M0; 255 is NaN)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from oracles.block_result import BlockResult

from .exact import (
    BF16,
    E2M1,
    E2M3,
    E4M3,
    E5M2,
    ELEMENTS,
    INF,
    NAN,
    Format,
    add,
    amax,
    amax_numbers,
    bits32,
    ceil_log2f,
    div,
    field,
    floor_log2f,
    mul,
    nearest_of_table,
    pow2,
    rcp,
)
from .grid import DTYPES, blockwise

Block = tuple[int, Sequence[int | None]]
Model = Callable[..., BlockResult]


# --- the scale's code, of a finite magnitude ------------------------------------------------------
def floor(a: float, fmt: Format) -> int:
    return max(field(a) - fmt.emax, 0)


def ceil(a: float, fmt: Format) -> int:
    return max(field(a) + (bits32(a) & 0x7FFFFF != 0) - fmt.emax, 0)


def half_up(a: float, fmt: Format, bits: int) -> int:
    """floor, after half a unit of a significand of `bits` bits has been added to the bits of a."""
    return max((bits32(a) + (1 << (22 - bits)) >> 23) - fmt.emax, 0)


def rp(v: float) -> int:
    """The smallest 2**k >= v, as hardware does it: 0 up to 2**-127, and inf is 254."""
    if v == INF:
        return 254
    return 0 if v <= pow2(-127) else field(v) + (bits32(v) & 0x7FFFFF != 0)


def clamp(k: int, low: int, high: int) -> int:
    return max(low, min(high, k))


# --- the elements -----------------------------------------------------------------------------------
def cast(ys: Sequence[float], fmt: Format) -> list[int | None]:
    """To nearest even, saturating; -0 stays. A NaN has a code in FP8, and is undefined in FP6 and FP4."""
    return [None if math.isnan(y) and fmt.sign < 0x80 else fmt.encode(y) for y in ys]


def scaled(xs: Sequence[float], c: int) -> list[float]:
    """x * 2**(127 - c), the power exact; NaN for 255."""
    return [mul(x, NAN if c == 255 else pow2(127 - c)) for x in xs]


# --- recipes ----------------------------------------------------------------------------------------
def ocp(xs: list[float], fmt: Format, dt: Format) -> Block:
    """OCP MX with the floor rule, as torchao main computes it; a block with an inf or a NaN is NaN."""
    a = amax(xs)
    c = floor(a, fmt) if math.isfinite(a) else 255
    return c, cast(scaled(xs, c), fmt)


def ocp_int8(xs: list[float], fmt: None, dt: Format) -> Block:
    """Q1.6 in two's complement, without -128; its emax is 0."""
    a = amax(xs)
    c = field(a) if math.isfinite(a) else 255
    return c, [None if math.isnan(y) else integer(mul(y, 64.0), 127) & 0xFF for y in scaled(xs, c)]


def integer(y: float, largest: int) -> int:
    return clamp(round(y), -largest, largest)  # Python rounds to even


def te(xs: list[float], fmt: Format, dt: Format) -> Block:
    """Transformer Engine from 2.13 on; also cuBLAS' rule. NaN does not count in the amax, and is 0x7F."""
    c = rp(mul(amax_numbers(xs), rcp(fmt.max)))
    return c, [fmt.encode(y) for y in scaled(xs, c)]


def torchao018_rceil(xs: list[float], fmt: Format, dt: Format) -> Block:
    a = amax(xs)
    if math.isnan(a):
        return 255, cast([NAN] * len(xs), fmt)
    v = div(a, fmt.max)
    c = 254 if v == INF else 0 if v == 0 else clamp(ceil_log2f(v), -127, 127) + 127
    return c, cast([mul(x, 1.0 if c == 0 else pow2(127 - c)) for x in xs], fmt)


def torchao018_by(rule: Callable[[float, Format], int], xs: list[float], fmt: Format, dt: Format) -> Block:
    """Floor, ceil and even of torchao 0.18: an inf has an exponent too (255), and code 0 divides by 2**-126."""
    a = amax(xs)
    c = 255 if math.isnan(a) else rule(a, fmt)
    s = INF if c == 255 else max(pow2(c - 127), pow2(-126))
    return c, cast([div(x, s) for x in xs], fmt)


def torchao_by(rule: Callable[[float, Format], int], xs: list[float], fmt: Format, dt: Format) -> Block:
    a = amax(xs)
    c = rule(a, fmt) if math.isfinite(a) else 255
    return c, cast(scaled(xs, c), fmt)


def torchao_even(a: float, fmt: Format) -> int:
    return half_up(a, fmt, fmt.bits)


def torchao_even_or_nan(a: float, fmt: Format) -> int:
    """torchao main looks for an inf after the rounding."""
    return 255 if bits32(a) + (1 << (22 - fmt.bits)) >= 0x7F800000 else torchao_even(a, fmt)


def torchao_rceil(a: float, fmt: Format) -> int:
    return rp(mul(a, rcp(fmt.max)))


def modelopt_fp8(xs: list[float], fmt: Format, dt: Format) -> Block:
    v = div(amax(xs), fmt.max)
    c = 254 if v == INF else clamp(ceil_log2f(v), -127, 127) + 127 if v > 0 else 0
    return c, cast(scaled(xs, c), fmt)


def modelopt_fp4(xs: list[float], fmt: Format, dt: Format) -> Block:
    """All ties toward zero; a zero of either sign is 8, and so is everything in a block with an inf or a NaN."""
    v = div(amax(xs), 6.0)
    if not math.isfinite(v):
        return 0, [8] * len(xs)
    c = max(ceil_log2f(v), -127) + 127 if v > 0 else 0
    ys = [div(x, pow2(c - 127)) for x in xs]
    return c, [8 if y == 0 else fmt.encode(y, "zero") for y in ys]


def compressed_tensors(xs: list[float], fmt: Format, dt: Format) -> Block:
    """Half up at one bit for FP4 and FP8, at three for FP6; the division in the input's type."""
    a = amax(xs)
    if math.isnan(a):
        c, s = 0, pow2(-127)
    else:
        c = half_up(a, fmt, 3 if fmt is E2M3 else 1)
        s = pow2(c - 127)
    if c + fmt.emax >= 255:  # inf, also by the rounding; the code is what an integer cast makes of it
        c, s = 127, INF
    ys = [div(x, s, dt) for x in xs]
    return c, [0 if y == 0 and fmt is E2M1 else code for y, code in zip(ys, cast(ys, fmt), strict=True)]


def triton(up: bool, xs: list[float], fmt: Format, dt: Format) -> Block:
    """triton_kernels: v's bits rounded up or cut to a power of two.

    0 stays 0 and then y is 0; rounded up, a NaN becomes 0 too, and else it and an inf become an infinite power.
    """
    v = div(amax(xs), fmt.max if up else pow2(fmt.emax))
    c = (bits32(v) + (0x7FFFFF if up else 0) >> 23) & 0xFF
    m = 0.0 if c in (0, 255) else rcp(pow2(c - 127))
    return c, cast([mul(x, m) for x in xs], fmt)  # FP4's NaN is 7 or 15


def quark(mode: str, xs: list[float], fmt: Format, dt: Format) -> Block:
    """AMD Quark. The block of a NaN is NaN; so is that of an inf unless the mode is "even", which works on the bits."""
    a = amax(xs) or pow2(-126)
    if math.isnan(a) or (a == INF and mode != "even"):
        return 255, [None] * len(xs)
    if mode == "even":
        c = half_up(a, fmt, fmt.bits)
    else:
        c = clamp((floor_log2f if mode == "floor" else ceil_log2f)(a) - fmt.emax, -127, 127) + 127
    codes = [fmt.encode(div(x, pow2(c - 127))) for x in xs]
    return c, [0 if code == fmt.sign < 0x80 else code for code in codes]


def microxcaling_exponent(xs: list[float], emax: int) -> int | None:
    """The power of two, at least -127; None, and everything is NaN, beyond 127 and for an inf or a NaN."""
    a = amax(xs) or pow2(-126)
    e = floor_log2f(a) - emax if math.isfinite(a) else 128
    return None if e > 127 else max(e, -127)


def microxcaling_round(v: float, ties: str) -> int:
    """The magnitude of v to an integer: floor(RN(v + 1/2)), less 1 for "even" where that is a tie gone to odd."""
    v = abs(v)
    return math.floor(add(v, 0.5)) - (ties == "even" and math.fmod(add(v, -0.5), 2.0) == 0)


def microxcaling(ties: str, xs: list[float], fmt: Format, dt: Format) -> Block:
    """Elements with a private exponent, all in float32 steps; -0 becomes 0, but what is rounded to 0 keeps its sign."""
    e = microxcaling_exponent(xs, fmt.emax)
    if e is None:
        return 255, [None] * len(xs)
    codes = []
    for y in (div(x, pow2(e)) for x in xs):
        step = pow2(max(floor_log2f(abs(y) or 1.0), fmt.emin) - fmt.bits)
        magnitude = mul(float(microxcaling_round(div(y, step), ties)), step)
        codes.append(fmt.encode(math.copysign(magnitude, y)) if y else 0)
    return e + 127, codes


def microxcaling_int(ties: str, xs: list[float], bits: int, dt: Format) -> Block:
    """Integers of `bits` bits in two's complement, in units of 2**(2 - bits), without the most negative one."""
    e = microxcaling_exponent(xs, 0)
    if e is None:
        return 255, [None] * len(xs)
    ys = [mul(div(x, pow2(e)), pow2(bits - 2)) for x in xs]
    top = (1 << (bits - 1)) - 1
    ns = [min(microxcaling_round(y, ties), top) for y in ys]
    return e + 127, [(n if y > 0 else -n) & ((1 << bits) - 1) for n, y in zip(ns, ys, strict=True)]


def mlx(xs: list[float], fmt: Format, dt: Format) -> Block:
    """RN_d(a / max) rounded up, the code modulo 256; zero has 127.

    An inf or a NaN makes 128 (0 from bfloat16), and elements like those of a tiny scale.
    """
    v = div(amax(xs), fmt.max, dt)
    m, e = math.frexp(v) if math.isfinite(v) else (1.0, -127)
    if m == 0.5:
        e -= 1  # now the least e with v <= 2**e, and 0 for 0
    c = (e + 127) & 0xFF if math.isfinite(v) else 0 if dt is BF16 else 128
    s = pow2(e)
    ys = [div(x, s, dt) for x in xs]
    return c, [nearest_of_table(y) for y in ys] if fmt is E2M1 else [fmt.top if y != y else fmt.encode(y) for y in ys]


def ggml(xs: list[float], fmt: Format, dt: Format) -> Block:
    """An inf's scale is the C cast of an infinity to an integer, which is not defined: 0 here."""
    a = amax_numbers(xs)
    c = floor_log2f(a) + 125 & 0xFF if 0 < a < INF else 0
    return c, [nearest_of_table(x, pow2(c - 127)) for x in xs]


def model(block: Callable[..., Block], fmt: Format | int | None, tile: tuple[int, int] = (1, 32)) -> Model:
    def run(x: NDArray[np.float32], *, dtype: str = "float32") -> BlockResult:
        return blockwise(x, tile, lambda xs: block(xs, fmt, DTYPES[dtype]))

    return run


def names(suffix: str = "") -> dict[str, Format]:
    """The five float element formats by their MX name."""
    return {
        ("mxfp4" if e == "e2m1" else f"mxfp{6 if f.sign == 0x20 else 8}_{e}") + suffix: f for e, f in ELEMENTS.items()
    }


MX = {name: model(ocp, fmt) for name, fmt in names().items()} | {"mxint8": model(ocp_int8, None)}
for _e, _fmt in (("e4m3", E4M3), ("e5m2", E5M2)):
    for _suffix, _tile in (("", (1, 32)), ("_32x1", (32, 1)), ("_32x32", (32, 32))):
        MX[f"mxfp8_{_e}_te{_suffix}"] = model(te, _fmt, _tile)
_part = functools.partial
for _suffix, _block in {
    "_torchao018_rceil": torchao018_rceil,
    "_torchao018_floor": _part(torchao018_by, floor),
    "_torchao018_ceil": _part(torchao018_by, ceil),
    "_torchao018_even": _part(torchao018_by, torchao_even),
    "_torchao_rceil": _part(torchao_by, torchao_rceil),
    "_torchao_ceil": _part(torchao_by, ceil),
    "_torchao_even": _part(torchao_by, torchao_even_or_nan),
    "_compressed_tensors": compressed_tensors,
    "_triton_up": _part(triton, True),
    "_triton_down": _part(triton, False),
    "_quark_even": _part(quark, "even"),
    "_quark_floor": _part(quark, "floor"),
    "_quark_ceil": _part(quark, "ceil"),
    "_microxcaling": _part(microxcaling, "away"),
    "_microxcaling_even": _part(microxcaling, "even"),
    "_mlx": mlx,
}.items():
    MX |= {name: model(_block, fmt) for name, fmt in names(_suffix).items()}
for _bits in (8, 4):
    MX[f"mxint{_bits}_microxcaling"] = model(_part(microxcaling_int, "away"), _bits)
    MX[f"mxint{_bits}_microxcaling_even"] = model(_part(microxcaling_int, "even"), _bits)
MX["mxfp8_e4m3_modelopt"] = model(modelopt_fp8, E4M3)
MX["mxfp4_modelopt"] = model(modelopt_fp4, E2M1)
MX["mxfp4_ggml"] = model(ggml, E2M1)
