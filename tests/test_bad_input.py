"""What cannot be done is refused with the argument, the value and what would have worked."""

from __future__ import annotations

import numpy as np
import pytest

import fpformats as fp

X = np.array([1.0, 2.5, -3.0], dtype=np.float32)


@pytest.mark.parametrize(
    "name", ["e4m4", "E4M3", "fp7", "", "nearest", "binary8p8se", "binary2p1se", "binary17p4se", "binary08p4se"]
)
def test_unknown_formats(name):
    with pytest.raises(ValueError, match="unknown format"):
        fp.get(name)
    with pytest.raises(KeyError):
        fp.quantize(X, name)


def test_a_miss_names_near_ones():
    with pytest.raises(ValueError, match="float8_e4m3fn"):
        fp.get("float8_e4m3fm")
    with pytest.raises(TypeError, match="a format name or a Format"):
        fp.get(8)


@pytest.mark.parametrize(
    ("keyword", "value", "message"),
    [
        ("rounding", "nearest", "different things"),
        ("rounding", "RNE", "nearest_even"),
        ("rounding", None, "nearest_even"),
        ("overflow", "clamp", "saturate, propagate, nonfinite"),
        ("nan", "ignore", "raise, max, zero"),
        ("subnormals", "denormal", "flush_inputs"),
        ("via", "fp17", "unknown format"),
        ("profile", "pytorch", "torch_cuda"),
    ],
)
def test_unknown_options(keyword, value, message):
    for call in (fp.quantize, fp.encode):
        with pytest.raises(ValueError, match=message):
            call(X, "e4m3", **{keyword: value})


@pytest.mark.parametrize(
    "x",
    [
        np.array([1j]),
        np.array(["1.0"]),
        np.array([b"1"]),
        np.array([None]),
        np.array([object()]),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.zeros(2, dtype=[("a", "f4")]),
        [1, "2"],
        [1j],
        object(),
        1j,
        None,
        {1: 2},
    ],
    ids=repr,
)
def test_what_is_no_number(x):
    for call in (fp.quantize, fp.encode):
        with pytest.raises(TypeError):
            call(x, "e4m3")


@pytest.mark.parametrize("text", ["", "one", "1/0", "0x", "1e", "--1"])
def test_strings_that_are_no_numbers(text):
    with pytest.raises(ValueError, match="not a decimal"):
        fp.encode(text, "e4m3")


def test_nan_into_a_format_without_one():
    x = np.ones((4, 5), dtype=np.float32)
    x[2, 3] = np.nan
    for call in (fp.quantize, fp.encode):
        for mode in ("nearest_even", "toward_zero", "to_odd", "nearest_away"):
            with pytest.raises(ValueError, match=r"x\[2, 3\] is NaN, which e2m1 cannot hold"):
                call(x, "e2m1", rounding=mode)
        with pytest.raises(ValueError, match="NaN"):
            call(float("nan"), "e2m1")
        with pytest.raises(ValueError, match="NaN"):
            call(x.astype(np.float16), "int8")
    assert fp.encode(x, "e2m1", nan="max")[2, 3] == 7
    assert fp.encode(-x, "e2m1", nan="max")[2, 3] == 7
    assert fp.quantize(x, "e2m1", nan="zero")[2, 3] == 0.0


def test_in_place_nan_is_found_before_anything_is_written():
    x = np.array([1.1, np.nan, 2.2], dtype=np.float32)
    before = x.copy()
    with pytest.raises(ValueError, match=r"x\[1\] is NaN"):
        fp.quantize(x, "e2m1", out=x)
    np.testing.assert_array_equal(x.view(np.uint32), before.view(np.uint32))


@pytest.mark.parametrize(
    "given",
    [
        {"rounding": "toward_zero"},
        {"overflow": "saturate"},
        {"nan": "max"},
        {"subnormals": "flush_inputs"},
        {"via": "fp16"},
    ],
)
def test_a_profile_decides_alone(given):
    with pytest.raises(ValueError, match=f"already decides {next(iter(given))}"):
        fp.quantize(X, "e4m3", profile="torch", **given)


def test_a_profile_that_has_no_such_format():
    with pytest.raises(ValueError, match="says nothing of e3m2"):
        fp.quantize(X, "e3m2", profile="torch")


def test_out():
    good = np.empty(3, dtype=np.float32)
    assert fp.quantize(X, "e4m3", out=good) is good
    with pytest.raises(ValueError, match=r"out has shape \(2,\); \(3,\) was expected"):
        fp.quantize(X, "e4m3", out=good[:2])
    with pytest.raises(TypeError, match="out has dtype float64; float32 was expected"):
        fp.quantize(X, "e4m3", out=np.empty(3))
    with pytest.raises(TypeError, match="out has dtype float32; uint8 was expected"):
        fp.encode(X, "e4m3", out=good)
    with pytest.raises(TypeError, match="a NumPy array was expected"):
        fp.quantize(X, "e4m3", out=[0, 0, 0])
    with pytest.raises(TypeError, match="out is for arrays"):
        fp.quantize(1.0, "e4m3", out=good)
    good.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        fp.quantize(X, "e4m3", out=good)


def test_overlapping_out_is_refused_and_nothing_is_lost():
    x = np.linspace(-3, 3, 11, dtype=np.float32)
    before = x.copy()
    for source, out in ((x[1:], x[:-1]), (x[:-1], x[1:]), (x, x[::-1]), (x[:-2:2], x[2::2])):
        with pytest.raises(ValueError, match="overlaps"):
            fp.quantize(source, "e4m3", out=out)
        np.testing.assert_array_equal(x, before)
    y = x.copy()
    assert fp.quantize(y, "e4m3", out=y) is y
    np.testing.assert_array_equal(y, fp.quantize(x, "e4m3"))


def test_decode_refuses_what_is_no_code():
    with pytest.raises(ValueError, match=r"codes\[1\] = 16 is no code of e2m1"):
        fp.decode(np.array([3, 16], dtype=np.uint8), "e2m1")
    with pytest.raises(ValueError, match=r"codes\[0, 1\] = -1"):
        fp.decode(np.array([[3, -1]]), "e4m3")
    with pytest.raises(ValueError, match="256"):
        fp.decode([256], "e4m3")
    with pytest.raises(ValueError, match="outside"):
        fp.decode(300, "e4m3")
    with pytest.raises(TypeError, match="integers were expected"):
        fp.decode(X, "e4m3")
    with pytest.raises(TypeError, match="float type"):
        fp.decode(np.array([1], dtype=np.uint8), "e4m3", dtype=np.int32)
    with pytest.raises(ValueError, match="no code of e2m1"):
        fp.convert(np.array([200], dtype=np.uint8), "e2m1", "e4m3")


def test_random_bits():
    with pytest.raises(ValueError, match="needs rng"):
        fp.quantize(X, "e4m3", rounding="stochastic")
    with pytest.raises(ValueError, match="rng is for the stochastic modes"):
        fp.quantize(X, "e4m3", rng=3)
    with pytest.raises(ValueError, match=r"rng has shape \(2,\); \(3,\) was expected"):
        fp.quantize(X, "e4m3", rounding="stochastic", rng=np.zeros(2, np.uint32))
    with pytest.raises(TypeError, match="integers were expected"):
        fp.quantize(X, "e4m3", rounding="stochastic", rng=np.zeros(3))
    with pytest.raises(ValueError, match="integers of 4 bits"):
        fp.quantize(X, "e4m3", rounding="stochastic", rng=(np.array([1, 2, 16]), 4))
    for bad in (-1, 1 << 63):
        with pytest.raises(ValueError, match="seed"):
            fp.quantize(X, "e4m3", rounding="stochastic", rng=bad)
    for bits in (0, 33):
        with pytest.raises(ValueError, match="1 to 32 random bits"):
            fp.quantize(X, "e4m3", rounding="stochastic", rng=(5, bits))
    with pytest.raises(ValueError, match="1 words"):
        fp.quantize(np.ones(8, np.float32), "e4m3", profile="ptx_rs", rng=np.zeros(1, np.uint32))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"exponent_bits": 4},
        {"exponent_bits": 17, "mantissa_bits": 3},
        {"exponent_bits": 0, "mantissa_bits": 0},
        {"exponent_bits": 4, "mantissa_bits": -1},
        {"exponent_bits": 4.0, "mantissa_bits": 3},
        {"exponent_bits": 2, "mantissa_bits": 1, "nan_codes": 9},
        {"exponent_bits": 2, "mantissa_bits": 1, "emax": 5},
        {"exponent_bits": 2, "mantissa_bits": 1, "inf_codes": 2},
        {"exponent_bits": 2, "mantissa_bits": 1, "bits": 4},
        {"exponent_bits": 4, "mantissa_bits": 3, "has_zero": False},
        {"exponent_bits": 0, "mantissa_bits": 3, "subnormals": False},
        {"exponent_bits": 4, "mantissa_bits": 3, "twos_complement": True},
        # zeros and infinities alone; what "max" was then, no code stood for
        {"exponent_bits": 1, "mantissa_bits": 0},
        {"exponent_bits": 1, "mantissa_bits": 2, "subnormals": False},
        {"exponent_bits": 2, "mantissa_bits": 2, "emax": -1, "subnormals": False},
    ],
    ids=str,
)
def test_formats_that_make_no_sense(fields):
    with pytest.raises((TypeError, ValueError), match="Format\\('mine'\\)"):
        fp.Format("mine", **fields)


def test_formats_are_frozen_and_hashable():
    with pytest.raises(AttributeError):
        fp.E4M3.bias = 3
    assert hash(fp.get("e4m3")) == hash(fp.E4M3)
    assert fp.Format("e4m3x", exponent_bits=4, mantissa_bits=3) != fp.E4M3
