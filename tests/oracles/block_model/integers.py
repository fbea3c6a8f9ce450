"""Integers with a float32 scale for a tensor, a row or a group, and some with a zero point: quantized weights.

A rule takes the amax (of BitNet, the mean magnitude) and the elements, and returns the stored scale and the integers as
codes in two's complement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from oracles.block_result import BlockResult

from .exact import F32, INF, NAN, Format, add, div, mul, pow2, rcp, rn
from .exact import amax as block_amax
from .fp8 import TILES, at_least
from .grid import DTYPES, blockwise

Block = tuple[float, Sequence[int | None]]


def integers(ys: Sequence[float], bits: int, symmetric: bool = False) -> list[int | None]:
    """To nearest even, saturating; a NaN is undefined."""
    top = 2 ** (bits - 1) - 1
    low = -top if symmetric else -top - 1
    return [None if math.isnan(y) else round(max(low, min(top, y))) & (2**bits - 1) for y in ys]


def absmax(xs: list[float], bits: int, dt: Format) -> Block:
    s = div(block_amax(xs), 2.0 ** (bits - 1) - 1) or 1.0
    return s, integers([div(x, s) for x in xs], bits, True)


def compressed_tensors(xs: list[float], bits: int, dt: Format) -> Block:
    """The range is (max - min) / 2 wide; a scale of 0 becomes the type's epsilon."""
    s = div(block_amax(xs), (2.0**bits - 1) / 2, dt) or pow2(-dt.bits)
    return s, integers([div(x, s, dt) for x in xs], bits)


def torchao(xs: list[float], bits: int, dt: Format) -> Block:
    s = at_least(div(block_amax(xs), (2.0**bits - 1) / 2, dt), pow2(-23))
    return s, integers([mul(x, rcp(s)) for x in xs], bits)


def modelopt(xs: list[float], bits: int, dt: Format) -> Block:
    s = div(block_amax(xs), 2.0 ** (bits - 1) - 1, dt)
    return s, integers([div(x, s, dt) for x in xs], bits)


def mean(xs: list[float]) -> float:
    """Of the magnitudes: exact, then rounded."""
    if not all(math.isfinite(x) for x in xs):
        return NAN if any(math.isnan(x) for x in xs) else INF
    total = sum(Fraction(abs(x)) for x in xs) / len(xs)
    return F32.nearest(total.numerator, total.denominator) if total else 0.0


def bitnet(xs: list[float], bits: int, dt: Format) -> Block:
    s = rcp(at_least(mean(xs), rn(1e-5, F32)))
    return s, integers([mul(x, s) for x in xs], bits, True)


def asymmetric(rule: str, xs: list[float], bits: int, dt: Format) -> tuple[float, Sequence[int | None], float]:
    """Scale, codes, and the integer that stands for 0; that of NaN is 0.

    compressed-tensors adds it in the input's type and rounds the sum, torchao rounds first.
    """
    low, top = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    least, largest = (NAN, NAN) if any(math.isnan(x) for x in xs) else (min(0.0, *xs), max(0.0, *xs))
    plain = div(add(largest, -least, dt), 2.0**bits - 1, dt)
    if rule == "torchao":
        s = at_least(plain, pow2(-23))
        ratio = div(least, s, dt)
        p = low - whole(ratio)
    else:
        s = plain or pow2(-dt.bits)
        p = add(low, -div(least, plain, dt), dt)
    p = 0.0 if math.isnan(p) else float(round(max(low, min(top, p))))
    if rule == "torchao":
        ys = [whole(mul(x, rcp(s))) + p for x in xs]
    else:
        ys = [add(div(x, s, dt), p, dt) for x in xs]
    return s, integers(ys, bits), p


def whole(y: float) -> float:
    return float(round(y)) if math.isfinite(y) else y


def asymmetric_model(rule: str, tile: str, bits: int) -> Callable[..., BlockResult]:
    def run(x: NDArray[np.float32], *, dtype: str = "float32") -> BlockResult:
        points = []

        def block(xs: list[float]) -> Block:
            s, codes, p = asymmetric(rule, xs, bits, DTYPES[dtype])
            points.append(p)
            return s, codes

        result = blockwise(x, TILES[tile], block)
        return result._replace(second=np.array(points, np.float32).reshape(result.scales.shape))

    return run


def model(rule: Callable[..., Block], tile: str, bits: int) -> Callable[..., BlockResult]:
    def run(x: NDArray[np.float32], *, dtype: str = "float32") -> BlockResult:
        return blockwise(x, TILES[tile], lambda xs: rule(xs, bits, DTYPES[dtype]))

    return run


INTEGERS: dict[str, Callable[..., BlockResult]] = {"ternary_tensor_bitnet": model(bitnet, "tensor", 2)}
for _bits in (8, 4):
    for _tile in ("tensor", "channel", "1x128"):
        INTEGERS[f"int{_bits}_{_tile}_absmax"] = model(absmax, _tile, _bits)
        INTEGERS[f"int{_bits}_{_tile}_compressed_tensors"] = model(compressed_tensors, _tile, _bits)
        INTEGERS[f"int{_bits}_{_tile}_compressed_tensors_asymmetric"] = asymmetric_model("", _tile, _bits)
for _tile in ("tensor", "row"):
    INTEGERS[f"int8_{_tile}_torchao"] = model(torchao, _tile, 8)
    INTEGERS[f"int8_{_tile}_torchao_asymmetric"] = asymmetric_model("torchao", _tile, 8)
    INTEGERS[f"int8_{_tile}_modelopt"] = model(modelopt, _tile, 8)
