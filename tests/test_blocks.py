"""Block formats as a user meets them: shapes, axes, containers, files, bad input."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles.block_model import MODELS
from oracles.block_model.exact import ELEMENTS

import fpformats as fp
from fpformats import engine
from fpformats.block_format import BlockFormat
from fpformats.blocks.layouts import unswizzled

ALL = fp.formats("block")
#: one of each kind of block, scale and second level
KINDS = (
    "mxfp8_e4m3",
    "mxfp8_e5m2_te_32x1",
    "mxfp8_e4m3_te_32x32",
    "mxfp6_e2m3",
    "mxfp4",
    "mxint8",
    "mxfp4_ggml",
    "mxfp4_modelopt",
    "mxfp4_compressed_tensors",
    "nvfp4_te",
    "nvfp4_te_16x16",
    "nvfp4_te_rowscaled",
    "nvfp4_te_4over6_mae_448",
    "nvfp4_torchao",
    "nvfp4_torchao_onelevel",
    "nvfp4_modelopt",
    "nvfp4_compressed_tensors",
    "nvfp4_flashinfer",
    "nvfp4_ggml",
    "fp8_e4m3_tensor_te",
    "fp8_e5m2_1x128_te",
    "fp8_e4m3_row_torchao",
    "fp8_e4m3_128x128_deepgemm",
    "fp8_e4m3_128x1_torchao_blockwise",
)
#: blocks of a row each, and no number for all of them: rows can be looked at one by one
ROW_BY_ROW = [name for name in ALL if fp.get(name).block[0] == 1 and (not fp.get(name).z or "row" in name)]


def numbers(seed: int, *shape: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) * 2.0 ** rng.integers(-4, 5, shape)).astype(np.float32)


def same_bits(one: Any, other: Any) -> None:
    """Equal to the bit; a NaN is any NaN."""
    one, other = np.asarray(one), np.asarray(other)
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    kind = f"u{one.itemsize}"
    different = one.reshape(-1).view(kind) != other.reshape(-1).view(kind)
    if one.dtype.kind not in "iu":
        a, b = one.reshape(-1).astype(np.float64), other.reshape(-1).astype(np.float64)
        different &= ~(np.isnan(a) & np.isnan(b))
    assert not different.any(), f"{int(different.sum())} differ, the first at {int(different.argmax())}"


def same_array(one: fp.BlockArray, other: fp.BlockArray) -> None:
    same_bits(one.codes, other.codes)
    same_bits(one.scales, other.scales)
    if one.tensor_scale is not None:
        same_bits(one.tensor_scale, other.tensor_scale)
    assert one == other


# --- shapes and axes ------------------------------------------------------------------------------
def per_row(x: np.ndarray, axis: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Codes and scales, every line along the axis by itself."""
    moved = np.moveaxis(x, axis, -1)
    rows = [fp.encode_blocks(row.copy(), name) for row in moved.reshape(-1, moved.shape[-1])]
    codes = np.stack([row.codes for row in rows]).reshape(moved.shape)
    scales = np.stack([row.scales for row in rows]).reshape(*moved.shape[:-1], -1)
    return np.moveaxis(codes, -1, axis), np.moveaxis(scales, -1, axis)


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, -2, -4])
@pytest.mark.parametrize("name", ["mxfp8_e4m3", "mxfp4_ggml", "nvfp4_torchao_onelevel", "fp8_e4m3_1x128_deepgemm"])
def test_any_axis(name: str, axis: int) -> None:
    x = numbers(1, 3, 35, 2, 33)
    codes, scales = per_row(x, axis, name)
    made = fp.encode_blocks(x, name, axis=axis)
    same_bits(made.codes, codes)
    same_bits(made.scales, scales)
    assert made.axis == axis % 4
    assert made.scales.shape == tuple(
        -(-n // fp.get(name).block[1]) if i == axis % 4 else n for i, n in enumerate(x.shape)
    )
    same_bits(fp.quantize(x, name, axis=axis), made.decode())


@pytest.mark.parametrize("name", ["mxfp8_e4m3_te_32x32", "nvfp4_te_16x16", "fp8_e4m3_128x128_modelopt"])
def test_tiles_of_many_matrices(name: str) -> None:
    """A stack of matrices is cut matrix by matrix; blocks run along `axis` and the axis before it, once it is last."""
    x = numbers(2, 3, 40, 50)
    more = {"tensor_amax": np.abs(x).max()} if fp.get(name).z else {}
    made = fp.encode_blocks(x, name, **more)
    for i in range(3):
        one = fp.encode_blocks(x[i], name, **more)
        same_bits(made.codes[i], one.codes)
        same_bits(made.scales[i], one.scales)
    turned = fp.encode_blocks(np.moveaxis(x, -1, 1).copy(), name, axis=1, **more)
    same_bits(turned.codes, np.moveaxis(made.codes, -1, 1))
    same_bits(turned.scales, np.moveaxis(made.scales, -1, 1))
    same_bits(turned.decode(), np.moveaxis(made.decode(), -1, 1))


@pytest.mark.parametrize("name", ROW_BY_ROW)
def test_short_last_block(name: str) -> None:
    """The last block is a block of its own, whose length is kept."""
    width = fp.get(name).block[1]
    if width is None:
        pytest.skip("a row is one block")
    x = numbers(3, width + 5)
    made = fp.encode_blocks(x, name)
    assert made.codes.shape == x.shape
    assert made.scales.shape == (2,)
    for part, at in ((x[:width], 0), (x[width:], 1)):
        one = fp.encode_blocks(part, name)
        same_bits(made.scales[at : at + 1], one.scales)
        same_bits(made.codes[at * width :][: part.size], one.codes)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (5,), (3, 1, 5), (0,), (0, 32), (32, 0), (2, 0, 3), (0, 0)])
def test_small_shapes(name: str, shape: tuple[int, ...]) -> None:
    for axis in range(-len(shape), len(shape)) or (-1, 0):
        x = np.full(shape, 3.0, np.float32)
        made = fp.encode_blocks(x, name, axis=axis)
        assert made.shape == made.codes.shape == shape
        assert made.codes.dtype == np.uint8
        assert len(made.scales.shape) == len(shape)
        assert (made.scales.size == 0) == (x.size == 0)
        values = fp.quantize(x, name, axis=axis)
        assert values.shape == shape
        same_bits(values, made.decode())
        assert np.abs(values - 3).max(initial=0) <= 3 / 16
        assert fp.BlockArray(made.codes, made.scales, name, made.tensor_scale, made.axis) == made
        assert str(shape) in repr(made)


@pytest.mark.parametrize("name", KINDS)
def test_one_element(name: str) -> None:
    """The model's scale, second level and code of one number."""
    for value in (1.0, -448.0, 0.3, 2.0**-120, 0.0):
        x = np.array([value], np.float32)
        made, model = fp.encode_blocks(x, name), MODELS[name](x.reshape(1, 1))
        assert made.codes.tolist() == model.codes[0].tolist() or (value == 0 and model.undefined is not None)
        same_bits(made.scales, model.scales[0])


# --- what goes in and comes out -------------------------------------------------------------------
@pytest.mark.parametrize("name", KINDS)
def test_memory_layouts(name: str) -> None:
    x = numbers(4, 64, 66)
    expected = fp.encode_blocks(x, name)
    wide = np.zeros((64, 132), np.float32)
    wide[:, ::2] = x
    read_only = x.copy()
    read_only.flags.writeable = False
    shifted = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape)
    assert not shifted.flags.aligned
    forms = [np.asfortranarray(x), wide[:, ::2], x[::-1].copy()[::-1], read_only, x.astype(">f4"), shifted]
    for form in forms:
        before = form.copy()
        same_array(fp.encode_blocks(form, name), expected)
        same_bits(fp.quantize(form, name).astype(np.float32), expected.decode())
        assert np.array_equal(form, before)


@pytest.mark.parametrize("name", ["mxfp8_e4m3", "mxfp4", "nvfp4_te", "nvfp4_torchao", "fp8_e4m3_row_torchao"])
def test_element_types(name: str) -> None:
    """Types whose numbers float32 holds give what float32 gives; wider ones are rounded to it first."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = numbers(5, 4, 48)
    for dtype in (np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn):
        same_array(fp.encode_blocks(x.astype(dtype), name), fp.encode_blocks(x.astype(dtype).astype(np.float32), name))
    double = x.astype(np.float64) * (1 + 2.0**-24 * 0.99)
    same_array(fp.encode_blocks(double, name), fp.encode_blocks(double.astype(np.float32), name))
    integers = np.arange(-90, 102).reshape(4, 48)
    expected = fp.encode_blocks(integers.astype(np.float32), name)
    for dtype in (np.int8, np.int32, np.int64):
        same_array(fp.encode_blocks(integers.astype(dtype), name), expected)
    same_array(fp.encode_blocks(integers.tolist(), name), expected)
    same_array(fp.encode_blocks(x > 0, name), fp.encode_blocks((x > 0).astype(np.float32), name))
    assert not np.array_equal(double.astype(np.float32), x)


@pytest.mark.parametrize("name", KINDS)
def test_quantize_keeps_the_type(name: str) -> None:
    x = numbers(6, 32, 64).astype(np.float16)
    for dtype in (np.float32, np.float64):
        got = fp.quantize(x.astype(dtype), name)
        assert got.dtype == dtype
        same_bits(got, fp.encode_blocks(x.astype(dtype), name).decode().astype(dtype))
    got = fp.quantize(x, name)
    assert got.dtype == np.float16
    same_bits(got, fp.encode_blocks(x, name).decode().astype(np.float16))


def test_quantize_of_lists_integers_and_numbers() -> None:
    assert fp.quantize([[1.0, 1.06, 448.0]], "mxfp8").tolist() == [[1.0, 1.0, 448.0]]
    assert fp.quantize([[1, 2, 448]], "mxfp8").dtype == np.float32
    assert fp.quantize(np.array([True, False]), "mxfp4").tolist() == [1.0, 0.0]


@pytest.mark.parametrize("name", KINDS)
def test_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    x = numbers(7, 16, 64)
    for kind in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        tensor = torch.from_numpy(x).to(kind)
        got = fp.quantize(tensor, name)
        assert isinstance(got, torch.Tensor)
        assert (got.dtype, got.shape) == (tensor.dtype, tensor.shape)
        made = fp.encode_blocks(tensor, name)
        assert isinstance(made.codes, np.ndarray)
        assert torch.equal(got, torch.from_numpy(made.decode()).to(kind))
    same_array(fp.encode_blocks(torch.from_numpy(x).T, name, axis=0), fp.encode_blocks(x.T.copy(), name, axis=0))


@pytest.mark.parametrize("name", KINDS)
def test_out(name: str) -> None:
    x = numbers(8, 48, 70)
    x[3, 5], x[4] = np.nan, 0
    for axis in (0, -1):
        expected = fp.quantize(x, name, axis=axis)
        out = np.full_like(x, 7)
        assert fp.quantize(x, name, axis=axis, out=out) is out
        same_bits(out, expected)
        strided = np.full((48, 140), 7, np.float32)
        assert fp.quantize(x, name, axis=axis, out=strided[:, ::2]).base is strided
        same_bits(strided[:, ::2].copy(), expected)
        assert (strided[:, 1::2] == 7).all()
        same = x.copy()
        assert fp.quantize(same, name, axis=axis, out=same) is same
        same_bits(same, expected)
