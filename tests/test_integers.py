"""Integer recipes: what the packages answer, and the mean that no order of additions moves."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from block_ours import OURS, typed
from oracles.block_model import MODELS
from oracles.block_peers import compressed_tensors_blocks, modelopt_blocks, same, torchao_blocks
from oracles.block_peers._common import array, package_path, partly, shell, tensor
from oracles.block_result import BlockResult

import fpformats as fp


# --- the packages ---------------------------------------------------------------------------------
def compressed_tensors(x: np.ndarray, *, dtype: str, bits_: int, tile: str, symmetric: bool = True) -> BlockResult:
    """``calculate_qparams`` of the extremes, and what its compressor quantizes with."""
    package = compressed_tensors_blocks._package()
    quantization = importlib.import_module("compressed_tensors.quantization")
    quantize = importlib.import_module("compressed_tensors.quantization.lifecycle.forward").quantize
    strategy = {"1x128": {"strategy": "group", "group_size": 128}}.get(tile, {"strategy": tile})
    arguments = quantization.QuantizationArgs(num_bits=bits_, type="int", symmetric=symmetric, **strategy)
    data = tensor(x, dtype)
    blocks = {"tensor": data.reshape(1, 1, -1), "channel": data.unsqueeze(1)}.get(tile, data.unflatten(-1, (-1, 128)))
    scales, points = package.helpers.calculate_qparams(blocks.amin(-1), blocks.amax(-1), arguments)
    stored, zero = (each.reshape(-1) if tile == "tensor" else each for each in (scales, points))
    made = quantize(x=data, scale=stored, zero_point=None if symmetric else zero, args=arguments)
    codes = array(made).astype(np.int8).view(np.uint8) & (2**bits_ - 1)
    second = None if symmetric else array(points.float(), *scales.shape)
    return BlockResult(codes, array(scales, *scales.shape), second)


def torchao(x: np.ndarray, *, dtype: str, tile: str, symmetric: bool = True) -> BlockResult:
    """``Int8Tensor.from_hp``."""
    found = importlib.import_module("torchao.quantization.quantize_.workflows.int8.int8_tensor").Int8Tensor
    granularity = importlib.import_module("torchao.quantization.granularity")
    how = granularity.PerTensor() if tile == "tensor" else granularity.PerRow()
    kinds = importlib.import_module("torchao.quantization.quant_primitives").MappingType
    made = found.from_hp(tensor(x, dtype), how, kinds.SYMMETRIC if symmetric else kinds.ASYMMETRIC)
    second = None if symmetric else array(made.zero_point.float(), *made.scale.shape)
    return BlockResult(made.qdata.numpy().view(np.uint8), array(made.scale, *made.scale.shape), second)


def modelopt(x: np.ndarray, *, dtype: str, tile: str) -> BlockResult:
    """``INT8QTensor.quantize``."""
    root = package_path("modelopt")
    parts = ("", ".opt", ".quantization", ".quantization.backends")
    packages = [
        shell("modelopt", root, __version__=modelopt_blocks.VERSION),
        *(shell(f"modelopt.torch{part}", root) for part in parts),
    ]
    with partly(*packages):
        found = importlib.import_module("modelopt.torch.quantization.qtensor.int8_tensor").INT8QTensor
        made, scales = found.quantize(tensor(x, dtype), axis=None if tile == "tensor" else 0)
    return BlockResult(
        made._quantized_data.numpy().view(np.uint8), array(scales if scales.ndim else scales.reshape(1, 1))
    )


Live = tuple[str, ModuleType, Callable[..., BlockResult]]
LIVE: list[Live] = [
    *(
        (
            f"int{n}_{tile}_compressed_tensors{suffix}",
            compressed_tensors_blocks,
            partial(compressed_tensors, bits_=n, tile=tile, symmetric=not suffix),
        )
        for n in (8, 4)
        for tile in ("tensor", "channel", "1x128")
        for suffix in ("", "_asymmetric")
    ),
    *(
        (f"int8_{tile}_torchao{suffix}", torchao_blocks, partial(torchao, tile=tile, symmetric=not suffix))
        for tile in ("tensor", "row")
        for suffix in ("", "_asymmetric")
    ),
    *((f"int8_{tile}_modelopt", modelopt_blocks, partial(modelopt, tile=tile)) for tile in ("tensor", "row")),
]


def matrices(top: float) -> list[np.ndarray]:
    """Finite bfloat16 numbers: normal, wide, midpoints of integers under exact scales, huge, tiny, zero rows."""
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(8, 256))
    wide = normal * 2.0 ** rng.integers(-20, 20, (8, 256))
    halves = rng.integers(-256, 256, (8, 256)) / 2.0
    halves[:, ::128] = top  # the amax that makes the scale one
    halves = np.clip(halves, -top, top) * 2.0 ** rng.integers(-9, 9, (8, 1))
    huge, tiny = normal * 2.0**125, normal * 2.0**-128
    zeros = normal.copy()
    zeros[::2] = 0
    zeros[1, 7] = -0.0
    skew = np.concatenate([np.abs(normal[:3]), -np.abs(wide[:3]), normal[:2] + 5])
    thirds = np.clip(halves + top / 3, -top / 3, top)
    made = []
    for x in (normal, wide, halves, huge, tiny, zeros, skew, thirds):
        bits32 = np.float32(x).view(np.uint32)
        made.append((bits32 & np.uint32(0xFFFF0000)).view(np.float32))
    return made


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("recipe", "module", "peer"), LIVE, ids=[live[0] for live in LIVE])
def test_as_the_package(
    recipe: str, module: ModuleType, peer: Callable[..., BlockResult], dtype: str, need: Callable[..., None]
) -> None:
    need(module)
    width = 127.5 if recipe.startswith("int8") else 7.5
    for x in matrices(127.0 if "modelopt" in recipe else width):
        theirs, undefined = peer(x, dtype=dtype), MODELS[recipe](x, dtype=dtype).undefined
        for who in (MODELS, OURS):
            difference = same(recipe, who[recipe](x, dtype=dtype)._replace(undefined=undefined), theirs)
            assert difference is None, difference


def test_bitnet_as_transformers_writes_it() -> None:
    """The same steps in torch, where the sum of magnitudes is exact, so that its order does not matter."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = (np.random.default_rng(1).integers(-(2**9), 2**9, (16, 64)) / 2.0**8).astype(np.float32)
    weight = torch.from_numpy(x.copy())
    scale = 1.0 / weight.abs().mean().clamp_(min=1e-5)
    rounded = (weight * scale).round().clamp(-1, 1)
    q = fp.encode_blocks(x, "ternary_tensor_bitnet")
    assert q.scales.reshape(()) == scale.numpy()
    np.testing.assert_array_equal(fp.decode(q.codes, "s2"), rounded.numpy())
    np.testing.assert_array_equal(q.decode(), (rounded / scale).numpy())
    assert set(np.unique(q.codes)) == {0, 1, 3}
    assert q.nbytes == x.size // 4 + 4


# --- the mean ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("exponents", [(0, 1), (-120, 120), (-149, -100)])
def test_mean_is_exact_in_any_order(exponents: tuple[int, int]) -> None:
    from fpformats.blocks.means import mean_of

    rng = np.random.default_rng(2)
    x = (rng.normal(size=5000) * 2.0 ** rng.integers(*exponents, 5000)).astype(np.float32)
    exact = sum(Fraction(abs(float(v))) for v in x) / x.size
    got = mean_of(x.view(np.uint32))
    neighbours = [float(got), *(float(np.nextafter(got, np.float32(way))) for way in (-np.inf, np.inf))]
    assert min(neighbours, key=lambda v: abs(Fraction(v) - exact)) == float(got)
    for _ in range(3):
        rng.shuffle(x)
        assert mean_of(x.view(np.uint32)) == got


def test_mean_of_many_chunks_and_of_nothing() -> None:
    from fpformats.blocks.means import CHUNK, mean_of

    x = np.full(2 * CHUNK + 5, 3.0, np.float32)
    x[-1] = 3.0 + 2.0**-21
    assert mean_of(x.view(np.uint32)) == 3.0
    assert mean_of(x[:0].view(np.uint32)) == 0.0
    x[7], x[-2] = np.inf, np.nan
    assert np.isnan(mean_of(x.view(np.uint32)))
    x[-2] = 1
    assert mean_of(x.view(np.uint32)) == np.inf


def test_a_mean_is_not_an_amax() -> None:
    with pytest.raises(ValueError, match="takes the mean of the magnitudes"):
        fp.encode_blocks([1.0, 2.0], "ternary_tensor_bitnet", tensor_amax=2.0)
    q = fp.encode_blocks([1.0, 2.0, -3.0], "ternary_tensor_bitnet", scale=0.25)
    assert q.decode().tolist() == [0.0, 0.0, -4.0]


# --- the formats ------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "low", "high"), [("s8", -128, 127), ("s4", -8, 7), ("s2", -2, 1)])
def test_integer_formats(name: str, low: int, high: int) -> None:
    fmt = fp.get(name)
    assert (fmt.min, fmt.max, fmt.smallest_subnormal) == (low, high, 1)
    codes = np.arange(1 << fmt.bits)
    np.testing.assert_array_equal(fp.decode(codes, name), np.where(codes > high, codes - (1 << fmt.bits), codes))
    x: Any = [-1000, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 1000]
    np.testing.assert_array_equal(fp.quantize(x, name), np.clip(np.rint(x), low, high))


def test_bfloat16_counts() -> None:
    """The type of the input has a say in a package's scale."""
    x = np.float32([[1.0078125, 0.5]])
    one = OURS["int8_channel_compressed_tensors"](x)
    other = fp.encode_blocks(typed(x, "bfloat16"), "int8_channel_compressed_tensors")
    assert one.scales[0, 0] != other.scales[0, 0]
    assert other.scales.view(np.uint32)[0, 0] & 0xFFFF == 0


# --- zero points ------------------------------------------------------------------------------------
AFFINE = "int4_1x128_compressed_tensors_asymmetric"


@pytest.mark.parametrize("axis", [0, 1])
def test_zero_points_are_kept(axis: int, tmp_path: Path) -> None:
    x = np.random.default_rng(5).normal(2, 1, (130, 140)).astype(np.float32)
    x[:3], x[:, :2] = 0, -4
    q = fp.encode_blocks(x, AFFINE, axis=axis)
    assert q.zero_points.dtype == np.int8
    assert q.zero_points.shape == q.scales.shape
    values = (
        fp.decode(q.codes, "s4") - np.repeat(q.zero_points, 128, axis)[:130, :140].astype(np.float32)
    ) * np.repeat(q.scales, 128, axis)[:130, :140]
    np.testing.assert_array_equal(q.decode(), values)
    np.testing.assert_array_equal(fp.quantize(x, AFFINE, axis=axis), values)
    assert np.abs(values - x).max() <= q.scales.max() / 2 + 1e-6
    assert q.nbytes == x.size // 2 + q.scales.size * 4 + -(-q.scales.size // 2)
    q.save(tmp_path / "q.npz")
    assert fp.BlockArray.load(tmp_path / "q.npz") == q
    other = fp.BlockArray(q.codes, q.scales, AFFINE, axis=axis, zero_points=np.zeros_like(q.zero_points))
    assert other != q
    assert fp.get(AFFINE).bits_per_value == 4 + 36 / 128


def test_a_tensor_of_many_pieces() -> None:
    """Larger than what is worked on at once."""
    x = np.random.default_rng(6).normal(1, 1, 400_000).astype(np.float32)
    name = "int8_tensor_torchao_asymmetric"
    q = fp.encode_blocks(x, name)
    s, p = q.scales.item(), int(q.zero_points.item())
    y = np.clip(np.rint(x * (np.float32(1) / np.float32(s))) + p, -128, 127)
    np.testing.assert_array_equal(fp.decode(q.codes, "s8"), y)
    np.testing.assert_array_equal(fp.quantize(x, name), q.decode())
    assert fp.encode_blocks(x[:0], name).codes.size == 0


def test_zero_points_that_are_wrong() -> None:
    q = fp.encode_blocks(np.ones((2, 128), np.float32), AFFINE)
    for points, message in (
        (None, "has a zero point for every block; zero_points=None"),
        ([[0.5], [1]], r"zero_points has dtype float64 and shape \(2, 1\); integers in the shape of scales"),
        ([0, 1], r"shape \(2,\); integers in the shape of scales, \(2, 1\), were expected"),
        ([[8], [0]], r"zero_points hold 0 ... 8; -8 ... 7 were expected"),
    ):
        with pytest.raises(ValueError, match=message):
            fp.BlockArray(q.codes, q.scales, AFFINE, zero_points=points)
    with pytest.raises(ValueError, match="mxfp4 has no zero points; zero_points="):
        fp.BlockArray(np.zeros((1, 32), int), np.zeros((1, 1), np.uint8), "mxfp4", zero_points=[[0]])
    with pytest.raises(ValueError, match="takes the least and the largest number; it takes scale="):
        fp.encode_blocks([1.0], AFFINE, tensor_amax=1.0)
    given = fp.encode_blocks([1.0, 3.0, -1.0], AFFINE, scale=0.5)
    assert given.zero_points.item() == -8 + 1 / 0.5
    assert given.decode().tolist() == [1.0, 3.0, -1.0]
