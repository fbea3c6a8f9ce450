"""Corners that were wrong once."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import fpformats as fp
from fpformats import reference
from fpformats.blocks.recipe import Recipe, recipe
from fpformats.rounding import Rules

JOBS = {
    "encode via": lambda x, out=None: fp.encode(x, "e4m3", via="fp16", out=out),
    "quantize via": lambda x, out=None: fp.quantize(x, "e4m3", via="fp16", out=out),
    "to odd": lambda x, out=None: fp.encode(x, "e4m3", rounding="to_odd", out=out),
    "stochastic": lambda x, out=None: fp.quantize(x, "e4m3", rounding="stochastic", rng=3, out=out),
    "plain": lambda x, out=None: fp.quantize(x, "e4m3", out=out),
    "blocks": lambda x, out=None: fp.quantize(x, "mxfp8", out=out),
}


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("job", JOBS)
def test_matrices_are_two_dimensional_for_ever(job):
    x = np.random.default_rng(0).standard_normal((300, 416)).astype(np.float32)
    expected = JOBS[job](x)
    np.testing.assert_array_equal(np.asarray(JOBS[job](np.matrix(x))), expected)
    out = np.matrix(np.zeros(x.shape, expected.dtype))
    assert JOBS[job](x, out=out) is out
    np.testing.assert_array_equal(np.asarray(out), expected)


@pytest.mark.parametrize(
    "number", [((1 << 24) + 1 << 36) | 1, Fraction((1 << 24) + 1 << 36 | 1), 10**400, "16777217.000000001"]
)
def test_a_number_is_a_block_rounded_once(number):
    amax = reference.encode(number, fp.get("fp32"), Rules())
    amax = np.array(amax, np.uint32).view(np.float32)
    one, many = (fp.encode_blocks(x, "fp8_e4m3_tensor_te") for x in (number, np.array([amax])))
    assert one.scales.reshape(-1).tobytes() == many.scales.reshape(-1).tobytes()
    assert one.codes.reshape(-1).tolist() == many.codes.reshape(-1).tolist()


@pytest.mark.parametrize(("name", "bits"), [("fp16", 11), ("bf16", 8)])
def test_decoding_rounds_once(name, bits):
    dtype = np.float16 if name == "fp16" else pytest.importorskip("ml_dtypes").bfloat16
    values = np.array([1 + 2.0**-bits + 2.0**-52, -(1 + 2.0**-bits + 2.0**-50), 1 + 2.0**-bits, 3.0])
    codes = values.view(np.uint64)
    expected = np.array(
        [float(reference.decode(reference.encode(v, fp.get(name)), fp.get(name))) for v in values.tolist()]
    )
    np.testing.assert_array_equal(fp.decode(codes, "fp64", dtype=dtype).astype(np.float64), expected)
    assert [float(fp.decode(int(code), "fp64", dtype=dtype)) for code in codes] == expected.tolist()


def test_scales_of_another_shape_are_refused():
    x, scale = np.ones((4, 256), np.float32), np.arange(1, 9, dtype=np.float32).reshape(4, 2)
    recipe = "fp8_e4m3_1x128_deepgemm"
    assert fp.encode_blocks(x, recipe, scale=scale).scales.tolist() == scale.tolist()
    assert fp.encode_blocks(x, recipe, scale=scale.reshape(-1)).scales.tolist() == scale.tolist()
    for wrong in (scale.T.copy(), scale.reshape(8, 1, 1)):
        with pytest.raises(ValueError, match="scale has shape"):
            fp.encode_blocks(x, recipe, scale=wrong)
    with pytest.raises(ValueError, match="tensor_amax has shape"):
        fp.encode_blocks(x, "nvfp4_te_rowscaled", tensor_amax=np.ones((2, 2), np.float32))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: fp.decode(3, "e4m3", dtype="i4"), TypeError, "a float type was expected"),
        (lambda: fp.decode(3, "e4m3", out=np.empty(1, np.float32)), TypeError, "out is for arrays"),
        (lambda: fp.convert(1, "e4m3", "e2m1", out=np.empty(1, np.uint8)), TypeError, "out is for arrays"),
        (lambda: fp.encode_blocks([1.0], "mxfp8").decode(dtype="i4"), TypeError, "a float type was expected"),
        (
            lambda: fp.quantize([1.0], "fp8_e4m3_tensor_te", scale=1, tensor_amax=3),
            ValueError,
            "tensor_amax=3: scale is given",
        ),
        (lambda: fp.quantize([1.0], "fp8_e4m3_tensor_te", scale=1, eps=3), ValueError, "eps=3: scale is given"),
        (lambda: fp.quantize([1.0], "e4m3", rounding="stochastic", rng=(1, 2.7)), ValueError, "1 to 32 random bits"),
        (lambda: fp.quantize([1.0], "e4m3", rounding="stochastic", rng=(1, "a")), ValueError, "1 to 32 random bits"),
        (lambda: fp.quantize([1.0], "e4m3", rounding="stochastic", rng=()), ValueError, "number of bits"),
        (lambda: fp.DelayedScaling().update(-3), ValueError, "magnitudes were expected"),
        (lambda: fp.DelayedScaling().update(None), ValueError, "magnitudes were expected"),
        (lambda: fp.DelayedScaling(margin=2000), ValueError, "from -126 to 127"),
        (lambda: fp.DelayedScaling(length=1.5), ValueError, "1 or more"),
        (lambda: fp.quantize([[1.0], [2.0, 3.0]], "e4m3"), ValueError, "differ in length"),
        (lambda: fp.decode([1.0], "e4m3"), TypeError, "codes are fp64 numbers"),
        (lambda: fp.hadamard(np.ones(16), fmt="fp64"), ValueError, "at most 50 mantissa bits"),
        (lambda: fp.hadamard(np.full(16, np.nan), fmt="e2m1"), ValueError, "which e2m1 cannot hold"),
    ],
)
def test_what_is_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("name", ["e4m3", "mxfp8", "nvfp4", "mxfp8_e4m3_torchao018_floor", "mxint8_microxcaling"])
def test_formats_travel(name):
    fmt = fp.get(name)
    hash(fmt)
    for other in (pickle.loads(pickle.dumps(fmt)), copy.deepcopy(fmt), copy.copy(fmt)):
        assert other == fmt
        assert hash(other) == hash(fmt)
    code = (
        f"import pickle, sys, fpformats as fp; f = pickle.loads(bytes.fromhex({pickle.dumps(fmt).hex()!r})); "
        f"g = fp.get({name!r}); print(f == g, hash(f) == hash(g), f in {{g: 1}})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONHASHSEED": "5", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["True"] * 3


def test_block_arrays_travel():
    made = fp.encode_blocks(np.arange(64.0), "mxfp8")
    assert pickle.loads(pickle.dumps(made)) == made
    assert copy.deepcopy(made) == made


def test_decoding_in_place_finds_a_wrong_code_before_it_writes():
    codes = np.zeros((1 << 20) + 1, np.uint32)
    codes[:3], codes[-1] = 0x1FC00, 1 << 19
    before = codes.copy()
    with pytest.raises(ValueError, match=r"codes\[1048576\] = 524288"):
        fp.decode(codes, "tf32", out=codes.view(np.float32))
    np.testing.assert_array_equal(codes, before)


@pytest.mark.parametrize("ending", [".npz", ".safetensors"])
def test_files_that_are_none(tmp_path, ending):
    pytest.importorskip("safetensors")
    path = tmp_path / f"x{ending}"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match="cannot be read as"):
        fp.BlockArray.load(path)


def test_an_axis_of_length_one_has_any_stride():
    x = np.arange(6, dtype=np.float32)
    assert fp.quantize(x.reshape(1, -1), "e4m3", out=x[None]).tolist() == [x.tolist()]


def test_a_format_high_up_in_the_source():
    """2^(exponent + dropped bits) is no float32 there, so adding and subtracting it would not round."""
    high = fp.Format("high", exponent_bits=7, mantissa_bits=2, bias=10)
    x = np.float32([1.1, -3.3e38, 2.0**116 * 1.3, 2.0**117 * 1.6, 7.7e30, 2.0**-9, 3e-4, np.inf])
    expected = [float(reference.decode(reference.encode(v, high), high)) for v in x.tolist()]
    assert fp.quantize(x, high).tolist() == expected
    assert fp.encode(x, high).tolist() == [reference.encode(v, high) for v in x.tolist()]


@pytest.mark.parametrize("bits", [43, 47, 50])
def test_wide_integers_into_wide_formats(bits):
    """Beyond 2^53 an integer is cut to 53 bits, no fewer, before it is rounded."""
    wide = fp.Format("wide", exponent_bits=9, mantissa_bits=bits)
    rng = np.random.default_rng(bits)
    tops = rng.integers(1 << bits, 1 << (bits + 1), 50).tolist()
    x = [
        (top << size - bits) + (1 << size - bits - 1) + part for top in tops for size in (55, 63) for part in (-1, 0, 1)
    ]
    x = np.array(x, np.uint64)
    assert fp.encode(x, wide).tolist() == [reference.encode(v, wide) for v in x.tolist()]


def _extremes():
    """Each by itself: what one block has decides for its whole chunk."""
    rng = np.random.default_rng(7)
    plain = rng.standard_normal((2, 256)).astype(np.float32)
    for at, value in ((np.s_[0, ::37], np.nan), (np.s_[1, 130], -np.inf), (np.s_[0], 0), (np.s_[1, :128], 1e-44),
                      (np.s_[0, 64:], 3.4e38), (np.s_[:], 2.0**-140), (np.s_[0, 7], -0.0)):  # fmt: skip
        x = plain.copy()
        x[at] = value
        yield x
        yield np.where(np.abs(x) < 3, x * np.float32(2.0**-120), x)


@pytest.mark.slow
def test_the_long_way_gives_what_the_loops_give(monkeypatch):
    """What a recipe takes in one loop, and the steps that other roundings take: NaN, infinities and scales at their ends."""
    rows = [fp.get(name) for name in fp.formats("block")]
    names = [row.name for row in rows if not row.zero_point and Recipe(row, fp.FP32, "", None, False).in_one]
    assert len(names) > 60
    numbers = list(_extremes())
    short = [(x, name, fp.encode_blocks(x, name), fp.quantize(x, name)) for name in names for x in numbers]
    recipe.cache_clear()
    monkeypatch.setattr(Recipe, "fused_codes", None)
    monkeypatch.setattr(Recipe, "fused_values", None)
    for x, name, blocks, values in short:
        made = fp.encode_blocks(x, name)
        np.testing.assert_array_equal(made.codes, blocks.codes, err_msg=name)
        np.testing.assert_array_equal(made.scales, blocks.scales, err_msg=name)
        np.testing.assert_array_equal(fp.quantize(x, name), values, err_msg=name)
    # where the amax comes from the past, nobody has looked at the numbers
    x = np.float32([1, np.nan, -3])
    assert fp.encode_blocks(x, "fp8_e5m2_delayed_te", amax_history=[3.0]).codes[1] == 0x7F
    recipe.cache_clear()
