"""The kit itself: distances, boundary inputs, messages, reports, strategies, and what it says to bad input."""

from __future__ import annotations

import math
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from oracles import ml_dtypes_cast
from strategies import CUSTOM, DETERMINISTIC, TOY

import fpformats as fp
from fpformats import reference, testing
from fpformats.testing import (
    CastError,
    assert_quantized,
    assert_same_codes,
    boundary_inputs,
    check_cast,
    identify,
    ulp_distance,
)

FAR = 2**64 - 1
SMALL = [
    "e2m1",
    "e3m2",
    "e4m3",
    "e5m2",
    "e4m3fnuz",
    "e8m0",
    "ue4m3",
    "s4",
    "int8",
    "binary4p2se",
    "binary6p3ue",
    "binary8p1sf",
]


def decoded(fmt):
    """(code, value) of every code that stands for something; exact, infinities and NaN as floats."""
    fmt = fp.get(fmt)
    found = []
    for code in range(1 << fmt.bits):
        try:
            found.append((code, reference.decode(code, fmt)))
        except ValueError:
            continue
    return found


# --- distances --------------------------------------------------------------------------------------
@pytest.mark.parametrize("fmt", [*SMALL, TOY, CUSTOM[4]], ids=lambda fmt: getattr(fmt, "name", fmt))
def test_ulp_distance_counts_values(fmt):
    """Among the sorted values, -0 and +0 being one."""
    pairs = decoded(fmt)
    numbers = sorted(
        {
            value if isinstance(value, Fraction) else value + 0.0
            for _, value in pairs
            if not (isinstance(value, float) and math.isnan(value))
        }
    )
    gap = fp.get(fmt).subnormals or not fp.get(fmt).has_zero  # without subnormals lines near zero name no values
    if not gap:
        pairs = [(code, value) for code, value in pairs if value and not math.isnan(value) and value > 0]
        numbers = [value for value in numbers if value > 0]
    rank = {value: i for i, value in enumerate(numbers)}
    codes = np.array([code for code, _ in pairs], np.uint64)
    got = ulp_distance(codes[:, None], codes[None, :], fmt)
    place = np.array(
        [
            rank.get(value + 0 if value else Fraction(0), -1)
            if not (isinstance(value, float) and math.isnan(value))
            else -1
            for _, value in pairs
        ]
    )
    expected = np.abs(place[:, None] - place[None, :]).astype(np.uint64)
    nan = place < 0
    expected[nan[:, None] != nan[None, :]] = FAR
    expected[nan[:, None] & nan[None, :]] = 0
    assert got.dtype == np.uint64
    np.testing.assert_array_equal(got, expected)


def test_ulp_distance_of_wide_formats():
    ends = np.float64([np.finfo(np.float64).max, -np.finfo(np.float64).max])
    assert ulp_distance(ends[:1], ends[1:], "fp64").tolist() == [2 * 0x7FEFFFFFFFFFFFFF]
    assert ulp_distance(np.float64(-np.inf), np.float64(np.inf), "fp64") == 2 * 0x7FF0000000000000
    assert ulp_distance(np.float32(1), np.nextafter(np.float32(1), np.float32(2)), "fp32") == 1
    assert ulp_distance(1.0, 2.0, "e4m3") == 8


# --- boundary inputs ----------------------------------------------------------------------------------
NUMPY = {"float16": np.float16, "float32": np.float32, "float64": np.float64}


@pytest.mark.parametrize("source", NUMPY)
@pytest.mark.parametrize("fmt", [*SMALL, "e2m3", "e3m4", "ue5m3", TOY], ids=lambda fmt: getattr(fmt, "name", fmt))
def test_boundary_inputs_have_all_there_is(fmt, source):
    """Values, midpoints and their neighbours, found with Fractions and nextafter."""
    row, dtype = fp.get(fmt), NUMPY[source]
    x = boundary_inputs(fmt, source)
    assert x.dtype == dtype
    bits = x.view(f"u{x.itemsize}")
    assert len(set(bits.tolist())) == x.size
    have = set(bits.tolist())
    magnitudes = sorted(
        {abs(value) for _, value in decoded(fmt) if isinstance(value, Fraction)}
        | ({Fraction(0)} if row.has_zero else set())
    )
    after = row.value_of_line(row.max_line + 1)  # where the next value would be
    points = [
        *magnitudes,
        *((a + b) / 2 for a, b in pairwise(magnitudes)),
        (magnitudes[-1] + after) / 2,
    ]
    largest = Fraction(float(np.finfo(dtype).max))
    for point in points:
        if point >= largest or (0 < point < Fraction(1, 2**1070)):
            continue
        with np.errstate(all="ignore"):
            at = dtype(float(point))  # the nearest; two steps to either side have both neighbours
            low, high = np.nextafter(at, dtype(-np.inf)), np.nextafter(at, dtype(np.inf))
        wanted = [v for v in (low, at, high) if np.isfinite(v)]
        exact = Fraction(float(at)) == point
        below = [v for v in wanted if Fraction(float(v)) <= point][-1:]
        above = [v for v in wanted if Fraction(float(v)) >= point][:1]
        for v in wanted if exact else [*below, *above]:
            for signed in (v, -v):
                assert int(np.asarray(signed, dtype).view(f"u{x.itemsize}")) in have, (fmt, point, v)
    assert np.isinf(x).sum() == 2
    assert np.isnan(x).any()
    assert {0.0, float(np.finfo(dtype).max), float(np.finfo(dtype).smallest_subnormal)} <= set(
        np.abs(x[~np.isnan(x)]).tolist()
    )


def test_boundary_inputs_have_nan_payloads():
    x = boundary_inputs("e4m3").view(np.uint32)
    nan = x[(x & 0x7FFFFFFF) > 0x7F800000]
    assert {0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0xFF800001, 0x7F800400} <= set(nan.tolist())


def test_level_2_has_every_exponent_with_many_fractions():
    x = boundary_inputs("e4m3", level=2).view(np.uint32)
    assert set(boundary_inputs("e4m3").view(np.uint32).tolist()) <= set(x.tolist())
    for fraction in (0, 1, 0x400000, 0x7FFFFF, 0x7FFFFE, 0x3FFFFF, 0x7FF000):
        fields = {int(v) >> 23 for v in x if int(v) & 0x7FFFFF == fraction}
        assert fields >= set(range(255)) | set(range(256, 511)), hex(fraction)


@pytest.mark.parametrize("fmt", ["mxfp4", "mxfp8", "nvfp4", "int4_row", "fp8_e4m3_128x128_deepgemm", "mxint8"])
def test_block_inputs_are_blocks_that_work(fmt):
    if fmt not in fp.formats("block"):
        fmt = next(name for name in fp.formats("block") if name.startswith(fmt[:4]))
    row = fp.get(fmt)
    x = boundary_inputs(fmt)
    height, width = row.block[0] or 1, row.block[1] or 64
    assert x.ndim == 2
    assert (x.shape[0] % height, x.shape[1]) == (0, width)
    blocks = x.reshape(-1, height * width)
    amax = np.abs(blocks).max(axis=1)
    assert (amax == 0).any()
    assert fp.encode_blocks(x, fmt).shape == x.shape
    assert np.isnan(x).any() == (not row.second and row.size is not None)


def test_tie_blocks_are_ties():
    """Over their scale they are midpoints of the element's grid: the two ways to break ties differ there."""
    x = boundary_inputs("mxfp4")
    x = x[np.isfinite(x).all(axis=1)]
    even, away = (fp.encode_blocks(x, "mxfp4", rounding=mode).codes for mode in ("nearest_even", "nearest_away"))
    assert (even != away).sum() > 100
    scales = {
        name: fp.encode_blocks(x, f"mxfp4_torchao_{name}").scales
        for name in ("floor", "ceil", "even", "rceil")
        if f"mxfp4_torchao_{name}" in fp.formats()
    }
    told = [tuple(s.ravel().tolist()) for s in scales.values()]
    assert len(set(told)) == len(told) >= 3  # the rules for scales are told apart


# --- messages -----------------------------------------------------------------------------------------
def test_a_message_in_full():
    x = np.float32([0.0048828125, 500, -464.5, 1])
    codes = np.uint8([0x03, 0x7F, 0xFF, 0x38])
    with pytest.raises(AssertionError) as caught:
        assert_quantized(codes, x, "e4m3")
    assert str(caught.value).splitlines()[0].startswith("e4m3, nearest_even, saturate: 3 of 4 codes differ, 75%")
    assert """\
  element [0]: x = 0.0048828125 = 0x3ba00000 (fp32)
    got       0x03 = 0 0000 011 = 0.005859375
    expected  0x02 = 0 0000 010 = 0.00390625
    1 ulp apart; x lies between 0.00390625 and 0.005859375: a tie; below the smallest normal number 0.015625
""" in str(caught.value)
    assert "NaN against a number; x is beyond -448, the largest value, above the midpoint" in str(caught.value)


def test_nan_by_class_or_bit_for_bit():
    assert_same_codes(np.uint8([0x7F]), np.uint8([0xFF]), "e4m3")
    with pytest.raises(AssertionError, match="0x7f"):
        assert_same_codes(np.uint8([0x7F]), np.uint8([0xFF]), "e4m3", nan="exact")
    assert_quantized(np.uint8([0xFF]), np.float32([np.nan]), "e4m3")
    with pytest.raises(AssertionError):
        assert_quantized(np.uint8([0xFF]), np.float32([np.nan]), "e4m3", nan_codes="exact")


def test_values_codes_and_own_dtypes_are_the_same_to_it(need):
    need(ml_dtypes_cast)
    import ml_dtypes

    x = np.float32([1.06, -3.3, 0.001, 1e9])
    codes = [reference.encode(float(v), "e4m3") for v in x]
    values = [float(reference.decode(code, "e4m3")) for code in codes]
    own = np.array(codes, np.uint8).view(ml_dtypes.float8_e4m3fn)
    for actual in (codes, np.array(codes, np.int64), values, np.float16(values), own):
        assert_quantized(actual, x, "e4m3")
        assert_same_codes(actual, codes, "e4m3", source=x)
    with pytest.raises(
        AssertionError,
        match=r"actual holds 1 numbers that are no values of e4m3; the first is actual\[1\] = ~0.3 = 0x3fd3333333333333",
    ):
        assert_quantized(np.array([1, 0.3, 1, 1]), x, "e4m3")
    with pytest.raises(ValueError, match="expected holds 1 numbers that are no values"):
        assert_same_codes(codes, np.array([1, 0.3, 1, 1]), "e4m3")


def test_stochastic_rounding_with_given_bits():
    x = np.random.default_rng(0).standard_normal(200).astype(np.float32)
    words = np.random.default_rng(1).integers(0, 2**16, 200, dtype=np.uint16)
    rules = fp.rounding.Rules("stochastic", random_bits=16)
    codes = np.array(
        [reference.encode(float(v), "e4m3", rules, random=(int(w), 16)) for v, w in zip(x, words, strict=True)],
        np.uint8,
    )
    assert_quantized(codes, x, "e4m3", rounding="stochastic", rng=words)
    with pytest.raises(AssertionError):
        assert_quantized(fp.encode(x, "e4m3"), x, "e4m3", rounding="stochastic", rng=words)


# --- check_cast ---------------------------------------------------------------------------------------
def test_exhaustive_in_chunks_and_bounded_memory():
    """Every float16, never more than a chunk of them at once."""
    sizes = []

    def cast(x):
        sizes.append(x.size)
        assert x.dtype == np.float16
        return fp.encode(x, "e5m2")

    report = check_cast(cast, "e5m2", source="float16", exhaustive=True, chunk=1000)
    assert report
    assert (report.inputs, sum(sizes), max(sizes)) == (65536, 65536, 1000)
    assert "all 65536 codes as expected" in str(report)


def test_memory_does_not_grow_with_the_inputs():
    def wrong(x):
        return np.zeros(x.size, np.uint8)

    def peak(repeats):
        x = np.tile(np.arange(1 << 16, dtype=np.uint16).view(np.float16), repeats)
        tracemalloc.start()
        report = check_cast(wrong, "e5m2", source="float16", x=x, chunk=1 << 12)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert report.wrong > x.size / 2
        return most

    peak(1)
    assert peak(64) < peak(16) + (1 << 25)  # four times the inputs, 2^22 of them


def test_a_report_counts_and_names_the_first():
    report = check_cast(lambda x: fp.encode(np.abs(x), "e4m3"), "e4m3", x=np.float32([1, 2, -3, -4, 5]))
    assert (report.inputs, report.wrong, hex(report.first)) == (5, 2, "0xc0400000")
    assert report.causes == ("sign lost",)
    assert not report
    assert str(report).startswith("e4m3, nearest_even, saturate, from fp32: 2 of 5 codes differ, 40%")


def test_nan_left_out_where_nobody_says_what_they_become():
    report = check_cast(lambda x: fp.encode(x, "e2m1"), "e2m1")
    assert report
    assert report.left_out == np.isnan(boundary_inputs("e2m1")).sum() > 10
    assert "NaN left out" in str(report)
    assert not check_cast(lambda x: fp.encode(x, "e2m1", nan="zero"), "e2m1", nan="max")


def test_bfloat16_sources(need):
    need(ml_dtypes_cast)
    import ml_dtypes

    def cast(x):
        with np.errstate(invalid="ignore"):
            return x.astype(ml_dtypes.float8_e5m2)

    report = check_cast(cast, "e5m2", source="bfloat16", exhaustive=True)
    assert report, str(report)
    assert report.inputs == 65536


# --- bad input ------------------------------------------------------------------------------------------
X = np.float32([1, 2, 3])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: assert_quantized(np.zeros(2, np.uint8), X, "e4m3"), ValueError, r"actual has shape \(2,\), x has \(3,\)"),
        (lambda: assert_quantized(np.zeros(2, np.uint8), np.ones(4), "e2m1"), ValueError, "2 codes a byte. fpformats.unpack"),
        (lambda: assert_quantized(np.zeros(3, np.uint8), X, "fp16"), TypeError, "uint8, which cannot hold fp16's 16-bit codes; uint16"),
        (lambda: assert_quantized(np.int8([1, -2, 3]), X, "e4m3"), ValueError, r"actual\[1\] = -2.*view\(np.uint8\)"),
        (lambda: assert_quantized([1, 300, 3], X, "e4m3"), ValueError, r"actual\[1\] = 300; codes of e4m3 are 0 ... 0xff"),
        (lambda: assert_quantized(np.uint8([1, 16, 3]), X, "e2m1"), ValueError, r"actual\[1\] = 16"),
        (lambda: assert_quantized([True, False, True], X, "e4m3"), TypeError, "bool"),
        (lambda: assert_quantized(np.array([1j] * 3), X, "e4m3"), TypeError, "actual"),
        (lambda: assert_quantized(np.array(["a"] * 3), X, "e4m3"), TypeError, "actual"),
        (lambda: assert_quantized(None, X, "e4m3"), TypeError, "actual"),
        (lambda: assert_quantized([1, 2, 3], X, "e4m3", rounding="nearest"), ValueError, "nearest"),
        (lambda: assert_quantized([1, 2, 3], X, "e4m3", nan_codes="bits"), ValueError, "class, exact"),
        (lambda: assert_quantized([1, 2, 3], X, "e4m3", rng=3), ValueError, "rng is for the stochastic modes"),
        (lambda: assert_quantized([1, 2, 3], X, "e4m3", scale=2.0), ValueError, "not a block format"),
        (lambda: assert_quantized([1], [np.nan], "e2m1"), ValueError, "NaN"),
        (lambda: assert_quantized([1, 2, 3], X, "e4m5"), ValueError, "unknown format"),
        (lambda: assert_same_codes([1], [1], "mxfp4"), TypeError, "use assert_quantized"),
        (lambda: assert_same_codes([1, 2], [1], "e4m3"), ValueError, r"actual has shape \(2,\), expected has \(1,\)"),
        (lambda: assert_same_codes([1], [1], "e4m3", source=X), ValueError, r"source has shape \(3,\)"),
        (lambda: assert_same_codes([1], [1], "e4m3", nan="any"), ValueError, "class, exact"),
        (lambda: assert_same_codes([1], [31], TOY), ValueError, "stands for no value"),
        (lambda: ulp_distance([1], [0.3], "e4m3"), ValueError, "no values of e4m3"),
        (lambda: boundary_inputs("e4m3", level=3), ValueError, "1 or 2"),
        (lambda: boundary_inputs("e4m3", "int32"), (TypeError, ValueError), "int32"),
        (lambda: check_cast(len, "e4m3", source="float64", exhaustive=True), ValueError, r"2\^64 inputs"),
        (lambda: check_cast(len, "e4m3", exhaustive=True, x=X), ValueError, "x cannot be given"),
        (lambda: check_cast(len, "e4m3", x=np.ones(3)), ValueError, "x holds fp64, source is fp32"),
        (lambda: check_cast(len, "e4m3", rounding="stochastic"), ValueError, "two outcomes"),
        (lambda: check_cast(len, "e4m3", chunk=0), ValueError, "at least 1"),
        (lambda: check_cast(len, "e4m3", level=0), ValueError, "1 or 2"),
        (lambda: check_cast(len, "mxfp4"), CastError, "x is a int|gave back|result"),
        (lambda: check_cast(len, "mxfp4", exhaustive=True), ValueError, "too many blocks"),
        (lambda: check_cast(len, "mxfp4", overflow="saturate"), ValueError, "the recipe decides overflow"),
        (lambda: check_cast(len, "e4m3", random=5, x=X), ValueError, "random=5"),
        (lambda: check_cast(len, "e4m3", tensor_amax=5), ValueError, "not a block format"),
        (lambda: identify(len, "e4m3", scale=5), ValueError, "not a block format"),
        (lambda: identify(len, "e4m3", level=0), ValueError, "1 or 2"),
        (lambda: testing.values("e4m3", min_value=449, max_value=500), ValueError, "no value from 449 to 500"),
        (lambda: testing.blocks("e4m3"), TypeError, "block format"),
        (lambda: assert_quantized((1,), np.ones(32), "mxfp4"), ValueError, r"\(codes, scales\) were expected"),
        (lambda: assert_quantized((np.zeros(16, np.uint8), [1]), np.ones(32), "mxfp4"), ValueError, "packed"),
        (lambda: assert_quantized((np.zeros(32, np.uint8), [1, 2]), np.ones(32), "mxfp4"), ValueError, "2 scales, 1 were expected"),
        (lambda: assert_quantized(fp.encode_blocks(np.ones(32), "mxfp8"), np.ones(32), "mxfp4"), ValueError, "actual is in mxfp8_e4m3"),
    ],
)  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_sources_that_no_array_holds(need):
    need(ml_dtypes_cast)
    with pytest.raises(ValueError, match="no NumPy or ml_dtypes type holds tf32"):
        boundary_inputs("e4m3", "tf32")


def test_bfloat16_without_ml_dtypes(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(ImportError, match="arrays of bf16 need ml_dtypes"):
        boundary_inputs("e4m3", "bfloat16")


def raises_at_three(x):
    if (x == 3).any():
        raise ZeroDivisionError("three")
    return fp.encode(x, "e4m3")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (raises_at_three, r"raised ZeroDivisionError: three; it was given \d+ numbers of fp32, the first 0 = 0x00000000.*by itself on x = 3 = 0x40400000"),
        (lambda x: None, "gave back None"),
        (lambda x: fp.encode(x, "e4m3")[:-1], r"gave back shape \(\d+,\)"),
        (lambda x: fp.encode(x, "e4m3")[0], "gave back shape"),
        (lambda x: fp.encode(x, "e4m3").reshape(1, -1), r"gave back shape \(1, "),
        (lambda x: fp.encode(x, "e4m3").astype("S"), "the function's result"),
        (lambda x: fp.encode(x, "e4m3").astype(np.int16) + 256, "codes of e4m3 are 0 ... 0xff"),
        (lambda x: np.full(x.size, 0.3), "no values of e4m3"),
    ],
)  # fmt: skip
def test_functions_that_are_no_casts(function, message):
    for check in (check_cast, identify):
        with pytest.raises(CastError, match=message):
            check(function, "e4m3")


def test_a_function_may_write_into_what_it_is_given():
    def cast(x):
        codes = fp.encode(x, "e4m3")
        x[:] = 0
        return codes

    assert check_cast(cast, "e4m3")


def test_a_function_may_keep_what_it_is_given():
    kept = []

    def cast(x):
        kept.append(x[::2])
        return fp.encode(x, "e4m3")

    assert check_cast(cast, "e4m3", source="float16", exhaustive=True, chunk=1 << 12)
    seen = np.concatenate(kept).view(np.uint16)
    np.testing.assert_array_equal(seen[: 1 << 15], np.arange(0, 1 << 16, 2))


CHILD = """
import sys, struct
data = sys.stdin.buffer.read()
sys.stdout.buffer.write(bytes(word >> 8 for word in struct.unpack(f"<{len(data) // 2}H", data)))
"""


def test_a_program_behind_a_pipe():
    """Truncation from float16 to e5m2, by a program without NumPy."""

    def cast(x):
        done = subprocess.run([sys.executable, "-c", CHILD], input=x.tobytes(), stdout=subprocess.PIPE, check=True)
        return np.frombuffer(done.stdout, np.uint8)

    report = check_cast(cast, "e5m2", source="float16", exhaustive=True)
    assert report.inputs == 1 << 16
    assert report.causes[0] == "truncation (rounding='toward_zero')"


def test_a_bar_at_a_terminal_only(monkeypatch, capfd):
    def cast(x):
        return fp.encode(x, "e4m3")

    assert check_cast(cast, "e4m3", source="float16", exhaustive=True, chunk=1 << 12)
    assert capfd.readouterr().err == ""
    monkeypatch.setattr("fpformats.testing.check.LONG", 0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert check_cast(cast, "e4m3", source="float16", exhaustive=True, chunk=1 << 12, progress=False)
    assert capfd.readouterr().err == ""
    assert check_cast(cast, "e4m3", source="float16", exhaustive=True, chunk=1 << 12)
    assert "e4m3 from fp16" in capfd.readouterr().err


# --- strategies -----------------------------------------------------------------------------------------
EXACTLY = settings(derandomize=True, database=None, deadline=None, max_examples=4000)


@pytest.mark.parametrize("fmt", ["e4m3", "e8m0", "e4m3fnuz", "e2m1", "binary6p3ue", "s4"])
def test_every_code_can_come(fmt):
    seen = set()

    @EXACTLY
    @given(testing.codes(fmt))
    def look(code):
        seen.add(code)

    look()
    assert seen == {code for code, _ in decoded(fmt)}


@pytest.mark.parametrize(
    "fmt", [*SMALL, "fp16", "bf16", "fp32", "fp64", TOY], ids=lambda fmt: getattr(fmt, "name", fmt)
)
def test_values_are_values(fmt):
    row = fp.get(fmt)

    @settings(derandomize=True, database=None, deadline=None)
    @given(testing.values(fmt), testing.codes(fmt))
    def look(x, code):
        reference.decode(code, row)
        if math.isnan(x):
            assert row.has_nan
            return
        again = reference.decode(reference.encode(x, row, fp.rounding.Rules(overflow="propagate")), row)
        assert again == (x if math.isinf(x) else Fraction(x))

    look()


def simplest(strategy, condition=lambda x: True):
    return find(strategy, condition, settings=EXACTLY)


def test_strategies_shrink_towards_plain_values():
    assert simplest(testing.values("e4m3")) == 0
    assert simplest(testing.codes("e4m3")) == 0
    assert simplest(testing.values("e5m2"), lambda x: x != 0) in (1, -1)
    assert abs(simplest(testing.values("fp32"), lambda x: x != 0)) == 1
    assert simplest(testing.near_ties("e4m3")) == 0
    assert simplest(testing.arrays("e4m3", 3)).tolist() == [0, 0, 0]
    assert (simplest(testing.blocks("mxfp4")) == 0).all()
    assert simplest(testing.values("e8m0", allow_nan=False)) == 1


def test_values_within_bounds():
    @EXACTLY
    @given(
        testing.values("e5m2", min_value=-2, max_value=3), testing.values("e5m2", allow_infinity=False, allow_nan=False)
    )
    def look(x, y):
        assert -2 <= x <= 3
        assert math.isfinite(y)

    look()
    assert math.isnan(simplest(testing.values("e5m2"), math.isnan))


@settings(deadline=None)
@given(testing.near_ties("e3m2", source="float64"))
def test_near_ties_are_near(x):
    """Within a factor of the source's spacing times a power of two of a value or midpoint, or an end of the source."""
    assert math.isfinite(x)
    assert np.float64(x).view(np.uint64) in {int(v) for v in boundary_inputs("e3m2", "float64").view(np.uint64)}


@settings(deadline=None)
@given(st.data())
def test_arrays_and_blocks(data):
    x = data.draw(testing.arrays("e2m1", st.tuples(st.integers(0, 3), st.integers(0, 3)), dtype=np.float16))
    assert x.dtype == np.float16
    assert (fp.quantize(x, "e2m1") == x).all()
    codes = data.draw(testing.arrays("e2m1", 5, dtype=np.uint8))
    assert (codes < 16).all()
    block = data.draw(testing.blocks("nvfp4", count=2))
    assert block.shape == (2, 16)
    assert block.dtype == np.float32


def test_without_hypothesis(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "hypothesis"]:
        monkeypatch.setitem(sys.modules, name, None)
    for make in (lambda: testing.values("e4m3"), lambda: testing.arrays("e4m3", 2), lambda: testing.blocks("mxfp4")):
        with pytest.raises(ImportError, match="need hypothesis: pip install hypothesis"):
            make()


@pytest.mark.parametrize(
    "fmt",
    ["e4m3", "e5m2", "e2m1", "e8m0", "ue5m3", "s4", "binary8p3se", "binary4p2uf", TOY],
    ids=lambda fmt: getattr(fmt, "name", fmt),
)
def test_runs_of_codes_are_the_codes(fmt):
    """A sweep fills stretches; every float16, and stretches of float32 that span binades, one number at a time instead."""
    from fpformats.profiles import PROFILES
    from fpformats.testing.chunks import Chunk, chunks, expected_codes

    row = fp.get(fmt)
    rules = [
        fp.rounding.Rules(mode, overflow, "max", subnormals)
        for mode in DETERMINISTIC
        for overflow in ("saturate", "nonfinite")
        for subnormals in ("keep", "flush_before_rounding", "flush_after_rounding")
    ]
    rows = [profile.rows[row.name] for profile in PROFILES.values() if row.name in profile.rows]
    rules += [replace(rule, nan="max") for rule in rows if rule.random_bits is None]
    half, single = fp.get("fp16"), fp.get("fp32")
    parts = list(chunks(row, half, exhaustive=True, level=1, x=None, size=1 << 13)[1])
    for start in (
        0,
        0x00300000,
        0x007FE000,
        0x3A000000,
        0x43000000,
        0x47700000,
        0x7F7F0000,
        0x80000000,
        0xC0000000,
        0xFF7FC000,
    ):
        bits = np.arange(start, start + (1 << 15), dtype=np.uint64).astype(np.uint32)
        parts.append(Chunk(single, bits.copy, consecutive=True))
        step = np.uint32(1 << 13)  # and wide steps, so that codes change within stretches
        parts.append(
            Chunk(single, (np.uint32(start) + step * np.arange(1 << 14, dtype=np.uint32)).copy, consecutive=True)
        )
    for rule in rules[:: 1 if row.bits < 8 else 3]:
        for part in parts:
            bits = part.make()
            got = expected_codes(part, bits, row, rule)
            np.testing.assert_array_equal(got, testing.source.Source(bits, part.source).encode(row, rule))
