"""Answers worked out by hand, or recorded on hardware and published."""

from __future__ import annotations

import numpy as np
import pytest
from strategies import TOY

import fpformats as fp


def bits(x, fmt, **rules):
    """Float32 bits to float32 bits."""
    return int(fp.quantize(np.array([x], dtype=np.uint32).view(np.float32), fmt, **rules).view(np.uint32)[0])


@pytest.mark.parametrize(
    ("x", "nearest_even", "nearest_away", "toward_zero"),
    [
        (0x477FF000, 0x47800000, 0x47800000, 0x477FE000),  # a tie
        (0x477FD000, 0x477FC000, 0x477FE000, 0x477FC000),  # a tie below an even one
        (0x7F7FFFFF, 0x7F800000, 0x7F800000, 0x7F7FE000),
        (0x7F800000, 0x7F800000, 0x7F800000, 0x7F800000),
        (0x80000001, 0x80000000, 0x80000000, 0x80000000),
        (0x00001000, 0x00000000, 0x00002000, 0x00000000),  # subnormals are kept
        (0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7FC00000),
    ],
)
def test_tf32(x, nearest_even, nearest_away, toward_zero):
    """PTX cvt.rn, .rna and .rz of tf32, as recorded on a B200; NaN is canonical here."""
    assert bits(x, "tf32") == nearest_even
    assert bits(x, "tf32", rounding="nearest_away") == nearest_away
    assert bits(x, "tf32", rounding="toward_zero") == toward_zero
    assert fp.encode(np.array([x], dtype=np.uint32).view(np.float32), "tf32")[0] == nearest_even >> 13


def test_tf32_satfinite():
    for x in (0x7F7FFFFF, 0x7F800000):
        assert bits(x, "tf32", overflow="saturate", rounding="nearest_away") == 0x7F7FE000


def test_the_textbook_toy():
    """Two fraction bits, exponents -2 ... 2, no subnormals: 3.1 is stored as 3, so adding 0.1 to 3 changes nothing."""
    assert fp.quantize(3.1, TOY) == 3.0
    assert (TOY.max, TOY.smallest_normal, TOY.eps) == (7.0, 0.25, 0.25)
    assert fp.quantize([2.2, 2.3, 2.7, 2.8, 3.2, 3.3], TOY).tolist() == [2.0, 2.5, 2.5, 3.0, 3.0, 3.5]
    assert fp.quantize([8.0, -100.0, np.inf], TOY).tolist() == [7.0, -7.0, 7.0]
    assert fp.quantize([0.125, 0.126, 0.2, 0.1], TOY).tolist() == [0.0, 0.25, 0.25, 0.0]
    assert [fp.decode(code, TOY) for code in (4, 5, 6, 7, 8, 23)] == [0.25, 0.3125, 0.375, 0.4375, 0.5, 7.0]
    with pytest.raises(ValueError, match=r"no value|no code"):
        fp.decode(24, TOY)


def test_e8m0():
    """No zero, no sign; a code is an exponent."""
    x = np.array(
        [1.0, 2.0, 1.5, 3.0, 0.0, -0.0, -1.0, 2.0**-127, 1.5 * 2.0**-127, 1e-45, np.inf, np.nan, 3e38], np.float32
    )
    assert fp.encode(x, "e8m0").tolist() == [127, 128, 128, 128, 0, 0, 0, 0, 0, 0, 254, 255, 254]
    # 1.5 is a tie between codes 127 and 128, 1.5 * 2^-127 one between 0 and 1: the even code
    assert fp.encode(x, "e8m0", rounding="toward_zero").tolist()[:4] == [127, 128, 127, 128]
    assert fp.encode(x, "e8m0", rounding="toward_positive").tolist()[:4] == [127, 128, 128, 129]
    assert fp.encode(x, "e8m0", overflow="nonfinite").tolist()[6] == 255
    assert fp.encode(x, "e8m0", profile="torch").tolist() == [127, 128, 128, 129, 0, 0, 127, 0, 1, 0, 255, 255, 255]
    assert fp.encode(x, "e8m0", profile="ml_dtypes").tolist() == [
        127,
        128,
        128,
        129,
        255,
        255,
        255,
        0,
        1,
        0,
        255,
        255,
        255,
    ]
    assert fp.quantize(x, "e8m0")[:5].tolist() == [1.0, 2.0, 2.0, 2.0, 2.0**-127]


def test_overflow_is_decided_after_rounding():
    """464 is the tie between 448 and the line after it, and 448 is even; 61440 is one for E5M2, and 57344 is odd."""
    rules = {"overflow": "nonfinite"}
    assert [hex(fp.encode(x, "e4m3", **rules)) for x in (464.0, np.nextafter(464.0, 500), -464.0, -465.0)] == [
        "0x7e", "0x7f", "0xfe", "0xff",
    ]  # fmt: skip
    assert [hex(fp.encode(x, "e5m2", **rules)) for x in (61439.999, 61440.0)] == ["0x7b", "0x7c"]
    assert [fp.quantize(x, "fp16") for x in (65519.999, 65520.0)] == [65504.0, np.inf]


def test_to_odd_overflow():
    """SoftFloat's round_odd stops at the largest (odd) finite number; P3109's ToOdd goes to the (odd) infinity."""
    assert fp.quantize(1e30, "fp16", rounding="to_odd") == 65504.0
    assert fp.quantize(1e30, "binary8p4se", rounding="to_odd") == np.inf
    assert fp.quantize(1e30, "binary8p4ue", rounding="to_odd") == fp.get("binary8p4ue").max


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("binary8p4se", {"max": 224.0, "bias": 8, "nan_code": 0x80, "inf_code": 0x7F, "has_negative_zero": False}),
        ("binary8p3sf", {"max": 57344.0, "bias": 16, "nan_code": 0x80, "inf_code": None}),
        ("binary8p1ue", {"bias": 128, "nan_code": 0xFF, "inf_code": 0xFE, "signed": False}),
        ("e4m3", {"max": 448.0, "min": -448.0, "eps": 0.125, "epsneg": 0.0625, "minexp": -6, "maxexp": 9}),
        (
            "e2m1",
            {"max": 6.0, "eps": 0.5, "epsneg": 0.5, "smallest_subnormal": 0.5, "has_nan": False, "has_inf": False},
        ),
        ("ue5m3", {"max": 114688.0, "nan_code": 0xFF}),
        ("int8", {"max": 127 / 64, "min": -2.0, "smallest_subnormal": 1 / 64}),
        ("tf32", {"bits": 19, "nexp": 8, "nmant": 10, "nan_code": 0x3FE00}),
    ],
)
def test_facts(name, facts):
    """OCP OFP8 table 1, MX v1.0 5.3, P3109 table of extremal values, PTX."""
    fmt = fp.get(name)
    assert {key: getattr(fmt, key) for key in facts} == facts


@pytest.mark.parametrize(("ours", "numpys"), [("fp16", np.float16), ("fp32", np.float32), ("fp64", np.float64)])
def test_facts_are_numpys(ours, numpys):
    info, fmt = np.finfo(numpys), fp.get(ours)
    for name in ("bits", "nexp", "nmant", "minexp", "maxexp"):
        assert getattr(fmt, name) == getattr(info, name)
    for name in ("eps", "epsneg", "max", "min", "smallest_normal", "smallest_subnormal"):
        assert getattr(fmt, name) == float(getattr(info, name)), name
