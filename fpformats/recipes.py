"""THE table of block formats. A recipe is a row: `block_format` says what the words mean.

Formulas and what the packages do at their ends were checked by running the packages; see docs/recipes.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from .block_format import BlockFormat

__all__ = ["BLOCK_ALIASES", "BLOCK_FORMATS"]

INF, NAN = math.inf, math.nan
#: element -> (its largest number, the exponent of that, its mantissa bits)
ELEMENTS = {
    "e4m3": ("448", 8, 3),
    "e5m2": ("57344", 15, 2),
    "e3m2": ("28", 4, 2),
    "e2m3": ("7.5", 2, 3),
    "e2m1": ("6", 2, 1),
}
MX_NAMES = {"e4m3": "mxfp8_e4m3", "e5m2": "mxfp8_e5m2", "e3m2": "mxfp6_e3m2", "e2m3": "mxfp6_e2m3", "e2m1": "mxfp4"}
FP8_NAN = 0x7F  # hardware's and torch's, in both FP8 formats
MLX_FP4: dict[str, Any] = {
    "rounding": "nearest_zero",
    "argmin": True,
    "argmin_of": "y",
    "zero": "drop",
    "nan_code": 0,
}
WHOLE: tuple[int | None, int | None] = (None, None)
TILES: dict[str, tuple[int | None, int | None]] = {
    "tensor": WHOLE,
    "row": (1, None),
    "channel": (1, None),
    "1x128": (1, 128),
    "128x1": (128, 1),
    "128x128": (128, 128),
}
TILE_16 = {"": (1, 16), "_16x16": (16, 16)}


def _nan(element: str) -> int | None:
    return FP8_NAN if element in ("e4m3", "e5m2") else None


def _mx(suffix: str, clause: str, *, elements: str = "e4m3 e5m2 e3m2 e2m3 e2m1", **facts: Any) -> Iterator[BlockFormat]:
    """One MX recipe for its elements; MAX_E and EMAX in its words are the element's."""
    for element in elements.split():
        largest, emax, mantissa = ELEMENTS[element]
        words = {"LARGEST": largest, "EMAX": str(emax), "MANTISSA": str(mantissa)}
        row = {key: _filled(value, words) for key, value in facts.items()}
        fixed = {
            "block": (1, 32),
            "scale": "e8m0",
            "v": "a",
            "y": "x * (1 / s)",
            "q": "q * s",
            "nan_code": _nan(element),
            "clause": clause,
        }
        yield BlockFormat(MX_NAMES[element] + suffix, element, **{**fixed, **row})


def _filled(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, str):
        for word, text in words.items():
            value = value.replace(word, text)
    return value


def _ocp() -> Iterator[BlockFormat]:
    facts: dict[str, Any] = {"rule": "floor EMAX", "special": (("nonfinite", 255, NAN),)}
    yield from _mx(
        "", "OCP MX v1.0 section 6.3, floor rule; inf and NaN make a NaN block (torchao main FLOOR)", **facts
    )
    yield BlockFormat(
        "mxint8",
        "int8",
        (1, 32),
        "e8m0",
        "a",
        "floor 0",
        "x * (1 / s)",
        "q * s",
        special=(("nonfinite", 255, NAN),),
        symmetric=True,
        clause="OCP MX v1.0 section 6.3 with INT8 elements, -2 unused",
    )


def _te_mx() -> Iterator[BlockFormat]:
    rows = _mx(
        "_te",
        "Transformer Engine >= 2.13 kernels (quantize_mxfp8.cuh); smallest 2^k >= amax / max",
        elements="e4m3 e5m2",
        v="a * (1 / LARGEST)",
        rule="rp",
        amax_nan="ignore",
    )
    for row in rows:
        yield row
        yield replace(row, name=f"{row.name}_32x1", block=(32, 1))
        yield replace(row, name=f"{row.name}_32x32", block=(32, 32))


def _torchao_mx() -> Iterator[BlockFormat]:
    old, new = "torchao 0.18 prototype.mx_formats", "torchao main 36027d82 prototype.mx_formats"
    by_bits = {"floor": "floor EMAX", "ceil": "ceil EMAX", "even": "half_up MANTISSA EMAX"}
    for mode, rule in by_bits.items():
        # code 0 divides by 2^-126, and only a NaN makes 255, by which everything is divided as by inf
        yield from _mx(
            f"_torchao018_{mode}",
            f"{old}, {mode.upper()}",
            rule=rule,
            y="x / s",
            special=(("nan", 255, INF),),
            scale_at=((0, 2.0**-126),),
            tier=2,
        )
        if mode != "floor":
            broken = (("carry", 255, NAN),) if mode == "even" else ()  # inf by the rounding
            yield from _mx(
                f"_torchao_{mode}",
                f"{new}, {mode.upper()}",
                rule=rule,
                special=(*broken, ("nonfinite", 255, NAN)),
                tier=2,
            )
    yield from _mx(
        "_torchao018_rceil",
        f"{old}, RCEIL",
        v="a / LARGEST",
        rule="ceil_log2f",
        special=(("nan", 255, NAN), ("inf", 254, 2.0**127)),
        scale_at=((0, 1.0),),
        tier=2,
    )
    yield from _mx(
        "_torchao_rceil", f"{new}, RCEIL", v="a * (1 / LARGEST)", rule="rp", special=(("nonfinite", 255, NAN),), tier=2
    )


def _other_mx() -> Iterator[BlockFormat]:
    yield from _mx(
        "_modelopt",
        "nvidia-modelopt 0.47 qtensor/mxfp8_tensor.py",
        elements="e4m3",
        v="a / LARGEST",
        rule="ceil_log2f",
        special=(("inf", 254, 2.0**127), ("nan", 0, 2.0**-127)),
        tier=2,
    )
    yield from _mx(
        "_modelopt",
        "nvidia-modelopt 0.47 qtensor/mxfp4_tensor.py: every tie toward zero, exact zeros are -0",
        elements="e2m1",
        v="a / 6",
        rule="ceil_log2f",
        y="x / s",
        special=(("nonfinite", 0, INF),),
        rounding="nearest_zero",
        zero="minus_exact",
        nan_code=8,
        tier=2,
    )
    for element in ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1"):
        bits = "3" if element == "e2m3" else "1"
        yield from _mx(
            "_compressed_tensors",
            "compressed-tensors 0.20.1 mxfp_utils.py",
            elements=element,
            rule=f"half_up {bits} EMAX",
            y="d(x / s)",
            special=(("carry", 127, INF), ("nan", 0, 2.0**-127)),
            zero="drop_exact" if element == "e2m1" else "keep",
            tier=2,
        )
    for mode, v, rule in (("up", "a / LARGEST", "up"), ("down", "a / POWER", "down")):
        for element, (_, emax, _) in ELEMENTS.items():
            yield from _mx(
                f"_triton_{mode}",
                f"triton_kernels numerics_details/mxfp.py, ROUND_{mode.upper()} (gpt-oss)",
                elements=element,
                v=v.replace("POWER", str(2**emax)),
                rule=rule,
                scale_at=((0, INF), (255, INF)),
                tier=2,
            )
    for mode, rule in (
        ("even", "half_up MANTISSA EMAX"),
        ("floor", "floor_log2f EMAX"),
        ("ceil", "ceil_log2f_of EMAX"),
    ):
        broken = "nan" if mode == "even" else "nonfinite"
        for element in ELEMENTS:
            yield from _mx(
                f"_quark_{mode}",
                f"AMD Quark 0.13 hw_emulation, {mode}",
                elements=element,
                v="a or 2 ** -126",
                rule=rule,
                y="x / s",
                special=((broken, 255, NAN),),
                zero="keep" if element in ("e4m3", "e5m2") else "drop",
                tier=2,
            )
    yield from _microxcaling()
    for element in ("e4m3", "e2m1"):
        four = element == "e2m1"
        yield from _mx(
            "_mlx",
            "MLX 0.32.4 quantize on the CPU" + (": the first of the nearest of 16 values" if four else ""),
            elements=element,
            v="d(a / LARGEST)",
            rule="rp_wrap",
            s="rp_power",
            special=(("nonfinite", 128, 2.0**-127), ("nonfinite bf16", 0, 2.0**-127)),
            y="d(x / s)",
            tier=2,
            **(MLX_FP4 if four else {"nan_code": 0x7E}),
        )
    yield BlockFormat(
        "mxfp4_ggml",
        "e2m1",
        (1, 32),
        "e8m0",
        "a",
        "floor_log2f_wrap 2",
        "x / s",
        "q * s",
        amax_nan="ignore",
        special=(("zero", 0, 2.0**-127), ("inf", 0, 2.0**-127)),
        rounding="nearest_zero",
        argmin=True,
        zero="drop",
        nan_code=0,
        order="ggml",
        clause="ggml / gguf 0.19 MXFP4: the nearest of 16 products, the first of two",
    )


def _microxcaling() -> Iterator[BlockFormat]:
    """Elements are floor(v + 1/2) in float32: just below half of the smallest that is a whole one."""
    clause = "microxcaling 7bc41952 mx_ops.py, elemwise_ops.py: round={}"
    half_of_smallest = {"e4m3": -10, "e5m2": -17, "e3m2": -5, "e2m3": -4, "e2m1": -2, "int8": -7, "mxint4_element": -3}
    for suffix, word, rounding in (("", "nearest", "nearest_away"), ("_even", "even", "nearest_even")):
        for element, exponent in half_of_smallest.items():
            power = 2.0**exponent
            facts: dict[str, Any] = {
                "v": "a or 2 ** -126",
                "y": "x / s",
                "special": (("nonfinite", 255, NAN),),
                "rounding": rounding,
                "y_at": ((power - power * 2.0**-24, power * 2),),
                "tier": 2,
                "clause": clause.format(word),
            }
            if element in ELEMENTS:
                facts |= {"rule": "floor_log2f EMAX", "zero": "drop_exact"}
                yield from _mx(f"_microxcaling{suffix}", elements=element, **facts)
            else:
                name = f"{'mxint8' if element == 'int8' else 'mxint4'}_microxcaling{suffix}"
                facts |= {"rule": "floor_log2f 0", "q": "q * s", "symmetric": True}
                yield BlockFormat(name, element, (1, 32), "e8m0", **facts)


def _nvfp4(name: str, clause: str, v: str, y: str, q: str, **facts: Any) -> BlockFormat:
    return BlockFormat(
        name, "e2m1", facts.pop("block", (1, 16)), "e4m3", v, facts.pop("rule", "rne"), y, q, clause=clause, **facts
    )


def _nvfp4_rows() -> Iterator[BlockFormat]:
    te: dict[str, Any] = {
        "z": "min(2688 / G, MAX) or 1",
        "second": "G",
        "y": "x * min(1 / (s * (1 / z)), MAX)",
        "q": "q * (s * G * (1 / 2688))",
        "zero": "drop_exact",
        "nan_code": 0,
    }
    for suffix, block in TILE_16.items():
        yield _nvfp4(
            f"nvfp4_te{suffix}", "Transformer Engine >= 2.14 reference_nvfp4.py", "a * (z * (1 / 6))", block=block, **te
        )
        yield _nvfp4(
            f"nvfp4_te213{suffix}", "Transformer Engine 2.8 ... 2.13 reference", "(a / 6) * z", block=block, **te
        )
    yield _nvfp4(
        "nvfp4_te_rowscaled",
        "Transformer Engine 2.20 reference, an amax a row",
        "a * (z * (1 / 6))",
        second_of="row",
        **te,
    )
    for error in ("mae", "mse"):
        for largest in (448, 256):
            for suffix, block in TILE_16.items():
                facts: dict[str, Any] = {
                    **te,
                    "z": f"min({6 * largest} / G, MAX) or 1",
                    "q": f"q * s * G / {6 * largest}",
                }
                yield _nvfp4(
                    f"nvfp4_te_4over6_{error}_{largest}{suffix}",
                    "Transformer Engine 2.20 reference, 4over6",
                    "(a / 6) * z",
                    block=block,
                    select=error,
                    tier=2,
                    **facts,
                )
    yield _nvfp4(
        "nvfp4_flashinfer",
        "FlashInfer fb28d724 tests/test_helpers/utils_fp4.py (the reference of its kernels)",
        "z * (a * (1 / 6))",
        "x * unless_zero(s, 1 / (s * (1 / z)))",
        "q * (s * (1 / z))",
        z=te["z"],
        second="z",
        zero="drop_exact",
        nan_code=0,
    )
    low = "max(min({}, 448), 0.015625)"
    yield _nvfp4(
        "nvfp4_torchao",
        "torchao 0.18 nvfp4_tensor.py, two levels",
        low.format("(a / 6) / z"),
        "x * ((1 / z) / s)",
        "q * (s * z)",
        z="G / 2688",
        second="z",
    )
    yield _nvfp4(
        "nvfp4_torchao_onelevel", "torchao 0.18 nvfp4_tensor.py, one level", low.format("a / 6"), "x * (1 / s)", "q * s"
    )
    yield _nvfp4(
        "nvfp4_modelopt",
        "nvidia-modelopt 0.47 qtensor/nvfp4_tensor.py",
        "max(min(a / (6 * z) or 1, 448), 2 ** -9)",
        "x / (s * z)",
        "q * (s * z)",
        z="G / 2688",
        second="z",
        zero="drop_exact",
        nan_code=7,
    )
    yield _nvfp4(
        "nvfp4_compressed_tensors",
        "compressed-tensors 0.20.1 nvfp4 (llm-compressor)",
        "z * d(a / 6)",
        "x / (s / z)",
        "q * (s / z)",
        z="finite(d(d(1 / G) * 2688), 1)",
        second="z",
        code_at=((0, 0x20),),
        zero="drop_exact",
    )
    yield _nvfp4("nvfp4_direct", "triton_kernels nvfp4_direct", "a / 6", "x * unless_zero(s, 1 / s)", "q * s", tier=2)
    yield _nvfp4(
        "nvfp4_mlx",
        "MLX 0.32.4 quantize on the CPU: the first of the nearest of 16 values",
        "d(a / 6)",
        "d(x / s)",
        "q * s",
        code_at=((0x7F, 0x7E),),
        tier=2,
        **MLX_FP4,
    )
    yield _nvfp4(
        "nvfp4_qwix",
        "qwix 0.1.8 qarray.py with jax 0.10.2 on the CPU; XLA, which divides so, also flushes subnormal numbers",
        "unless_below(d(a / 6), DROOT, 1)",
        "d(x * (1 / s))",
        "q * s",
        tier=2,
    )
    yield _nvfp4(
        "nvfp4_ggml",
        "ggml NVFP4: UE4M3 half up, the nearest of 16 products",
        "a / 6",
        "x / s",
        "q * s",
        rule="ggml",
        scale_at=((0, INF),),
        argmin=True,
        amax_nan="ignore",
        rounding="nearest_zero",
        zero="drop",
        nan_code=0,
        order="ggml",
    )


def _fp8(name: str, element: str, tile: str, clause: str, v: str, y: str, q: str, **facts: Any) -> BlockFormat:
    largest = ELEMENTS[element][0]
    facts.setdefault("rule", "fp32")
    return BlockFormat(
        f"fp8_{element}_{tile}_{name}",
        element,
        TILES[tile],
        "fp32",
        v.replace("LARGEST", largest),
        facts.pop("rule"),
        y,
        q,
        nan_code=FP8_NAN,
        clause=clause,
        **facts,
    )


def _fp8_rows() -> Iterator[BlockFormat]:
    for element in ("e4m3", "e5m2"):
        for tile in ("tensor", "1x128", "128x128"):
            clause = f"Transformer Engine 2.20 {'current' if tile == 'tensor' else 'block'} scaling, its reference"
            v, zero = "noinf(LARGEST / max(a, eps), DMAX)", ("zero", None, 1.0)
            facts = {
                "y": "x * s",
                "q": "q * t",
                "stored": "1 / s",
                "overflow": "nonfinite" if (element, tile) == ("e5m2", "tensor") else "saturate",
            }
            plain, powers = ("te", "te_pow2") if tile == "tensor" else ("te_fp32scale", "te")
            yield _fp8(plain, element, tile, clause, v, special=(zero,), **facts)
            yield _fp8(powers, element, tile, clause, v, rule="pow2_floor", special=(zero, ("nan", None, 0.5)), **facts)
        yield BlockFormat(
            f"fp8_{element}_delayed_te",
            element,
            WHOLE,
            "fp32",
            f"min({ELEMENTS[element][0]} / a, MAX)",
            "fp32",
            "x * s",
            "q * t",
            stored="1 / s",
            amax_from="history",
            amax_nan="ignore",
            special=(("zero", None, 1.0), ("nonfinite", None, 1.0)),
            nan_code=FP8_NAN,
            clause="Transformer Engine 2.20 delayed scaling, its kernels (delayed_scaling.cu)",
        )
        for tile in ("tensor", "row"):
            facts = {"v": "f64(LARGEST / max(a, 1e-12))", "y": "x * s", "q": "q / t"}
            clause = "torchao 0.18 float8_utils.py (training)"
            yield _fp8("torchao", element, tile, clause, **facts)
            yield _fp8("torchao_pow2", element, tile, clause, rule="pow2_floor_log2f", **facts)
    by_scale = {"y": "x / s", "q": "q * t"}
    for tile in ("tensor", "row", "1x128", "128x128"):
        yield _fp8("torchao_float8tensor", "e4m3", tile, "torchao 0.18 Float8Tensor", "d(a / LARGEST)", **by_scale)
    for tile in ("1x128", "128x128", "128x1"):
        low = "d(1e-12)" if tile == "128x1" else "1e-12"
        yield _fp8(
            "torchao_blockwise",
            "e4m3",
            tile,
            "torchao 0.18 blockwise_fp8_training",
            f"f64(LARGEST / max(a, {low}))",
            "x * s",
            "q * t",
            stored="1 / s",
        )
        for suffix, rule in (("", "fp32"), ("_ue8m0", "rp_1_254")):
            yield _fp8(
                f"deepgemm{suffix}",
                "e4m3",
                tile,
                "DeepGEMM 54e22612 utils/math.py",
                "max(a, 1e-4) / LARGEST",
                "x * (1 / s)",
                "q * t",
                rule=rule,
            )
    for suffix, rule, fp4_rule in (("", "fp32", "fp32"), ("_ue8m0", "pow2_ceil_log2f", "rp_1_254")):
        yield _fp8(
            f"deepseek{suffix}",
            "e4m3",
            "1x128",
            "DeepSeek-V3 9b4e9788 inference/kernel.py: its scales; elements by an exact division, not a GPU's",
            "max(a, 1e-4) / LARGEST",
            "x / s",
            "q * t",
            rule=rule,
            amax_nan="ignore",
            tier=2,
        )
        yield BlockFormat(
            f"fp4_1x128_deepgemm{suffix}",
            "e2m1",
            (1, 128),
            "fp32",
            "max(a, 1e-4) / 6",
            fp4_rule,
            "x * (1 / s)",
            "q * t",
            rounding="nearest_zero",
            zero="drop",
            tier=2,
            clause="DeepGEMM 54e22612 utils/math.py, FP4: every tie toward zero",
        )
    for tile in ("tensor", "row", "128x128"):
        yield _fp8(
            "modelopt",
            "e4m3",
            tile,
            "nvidia-modelopt 0.47 qtensor/fp8_tensor.py",
            "d(a / LARGEST)",
            "d(x / s)",
            "q * t",
        )
    for tile in ("tensor", "channel", "128x128"):
        yield _fp8(
            "compressed_tensors",
            "e4m3",
            tile,
            "compressed-tensors 0.20.1 float-quantized",
            "d(a / LARGEST) or DEPS",
            "d(x / s)",
            "q * t",
        )


def _integer_rows() -> Iterator[BlockFormat]:
    """Integers, symmetric and with zero points."""

    def row(bits: int, tile: str, name: str, clause: str, v: str, y: str, **facts: Any) -> BlockFormat:
        words = {"LOW": str(-(2 ** (bits - 1))), "STEPS": str(2**bits - 1)}
        facts = {key: _filled(value, words) for key, value in facts.items()}
        words |= {"TOP": str(2 ** (bits - 1) - 1), "HALF": str((2**bits - 1) / 2)}
        facts.setdefault("q", "q * t")
        kind = f"int{bits}" if bits > 2 else "ternary"
        return BlockFormat(
            f"{kind}_{tile}_{name}",
            f"s{bits}",
            TILES[tile],
            "fp32",
            _filled(v, words),
            "fp32",
            y,
            clause=clause,
            tier=2,
            **facts,
        )

    for bits in (8, 4):
        for tile in ("tensor", "channel", "1x128"):
            yield row(
                bits,
                tile,
                "absmax",
                "symmetric absmax (arXiv:2004.09602 section 3.1.2): a to the largest integer; the scale of zeros is 1",
                "a / TOP or 1",
                "x / s",
                symmetric=True,
            )
            yield row(
                bits,
                tile,
                "compressed_tensors",
                f"compressed-tensors 0.20.1 int-quantized, pack-quantized: symmetric, a to {2 ** (bits - 1) - 0.5}",
                "d(a / HALF) or DEPS",
                "d(x / s)",
            )
            yield row(
                bits,
                tile,
                "compressed_tensors_asymmetric",
                "compressed-tensors 0.20.1 int-quantized, pack-quantized: asymmetric",
                "d(d(hi - lo) / STEPS) or DEPS",
                "d(d(x / s) + p)",
                q="(q - p) * t",
                zero_point="d(LOW - d(lo / unless_zero(d(d(hi - lo) / STEPS), s)))",
            )
    for tile in ("tensor", "row"):
        yield row(
            8,
            tile,
            "torchao_asymmetric",
            "torchao 0.18 Int8Tensor, asymmetric",
            "max(d(d(hi - lo) / STEPS), 2 ** -23)",
            "rint(x * (1 / s)) + p",
            q="(q - p) * t",
            zero_point="LOW - rint(d(lo / s))",
        )
        yield row(8, tile, "torchao", "torchao 0.18 Int8Tensor, symmetric", "max(d(a / HALF), 2 ** -23)", "x * (1 / s)")
        yield row(8, tile, "modelopt", "nvidia-modelopt 0.47 qtensor/int8_tensor.py", "d(a / TOP)", "d(x / s)")
    yield row(
        2,
        "tensor",
        "bitnet",
        "BitNet b1.58 weights (arXiv:2402.17764; transformers 5.24 integrations/bitnet.py), the mean rounded once",
        "1 / max(a, 1e-5)",
        "x * s",
        q="q / t",
        statistic="mean",
        symmetric=True,
    )


BLOCK_FORMATS: dict[str, BlockFormat] = {
    row.name: row
    for rows in (_ocp(), _nvfp4_rows(), _te_mx(), _fp8_rows(), _torchao_mx(), _other_mx(), _integer_rows())
    for row in rows
}

#: What short names stand for.
BLOCK_ALIASES: dict[str, str] = {
    "mxfp8": "mxfp8_e4m3",
    "mxfp6": "mxfp6_e3m2",
    "mxfp4_e2m1": "mxfp4",
    "nvfp4": "nvfp4_te",
}
