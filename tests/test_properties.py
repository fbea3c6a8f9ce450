"""Properties that hold for every format, mode and number (hypothesis)."""

from __future__ import annotations

from fractions import Fraction

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import CUSTOM, DETERMINISTIC

import fpformats as fp
from fpformats import reference
from fpformats.registry import FORMATS
from fpformats.rounding import Rules

settings.register_profile("untimed", deadline=None)  # first calls compile
settings.load_profile("untimed")

NAMES = tuple(FORMATS)
SMALL = [fp.get(name) for name in NAMES if name not in ("fp64", "fp32")] + list(CUSTOM)
formats = st.sampled_from(SMALL)
signed = st.sampled_from([fmt for fmt in SMALL if fmt.signed and not fmt.twos_complement])
modes = st.sampled_from(DETERMINISTIC)
float32 = st.floats(width=32, allow_nan=False)
float64 = st.floats(allow_nan=False)
finite64 = st.floats(allow_nan=False, allow_infinity=False)
MIRROR = {"toward_positive": "toward_negative", "toward_negative": "toward_positive"}


def spacing(x: Fraction, fmt: fp.Format) -> Fraction:
    """The distance of the two values around |x|, from the rows alone."""
    line, _, step = reference.line_and_fraction(abs(x), fmt)
    return fmt.value_of_line(line + step) - fmt.value_of_line(line)


@given(fmt=formats, mode=modes, x=float64)
def test_idempotent(fmt, mode, x):
    once = fp.quantize(x, fmt, rounding=mode)
    assert repr(fp.quantize(once, fmt, rounding=mode)) == repr(once)


@given(fmt=formats, mode=modes, a=float64, b=float64)
def test_monotone(fmt, mode, a, b):
    low, high = sorted((a, b))
    assert fp.quantize(low, fmt, rounding=mode, overflow="saturate") <= fp.quantize(
        high, fmt, rounding=mode, overflow="saturate"
    )


@given(fmt=signed, mode=modes, x=float64)
def test_symmetric(fmt, mode, x):
    mirrored = fp.quantize(-x, fmt, rounding=MIRROR.get(mode, mode))
    assert mirrored == -fp.quantize(x, fmt, rounding=mode)


@given(fmt=signed, x=finite64)
def test_within_half_a_spacing(fmt, x):
    if abs(x) > fmt.max:
        return
    error = abs(Fraction(x) - Fraction(fp.quantize(x, fmt)))
    assert 2 * error <= spacing(Fraction(x), fmt)


@given(fmt=signed, mode=modes, x=finite64)
def test_within_one_spacing_and_on_the_right_side(fmt, mode, x):
    if abs(x) > fmt.max:
        return
    y = fp.quantize(x, fmt, rounding=mode)
    assert abs(Fraction(x) - Fraction(y)) < spacing(Fraction(x), fmt) or x == y
    if mode == "toward_positive":
        assert y >= x
    elif mode == "toward_negative":
        assert y <= x
    elif mode == "toward_zero":
        assert abs(y) <= abs(x)
    elif mode == "away_from_zero":
        assert abs(y) >= abs(x)


@given(fmt=formats, data=st.data())
def test_encode_inverts_decode(fmt, data):
    code = data.draw(st.integers(0, (1 << fmt.bits) - 1))
    try:
        value = reference.decode(code, fmt)
    except ValueError:
        with pytest.raises(ValueError, match=r"no code|no value"):
            fp.decode(np.array([code]), fmt)
        return
    decoded = fp.decode(np.array([code]), fmt, dtype=np.float64)
    if np.isnan(decoded[0]):
        assert isinstance(value, float)
        assert value != value
        return
    assert Fraction(float(decoded[0])) == Fraction(value) if np.isfinite(decoded[0]) else decoded[0] == value
    back = fp.encode(decoded, fmt, overflow="nonfinite")[0]
    assert back == code or (not fmt.subnormals and decoded[0] == 0)


@given(fmt=formats, mode=modes, overflow=st.sampled_from([None, "saturate", "propagate", "nonfinite"]),
       x=st.one_of(st.integers(-(2**70), 2**70), st.fractions(), st.decimals(allow_nan=False, allow_infinity=False), finite64))  # fmt: skip
def test_single_numbers_equal_the_definition(fmt, mode, overflow, x):
    assert fp.encode(x, fmt, rounding=mode, overflow=overflow) == reference.encode(x, fmt, Rules(mode, overflow))


@given(
    fmt=formats,
    mode=modes,
    x=hnp.arrays(
        st.sampled_from([np.float32, np.float64, np.float16]), hnp.array_shapes(min_dims=0, max_dims=4, min_side=0)
    ),
    data=st.data(),
)
def test_any_shape_and_stride(fmt, mode, x, data):
    """Elementwise, whatever the memory looks like; out= and the codes agree with the values."""
    if x.ndim:
        index = data.draw(hnp.basic_indices(x.shape))
        x = x[index]
    x = np.asarray(x)
    y = np.asarray(fp.quantize(x, fmt, rounding=mode, nan="zero"))
    assert y.shape == x.shape
    flat = fp.quantize(np.ascontiguousarray(x).reshape(-1), fmt, rounding=mode, nan="zero")
    np.testing.assert_array_equal(y.reshape(-1), flat)
    codes = np.asarray(fp.encode(x, fmt, rounding=mode, nan="zero"))
    np.testing.assert_array_equal(fp.decode(codes, fmt, dtype=np.float64), y.astype(np.float64))
    out = np.empty_like(y, order="F")
    assert fp.quantize(x, fmt, rounding=mode, nan="zero", out=out) is out
    np.testing.assert_array_equal(out, y)


@given(
    code=st.integers(0, 255),
    source=st.sampled_from(["e4m3", "e5m2", "e4m3fnuz", "e3m4"]),
    target=st.sampled_from(NAMES),
    mode=modes,
)
def test_convert_is_one_rounding(code, source, target, mode):
    expected = reference.encode(reference.decode(code, source), target, Rules(mode, nan="max"))
    value = reference.decode(code, source)
    if isinstance(value, float) and value != value:
        expected = fp.encode(fp.decode(np.array([code]), source), target, rounding=mode, nan="max")[0]
    assert fp.convert(code, source, target, rounding=mode, nan="max") == expected


@given(
    x=float32,
    via=st.sampled_from(["fp16", "bf16", "tf32"]),
    target=st.sampled_from(["e4m3", "e5m2", "e2m1"]),
    mode=modes,
)
def test_via_is_two_roundings(x, via, target, mode):
    two = fp.encode(fp.quantize(np.float32(x), via, rounding=mode), target, rounding=mode)
    assert fp.encode(np.float32(x), target, via=via, rounding=mode) == two


@given(x=finite64, words=st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=2, unique=True))
def test_stochastic_is_monotone_in_its_bits(x, words):
    low, high = sorted(words)
    array = np.array([x, x])
    a, b = fp.quantize(np.abs(array), "e4m3", rounding="stochastic", rng=np.array([low, high], dtype=np.uint32))
    assert a <= b
