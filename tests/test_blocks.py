"""Block formats as a user meets them: shapes, axes, containers, files, bad input."""

from __future__ import annotations

import dataclasses
import itertools
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
from fpformats.blocks import run
from fpformats.blocks.layouts import unswizzled
from fpformats.blocks.run import CHUNK
from fpformats.blocks.tiles import ALONE, Tiling, tiling

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
#: several blocks to a row, and no number for all of them
ROW_BY_ROW = [name for name in ALL if fp.get(name).block[0] == 1 and fp.get(name).block[1] and not fp.get(name).z]


def numbers(seed: int, *shape: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) * 2.0 ** rng.integers(-4, 5, shape)).astype(np.float32)


def same_bits(one: Any, other: Any) -> bool:
    """Assert that they are equal to the bit; a NaN is any NaN."""
    one, other = np.asarray(one), np.asarray(other)
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    kind = f"u{one.itemsize}"
    different = one.reshape(-1).view(kind) != other.reshape(-1).view(kind)
    if one.dtype.kind not in "iu":
        a, b = one.reshape(-1).astype(np.float64), other.reshape(-1).astype(np.float64)
        different &= ~(np.isnan(a) & np.isnan(b))
    assert not different.any(), f"{int(different.sum())} differ, the first at {int(different.argmax())}"
    return True


def e4m3(y: np.ndarray) -> np.ndarray:
    """Codes of numbers by exact arithmetic, saturating."""
    return np.array([ELEMENTS["e4m3"].encode(v) for v in y.reshape(-1).tolist()], np.uint8).reshape(y.shape)


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
        nan = made.scales.dtype == np.uint8 and "nvfp4" in name and made.scales[0] & 0x7F == model.scales[0, 0] == 0x7F
        assert nan or same_bits(made.scales, model.scales[0])


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


# --- decoding -------------------------------------------------------------------------------------
def awkward(seed: int, *shape: int) -> np.ndarray:
    """Blocks of zeros, with a NaN, with infinities, of subnormal and of huge numbers among the others."""
    x = numbers(seed, *shape)
    rows = x.shape[0]
    x[1 % rows] = 0
    x[2 % rows, 3] = np.nan
    x[3 % rows, 5] = -np.inf
    x[4 % rows] *= np.float32(2.0**-140)
    x[5 % rows] = np.clip(x[5 % rows], -4, 4) * np.float32(2.0**125)
    x[6 % rows, ::2] = -0.0
    return x


@pytest.mark.parametrize("name", ALL)
def test_decode_is_quantize(name: str) -> None:
    for x in (awkward(9, 34, 40), numbers(10, 34, 40), np.zeros((2, 40), np.float32)):
        with np.errstate(all="raise"):
            made = fp.encode_blocks(x, name)
            values = fp.quantize(x, name)
            decoded = made.decode()
        same_bits(values, decoded)
        again = fp.BlockArray(made.codes, made.scales, name, made.tensor_scale, zero_points=made.zero_points)
        same_array(again, made)
        same_bits(again.decode(), decoded)


@pytest.mark.parametrize("name", ["mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4"])
def test_decoding_by_definition(name: str) -> None:
    """OCP MX: every code times every scale that is a power of two; NaN for 255."""
    element = ELEMENTS[fp.get(name).element]
    codes = np.arange(2 * element.sign, dtype=np.uint8)
    scales = np.arange(256, dtype=np.uint8)
    values = np.array([element.value(int(code)) for code in codes])
    if name == "mxfp8_e5m2":
        values[[0x7C, 0xFC]] = np.inf, -np.inf
    grid = np.broadcast_to(codes, (256, codes.size)).copy()
    made = fp.BlockArray(grid, np.repeat(scales[:, None], -(-codes.size // 32), 1), name)
    with np.errstate(all="ignore"):
        expected = (values * 2.0 ** (scales.astype(np.float64) - 127)[:, None]).astype(np.float32)
    expected[255] = np.nan
    same_bits(made.decode(), expected)


def test_decoding_nvfp4_by_definition() -> None:
    """Each package's own order of the three factors, in float32."""
    codes = np.tile(np.arange(16, dtype=np.uint8), (127, 1))
    scales = np.arange(127, dtype=np.uint8)[:, None]
    q = np.array([ELEMENTS["e2m1"].value(i) for i in range(16)], np.float32)[None]
    s = np.array([ELEMENTS["e4m3"].value(i) for i in range(127)], np.float32)[:, None]
    g = np.float32(3.7)
    one = np.float32(1)
    for name, expected in {
        "nvfp4_te": q * (s * g * (one / np.float32(2688))),
        "nvfp4_torchao": q * (s * g),
        "nvfp4_modelopt": q * (s * g),
        "nvfp4_compressed_tensors": q * (s / g),
        "nvfp4_flashinfer": q * (s * (one / g)),
    }.items():
        same_bits(fp.BlockArray(codes, scales, name, g).decode(), expected)
    same_bits(fp.BlockArray(codes, scales, "nvfp4_torchao_onelevel").decode(), q * s)


@pytest.mark.parametrize("name", ["mxfp8", "nvfp4_direct", "fp8_e4m3_1x128_te_fp32scale", "mxfp4_ggml"])
@pytest.mark.parametrize("axis", [0, -1])
def test_decoding_from_any_memory(name: str, axis: int) -> None:
    """Codes and scales with gaps, backwards, read-only and misaligned ones are what their copies are."""
    fp.warmup()  # compiled kernels look at addresses only

    def forms(x: np.ndarray) -> list[np.ndarray]:
        gaps, read_only = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype), x.copy()
        gaps[..., ::2] = x
        read_only.flags.writeable = False
        shifted = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape)
        return [gaps[..., ::2], x[::-1].copy()[::-1], np.asfortranarray(x), read_only, shifted]

    for shape in ((1280,), (128, 256)):
        made = fp.encode_blocks(numbers(13, *shape), name, axis=axis)
        expected = made.decode()
        for codes in forms(made.codes):
            for scales in forms(made.scales):
                array = fp.BlockArray(codes, scales, name, axis=axis)
                same_bits(array.decode(), expected)
                same_bits(array.decode(out=np.empty(shape, np.float32)), expected)


def test_decode_to_other_types() -> None:
    made = fp.encode_blocks(numbers(11, 2, 32), "mxfp8")
    for dtype in (np.float16, np.float64):
        same_bits(made.decode(dtype=dtype), made.decode().astype(dtype))


def test_a_nan_scale_decodes_to_nan() -> None:
    codes = np.zeros((1, 64), np.uint8)
    assert np.isnan(fp.BlockArray(codes, np.uint8([[127, 255]]), "mxfp4").decode()).tolist() == [
        [False] * 32 + [True] * 32
    ]
    for nan in (0x7F, 0xFF):
        got = fp.BlockArray(codes, np.uint8([[nan, 1, 1, 1]]), "nvfp4_torchao", 1.0).decode()
        assert np.isnan(got).tolist() == [[True] * 16 + [False] * 48]
    assert np.isnan(fp.BlockArray(codes, np.float32([[np.nan]]), "fp8_e4m3_row_torchao").decode()).all()
    assert np.isnan(fp.BlockArray(codes, np.uint8([[1] * 4]), "nvfp4_torchao", np.nan).decode()).all()


# --- BlockArray -----------------------------------------------------------------------------------
def test_sizes() -> None:
    x = numbers(12, 64, 256)
    for name, bits in (
        ("nvfp4", 4.5),
        ("mxfp8", 8.25),
        ("mxfp6", 6.25),
        ("mxfp4", 4.25),
        ("fp8_e4m3_128x128_deepgemm", 8 + 2**-9),
    ):
        assert fp.get(name).bits_per_value == bits
        made = fp.encode_blocks(x, name)
        second = 4 if name == "nvfp4" else 0
        grid = 4 * 2 if "128x128" in name else round((bits - int(bits)) / 8 * x.size)
        assert made.nbytes == x.size * int(bits) // 8 + grid + second
        assert made.bits_per_value == 8 * made.nbytes / x.size
    assert fp.encode_blocks(x, "mxfp8").bits_per_value == 8.25


def test_repr() -> None:
    made = fp.encode_blocks(np.ones((3, 64), np.float32), "nvfp4", axis=-1)
    assert repr(made) == "<BlockArray nvfp4_te: shape (3, 64), 1x16 blocks along axis 1, 112 bytes, 4.667 bits a value>"
    assert "tensor blocks" in repr(fp.encode_blocks([1.0], "fp8_e4m3_tensor_te"))


@pytest.mark.parametrize("name", KINDS)
def test_equality(name: str) -> None:
    x = numbers(13, 32, 64)
    one = fp.encode_blocks(x, name)
    assert one == fp.encode_blocks(x, name)
    assert one != 1
    codes, scales = one.codes.copy(), one.scales.copy()
    codes[5, 7] ^= 1
    scales.reshape(-1).view(np.uint8)[0] ^= 1
    second = one.tensor_scale
    assert one != fp.BlockArray(codes, one.scales, name, second)
    assert one != fp.BlockArray(one.codes, scales, name, second)
    if second is not None:
        assert one != fp.BlockArray(one.codes, one.scales, name, np.nextafter(second, np.float32(9)))
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_equality_sees_format_axis_and_nan() -> None:
    x = np.ones((32, 32), np.float32)
    one = fp.encode_blocks(x, "mxfp8_e4m3")
    assert one != fp.BlockArray(one.codes, one.scales, "mxfp8_e4m3_te")
    assert fp.encode_blocks(x, "mxfp8", axis=0) != fp.encode_blocks(x, "mxfp8", axis=1)
    x[:] = np.nan
    for name in ("mxfp8", "nvfp4", "fp8_e4m3_row_torchao"):
        assert fp.encode_blocks(x, name) == fp.encode_blocks(x, name)
    for shape in ((), (0,), (1,)):
        for name in ("mxfp8", "nvfp4", "fp8_e4m3_row_torchao"):
            zero = np.zeros(shape, np.float32)
            assert fp.encode_blocks(zero, name) == fp.encode_blocks(zero, name)


# --- bytes ----------------------------------------------------------------------------------------
def packed_by_hand(codes: np.ndarray, bits: int, order: str) -> list[int]:
    """A row's codes as one string of bits."""
    text = [f"{code:0{bits}b}" for code in codes.tolist()]
    if order == "high_first":
        text = "".join(text)
        return [int(text[i : i + 8], 2) for i in range(0, len(text), 8)]
    text = "".join(reversed(text))
    return [int(text[len(text) - i - 8 : len(text) - i], 2) for i in range(0, len(text), 8)]


@pytest.mark.parametrize("order", ["low_first", "high_first"])
@pytest.mark.parametrize("bits", range(1, 9))
def test_pack(bits: int, order: str) -> None:
    codes = np.random.default_rng(bits).integers(0, 1 << bits, (3, 2, 48)).astype(np.uint8)
    packed = fp.pack(codes, bits, order=order)
    assert packed.dtype == np.uint8
    assert packed.shape == (3, 2, 6 * bits)
    for got, row in zip(packed.reshape(6, -1).tolist(), codes.reshape(6, -1), strict=True):
        assert got == packed_by_hand(row, bits, order)
    same_bits(fp.unpack(packed, bits, order=order), codes)
    same_bits(fp.unpack(packed, bits, 43, order=order), codes[..., :43])
    same_bits(fp.pack(codes.tolist(), bits, order=order), packed)
    same_bits(fp.unpack(packed.astype(int), bits, order=order), codes)


def test_pack_nothing() -> None:
    for bits in (4, 6, 8):
        assert fp.pack(np.zeros((0, 4), np.uint8), bits).shape == (0, bits // 2)
        assert fp.pack(np.zeros((3, 0), np.uint8), bits).shape == (3, 0)
        assert fp.unpack(np.zeros((0, 6), np.uint8), bits).shape == (0, 48 // bits)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ["mxfp4", "nvfp4_te", "mxfp6_e3m2", "mxfp8_e4m3", "nvfp4_compressed_tensors"])
def test_packed(name: str, axis: int) -> None:
    made = fp.encode_blocks(numbers(14, 32, 64, 36), name, axis=axis)
    bits = {"mxfp6_e3m2": 6, "mxfp8_e4m3": 8}.get(name, 4)
    packed = made.packed()
    shape = [32, 64, 36]
    shape[axis] = shape[axis] * bits // 8
    assert packed.shape == tuple(shape)
    assert packed.flags.c_contiguous
    same_bits(np.moveaxis(fp.unpack(np.moveaxis(packed, axis, -1), bits), -1, axis), made.codes)
    line = np.moveaxis(made.codes, axis, -1)[3, 5]
    assert np.moveaxis(packed, axis, -1)[3, 5].tolist() == packed_by_hand(line, bits, "low_first")


@pytest.mark.parametrize(("name", "half"), [("mxfp4_ggml", 16), ("nvfp4_ggml", 8)])
def test_packed_as_ggml(name: str, half: int) -> None:
    """The first half of a block in the low nibbles, the second in the high ones."""
    made = fp.encode_blocks(numbers(15, 4, 96), name)
    packed = made.packed()
    assert packed.shape == (4, 48)
    for row, codes in zip(packed, made.codes, strict=True):
        for i, byte in enumerate(row.tolist()):
            block, lane = divmod(i, half)
            assert byte == codes[2 * half * block + lane] | codes[2 * half * block + half + lane] << 4
    x = numbers(15, 3, 96, 2)
    turned = fp.encode_blocks(x, name, axis=1).packed()
    same_bits(turned, np.moveaxis(fp.encode_blocks(np.moveaxis(x, 1, -1), name).packed(), -1, 1))


def test_packed_of_one_number_and_of_none() -> None:
    assert fp.encode_blocks(np.float32(1), "mxfp8").packed().size == 1
    for name, size in (("mxfp8", 32), ("mxfp4", 16), ("mxfp6", 24), ("mxfp4_ggml", 16)):
        assert fp.encode_blocks(np.ones((0, 32), np.float32), name).packed().shape == (0, size)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 2), (128, 4), (130, 5), (300, 9)])
def test_swizzled(rows: int, columns: int) -> None:
    """Scale (r, c): tile r // 128, c // 4 of 512 bytes, in it 16 (r % 32) + 4 (r % 128 // 32) + c % 4."""
    scales = np.random.default_rng(rows).integers(1, 255, (rows, columns)).astype(np.uint8)
    made = fp.BlockArray(np.zeros((rows, 32 * columns), np.uint8), scales, "mxfp4")
    got = made.swizzled_scales()
    across = -(-columns // 4)
    assert got.shape == (-(-rows // 128) * across * 512,)
    expected = np.zeros_like(got)
    for r in range(rows):
        for c in range(columns):
            expected[(r // 128 * across + c // 4) * 512 + r % 32 * 16 + r % 128 // 32 * 4 + c % 4] = scales[r, c]
    same_bits(got, expected)
    same_bits(unswizzled(got, rows, columns), scales)
    turned = fp.BlockArray(np.zeros((32 * columns, rows), np.uint8), scales.T.copy(), "mxfp4", axis=0)
    same_bits(turned.swizzled_scales(), expected)


def test_swizzled_of_many() -> None:
    made = fp.encode_blocks(numbers(16, 3, 130, 64), "mxfp8")
    got = made.swizzled_scales()
    for i in range(3):
        same_bits(got[i], fp.encode_blocks(numbers(16, 3, 130, 64)[i], "mxfp8").swizzled_scales())


# --- files ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("ending", ["npz", "safetensors"])
@pytest.mark.parametrize("name", KINDS)
def test_files(name: str, ending: str, tmp_path: Path) -> None:
    if ending == "safetensors":
        pytest.importorskip("safetensors")
    for i, (x, axis) in enumerate(((awkward(17, 33, 64), -1), (numbers(18, 4, 3, 5), 0), (np.ones(1, np.float32), 0))):
        made = fp.encode_blocks(x, name, axis=axis)
        path = tmp_path / f"{i}.{ending}"
        made.save(path)
        got = fp.BlockArray.load(str(path))
        same_array(got, made)
        assert got.format is made.format
        same_bits(got.decode(), made.decode())


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_files_of_turned_arrays(ending: str, tmp_path: Path) -> None:
    """Codes and scales need not be contiguous."""
    if ending == "safetensors":
        pytest.importorskip("safetensors")
    made = fp.encode_blocks(numbers(35, 64, 96), "nvfp4_torchao")
    turned = fp.BlockArray(made.codes.T, made.scales.T, made.format, made.tensor_scale, axis=0)
    assert not turned.codes.flags.c_contiguous
    turned.save(tmp_path / f"a.{ending}")
    got = fp.BlockArray.load(tmp_path / f"a.{ending}")
    same_array(got, turned)
    same_bits(got.decode(), made.decode().T)
    same_bits(turned.packed(), np.moveaxis(made.packed(), 1, 0))


def test_files_of_others(tmp_path: Path) -> None:
    made = fp.encode_blocks([1.0] * 32, "mxfp8")
    for path in (tmp_path / "a.bin", tmp_path / "a"):
        with pytest.raises(ValueError, match=r"\.npz or \.safetensors was expected"):
            made.save(path)
        with pytest.raises(ValueError, match=r"\.npz or \.safetensors was expected"):
            fp.BlockArray.load(path)
    np.savez(tmp_path / "other.npz", codes=made.codes)
    with pytest.raises(ValueError, match=r"other\.npz was not written by BlockArray\.save"):
        fp.BlockArray.load(tmp_path / "other.npz")
    about = json.dumps({"fpformats": 2, "format": "mxfp8", "axis": 0})
    np.savez(tmp_path / "new.npz", about=about, codes=made.codes, scales=made.scales)
    with pytest.raises(ValueError, match="version 2; 1 was expected"):
        fp.BlockArray.load(tmp_path / "new.npz")
    safetensors = pytest.importorskip("safetensors.numpy")
    safetensors.save_file({"codes": made.codes}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="was not written by BlockArray"):
        fp.BlockArray.load(tmp_path / "other.safetensors")


# --- what a caller may give -----------------------------------------------------------------------
TWO_LEVELS = [name for name in ALL if fp.get(name).z and fp.get(name).second_of == "tensor"]


@pytest.mark.parametrize("name", TWO_LEVELS)
def test_amax_of_chunks(name: str) -> None:
    """A tensor in parts, with the amax of the whole: the same bits."""
    x = numbers(19, 64, 96)
    whole = fp.encode_blocks(x, name)
    amax = max(fp.tensor_amax(x[i : i + 16], name) for i in range(0, 64, 16))
    assert amax == np.abs(x).max()
    assert isinstance(amax, np.float32)
    for i in range(0, 64, 16):
        part = fp.encode_blocks(x[i : i + 16], name, tensor_amax=amax)
        same_bits(part.codes, whole.codes[i : i + 16])
        step = 16 // (fp.get(name).block[0] or 1)
        same_bits(part.scales, whole.scales[i // 16 * step :][:step])
        same_bits(part.tensor_scale, whole.tensor_scale)
    other = fp.encode_blocks(x, name, tensor_amax=float(amax) * 1.37)
    assert not np.array_equal(other.scales, whole.scales)


def test_tensor_amax() -> None:
    x = np.float32([[1, -7, 2], [np.nan, 3, -np.inf]])
    assert fp.tensor_amax(x[:1]) == 7
    assert np.isnan(fp.tensor_amax(x))
    assert fp.tensor_amax(x[1:, 1:]) == np.inf
    assert fp.tensor_amax(x[:, :2], "nvfp4_ggml") == 7
    assert fp.tensor_amax(np.zeros((0, 3))) == 0
    assert fp.tensor_amax([[3, -9]]) == 9
    assert fp.tensor_amax(np.float16([-3])) == 3
    large = np.zeros(300_001, np.float32)
    large[-1] = -5
    assert fp.tensor_amax(large) == fp.tensor_amax(large[::-1]) == 5


def test_amax_of_one_block() -> None:
    """Recipes of one scale for the tensor take its amax too."""
    x = numbers(20, 8, 64)
    for name in ("fp8_e4m3_tensor_te", "fp8_e4m3_tensor_torchao", "fp8_e4m3_tensor_modelopt"):
        whole = fp.encode_blocks(x, name)
        parts = [fp.encode_blocks(x[i : i + 1], name, tensor_amax=np.abs(x).max()) for i in range(8)]
        same_bits(np.concatenate([part.codes for part in parts]), whole.codes)
        assert {part.scales.tobytes() for part in parts} == {whole.scales.tobytes()}


def test_row_scaled() -> None:
    """Every row is a tensor with its own second level."""
    x = numbers(21, 5, 48) * np.float32([[1], [10], [0.01], [0], [1e20]])
    made = fp.encode_blocks(x, "nvfp4_te_rowscaled")
    assert made.tensor_scale.shape == (5,)
    same_bits(made.tensor_scale, np.abs(x).max(1))
    for i in range(5):
        one = fp.encode_blocks(x[i], "nvfp4_te")
        same_bits(made.codes[i], one.codes)
        same_bits(made.scales[i], one.scales)
        same_bits(made.decode()[i], one.decode())
    given = fp.encode_blocks(x, "nvfp4_te_rowscaled", tensor_amax=np.arange(1, 6))
    assert given.tensor_scale.tolist() == [1, 2, 3, 4, 5]
    turned = fp.encode_blocks(x.reshape(5, 2, 24).transpose(2, 0, 1), "nvfp4_te_rowscaled", axis=0)
    assert turned.tensor_scale.shape == (5, 2)
    same_bits(turned.tensor_scale, np.abs(x.reshape(5, 2, 24)).max(2))


def test_given_scale() -> None:
    """Delayed scaling: the elements are those of x times the scale, whatever x holds."""
    x = numbers(22, 4, 64)
    for scale in (0.5, 3.7, np.float32(100)):
        made = fp.encode_blocks(x, "fp8_e4m3_tensor_te", scale=scale)
        same_bits(made.codes, e4m3(x * np.float32(scale)))
        same_bits(made.scales, np.float32([[1]]) / np.float32(scale))
        same_bits(made.decode(), fp.decode(made.codes, "e4m3") * made.scales)
    rows = np.float32([1, 2, 0.25, 9])
    made = fp.encode_blocks(x, "fp8_e4m3_row_torchao", scale=rows)
    same_bits(made.codes, e4m3(x * rows[:, None]))
    same_bits(made.scales, rows[:, None])


@pytest.mark.parametrize("name", [name for name in ALL if "eps" in fp.get(name).v])
def test_eps(name: str) -> None:
    x = numbers(23, 8, 32) * np.float32(2.0**-30)
    for eps in (0.0, 1e-12, 1e-3):
        made, model = fp.encode_blocks(x, name, eps=eps), MODELS[name](x, eps=eps)
        same_bits(made.codes, model.codes)
        same_bits(made.scales, model.scales)
    assert not np.array_equal(fp.encode_blocks(x, name, eps=1e-3).scales, fp.encode_blocks(x, name).scales)


# --- roundings ------------------------------------------------------------------------------------
@pytest.mark.parametrize("rounding", ["toward_zero", "nearest_away", "toward_positive", "away_from_zero"])
@pytest.mark.parametrize("name", ["mxfp8_e4m3", "mxfp6_e3m2", "mxfp4", "nvfp4_torchao_onelevel"])
def test_other_roundings(name: str, rounding: str) -> None:
    """The elements are what the element format's own cast makes of y; the scales do not change."""
    x = numbers(24, 8, 64)
    made = fp.encode_blocks(x, name, rounding=rounding)
    same_bits(made.scales, fp.encode_blocks(x, name).scales)
    s = fp.decode(made.scales, "e4m3" if "nvfp4" in name else "e8m0").repeat(fp.get(name).block[1], axis=1)
    y = x * (np.float32(1) / s)
    same_bits(made.codes, fp.encode(y, fp.get(name).element, rounding=rounding, overflow="saturate"))
    same_bits(fp.quantize(x, name, rounding=rounding), made.decode())


STOCHASTIC = ("mxfp8_e4m3", "mxfp6_e2m3", "mxfp4", "nvfp4_te", "fp8_e5m2_row_torchao")


@pytest.mark.parametrize("name", STOCHASTIC)
def test_stochastic_seed(name: str) -> None:
    """A seed's bits belong to places, whichever way the work is cut."""
    x = numbers(25, 40, 4096)
    more = {"tensor_amax": np.abs(x).max()} if fp.get(name).z else {}
    made = fp.encode_blocks(x, name, rounding="stochastic", rng=7, **more)
    assert made == fp.encode_blocks(x, name, rounding="stochastic", rng=7, **more)
    assert made != fp.encode_blocks(x, name, rounding="stochastic", rng=8, **more)
    same_bits(fp.quantize(x, name, rounding="stochastic", rng=7), made.decode())
    start = fp.encode_blocks(x[:3], name, rounding="stochastic", rng=7, **more)
    same_bits(start.codes, made.codes[:3])
    words = words_of(7, x.size).reshape(x.shape)
    same_array(fp.encode_blocks(x, name, rounding="stochastic", rng=words, **more), made)


def words_of(seed: int, size: int) -> np.ndarray:
    """A seed's words, to be given as an array."""
    from fpformats.kernels.philox import philox

    words = np.empty(-(-size // 4) * 4, np.uint32)
    philox(words, seed, 0)
    return words[:size]


def test_stochastic_words_are_those_of_elements() -> None:
    """A block whose scale is 1 is rounded as its elements are."""
    x = np.random.default_rng(26).uniform(-6, 6, (8, 64)).astype(np.float32)
    x[:, ::32] = 4
    words = np.random.default_rng(27).integers(0, 1 << 32, x.shape, dtype=np.uint32)
    for rng in (3, words, words.astype(np.int64), (3, 4), (words >> np.uint32(24)).astype(np.uint8), (words % 16, 4)):
        made = fp.encode_blocks(x, "mxfp4", rounding="stochastic", rng=rng)
        assert (made.scales == 127).all()
        same_bits(made.codes, fp.encode(x, "e2m1", rounding="stochastic", overflow="saturate", rng=rng))
        same_bits(fp.quantize(x, "mxfp4", rounding="stochastic", rng=rng), made.decode())


@pytest.mark.parametrize("length", [33, 40001, 131077, 262149])
def test_stochastic_rows_of_any_length(length: int) -> None:
    """Counters go on from row to row, whether or not a row fills whole groups of four."""
    x = numbers(34, max(3, 2 * CHUNK // length if length < 100 else 0), length)
    words = words_of(7, x.size).reshape(x.shape)
    for name in ("fp8_e5m2_row_torchao", "int8_channel_compressed_tensors_asymmetric"):
        made = fp.encode_blocks(x, name, rounding="stochastic", rng=7)
        same_array(made, fp.encode_blocks(x, name, rounding="stochastic", rng=words))
        same_bits(fp.quantize(x, name, rounding="stochastic", rng=7), made.decode())


@pytest.mark.parametrize("name", ["mxfp4", "mxfp8_e4m3", "nvfp4_torchao_onelevel"])
def test_stochastic_mean(name: str) -> None:
    """The mean of many draws is the number: within 5 of its standard deviations."""
    x = np.full((4096, 32), 0.3, np.float32)
    x[:, ::16] = 6
    got = fp.quantize(x, name, rounding="stochastic", rng=1).astype(np.float64)
    free = np.ones(32, bool)
    free[::16] = False
    some = got[:, free]
    low, high = np.unique(some)
    assert low < np.float32(0.3) < high
    p = (0.3 - low) / (high - low)
    assert abs(some.mean() - 0.3) <= 5 * (high - low) * np.sqrt(p * (1 - p) / some.size) + 1e-8


def test_stochastic_along_other_axes() -> None:
    """Explicit bits go with their elements."""
    x = numbers(28, 70, 33)
    words = np.random.default_rng(29).integers(0, 1 << 32, x.shape, dtype=np.uint32)
    for name in ("mxfp8_e4m3", "mxfp4", "mxfp8_e4m3_te_32x32"):
        one = fp.encode_blocks(x, name, axis=0, rounding="stochastic", rng=words)
        other = fp.encode_blocks(x.T.copy(), name, rounding="stochastic", rng=words.T.copy())
        same_bits(one.codes, other.codes.T)


# --- kernels --------------------------------------------------------------------------------------
SCRIPT = """
import sys, numpy as np, fpformats as fp
from fpformats import engine
engine.WORTH_COMPILING = 1 << 62
made = {}
for key, x in np.load(sys.argv[1]).items():
    axis = int(key)
    for name in fp.formats("block"):
        q = fp.encode_blocks(x, name, axis=axis)
        made[f"{name}{axis}/codes"], made[f"{name}{axis}/scales"] = q.codes, q.scales
        made[f"{name}{axis}/values"], made[f"{name}{axis}/decoded"] = fp.quantize(x, name, axis=axis), q.decode()
assert engine.compiled() is None and "numba" not in sys.modules
np.savez(sys.argv[2], **made)
"""


def test_numpy_and_compiled_kernels(tmp_path: Path) -> None:
    """A process that never loads Numba gives the same bits as the compiled kernels, NaN payloads aside."""
    arrays = {
        "1": awkward(30, 37, 160),
        "0": awkward(35, 128, 48),
        "-2": awkward(36, 128, 128),
        "-1": awkward(37, 128, 384),
    }
    np.savez(tmp_path / "x.npz", **arrays)
    subprocess.run([sys.executable, "-c", SCRIPT, tmp_path / "x.npz", tmp_path / "made.npz"], check=True)
    fp.warmup()
    assert engine.compiled() is not None
    with np.load(tmp_path / "made.npz") as made:
        for name, (key, x) in itertools.product(ALL, arrays.items()):
            q = fp.encode_blocks(x, name, axis=int(key))
            same_bits(made[f"{name}{key}/codes"], q.codes)
            same_bits(made[f"{name}{key}/scales"], q.scales)
            same_bits(made[f"{name}{key}/values"], fp.quantize(x, name, axis=int(key)))
            same_bits(made[f"{name}{key}/decoded"], q.decode())


@pytest.mark.parametrize("shape", [(128, 48), (2, 128, 35), (3, 256, 2, 16), (256, 384), (130, 64)])
def test_rows_that_stay_where_they_are(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks whose rows take turns in the array's own memory are what they are when each is moved into a row."""
    fp.warmup()
    x = awkward(38, *shape)
    x = np.where(np.isinf(x), np.float32(1e30), x)
    words = words_of(8, x.size).reshape(shape)
    stayed = 0

    def all_of(name: str, axis: int) -> list[fp.BlockArray | np.ndarray]:
        made = fp.encode_blocks(x, name, axis=axis)
        out = np.empty(shape, np.float32)
        results = [made, fp.quantize(x, name, axis=axis, out=out), made.decode()]
        if not fp.get(name).argmin and not fp.get(name).zero_point:
            for rng in (3, words):
                results.append(fp.encode_blocks(x, name, axis=axis, rounding="stochastic", rng=rng))
        return results

    for name, axis in itertools.product(ALL, range(len(shape))):
        stayed += tiling(fp.get(name), shape, axis).turns.rows > 1
        here = all_of(name, axis)
        with monkeypatch.context() as patch:
            patch.setattr(Tiling, "turns", ALONE)
            moved = all_of(name, axis)
        for one, other in zip(here, moved, strict=True):
            (same_array if isinstance(one, fp.BlockArray) else same_bits)(one, other)
    assert stayed > (10 if shape == (130, 64) else 100)


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize(
    "name", ["mxfp8_e4m3", "nvfp4_te", "mxfp4_ggml", "fp8_e4m3_tensor_te", "nvfp4_te_4over6_mae_448"]
)
def test_large_arrays(name: str, threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of several chunks, on one thread or more, are their rows one by one."""
    monkeypatch.setenv("FPFORMATS_NUM_THREADS", threads)
    monkeypatch.setattr(engine, "WORTH_THREADS", 1 << 16)
    fmt: BlockFormat = fp.get(name)
    x = numbers(31, 144, 8192)
    amax = {"tensor_amax": np.abs(x).max()} if fmt.z or fmt.size is None else {}
    whole = fp.encode_blocks(x, name, **amax)
    for i in (0, 1, 15, 16, 127, 128, 143):
        row = fp.encode_blocks(x[i], name, **amax)
        same_bits(whole.codes[i], row.codes)
        same_bits(whole.scales.reshape(-1)[0:1] if fmt.size is None else whole.scales[i], row.scales)
    same_bits(fp.quantize(x, name), whole.decode())
    out = x.copy()
    assert fp.quantize(out, name, out=out) is out
    same_bits(out, whole.decode())
    if fmt.block[0] == 1:
        turned = fp.encode_blocks(x.T.copy(), name, axis=0, **amax)
        same_bits(turned.codes, whole.codes.T)
        same_bits(turned.scales, whole.scales.T)
        same_bits(turned.decode(), whole.decode().T)
        out = x.T.copy()
        same_bits(fp.quantize(out, name, axis=0, out=out), whole.decode().T)


def test_blocks_larger_than_a_chunk() -> None:
    """One scale for more numbers than fit in a chunk; its amax is in the last of them."""
    x = numbers(32, 3, CHUNK + 100_000)
    x[:, -1] = 1e4, -2e4, 3e4
    made = fp.encode_blocks(x, "fp8_e4m3_row_torchao")
    same_bits(made.scales, (448.0 / np.array([[1e4], [2e4], [3e4]])).astype(np.float32))
    same_bits(made.codes[:, ::997], e4m3((x * made.scales)[:, ::997]))
    same_bits(fp.quantize(x, "fp8_e4m3_row_torchao"), made.decode())
    whole = fp.encode_blocks(x, "fp8_e4m3_tensor_torchao")
    assert whole.scales.tolist() == [[np.float32(448.0 / 3e4)]]


@pytest.mark.parametrize("more", [8, 16])
@pytest.mark.parametrize("name", ["fp8_e4m3_tensor_torchao", "fp8_e4m3_tensor_te", "int8_tensor_absmax"])
def test_a_block_of_a_chunk_and_a_rest(name: str, more: int) -> None:
    """The rest, which the loops of sixteens may not take, is what it is alone with the same amax."""
    x = np.resize(numbers(34, 4096), CHUNK + more)
    x[-1], x[-2] = 1e4, -0.0
    made, rest = fp.encode_blocks(x, name), fp.encode_blocks(x[-40:], name)
    same_bits(made.scales, rest.scales)
    same_bits(made.codes[-40:], rest.codes)
    same_bits(made.codes[:4096], fp.encode_blocks(np.append(x[:4096], x[-1]), name).codes[:-1])
    same_bits(made.decode()[-40:], rest.decode())
    same_bits(fp.quantize(x, name), made.decode())


def test_seeded_words_go_on_from_chunk_to_chunk() -> None:
    """A number's random word is that of its place, also where a chunk of odd rows begins."""
    x = np.resize(numbers(35, 4099), (2 * CHUNK // 1001 + 7, 1001))
    made = fp.encode_blocks(x, "fp8_e4m3_row_torchao", rounding="stochastic", rng=7)
    y = x * made.scales
    same_bits(made.codes, fp.encode(y, "e4m3", overflow="saturate", rounding="stochastic", rng=7))


def test_seeded_words_of_odd_strips() -> None:
    """The same along another axis, where as many strips as a chunk holds do not fill groups of four."""
    x = np.resize(numbers(36, 4099), (CHUNK // (71 * 73) + 3, 71, 73))
    made = fp.encode_blocks(x, "fp8_e4m3_row_torchao", axis=1, rounding="stochastic", rng=7)
    words = words_of(7, x.size).reshape(x.shape)
    same_array(made, fp.encode_blocks(x, "fp8_e4m3_row_torchao", axis=1, rounding="stochastic", rng=words))


def test_a_dropped_zero_is_not_the_lowest_integer() -> None:
    fmt = dataclasses.replace(fp.get("int8_tensor_compressed_tensors"), zero="drop", v="1")
    x = np.full((1, 128), -1e9, np.float32)
    assert (fp.encode_blocks(x, fmt).decode() == -128).all()
    assert (fp.quantize(x, fmt) == -128).all()


def test_threads_of_the_caller() -> None:
    """Calls at the same time do not disturb each other."""
    xs = [numbers(33 + i, 64, 512) for i in range(4)]
    expected = [fp.encode_blocks(x, "nvfp4") for x in xs]
    wrong: list[int] = []

    def work(i: int) -> None:
        for _ in range(10):
            if fp.encode_blocks(xs[i], "nvfp4") != expected[i]:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# --- bad input ------------------------------------------------------------------------------------
X = np.ones((2, 32), np.float32)
MX, NV, ROWS = "mxfp8", "nvfp4", "fp8_e4m3_row_torchao"


def given(name: str, **change: Any) -> dict[str, Any]:
    """BlockArray's arguments for `X`, some of them others."""
    made = fp.encode_blocks(X, name)
    own = {"codes": made.codes, "scales": made.scales, "format": name, "tensor_scale": made.tensor_scale, "axis": -1}
    return {**own, **{key: value(own[key]) if callable(value) else value for key, value in change.items()}}


@pytest.mark.parametrize(
    ("name", "change", "error", "message"),
    [
        (MX, {"codes": lambda c: c.astype(np.float32)}, TypeError, "codes has dtype float32; uint8, one code a value, was"),
        (MX, {"codes": lambda c: c > 0}, TypeError, "codes has dtype bool; uint8, one code a value, was expected"),
        (MX, {"codes": lambda c: c.astype(int) + 200}, ValueError, "codes hold .*320.*; codes of e4m3 have 8 bits"),
        (MX, {"codes": lambda c: c.astype(int) - 121 * np.eye(2, 32, dtype=int)}, ValueError, "codes hold -1.*; codes of e4m3 have"),
        (NV, {"codes": lambda c: c + np.uint8(16)}, ValueError, "codes hold .*23.*; codes of e2m1 have 4 bits"),
        ("mxfp6", {"codes": lambda c: c | 64}, ValueError, "codes of e3m2 have 6 bits"),
        (MX, {"scales": lambda s: s.astype(int)}, TypeError, r"scales has dtype int64; uint8 was expected for mxfp8_e4m3 \(e8m0"),
        (MX, {"scales": lambda s: s.astype(np.float32)}, TypeError, "scales has dtype float32; uint8 was expected"),
        (ROWS, {"scales": lambda s: s.astype(float)}, TypeError, r"scales has dtype float64; float32 was expected .*\(fp32 scales\)"),
        (ROWS, {"scales": lambda s: s.astype(np.uint8)}, TypeError, "scales has dtype uint8; float32 was expected"),
        (MX, {"scales": lambda s: s[:1]}, ValueError, r"scales has shape \(1, 1\); \(2, 1\) was expected for codes of shape \(2, 32\) in 1x32"),
        (MX, {"scales": lambda s: s.ravel()}, ValueError, r"scales has shape \(2,\); \(2, 1\) was expected"),
        (MX, {"axis": 0}, ValueError, r"scales has shape \(2, 1\); \(1, 32\) was expected"),
        (NV, {"codes": lambda c: c[:1]}, ValueError, r"scales has shape \(2, 2\); \(1, 2\) was expected for codes of shape \(1, 32\)"),
        (NV, {"tensor_scale": None}, ValueError, r"nvfp4_te has its second level as stored \(the amax\); tensor_scale=None"),
        ("nvfp4_torchao", {"tensor_scale": None}, ValueError, r"second level as stored \(z = G / 2688\); tensor_scale=None"),
        (MX, {"tensor_scale": 1.0}, ValueError, "mxfp8_e4m3 has no tensor_scale; tensor_scale=1.0"),
        (NV, {"tensor_scale": [1.0, 2.0]}, ValueError, r"tensor_scale has 2 numbers; shape \(\) was expected for nvfp4_te"),
        ("nvfp4_te_rowscaled", {"tensor_scale": [1.0] * 3}, ValueError, r"tensor_scale has 3 numbers; shape \(2,\) was"),
        (MX, {"axis": 2}, ValueError, "axis=2: x has 2 dimensions; an int from -2 to 1 was expected"),
        (MX, {"format": "e4m3"}, TypeError, "e4m3 is an element format; a block format such as mxfp8 or nvfp4 was expected"),
        (MX, {"format": "mxfp9"}, ValueError, "unknown format 'mxfp9'; did you mean mxfp8"),
    ],
)  # fmt: skip
def test_bad_block_array(name: str, change: dict[str, Any], error: type[Exception], message: str) -> None:
    fp.BlockArray(**given(name))  # as they are, they are good
    with pytest.raises(error, match=message):
        fp.BlockArray(**given(name, **change))


@pytest.mark.parametrize("axis", [2, -3, 1.0, None, (0,), "0"])
@pytest.mark.parametrize("name", [MX, "nvfp4_te_16x16", "fp8_e4m3_tensor_te"])
def test_axis_out_of_range(name: str, axis: Any) -> None:
    message = r"axis=.*: x has 2 dimensions; an int from -2 to 1 was expected"
    for call in (fp.encode_blocks, fp.quantize):
        with pytest.raises(ValueError, match=message):
            call(X, name, axis=axis)


def test_axis_of_numpy() -> None:
    assert fp.encode_blocks(X, MX, axis=np.int64(0)) == fp.encode_blocks(X, MX, axis=0)


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        (MX, {"profile": "torch"}, ValueError, "mxfp8_e4m3: the recipe decides profile; profile='torch' cannot be given"),
        (MX, {"overflow": "saturate"}, ValueError, "the recipe decides overflow; overflow='saturate'"),
        (NV, {"nan": "max"}, ValueError, "nvfp4_te: the recipe decides nan; nan='max'"),
        (MX, {"subnormals": "flush_inputs"}, ValueError, "the recipe decides subnormals"),
        (MX, {"via": "bf16"}, ValueError, "the recipe decides via; via='bf16'"),
        (MX, {"rounding": "up"}, ValueError, "rounding='up': one of nearest_even, .*stochastic.* was expected"),
        (MX, {"rng": 1}, ValueError, "rng is for the stochastic modes, not for rounding='nearest_even'"),
        ("mxfp4_ggml", {"rng": 1}, ValueError, "not for rounding='nearest_zero'"),
        (MX, {"rounding": "toward_zero", "rng": 1}, ValueError, "not for rounding='toward_zero'"),
        (MX, {"rounding": "stochastic"}, ValueError, "rounding='stochastic' needs rng"),
        (MX, {"rounding": "stochastic", "rng": -1}, ValueError, "rng=-1: a seed from 0"),
        (MX, {"rounding": "stochastic", "rng": True}, ValueError, "needs rng"),
        (MX, {"rounding": "stochastic", "rng": 1.5}, TypeError, "rng has dtype float64"),
        (MX, {"rounding": "stochastic", "rng": np.zeros(3, int)}, ValueError, r"rng has shape \(3,\); \(2, 32\) was expected"),
        (MX, {"out": [0.0]}, TypeError, "out is a list; a NumPy array was expected"),
        (MX, {"out": np.empty((2, 31), np.float32)}, ValueError, r"out has shape \(2, 31\); \(2, 32\) was expected"),
        (MX, {"out": np.empty((2, 32), np.float64)}, TypeError, "out has dtype float64; float32 was expected"),
    ],
)  # fmt: skip
def test_bad_options_of_quantize(name: str, options: dict[str, Any], error: type[Exception], message: str) -> None:
    fp.quantize(X, name)
    with pytest.raises(error, match=message):
        fp.quantize(X, name, **options)


def test_bad_out() -> None:
    read_only = X.copy()
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        fp.quantize(X, MX, out=read_only)
    memory = np.ones((3, 32), np.float32)
    with pytest.raises(ValueError, match="out overlaps x without being x"):
        fp.quantize(memory[:2], MX, out=memory[1:])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (MX, {"tensor_amax": 1.0}, "tensor_amax=1.0: mxfp8_e4m3 has no second level"),
        (ROWS, {"tensor_amax": 1.0}, "tensor_amax=1.0: fp8_e4m3_row_torchao has no second level"),
        (NV, {"tensor_amax": -1.0}, "tensor_amax=-1.0: a magnitude was expected"),
        (NV, {"tensor_amax": [1.0, 2.0]}, r"tensor_amax=\[1.0, 2.0\]: one number was expected"),
        (NV, {"tensor_amax": "a"}, "tensor_amax='a': one number was expected"),
        ("nvfp4_te_rowscaled", {"tensor_amax": 1.0}, "tensor_amax has 1 numbers; one for each of 2 rows was expected"),
        (MX, {"scale": 1.0}, "scale=1.0: mxfp8_e4m3 finds its own scales; only recipes with float32 scales take one"),
        (NV, {"scale": 1.0}, "nvfp4_te finds its own scales"),
        (ROWS, {"scale": [1.0, 2.0, 3.0]}, "scale has 3 numbers; 1 or 2 were expected"),
        *((ROWS, {"scale": bad}, "scale: finite positive numbers were expected") for bad in (0.0, -1.0, np.inf, np.nan)),
        (MX, {"eps": 1e-3}, "eps=0.001: mxfp8_e4m3 has none"),
        ("fp8_e4m3_tensor_te", {"eps": -1.0}, "eps=-1.0: a finite number >= 0 was expected"),
        ("fp8_e4m3_tensor_te", {"eps": np.nan}, "eps=nan: a finite number >= 0 was expected"),
    ],
)  # fmt: skip
def test_bad_second_level(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fp.encode_blocks(X, name, **options)


def test_a_decimal_string_is_a_number() -> None:
    assert fp.quantize("0.1", MX) == fp.quantize([np.float32(0.1)], MX).item()
    with pytest.raises(ValueError, match="'abc' is not a decimal, rational or hexadecimal number"):
        fp.encode_blocks("abc", MX)


@pytest.mark.parametrize("x", [["a"], [None], 1j, np.zeros(2, complex), None, object()])
def test_what_is_no_array(x: Any) -> None:
    with pytest.raises(TypeError, match=r"x (is a|is complex|has dtype)"):
        fp.encode_blocks(x, MX)


def test_wrong_kinds_of_format() -> None:
    block = "is a block format; an element format such as {} was expected here"
    with pytest.raises(
        TypeError, match="e4m3 is an element format; a block format such as mxfp8 or nvfp4 was expected"
    ):
        fp.encode_blocks(X, "e4m3")
    with pytest.raises(TypeError, match="nvfp4_te " + block.format("e2m1")):
        fp.encode(X, NV)
    with pytest.raises(TypeError, match="mxfp8_e4m3 " + block.format("e4m3")):
        fp.decode(np.zeros(2, np.uint8), MX)
    with pytest.raises(TypeError, match="mxfp8_e4m3 " + block.format("e4m3")):
        fp.convert([1], MX, "e4m3")
    with pytest.raises(ValueError, match="unknown format 'nvfp5'; did you mean nvfp4"):
        fp.encode_blocks(X, "nvfp5")
    with pytest.raises(TypeError, match="a format name or a Format was expected, got NoneType"):
        fp.encode_blocks(X, None)
    with pytest.raises(ValueError, match=r"formats\('blocks'\): one of element, block, all was expected"):
        fp.formats("blocks")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([16], 4), ValueError, "codes hold 16 ... 16; codes of 4 bits were expected"),
        (([-1, 0], 4), ValueError, "codes hold -1 ... 0; codes of 4 bits were expected"),
        (([256], 8), ValueError, "codes of 8 bits were expected"),
        (([1], 4), ValueError, "the last axis has 1 codes; a multiple of 2 fills whole bytes of 4-bit codes"),
        (([1, 2, 3], 6), ValueError, "the last axis has 3 codes; a multiple of 4 fills whole bytes of 6-bit codes"),
        (([1.0, 2.0], 4), TypeError, "codes has dtype float64; integers were expected"),
        *((([1, 2], bits), ValueError, f"bits={bits}: an int from 1 to 8 was expected") for bits in (0, 9, True)),
    ],
)
def test_bad_pack(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fp.pack(*arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([256], 4), TypeError, "data has dtype int64; bytes"),
        (([1.0], 4), TypeError, "data has dtype float64; bytes"),
        (([1, 2], 6), ValueError, "the last axis has 2 bytes; a multiple of 3 was expected for 6-bit codes"),
        (([1], 4, 3), ValueError, "size=3: the data hold 2 codes along the last axis"),
        (([1], 4, -1), ValueError, "size=-1: the data hold 2 codes"),
        (([1], 0), ValueError, "bits=0: an int from 1 to 8 was expected"),
    ],
)
def test_bad_unpack(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fp.unpack(*arguments)


def test_bad_order() -> None:
    for call in (fp.pack, fp.unpack):
        with pytest.raises(ValueError, match="order='big': one of low_first, high_first was expected"):
            call([1, 2], 4, order="big")


def test_what_cannot_be_packed_or_swizzled() -> None:
    with pytest.raises(ValueError, match="the last axis has 33 codes; a multiple of 2"):
        fp.encode_blocks(np.ones(33), "mxfp4").packed()
    with pytest.raises(ValueError, match="the last axis has 30 codes; a multiple of 4"):
        fp.encode_blocks(np.ones(30), "mxfp6").packed()
    with pytest.raises(ValueError, match="mxfp4_ggml: the axis of 40 values is no multiple of 32"):
        fp.encode_blocks(np.ones(40), "mxfp4_ggml").packed()
    with pytest.raises(ValueError, match="fp8_e4m3_row_torchao: only scale codes of one byte are swizzled"):
        fp.encode_blocks(np.ones(32), ROWS).swizzled_scales()


@pytest.mark.parametrize("axis", [0, 1])
def test_a_scale_for_every_block_of_many_chunks(axis):
    """Scales in the grid's shape reach their own blocks, also where the work is cut into chunks."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=(CHUNK // 512, 1024)).astype(np.float32)
    shape = (len(x) // 128, 1024) if axis == 0 else (len(x), 8)
    scale = np.exp2(rng.integers(-3, 4, shape)).astype(np.float32)
    made = fp.encode_blocks(x, "fp8_e4m3_1x128_te_fp32scale", axis=axis, scale=scale)
    expected = fp.encode(x * np.repeat(scale, 128, axis=axis), "e4m3", overflow="saturate")
    np.testing.assert_array_equal(made.codes, expected)
    np.testing.assert_array_equal(made.scales, 1 / scale)


@pytest.mark.parametrize("recipe", ["mxfp8", "nvfp4", "nvfp4_te_16x16", "fp8_e4m3_row_torchao", "int8_channel_absmax"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_decode_into_out(recipe, dtype):
    x = np.random.default_rng(4).standard_normal((48, 70)).astype(np.float32)
    made = fp.encode_blocks(x, recipe)
    expected = made.decode(dtype=dtype)
    room = np.full((50, 140), 7, dtype)
    for out in (np.empty(x.shape, dtype), room[1:49, ::2], np.empty(x.shape, dtype, order="F")):
        assert made.decode(dtype=dtype, out=out) is out
        np.testing.assert_array_equal(out, expected)
    assert (room[:, 1::2] == 7).all()
    with pytest.raises(ValueError, match="shape"):
        made.decode(out=np.empty((48, 71), np.float32))
    with pytest.raises(TypeError, match="dtype"):
        made.decode(out=np.empty((48, 70), np.float64))


@pytest.mark.parametrize("recipe", ["mxfp8", "nvfp4", "nvfp4_te_16x16", "fp8_e4m3_row_torchao", "int8_channel_absmax"])
@pytest.mark.parametrize("axis", [0, -1])
def test_encode_into_out(recipe, axis):
    x = numbers(15, 48, 80)
    expected = fp.encode_blocks(x, recipe, axis=axis)
    room = np.full((50, 160), 7, np.uint8)
    for out in (np.empty(x.shape, np.uint8), room[1:49, ::2], np.empty(x.shape, np.uint8, order="F")):
        made = fp.encode_blocks(x, recipe, axis=axis, out=out)
        assert made.codes is out
        same_array(made, expected)
    assert (room[:, 1::2] == 7).all()
    with pytest.raises(ValueError, match="shape"):
        fp.encode_blocks(x, recipe, out=np.empty((48, 81), np.uint8))
    with pytest.raises(TypeError, match="dtype"):
        fp.encode_blocks(x, recipe, out=np.empty((48, 80), np.int8))
    with pytest.raises(TypeError, match="NumPy array"):
        fp.encode_blocks(x, recipe, out=[0])
    with pytest.raises(ValueError, match="out overlaps"):
        fp.encode_blocks(x, recipe, out=x.reshape(-1).view(np.uint8)[: x.size].reshape(x.shape))
    assert fp.encode_blocks(6.0, recipe, out=np.empty((), np.uint8)).shape == ()


@pytest.mark.parametrize("part", ["codes", "scales", "tensor_scale"])
def test_decode_does_not_overwrite_what_it_reads(part: str) -> None:
    made = fp.encode_blocks(numbers(14, 2, 256), "nvfp4")
    given = {each: getattr(made, each) for each in ("codes", "scales", "tensor_scale")}
    room = np.zeros(made.shape, np.float32)
    inside = room.reshape(-1).view(given[part].dtype)[: given[part].size].reshape(given[part].shape)
    inside[...] = given[part]
    array = fp.BlockArray(**given | {part: inside}, format="nvfp4")
    with pytest.raises(ValueError, match="out overlaps"):
        array.decode(out=room)
    same_bits(array.decode(), made.decode())


@pytest.mark.parametrize(
    "recipe", ["mxfp8", "nvfp4_direct", "fp8_e4m3_1x128_torchao_blockwise", "mxfp4_ggml", "mxint8"]
)
@pytest.mark.parametrize("rows", [1, 2, 3, 7, 33])
def test_results_past_the_caches(recipe, rows, monkeypatch):
    """Wherever results begin, they are what they are in the caches, and nothing beside them is written."""
    fp.warmup()
    x = awkward(39, max(rows, 7), 1152)[:rows]
    expected = fp.encode_blocks(x, recipe)
    values = fp.quantize(x, recipe)
    monkeypatch.setattr(run, "LARGE", 0)
    codes, room = np.full(x.size + 128, 7, np.uint8), np.full(x.size + 32, 7, np.float32)
    for offset in (*range(20), 31, 32, 33, 47, 48, 63, 64):
        codes[:], out = 7, codes[offset : offset + x.size].reshape(x.shape)
        same_array(fp.encode_blocks(x, recipe, out=out), expected)
        assert (codes[:offset] == 7).all()
        assert (codes[offset + x.size :] == 7).all()
    for offset in range(17):
        out = room[offset : offset + x.size].reshape(x.shape)
        for write in (lambda out=out: fp.quantize(x, recipe, out=out), lambda out=out: expected.decode(out=out)):
            room[:] = 7
            same_bits(write(), values)
            assert (room[:offset] == 7).all()
            assert (room[offset + x.size :] == 7).all()


@pytest.mark.parametrize("length", [16, 48, 80, 496, 512, 528])
def test_rows_past_the_caches(length, monkeypatch):
    """Rows that do not fill whole tiles."""
    fp.warmup()
    x = numbers(40, 37, length)
    expected, values = fp.encode_blocks(x, "fp8_e4m3_row_torchao"), fp.quantize(x, "fp8_e4m3_row_torchao")
    monkeypatch.setattr(run, "LARGE", 0)
    codes = np.full(x.size + 64, 7, np.uint8)
    for offset in (0, 1, 15, 16, 40, 63):
        out = codes[offset : offset + x.size].reshape(x.shape)
        same_array(fp.encode_blocks(x, "fp8_e4m3_row_torchao", out=out), expected)
    same_bits(fp.quantize(x, "fp8_e4m3_row_torchao"), values)
    same_bits(expected.decode(), values)


@pytest.mark.parametrize("offset", [0, 1, 5, 16])
@pytest.mark.parametrize(
    "recipe", ["mxfp8", "nvfp4_direct", "fp8_e4m3_1x128_torchao_blockwise", "fp8_e4m3_row_torchao"]
)
def test_large_block_results(recipe: str, offset: int) -> None:
    """From 2^25 bytes on values are written past the caches: wherever they begin, nothing beside them is."""
    columns = 528 if "row" in recipe else 512
    shape = ((1 << 23) // columns + 3, columns)
    x = (np.arange(shape[0] * columns, dtype=np.uint32) * np.uint32(2654435761) >> np.uint32(2)).view(np.float32)
    x = x.reshape(shape)
    room = np.full(x.size + 64, 7, np.float32)
    out = room[offset : offset + x.size].reshape(shape)
    made = fp.encode_blocks(x, recipe)
    for write in (lambda: fp.quantize(x, recipe, out=out), lambda: made.decode(out=out)):
        room[:] = 7
        assert write() is out
        for first in range(0, shape[0], 1000):
            few = slice(first, first + 1000)
            np.testing.assert_array_equal(out[few], fp.encode_blocks(x[few], recipe).decode())
        assert (room[:offset] == 7).all()
        assert (room[offset + x.size :] == 7).all()
