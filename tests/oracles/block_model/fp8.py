"""FP8 with a float32 scale for a tensor, a row, a column or a block; and Transformer Engine's delayed scaling.

A rule takes the amax and the elements, and returns the number that is stored and the codes. Some store a decode scale,
about a / max, by which they divide (or multiply by its reciprocal), others an encode scale, by which they multiply.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from oracles.block_result import BlockResult

from .exact import (
    E2M1,
    E4M3,
    E5M2,
    F32,
    F64,
    FLT_MAX,
    INF,
    Format,
    amax_numbers,
    ceil_log2f,
    div,
    field,
    floor_log2f,
    mul,
    pow2,
    rcp,
    rn,
)
from .exact import amax as block_amax
from .grid import DTYPES, WHOLE, blockwise
from .mx import clamp, rp

TENSOR, ROW, COLUMN = (WHOLE, WHOLE), (1, WHOLE), (WHOLE, 1)
TILES = {"tensor": TENSOR, "row": ROW, "channel": ROW, "1x128": (1, 128), "128x1": (128, 1), "128x128": (128, 128)}
Block = tuple[float, Sequence[int | None]]
#: The amax and the elements, the element format and the input's type, to the stored scale and the codes.
Rule = Callable[..., Block]


def at_least(a: float, low: float) -> float:
    """max(a, low); a NaN stays."""
    return low if a < low else a


def scale_model(rule: Rule, tile: tuple[int, int], fmt: Format = E4M3, **fixed: float) -> Callable[..., BlockResult]:
    def run(
        x: NDArray[np.float32], *, dtype: str = "float32", amax: float | None = None, **extra: float
    ) -> BlockResult:
        def block(xs: list[float]) -> Block:
            a = block_amax(xs) if amax is None else amax
            return rule(a, xs, fmt, DTYPES[dtype], **fixed, **extra)

        return blockwise(x, tile, block)

    return run


# --- Transformer Engine -----------------------------------------------------------------------------
def te(
    a: float, xs: list[float], fmt: Format, dt: Format, *, pow2_scale: bool, saturate: bool, eps: float = 0.0
) -> Block:
    """max(a, eps), then RN(max / a), at most the input type's largest, and cut to a power of two if asked.

    An amax of inf makes the scale 0 and its inverse inf, of NaN 0.5 if powers of two are asked for. (The kernels take 1
    in both cases.) The reference's tensor recipe keeps an inf in E5M2, its block recipe clamps first.
    """
    a = at_least(a, rn(eps, F32))
    scale = div(fmt.max, a)
    if scale == INF:
        scale = dt.max
    if pow2_scale and a != INF:
        scale = 0.5 if math.isnan(scale) else pow2(field(scale) - 127)
    if a == 0:
        scale = 1.0
    inf = None if saturate or fmt is not E5M2 else 0x7C
    return rcp(scale), [fmt.encode(mul(x, scale), inf=inf) for x in xs]


# --- torchao ----------------------------------------------------------------------------------------
def torchao(a: float, xs: list[float], fmt: Format, dt: Format, *, pow2_scale: bool) -> Block:
    """Float8 training: RN(RN64(max / max(a, 1e-12))), stored as it multiplies."""
    s = rn(div(fmt.max, at_least(a, 1e-12), F64), F32)
    if pow2_scale:
        s = pow2(floor_log2f(s)) if 0 < s < INF else s
    return s, [fmt.encode(mul(x, s)) for x in xs]


def torchao_float8tensor(a: float, xs: list[float], fmt: Format, dt: Format) -> Block:
    """RN_d(a / 448); an element is RN(x / s). A tensor of zeros becomes NaN."""
    s = div(a, fmt.max, dt)
    return s, [fmt.encode(div(x, s)) for x in xs]


def torchao_blockwise(a: float, xs: list[float], fmt: Format, dt: Format, *, low_in_dtype: bool = False) -> Block:
    low = rn(rn(1e-12, F32), dt) if low_in_dtype else 1e-12
    s = rn(div(fmt.max, at_least(a, low), F64), F32)
    return rcp(s), [fmt.encode(mul(x, s)) for x in xs]


# --- others -----------------------------------------------------------------------------------------
def modelopt(a: float, xs: list[float], fmt: Format, dt: Format) -> Block:
    s = div(a, fmt.max, dt)
    return s, [fmt.encode(div(x, s, dt)) for x in xs]


def compressed_tensors(a: float, xs: list[float], fmt: Format, dt: Format) -> Block:
    s = div(a, fmt.max, dt) or pow2(-dt.bits)
    return s, [fmt.encode(div(x, s, dt)) for x in xs]


def deepgemm(a: float, xs: list[float], fmt: Format, dt: Format, *, ue8m0: bool) -> Block:
    """RN(max(a, 1e-4) / max). Of E2M1, ties go toward zero and a zero has no sign."""
    s = div(at_least(a, rn(1e-4, F32)), fmt.max)
    if ue8m0:
        s = pow2(clamp(rp(s), 1, 254) - 127)
    m = rcp(s)
    if fmt is not E2M1:
        return s, [fmt.encode(mul(x, m)) for x in xs]
    codes = [None if math.isnan(y) else E2M1.encode(y, "zero") for y in (mul(x, m) for x in xs)]
    return s, [0 if code == 8 else code for code in codes]


def deepseek(a: float, xs: list[float], fmt: Format, dt: Format, *, ue8m0: bool) -> Block:
    """DeepSeek-V3's kernel, with an exact division where it has an approximate one. A NaN does not count."""
    s = div(at_least(amax_numbers(xs), rn(1e-4, F32)), fmt.max)
    if ue8m0:
        s = pow2(ceil_log2f(s)) if 0 < s < INF else s
    return s, [fmt.encode(div(x, s)) for x in xs]


# --- delayed scaling --------------------------------------------------------------------------------
def delayed_scales(
    amaxes: Iterable[float],
    *,
    largest: float = 448.0,
    margin: int = 0,
    algorithm: str = "max",
    length: int = 1024,
    fused: bool = True,
) -> list[float]:
    """The scale after every step of Transformer Engine's delayed scaling, from 1 on.

    The newest amax goes into slot 0 of the history; the scale comes from the newest or from the largest of all, and is
    kept where that is 0, inf or NaN. Then the history turns by one, slot 0 is emptied. The fused kernel divides
    once, ignores NaN, and does not turn after an amax of 0; the Python path divides as torch does a scalar by a tensor.
    """
    history, scale, scales = deque([0.0] * length), 1.0, []
    for newest in amaxes:
        history[0] = newest
        if algorithm == "most_recent":
            a = newest
        else:
            a = max(v for v in history if not math.isnan(v)) if fused else block_amax(history)
        if 0 < a < INF:
            if fused:
                scale = div(mul(largest, pow2(-margin)), a)
            else:
                scale = div(mul(rcp(a), largest), pow2(margin))
            if scale == INF:
                scale = FLT_MAX
        scales.append(scale)
        if not fused or newest != 0:
            history.rotate(-1)
            history[0] = 0.0
    return scales


def te_delayed(
    x: NDArray[np.float32], *, dtype: str = "float32", fmt: Format, history: Sequence[float] = (), kept: float = 1.0
) -> BlockResult:
    """The scale of the amaxes before, NaN left out; `kept`, 1 at first, where their largest is 0 or inf."""
    a, scale = amax_numbers(history), kept
    if 0 < a < INF:
        scale = min(div(fmt.max, a), FLT_MAX)
    return blockwise(x, TENSOR, lambda xs: (rcp(scale), [fmt.encode(mul(v, scale)) for v in xs]))


FP8: dict[str, Callable[..., BlockResult]] = {}
for _e, _fmt in (("e4m3", E4M3), ("e5m2", E5M2)):
    for _kind, _tile in TILES.items():
        if _kind == "tensor":
            _pow2, _not = "_te_pow2", "_te"
        elif _kind in ("1x128", "128x128"):
            _pow2, _not = "_te", "_te_fp32scale"
        else:
            continue
        for _name, _flag in ((_pow2, True), (_not, False)):
            FP8[f"fp8_{_e}_{_kind}{_name}"] = scale_model(te, _tile, _fmt, pow2_scale=_flag, saturate=_kind != "tensor")
    FP8[f"fp8_{_e}_delayed_te"] = partial(te_delayed, fmt=_fmt)
    for _kind in ("tensor", "row"):
        FP8[f"fp8_{_e}_{_kind}_torchao"] = scale_model(torchao, TILES[_kind], _fmt, pow2_scale=False)
        FP8[f"fp8_{_e}_{_kind}_torchao_pow2"] = scale_model(torchao, TILES[_kind], _fmt, pow2_scale=True)
for _kind in ("tensor", "row", "1x128", "128x128"):
    FP8[f"fp8_e4m3_{_kind}_torchao_float8tensor"] = scale_model(torchao_float8tensor, TILES[_kind])
for _kind in ("1x128", "128x128", "128x1"):
    FP8[f"fp8_e4m3_{_kind}_torchao_blockwise"] = scale_model(
        torchao_blockwise, TILES[_kind], low_in_dtype=_kind == "128x1"
    )
    for _suffix, _ue8m0 in (("", False), ("_ue8m0", True)):
        FP8[f"fp8_e4m3_{_kind}_deepgemm{_suffix}"] = scale_model(deepgemm, TILES[_kind], ue8m0=_ue8m0)
        if _kind == "1x128":
            FP8[f"fp4_1x128_deepgemm{_suffix}"] = scale_model(deepgemm, TILES[_kind], E2M1, ue8m0=_ue8m0)
            FP8[f"fp8_e4m3_1x128_deepseek{_suffix}"] = scale_model(deepseek, TILES[_kind], ue8m0=_ue8m0)
for _kind in ("tensor", "channel", "128x128"):
    FP8[f"fp8_e4m3_{_kind}_compressed_tensors"] = scale_model(compressed_tensors, TILES[_kind])
for _kind in ("tensor", "row", "128x128"):
    FP8[f"fp8_e4m3_{_kind}_modelopt"] = scale_model(modelopt, TILES[_kind])
