"""`compare`: every number of the report against its definition, worked out in fractions."""

from __future__ import annotations

import math
from dataclasses import astuple, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import fpformats as fp
from fpformats.explore.compare import Accumulator, Row, compare


def by_definition(x, q, fmt):
    """The row, from the sentences of `Row`'s docstring."""
    pairs = [(Fraction(a), b) for a, b in zip(x, q, strict=True) if math.isfinite(a)]
    kept = [(a, Fraction(b)) for a, b in pairs if math.isfinite(b)]
    lost = len(kept) < len(pairs)
    signal, noise = sum(a * a for a, _ in pairs), sum((a - b) ** 2 for a, b in kept)
    if lost:
        sqnr = -math.inf
    elif not noise:
        sqnr = math.inf if signal else math.nan
    else:
        sqnr = 10 * (math.log10(signal.numerator) - math.log10(signal.denominator)) if signal else -math.inf
        sqnr -= 10 * (math.log10(noise.numerator) - math.log10(noise.denominator))
    relative = [abs(a - b) / abs(a) for a, b in kept if a]
    some = any(a for a, _ in pairs)
    return Row(
        format=fmt.name,
        bits=fmt.bits,
        count=len(x),
        sqnr_db=sqnr,
        max_rel_error=math.inf if lost else float(max(relative)) if some else math.nan,
        mean_rel_error=math.inf if lost else float(sum(relative) / len(relative)) if some else math.nan,
        saturated=sum(a > fmt.max or (fmt.signed and a < fmt.min) for a, _ in pairs),
        flushed=sum(a != 0 and b == 0 for a, b in pairs),
        subnormal=sum(math.isfinite(b) and 0 < abs(b) < fmt.smallest_normal for _, b in pairs),
        inf=sum(map(math.isinf, q)),
        nan=sum(map(math.isnan, q)),
    )


def assert_rows_agree(got, expected):
    floats = {"sqnr_db", "max_rel_error", "mean_rel_error"}
    exactly = dict.fromkeys(floats, 0.0)
    assert replace(got, **exactly) == replace(expected, **exactly)
    for name in floats:
        assert getattr(got, name) == pytest.approx(getattr(expected, name), rel=1e-12, abs=1e-9, nan_ok=True), name


def test_a_row_by_hand():
    """e4m3 of 0.1 is 0.1015625 (13/128); 500 becomes 448; 0.001 rounds to 2^-10's upper neighbour 2^-9."""
    x = [0.1, 1.0, 500.0, 0.001, 0.0001]
    row = compare(np.array(x), "e4m3")["e4m3"]
    assert (row.count, row.saturated, row.flushed, row.subnormal, row.inf, row.nan) == (5, 1, 1, 1, 0, 0)
    q = [Fraction(13, 128), Fraction(1), Fraction(448), Fraction(1, 512), Fraction(0)]
    exact = [Fraction(v) for v in x]
    noise = sum((a - b) ** 2 for a, b in zip(exact, q, strict=True))
    assert row.sqnr_db == pytest.approx(10 * math.log10(sum(a * a for a in exact) / noise), rel=1e-13)
    assert row.max_rel_error == 1.0  # what is flushed is lost altogether
    relative = [abs(a - b) / a for a, b in zip(exact, q, strict=True)]
    assert row.mean_rel_error == pytest.approx(float(sum(relative) / 5), rel=1e-14)


def test_overflow_to_infinity_is_counted_and_spoils_the_errors():
    row = compare(np.array([1.0, 1e6, np.inf, np.nan], np.float32), "fp16")["fp16"]
    assert (row.count, row.saturated, row.inf, row.nan) == (4, 1, 2, 1)
    assert row.sqnr_db == -math.inf
    assert row.max_rel_error == row.mean_rel_error == math.inf
    kept = compare(np.array([1.0, 1e6], np.float32), "fp16", overflow="saturate")["fp16"]
    assert (kept.inf, kept.saturated) == (0, 1)
    assert kept.max_rel_error == pytest.approx(1 - 0.065504, rel=1e-12)


def test_nothing_lost_and_nothing_there():
    assert compare([1.0, 2.0], "e4m3")["e4m3"].sqnr_db == math.inf
    zeros = compare([0.0, -0.0], "e4m3")["e4m3"]
    assert math.isnan(zeros.sqnr_db)
    assert math.isnan(zeros.mean_rel_error)
    empty = compare(np.zeros(0, np.float32), "e4m3")["e4m3"]
    assert (empty.count, math.isnan(empty.max_rel_error)) == (0, True)


def test_formats_beyond_float64():
    """binary16p1se spans 2^-16383 to 2^16382: no float64 saturates, and none is subnormal."""
    row = compare(np.array([1.7e308, 5e-324]), "binary16p1se", rounding="toward_zero")["binary16p1se"]
    assert (row.saturated, row.subnormal, row.flushed) == (0, 0, 0)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_squares_neither_overflow_nor_underflow(scale):
    part = Accumulator("fp64")
    part.update(np.array([3.0, 4.0]) * scale, np.array([3.0, 3.0]) * scale)
    part.update(np.array([0.0]), np.array([0.0]))
    assert part.result().sqnr_db == pytest.approx(10 * math.log10(25), rel=1e-12)


def test_unsigned_formats():
    row = compare([-3.0, 500.0, 2.0], "ue4m3")["ue4m3"]
    assert (row.saturated, row.flushed) == (1, 1)


def test_int8_has_no_subnormals():
    assert compare([0.015625, 1.0], "int8")["int8"].subnormal == 0


numbers = hnp.arrays(np.float32, st.integers(0, 40), elements=st.floats(width=32))


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e2m1", "fp16", "bf16", "e4m3fnuz", "ue5m3"])
@settings(deadline=None)  # the first call loads what compiles
@given(x=numbers, cuts=st.lists(st.integers(0, 40), max_size=3))
def test_any_chunks_give_the_row_of_the_definition(name, x, cuts):
    fmt = fp.get(name)
    q = fp.quantize(x, fmt, nan="zero")
    part = Accumulator(fmt)
    for chunk_x, chunk_q in zip(np.split(x, sorted(cuts)), np.split(q, sorted(cuts)), strict=True):
        part.update(chunk_x, chunk_q)
    expected = by_definition(x.astype(float).tolist(), q.astype(float).tolist(), fmt)
    assert_rows_agree(part.result(), expected)
    assert_rows_agree(compare(x, fmt, nan="zero")[name], expected)


# --- block formats ----------------------------------------------------------------------------------
def limits(q):
    """Of every value: the last value of its block, half a step beyond either end, and the smallest normal number."""
    element = fp.get(q.format.element)

    def at(code):
        codes = np.full(q.shape, code)
        return fp.BlockArray(codes, q.scales, q.format, q.tensor_scale, q.axis, q.zero_points).decode().ravel()

    values = fp.decode(np.arange(1 << element.bits), element)
    codes = [fp.encode(float(v), element) for v in np.unique(values[np.isfinite(values)])]
    if q.format.symmetric:
        codes = codes[1:]
    low, low_next, high_next, high = (at(codes[i]) for i in (0, 1, -2, -1))
    normal = at(fp.encode(float(element.smallest_normal), element)) if element.exponent_bits else np.zeros(q.codes.size)
    return [
        (
            Fraction(float(b)) - (Fraction(float(b2)) - Fraction(float(b))) / 2,
            Fraction(float(a)) + (Fraction(float(a)) - Fraction(float(a2))) / 2,
            Fraction(float(n)),
        )
        for b, b2, a2, a, n in zip(low, low_next, high_next, high, normal, strict=True)
    ]


@pytest.mark.parametrize(
    "name",
    [
        *("mxfp8", "mxfp4", "mxint8", "nvfp4", "nvfp4_te_rowscaled", "nvfp4_te_4over6_mse_256", "fp8_e5m2_1x128_te"),
        *("int4_channel_compressed_tensors", "int8_tensor_absmax", "ternary_tensor_bitnet", "mxfp4_microxcaling"),
        *("int4_1x128_compressed_tensors_asymmetric", "int8_row_torchao_asymmetric"),
    ],
)
@pytest.mark.parametrize("axis", [0, -1])
def test_block_formats(name, axis):
    """By the definition, with every block's own limits."""
    rng = np.random.default_rng(len(name))
    x = (rng.normal(size=(20, 40)) * 2.0 ** rng.integers(-9, 3, (20, 40))).astype(np.float32)
    x[3] = 0
    fmt, q = fp.get(name), fp.encode_blocks(x, name, axis=axis)
    row = compare(x, [name], axis=axis)[name]
    made, flat = q.decode().ravel().tolist(), x.ravel().tolist()
    pairs = list(zip(map(Fraction, flat), map(Fraction, made), limits(q), strict=True))
    plain = by_definition(flat, made, fp.FP64)
    expected = replace(
        plain,
        format=fmt.name,
        bits=8 * q.nbytes / x.size,
        saturated=sum(not low <= a <= high for a, _, (low, high, _) in pairs),
        subnormal=sum(0 < abs(b) < normal for _, b, (_, _, normal) in pairs),
    )
    assert_rows_agree(row, expected)
    assert row.count == x.size
    if name in ("mxfp4", "mxfp4_microxcaling"):
        assert row.saturated


def test_block_and_element_formats_in_one_table():
    x = np.random.default_rng(0).normal(size=(64, 128)).astype(np.float32)
    table = compare(x, ["e4m3", "mxfp8", fp.get("nvfp4"), "int4_1x128_absmax"])
    assert [row.bits for row in table] == [8, 8.25, 4.5 + 32 / x.size, 4.25]
    assert table["mxfp8_e4m3"].sqnr_db > table["nvfp4_te"].sqnr_db > table["int4_1x128_absmax"].sqnr_db > 15
    assert [line.split()[1] for line in str(table).splitlines()] == ["bits", "8", "8.25", "4.504", "4.25"]
    fixed = compare(x, "nvfp4", tensor_amax=2.0, rounding="stochastic", rng=3)["nvfp4"]
    assert fixed.sqnr_db < table["nvfp4"].sqnr_db
    with pytest.raises(ValueError, match="nvfp4_te: the recipe decides overflow; overflow='saturate' cannot be given"):
        compare(x, ["e4m3", "nvfp4"], overflow="saturate")
    assert compare(np.zeros((0, 32)), "nvfp4")["nvfp4"].bits == 4.5
    assert compare(3.0, "mxfp4")["mxfp4"].count == 1


def test_block_formats_of_what_is_not_finite():
    x = np.ones((3, 32), np.float32)
    x[0, 0], x[1, 1] = np.inf, np.nan
    row = compare(x, "mxfp8")["mxfp8"]
    assert (row.count, row.inf, row.nan, row.saturated) == (96, 0, 64, 0)
    assert row.sqnr_db == -math.inf


@pytest.mark.parametrize("name", ["nvfp4_te", "nvfp4_te_16x16", "mxfp4", "fp8_e4m3_row_torchao", "int8_tensor_absmax"])
def test_an_infinity_in_a_block_is_no_warning(name):
    """Warnings are errors here. All values of such a block may be infinite, and their differences NaN."""
    row = fp.compare(np.array([np.inf, 1.0] * 8), name)[name]
    assert row.count == 16
    assert row.nan + row.inf == np.count_nonzero(~np.isfinite(fp.quantize(np.float32([np.inf, 1.0] * 8), name)))


def test_chunks_must_match():
    with pytest.raises(ValueError, match="3 values and q has 2"):
        Accumulator("e4m3").update(np.ones(3), np.ones(2))
    with pytest.raises(TypeError, match="nvfp4_te is a block format; update_blocks was expected"):
        Accumulator("nvfp4").update(np.ones(3), np.ones(3))


def test_long_input_is_the_sum_of_its_chunks():
    """More than one internal chunk, with the odd ones in the last."""
    x = np.ones((1 << 20) + 5, np.float32)
    x[-3:] = 1000, 1e-9, -1000
    row = compare(x, "e4m3")["e4m3"]
    assert (row.count, row.saturated, row.flushed) == (x.size, 2, 1)


def test_stochastic_does_not_depend_on_chunks():
    """The bits belong to (seed, index) of the whole input."""
    x = np.full(3 << 18, 1.03125, np.float32)  # a quarter of the way from 1 to 1.125
    q = fp.quantize(x, "e4m3", rounding="stochastic", rng=7)
    part = Accumulator("e4m3")
    part.update(x, q)
    got = compare(x, "e4m3", rounding="stochastic", rng=7)["e4m3"]
    assert_rows_agree(got, part.result())


def test_result_reads_well():
    result = compare([0.1, 1.0, 500.0, 0.001], ["e4m3", "float16"])
    assert [row.format for row in result] == ["e4m3", "fp16"]
    assert len(result) == 2
    assert result["float8_e4m3fn"] is result.rows[0]
    with pytest.raises(KeyError, match="e5m2 was not compared"):
        result["e5m2"]
    lines = str(result).splitlines()
    assert lines[0].split() == [
        "format",
        "bits",
        "SQNR",
        "dB",
        "max",
        "rel",
        "mean",
        "rel",
        "saturated",
        "flushed",
        "subnormal",
    ]
    assert lines[1].split()[0] == "e4m3"
    assert "25%" in lines[1]  # one of four saturates
    assert len({len(line) for line in lines}) == 1
    assert set(result.as_dict()["e4m3"]) == set(Row.__dataclass_fields__)
    assert astuple(result.rows[0])[:3] == ("e4m3", 8, 4)
    assert "inf" in str(compare([1e6], "fp16")).splitlines()[0].split()


def test_what_cannot_be_compared():
    with pytest.raises(ValueError, match="unknown format"):
        compare([1.0], "e4m4")
    with pytest.raises(TypeError):
        compare(np.array(["a"], dtype=object), "e4m3")
    with pytest.raises(ValueError, match="NaN"):
        compare([math.nan], "e2m1")
    with pytest.raises(TypeError):
        compare([1.0], "e4m3", nosuch=1)


def test_torch_tensors_on_any_dtype():
    torch = pytest.importorskip("torch", reason="torch is not installed (pip install '.[peers]')")
    x = torch.tensor([0.1, 1.0, 500.0], dtype=torch.bfloat16, requires_grad=True)
    row = compare(x, "e4m3")["e4m3"]
    assert (row.count, row.saturated) == (3, 1)
    assert_rows_agree(row, compare(x.detach().float().numpy(), "e4m3")["e4m3"])
