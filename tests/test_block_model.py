"""The slow model of the block-scaling recipes, and fpformats, against what the packages themselves returned.

The recordings lie in ``blocks`` beside the folder that FPFORMATS_VECTORS names, or in the recorded vectors folder
beside the repository. A key is ``package/recipe/f32|bf16/input/what``. All is compared bit for bit: scales, second
level, codes; but a NaN with any NaN, and where a package leaves a code undefined, that its block has a reason.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from block_ours import OURS
from oracles.block_model import MODELS, delayed_scales, ggml_scale, rht
from oracles.block_model.exact import (
    BF16,
    ELEMENTS,
    NAN,
    Format,
    add,
    ceil_log2f,
    div,
    floor_log2f,
    log2f,
    mul,
    pow2,
    rn,
)
from oracles.block_result import BlockResult

import fpformats as fp

FOLDER = (
    Path(os.environ["FPFORMATS_VECTORS"]).parent
    if os.environ.get("FPFORMATS_VECTORS")
    else Path(__file__).resolve().parent.parent.parent / "shared" / "vectors"
) / "blocks"
INPUTS = ("normal", "ties4", "zeros", "special")
DTYPES = {"f32": "float32", "bf16": "bfloat16"}


def path(name: str) -> Path:
    if not (FOLDER / name).exists():
        pytest.skip(f"there is no blocks/{name} beside FPFORMATS_VECTORS or in the recorded vectors folder")
    return FOLDER / name


@functools.cache
def recorded(name: str) -> Mapping[str, np.ndarray]:
    return np.load(path(f"{name}.npz"))


@functools.cache
def tensor(name: str, dtype: str) -> np.ndarray:
    data = recorded("inputs")
    return data[name] if dtype == "f32" else (data[f"{name}@bf16bits"].astype(np.uint32) << 16).view(np.float32)


# --- what is compared -------------------------------------------------------------------------------
class Case(NamedTuple):
    """A recipe's recording, and what to know of it."""

    model: str
    file: str
    key: str
    scale: str = "scale"
    second: str | None = None  #: what the second level is called
    amax: bool = False  #: the model needs the tensor's amax, since it is given some of its rows
    rows: int = 16  #: of 128, and in this case the first half of the columns too
    repeat: int = 1  #: how often the recording repeats a scale
    extra: dict[str, float] = {}  # noqa: RUF012
    codes: bool = True  #: whether the codes are to be compared
    ocp: bool = False  #: leave out blocks with an inf or NaN, which this package treats in its own way
    nan_code: int | None = None  #: the low three bits of a recorded E2M1 code where it is undefined


MX = {"e4m3": "mxfp8_e4m3", "e5m2": "mxfp8_e5m2", "e3m2": "mxfp6_e3m2", "e2m3": "mxfp6_e2m3", "e2m1": "mxfp4"}


def mx_cases() -> list[Case]:
    cases = []
    for e, name in MX.items():
        cases += [
            Case(f"{name}_torchao018_{m}", "torchao_mx", f"torchao0.18/mx_{e}_{m}")
            for m in ("rceil", "ceil", "even", "floor")
        ]
        cases.append(Case(name, "torchao_mx", f"torchao0.18/mx_{e}_floor", ocp=True))
        if e in ("e4m3", "e2m1"):
            cases.append(Case(name, "torchao_main_mx", f"torchao_main_36027d82/mx_{e}_floor"))
            for m in ("rceil", "ceil", "even"):
                cases.append(Case(f"{name}_torchao_{m}", "torchao_main_mx", f"torchao_main_36027d82/mx_{e}_{m}"))
        if e in ("e4m3", "e5m2"):
            for tile, suffix in (("1x32", ""), ("32x1", "_32x1"), ("32x32", "_32x32")):
                cases.append(
                    Case(f"{name}_te{suffix}", "te_delayed_mxfp8", f"te_kernel_model/mxfp8_{e}_{tile}", rows=32)
                )
        if e in ("e4m3", "e5m2", "e2m1"):
            for m in ("up", "down"):
                key = f"triton_kernels/mx_{e}_ROUND_{m.upper()}"
                cases.append(Case(f"{name}_triton_{m}", "triton_kernels", key, nan_code=7))
    for name, key in (("mxfp4", "mxfp4"), ("mxfp6_e2m3", "mxfp6"), ("mxfp8_e4m3", "mxfp8")):
        cases.append(Case(f"{name}_compressed_tensors", "compressed_tensors", f"ct0.20.1/{key}"))
    for name, key in (("mxfp4", "mxfp4"), ("mxfp8_e4m3", "mxfp8")):
        cases.append(Case(f"{name}_modelopt", "modelopt", f"modelopt0.47/{key}"))
        cases.append(Case(f"{name}_mlx", "mlx", f"mlx0.32.4/{key}", rows=8))
    return cases


def nvfp4_cases() -> list[Case]:
    te = functools.partial(Case, file="te_ref", second="amax")
    cases = [
        te("nvfp4_te", key="te2.20_ref/nvfp4_1x16", amax=True),
        te("nvfp4_te_16x16", key="te2.20_ref/nvfp4_16x16", amax=True, repeat=16),
        te("nvfp4_te_rowscaled", key="te2.20_ref/nvfp4_1x16_rowscaled"),
        te("nvfp4_te213", key="te2.13_ref/nvfp4_1x16", amax=True),
        te("nvfp4_te213_16x16", key="te2.13_ref/nvfp4_16x16", amax=True, repeat=16),
        Case("nvfp4_torchao", "torchao_mx", "torchao0.18/nvfp4_twolevel", second="scale2", amax=True),
        Case("nvfp4_torchao_onelevel", "torchao_mx", "torchao0.18/nvfp4_onelevel"),
        Case("nvfp4_modelopt", "modelopt", "modelopt0.47/nvfp4", second="scale2", amax=True),
        Case("nvfp4_compressed_tensors", "compressed_tensors", "ct0.20.1/nvfp4", second="global_scale", amax=True),
        Case("nvfp4_direct", "triton_kernels", "triton_kernels/nvfp4_direct"),
        Case("nvfp4_mlx", "mlx", "mlx0.32.4/nvfp4", rows=8),
    ]
    for mode in ("mae", "mse"):
        for largest in (448, 256):
            name, key = f"nvfp4_te_4over6_{mode}_{largest}", f"_{largest}_{mode.upper()}"
            cases.append(Case(name, "te_4over6", f"te2.20_ref/nvfp4_4over6_1x16{key}", amax=True, rows=8))
            cases.append(
                Case(f"{name}_16x16", "te_4over6", f"te2.20_ref/nvfp4_4over6_16x16{key}", amax=True, repeat=16)
            )
    return cases


def fp8_cases() -> list[Case]:
    cases = []
    te = functools.partial(Case, file="te_ref", scale="scale_inv")
    ao, ct, mo = "torchao_float8", "compressed_tensors", "modelopt"
    for e in ("e4m3", "e5m2"):
        for p, tensor_suffix, block_suffix in ((0, "_te", "_te_fp32scale"), (1, "_te_pow2", "_te")):
            for eps in ("0.0", "0.0001"):
                key, extra = f"{e}_p2{p}_eps{eps}", {"eps": float(eps)}
                cases += [
                    te(f"fp8_{e}_tensor{tensor_suffix}", key=f"te2.20_ref/fp8_tensor_{key}", amax=True, extra=extra),
                    te(f"fp8_{e}_1x128{block_suffix}", key=f"te2.20_ref/fp8_1x128_{key}", extra=extra),
                    te(f"fp8_{e}_128x128{block_suffix}", key=f"te2.20_ref/fp8_128x128_{key}", extra=extra, rows=128),
                ]
            for kind in ("tensor", "row"):
                name = f"fp8_{e}_{kind}_torchao" + "_pow2" * p
                cases.append(Case(name, ao, f"torchao0.18/float8_training_{kind}_{e}_p2{p}", amax=kind == "tensor"))
    for kind, rows in (("tensor", 16), ("row", 16), ("1x128", 16), ("128x128", 128)):
        key = f"torchao0.18/Float8Tensor_{'b' * ('x' in kind)}{kind}_e4m3"
        cases.append(Case(f"fp8_e4m3_{kind}_torchao_float8tensor", ao, key, amax=kind == "tensor", rows=rows))
    for kind, what, rows in (("1x128", "act", 16), ("128x128", "weight", 128), ("128x1", "act", 128)):
        cases.append(
            Case(f"fp8_e4m3_{kind}_torchao_blockwise", ao, f"torchao0.18/blockwise_fp8_{what}_{kind}", rows=rows)
        )
        for u, suffix in enumerate(("", "_ue8m0")):
            cases.append(Case(f"fp8_e4m3_{kind}_deepgemm{suffix}", "misc", f"deepgemm/{kind}_ue8m0{u}", rows=rows))
    for u, suffix in enumerate(("", "_ue8m0")):
        cases.append(Case(f"fp4_1x128_deepgemm{suffix}", "misc", f"deepgemm/fp4_1x128_ue8m0{u}"))
        key = f"deepseek_v3/act_1x128_{suffix[1:] or 'None'}"  # its codes come from an interpreter that loses carries
        cases.append(Case(f"fp8_e4m3_1x128_deepseek{suffix}", "misc", key, codes=False))
    for kind, key, rows in (("tensor", "tensor", 16), ("channel", "channel", 16), ("128x128", "block", 128)):
        name = f"fp8_e4m3_{kind}_compressed_tensors"
        cases.append(Case(name, ct, f"ct0.20.1/fp8_{key}", amax=kind == "tensor", rows=rows))
    for kind, key, rows in (("tensor", "tensor", 16), ("row", "axis0", 16), ("128x128", "b128x128", 128)):
        cases.append(Case(f"fp8_e4m3_{kind}_modelopt", mo, f"modelopt0.47/fp8_{key}", amax=kind == "tensor", rows=rows))
    return cases


CASES = mx_cases() + nvfp4_cases() + fp8_cases()


def nan_codes(model: str, codes: np.ndarray) -> np.ndarray:
    """Which element codes are NaN."""
    if not model.startswith(("fp8", "mxfp8")):
        return np.zeros(codes.shape, bool)
    return codes & 0x7F > (0x7C if "e5m2" in model else 0x7E)


def differences(what: str, x: np.ndarray, got: np.ndarray, expected: np.ndarray, same: np.ndarray) -> None:
    """Fail and say where, if not all is the same."""
    if not same.all():
        at = tuple(np.argwhere(~same)[0])
        near = x[at] if same.shape == x.shape else "?"
        pytest.fail(
            f"{what}: {(~same).sum()} of {same.size} differ; at {at} {near!r} gives {got[at]}, not {expected[at]}"
        )


def compare_scales(what: str, x: np.ndarray, got: np.ndarray, expected: np.ndarray) -> None:
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    if got.dtype == np.float32:
        same = (got.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(got) & np.isnan(expected))
    else:
        same = got == expected
        if "nvfp4" in what:
            same |= (got & 0x7F == 0x7F) & (expected & 0x7F == 0x7F)
    differences(f"{what}, scales", x, got, expected, same)


def test_every_model_has_a_row() -> None:
    """MLX has MXFP8 of E4M3 and MXFP4 only; its rule with other elements is the model's alone."""
    assert set(MODELS) - set(OURS) == {"mxfp8_e5m2_mlx", "mxfp6_e3m2_mlx", "mxfp6_e2m3_mlx"}


@pytest.mark.parametrize("who", ["model", "fpformats"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.model}<{c.key.replace('/', ':')}")
def test_recorded(case: Case, who: str) -> None:
    data = recorded(case.file)
    for dtype in DTYPES:
        for name in INPUTS:
            key, full = f"{case.key}/{dtype}/{name}", tensor(name, dtype)
            if case.file == "te_4over6" and name == "special":
                assert f"{key}/codes" not in data  # the only ones that are not recorded
                continue
            columns = 128 if case.rows == 128 else 256
            x, extra = full[: case.rows, :columns], dict(case.extra)
            if case.amax:
                extra["amax"] = float(np.abs(full).max())
            result = MODELS[case.model](x, dtype=DTYPES[dtype], **extra)
            if who == "fpformats":  # what is undefined is the model's to say
                result = OURS[case.model](x, dtype=DTYPES[dtype], **extra)._replace(undefined=result.undefined)
            scales = data[f"{key}/{case.scale}"]
            if columns == 256:
                scales = scales.reshape(-1, result.scales.shape[1])
            scales = scales[:: case.repeat][: len(result.scales), : result.scales.shape[1]]
            nonfinite = ~np.isfinite(x).reshape(-1, result.scales.shape[1], x.shape[1] // result.scales.shape[1]).all(
                -1
            )
            if case.ocp:
                scales = np.where(nonfinite, result.scales, scales)
            compare_scales(key, x, result.scales, scales)
            if case.second:
                compare_scales(
                    f"{key} second", x, result.second, data[f"{key}/{case.second}"].ravel()[: len(result.second)]
                )
            if case.codes:
                compare_codes(case, key, x, result, data[f"{key}/codes"][: case.rows, :columns], nonfinite)


def compare_codes(
    case: Case, key: str, x: np.ndarray, result: BlockResult, codes: np.ndarray, nonfinite: np.ndarray
) -> None:
    same = (result.codes == codes) | (nan_codes(case.model, result.codes) & nan_codes(case.model, codes))
    if "te_kernel" in key:  # the hardware's conversion has one NaN
        same = result.codes == codes
    wide = nonfinite.repeat(x.shape[1] // nonfinite.shape[1], axis=1).repeat(len(x) // len(nonfinite), axis=0)
    if result.undefined is not None:
        assert wide[result.undefined].all() or (case.amax and wide.any()), "undefined without an inf or a NaN"
        assert case.nan_code is None or (codes[result.undefined] & 7 == case.nan_code).all()
        same |= result.undefined
    differences(f"{key}, codes", x, result.codes, codes, same | (wide if case.ocp else False))


# --- packages that return values --------------------------------------------------------------------
def dequantized(result: BlockResult, fmt: Format | int, block: int = 32) -> np.ndarray:
    """RN(element * power), NaN for a scale of 255; `fmt` of an integer is its number of bits."""
    out = np.empty(result.codes.shape, np.float32)
    for at, code in np.ndenumerate(result.codes):
        scale = int(result.scales[at[0], at[1] // block])
        if isinstance(fmt, int):
            value = ((int(code) ^ (1 << (fmt - 1))) - (1 << (fmt - 1))) / 2 ** (fmt - 2)
        else:
            value = fmt.value(int(code))
        out[at] = NAN if scale == 255 else mul(value, pow2(scale - 127))
    return out


VALUES = [
    (f"{MX[e]}_quark_{mode}", "quark", f"quark0.13/{key}_{mode}", ELEMENTS[e])
    for e, key in (("e4m3", "fp8_e4m3"), ("e2m3", "fp6_e2m3"), ("e2m1", "fp4"))
    for mode in ("even", "floor", "ceil")
]
for _mode, _suffix in (("nearest", ""), ("even", "_even")):
    for _e, _name in MX.items():
        _key = f"microxcaling/fp{_name[4]}_{_e}_{_mode}_flush0"
        VALUES.append((f"{_name}_microxcaling{_suffix}", "microxcaling", _key, ELEMENTS[_e]))
    for _bits in (8, 4):
        _key = f"microxcaling/int{_bits}_{_mode}_flush0"
        VALUES.append((f"mxint{_bits}_microxcaling{_suffix}", "microxcaling", _key, _bits))
VALUES.append(("mxint8", "microxcaling", "microxcaling/int8_even_flush0", 8))


@pytest.mark.parametrize("who", ["model", "fpformats"])
@pytest.mark.parametrize(("model", "file", "key", "fmt"), VALUES, ids=lambda v: v if isinstance(v, str) else "")
def test_recorded_values(model: str, file: str, key: str, fmt: Format | int, who: str) -> None:
    for name in INPUTS:
        x, expected = tensor(name, "f32")[:16], recorded(file)[f"{key}/f32/{name}/dequant"][:16]
        got = dequantized((OURS if who == "fpformats" else MODELS)[model](x), fmt)
        if isinstance(fmt, int):
            got, expected = got + np.float32(0), expected + np.float32(0)  # two's complement has no -0
        same = (got.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(got) & np.isnan(expected))
        differences(f"{key}/{name}", x, got, expected, same)


# --- ggml, in its blocks ----------------------------------------------------------------------------
def halves(packed: np.ndarray, size: int) -> np.ndarray:
    """`size` low nibbles, then the high ones of the same bytes."""
    packed = packed.reshape(-1, size)
    return np.concatenate([packed & 15, packed >> 4], axis=1)


@pytest.mark.parametrize(
    ("package", "name"), [("ggml", name) for name in INPUTS] + [("gguf0.19", name) for name in INPUTS[:3]]
)
@pytest.mark.parametrize("who", ["model", "fpformats"])
def test_ggml_mxfp4(package: str, name: str, who: str) -> None:
    data, x = recorded("misc"), tensor(name, "f32")[:16]
    key = f"{package}/mxfp4/f32/{name}/blocks"
    blocks, result = data[key].reshape(-1, 17)[: 16 * 8], (MODELS if who == "model" else OURS)["mxfp4_ggml"](x)
    compare_scales(key, x, result.scales, blocks[:, 0].reshape(16, 8))
    np.testing.assert_array_equal(result.codes, halves(blocks[:, 1:], 16).reshape(x.shape))


@pytest.mark.parametrize("who", ["model", "fpformats"])
@pytest.mark.parametrize("name", INPUTS)
def test_ggml_nvfp4(name: str, who: str) -> None:
    x = tensor(name, "f32")[:16]
    blocks, result = (
        recorded("misc")[f"ggml/nvfp4/f32/{name}/blocks"].reshape(-1, 36)[: 16 * 4],
        (MODELS if who == "model" else OURS)["nvfp4_ggml"](x),
    )
    compare_scales(f"ggml {name}", x, result.scales, blocks[:, :4].reshape(16, 16))
    np.testing.assert_array_equal(result.codes, halves(blocks[:, 4:], 8).reshape(x.shape))


def test_ggml_scale() -> None:
    data = recorded("misc")
    got = [ggml_scale(float(v)) for v in data["ggml/fp32_to_ue4m3/x"]]
    np.testing.assert_array_equal(got, data["ggml/fp32_to_ue4m3/codes"])


# --- delayed scaling and the Hadamard transform -----------------------------------------------------
@pytest.mark.parametrize("algorithm", ["max", "most_recent"])
@pytest.mark.parametrize("largest", [448, 57344])
@pytest.mark.parametrize("margin", [0, 2])
@pytest.mark.parametrize("path", ["python", "fused_rule"])
def test_delayed(algorithm: str, largest: int, margin: int, path: str) -> None:
    data, key = recorded("te_delayed_mxfp8"), f"te2.20_delayed/{algorithm}_{largest}_m{margin}"
    amaxes = data[f"{key}/amax_seq"].tolist()
    fused = path == "fused_rule"
    got = delayed_scales(
        amaxes, largest=float(largest), margin=margin, algorithm=algorithm, length=8, fused=fused
    )  # the recording has a history of 8
    np.testing.assert_array_equal(np.array(got, np.float32), data[f"{key}/scale_{path}"])
    element, whose = {448: "e4m3", 57344: "e5m2"}[largest], path.removesuffix("_rule")
    ours = fp.DelayedScaling(element, length=8, algorithm=algorithm, margin=margin, path=whose)
    scales = []
    for amax in amaxes:
        ours.update(amax)
        scales.append(ours.scale)
    np.testing.assert_array_equal(np.array(scales), data[f"{key}/scale_{path}"])


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("algorithm", ["max", "most_recent"])
def test_delayed_on_hard_amaxes(algorithm: str, fused: bool) -> None:
    """Zeros, infinities, NaN, subnormals and huge amaxes in any order."""
    rng = np.random.default_rng(5)
    hard = np.float32([0, np.inf, np.nan, 1e-45, 1e-38, 3e38, 3.4028235e38, 1.0, 447.9, 0.1])
    amaxes = rng.choice(hard, 300)
    want = delayed_scales(amaxes.tolist(), margin=1, algorithm=algorithm, length=5, fused=fused)
    ours = fp.DelayedScaling(length=5, algorithm=algorithm, margin=1, path="fused" if fused else "python")
    for amax, scale in zip(amaxes, want, strict=True):
        ours.update(amax)
        assert float(ours.scale) == scale


@pytest.mark.parametrize("signs", [0, 1])
@pytest.mark.parametrize("name", INPUTS)
def test_rht(signs: int, name: str) -> None:
    """The transform where the order of its sums does not matter, and NVFP4 of the recorded transform anywhere."""
    data, x = recorded("te_ref"), tensor(name, "bf16")
    key = f"te2.20_ref/nvfp4_rht_sign{signs}_colwise/bf16/{name}"
    y = data[f"{key}/rht"]
    if name in ("normal", "zeros"):
        np.testing.assert_array_equal(rht(x[:, :16], signs=bool(signs)), y[:16])
    result = MODELS["nvfp4_te"](y[:16], dtype="bfloat16", amax=float(np.abs(y).max()))
    compare_scales(f"nvfp4 {key}", y, result.scales, data[f"{key}/scale"][:16])
    compare_scales(f"nvfp4 {key} second", y, result.second, data[f"{key}/amax"])
    np.testing.assert_array_equal(result.codes, data[f"{key}/codes"][:16])


# --- inputs on which recipes differ -----------------------------------------------------------------
NVFP4 = {
    "TE 2.20 ref": "nvfp4_te",
    "TE 2.13 ref": "nvfp4_te213",
    "FlashInfer test ref": "nvfp4_flashinfer",
    "torchao 0.18": "nvfp4_torchao",
    "ModelOpt 0.47": "nvfp4_modelopt",
    "compressed-tensors 0.20.1": "nvfp4_compressed_tensors",
}
MXFP = {
    "torchao FLOOR": "torchao018_floor",
    "torchao RCEIL": "torchao018_rceil",
    "torchao CEIL": "torchao018_ceil",
    "torchao EVEN": "torchao018_even",
    "ModelOpt": "modelopt",
    "triton_kernels ROUND_UP": "triton_up",
    "triton_kernels ROUND_DOWN": "triton_down",
    "compressed-tensors": "compressed_tensors",
    "microxcaling even": "microxcaling_even",
    "microxcaling nearest": "microxcaling",
    "Quark even": "quark_even",
    "Quark floor": "quark_floor",
    "Quark ceil": "quark_ceil",
    "ggml": "ggml",
}
#: a, G and the scale of a block of 16 with the amax a in a tensor of G: the six of NVFP4 in that order.
MIDPOINTS = [
    (1.1328125, 4.375, "6f 6e 6f 6e 6e 6e"),
    (1.5234375, 4.0625, "73 72 72 72 72 72"),
    (1.6171875, 4.3125, "72 72 72 72 72 73"),
    (1.328125, 4.375, "71 71 71 70 70 71"),
    (1.4609375, 4.8125, "70 70 71 70 70 70"),
    (1.9453125, 5.1875, "73 73 73 72 72 72"),
    (1.5625, 7.0, "6c 6c 6d 6c 6c 6d"),
    (1.953125, 4.375, "75 75 75 75 74 75"),
    (1.6328125, 4.8125, "72 72 72 71 72 72"),
]


def block(head: list[float], size: int) -> np.ndarray:
    return np.array([head + [0.0] * (size - len(head))], np.float32)


@pytest.mark.parametrize("who", [MODELS, OURS], ids=["model", "fpformats"])
@pytest.mark.parametrize(("a", "g", "scales"), MIDPOINTS)
def test_midpoints(a: float, g: float, scales: str, who: dict) -> None:
    got = [who[name](block([a], 16), amax=g).scales[0, 0] for name in NVFP4.values()]
    assert [f"{code:02x}" for code in got] == scales.split()


def discriminators(key: str) -> object:
    return json.loads(path("discriminators.json").read_text())[key]


@pytest.mark.parametrize("who", [MODELS, OURS], ids=["model", "fpformats"])
def test_discriminators_nvfp4(who: dict) -> None:
    rows = discriminators("nvfp4")
    zero = {"tensor_amax": 0.0, "block16_head": [0.0, 0.0], "results": discriminators("nvfp4_alltensor_zero")}
    for row in [*rows, zero]:
        for package, expected in row["results"].items():
            head = row["block16_head"]
            x, amax = block(head, 16), float(np.float32(row["tensor_amax"]))
            result = who[NVFP4[package]](x, amax=amax)
            result = result._replace(undefined=MODELS[NVFP4[package]](x, amax=amax).undefined)
            what = f"{package}, {head} in {row['tensor_amax']}"
            assert result.scales[0, 0] & 0x7F == expected["scale_e4m3"] & 0x7F, what
            if result.undefined is None:
                assert result.codes[0, : len(head)].tolist() == expected["codes"], what
            else:
                assert row is zero


def mx_result(package: str, model: str, head: list[float], who: dict) -> tuple[BlockResult, Format]:
    if package == "DeepGEMM ue8m0 gran32":
        return who["fp8_e4m3_1x128_deepgemm_ue8m0"](block(head, 32)), ELEMENTS["e4m3"]
    if package == "DeepGEMM fp4":
        return who["fp4_1x128_deepgemm_ue8m0"](block(head, 32)), ELEMENTS["e2m1"]
    return who[f"{model}_{MXFP[package]}"](block(head, 32)), ELEMENTS[model[-4:] if "_" in model else "e2m1"]


def compare_discriminator(package: str, model: str, head: list[float], expected: dict, who: dict) -> None:
    result, fmt = mx_result(package, model, head, who)
    what, count = f"{package}, {head}", len(head)
    if "e8m0" in expected:
        scale = result.scales[0, 0]
        code = scale if result.scales.dtype == np.uint8 else scale.view(np.uint32) >> 23
        assert code == expected["e8m0"], what
    if "code" in expected or "codes" in expected:
        assert result.codes[0, :count].tolist() == expected.get("codes", [expected.get("code")]), what
    if "dequant" in expected:
        values = expected["dequant"] if isinstance(expected["dequant"], list) else [expected["dequant"]]
        want = np.array([np.float32(float(v)) for v in values])
        got = dequantized(result, fmt)[0, :count]
        np.testing.assert_array_equal(got.view(np.uint32), want.view(np.uint32), err_msg=what)


@pytest.mark.parametrize("who", [MODELS, OURS], ids=["model", "fpformats"])
def test_discriminators_mx(who: dict) -> None:
    for row in discriminators("mxfp8_e4m3"):
        for package, expected in row["results"].items():
            compare_discriminator(package, "mxfp8_e4m3", [float(np.float32(row["amax"]))], expected, who)
    ties = [6, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, -0.25, -0.75, -1.75, -3.5, 0.0, -0.0]
    for package, expected in discriminators("mxfp4_ties").items():
        if package != "microxcaling floor":  # a rounding of which there is no model
            compare_discriminator(package, "mxfp4", ties, expected, who)


# --- the arithmetic itself, against the machine's ---------------------------------------------------
def floats() -> np.ndarray:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 32, 4000, dtype=np.uint32)
    edge = np.array([0, 1, 2, 0x7FFFFF, 0x800000, 0x800001, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x3F800000], np.uint32)
    edge = np.concatenate([edge, edge | np.uint32(1 << 31)])
    return np.concatenate([bits, np.repeat(edge, len(edge)), np.tile(edge, len(edge))]).view(np.float32)


def test_float32_operations() -> None:
    x = floats()
    y = np.roll(x, 7)
    with np.errstate(all="ignore"):
        x[:2000], y[:2000] = x[:2000] % 8, y[:2000] % 8  # some that meet
        for f, numpy in ((mul, np.multiply), (div, np.divide), (add, np.add)):
            got = np.array([f(float(a), float(b)) for a, b in zip(x, y, strict=True)], np.float32)
            expected = numpy(x, y)
            same = (got.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(got) & np.isnan(expected))
            if f is add:
                same |= (got == 0) & (expected == 0)  # the sign of a sum of zeros is never looked at
            differences(f.__name__, x, got, expected, same)


def test_bfloat16() -> None:
    x = floats()
    x = x[np.isfinite(x)]
    bits = x.view(np.uint32)
    expected = ((bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16 << 16).view(np.float32)
    got = np.array([rn(float(v), BF16) for v in x], np.float32)
    np.testing.assert_array_equal(got.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("fmt", ELEMENTS.values(), ids=ELEMENTS)
def test_elements(fmt: Format) -> None:
    """Every value is its own code, and ties go where they are told to."""
    for code in range(fmt.top):
        low, high = fmt.value(code), fmt.value(code + 1)
        assert fmt.encode(low) == code
        assert fmt.encode(-low) == code | fmt.sign
        middle = (low + high) / 2
        assert [fmt.encode(middle, t) for t in ("even", "zero", "away")] == [code + code % 2, code, code + 1]
        assert fmt.encode(float(np.nextafter(middle, 0))) == code
        assert fmt.encode(float(np.nextafter(middle, 9e9))) == code + 1
    assert fmt.encode(1e30) == fmt.encode(float("inf")) == fmt.top
    assert (
        fmt.value(fmt.top)
        == {"e4m3": 448, "e5m2": 57344, "e2m3": 7.5, "e3m2": 28, "e2m1": 6}[
            next(name for name, f in ELEMENTS.items() if f is fmt)
        ]
    )


def test_logarithms() -> None:
    """RN(log2 v), and how far from a power of two it is still an integer."""
    rng = np.random.default_rng(1)
    bits = rng.integers(1, 0x7F800000, 300, dtype=np.uint32)
    near = np.arange(1, 255, dtype=np.uint32)[:, None] * (1 << 23) + np.arange(-3, 50, 13, dtype=np.int64)
    x = np.concatenate([bits, near.ravel().astype(np.uint32)]).view(np.float32)
    expected = np.log2(x.astype(np.float64)).astype(np.float32)
    got = np.array([log2f(float(v)) for v in x], np.float32)
    np.testing.assert_array_equal(got, expected)
    for v in x:
        assert floor_log2f(float(v)) == np.floor(log2f(float(v)))
    assert [ceil_log2f(pow2(7) * (1 + i * 2.0**-23)) for i in (0, 1, 2)] == [7, 7, 8]
    assert [ceil_log2f(pow2(64) * (1 + i * 2.0**-23)) for i in (0, 22, 23)] == [64, 64, 65]
    assert [ceil_log2f(pow2(-1) * (1 + i * 2.0**-23)) for i in (0, 1)] == [-1, 0]


# --- shapes -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["mxfp8_e4m3", "mxfp8_e4m3_te_32x32", "nvfp4_te_16x16", "fp8_e4m3_128x1_deepgemm"])
def test_ragged(name: str) -> None:
    """A short block at the end is a block of its own."""
    x = np.random.default_rng(2).normal(size=(40, 50)).astype(np.float32)
    result = MODELS[name](x)
    assert result.codes.shape == x.shape
    rows, columns = {"mxfp8_e4m3": (1, 32), "fp8_e4m3_128x1_deepgemm": (128, 1)}.get(
        name, (32, 32) if "32x32" in name else (16, 16)
    )
    assert result.scales.shape == (-(-40 // rows), -(-50 // columns))
    last = x[(40 - 1) // rows * rows :, (50 - 1) // columns * columns :]
    extra = {"amax": float(np.abs(x).max())} if name.startswith("nvfp4") else {}
    part = MODELS[name](last, **extra)
    assert part.scales[-1, -1] == result.scales[-1, -1]
    np.testing.assert_array_equal(part.codes, result.codes[-len(last) :, -last.shape[1] :])
