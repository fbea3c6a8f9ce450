"""`values`, `spacing`, `next_up`, `next_down`: against all codes decoded by the definition, NumPy, and hand-made facts."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fpformats as fp
from fpformats import reference

TOYS = (
    fp.Format("toy", exponent_bits=3, mantissa_bits=2, bias=3, emax=2, subnormals=False),
    fp.Format("short", exponent_bits=4, mantissa_bits=2, emax=3, nan_codes=1, inf_codes=1),
    fp.Format("flat", exponent_bits=4, mantissa_bits=0),
    fp.Format("unsigned", exponent_bits=3, mantissa_bits=2, signed=False),
    fp.Format("no_zero", exponent_bits=3, mantissa_bits=2, signed=False, has_zero=False, subnormals=False),
    fp.Format("far", exponent_bits=3, mantissa_bits=3, bias=-200),
    fp.Format("near", exponent_bits=3, mantissa_bits=3, bias=1000, negative_zero=False, nan_codes=0, inf_codes=0),
)
ELEMENTS = [fp.get(name) for name in fp.formats("element")]
SMALL = [fmt for fmt in (*TOYS, *ELEMENTS) if fmt.bits <= 8]
MEDIUM = [fmt for fmt in ELEMENTS if 8 < fmt.bits <= 16]
name_of = lambda fmt: fmt.name  # noqa: E731


def wide(fmt: fp.Format) -> bool:
    """Whether float64 does not reach all of its numbers."""
    return abs(Fraction(fmt.max)) > Fraction(fp.FP64.max) or Fraction(fmt.smallest_subnormal) < Fraction(1, 2**1074)


@lru_cache(maxsize=1)
def decoded(fmt: fp.Format) -> tuple[list[tuple[Fraction | float, int]], list[int]]:
    """(all numbers with their codes in ascending order, -0 before 0; the NaN codes), from the definition."""
    numbers, nans = [], []
    seen = set()
    for code in range(1 << fmt.bits):
        try:
            value = reference.decode(code, fmt)
        except ValueError:
            continue
        if isinstance(value, float) and math.isnan(value):
            nans.append(code)
            continue
        if not wide(fmt):
            assert float(value) == value
            value = float(value)
        key = (value, math.copysign(1.0, value) if not value else 0.0)
        if key not in seen:  # a format without subnormals has several codes of zero
            seen.add(key)
            numbers.append((value, code))
    return sorted(numbers, key=lambda pair: (pair[0], not (pair[1] & fmt.sign_bit))), nans


def check_values(fmt: fp.Format) -> None:
    numbers, nans = decoded(fmt)
    made, codes = fp.values(fmt, codes=True, nan=True, dtype=object if wide(fmt) else np.float64)
    assert codes.dtype == (np.uint8 if fmt.bits <= 8 else np.uint16)
    assert codes.tolist() == [code for _, code in numbers] + nans
    want = [value for value, _ in numbers]
    plain = fp.values(fmt, dtype=object if wide(fmt) else np.float64)
    assert plain.tolist() == want
    assert [math.copysign(1, v) for v in plain.tolist() if not v] == [math.copysign(1, v) for v in want if not v]
    assert made.size == plain.size + len(nans)
    assert all(math.isnan(v) for v in made[plain.size :])


def check_many_neighbours(fmt: fp.Format) -> None:
    """The same as `check_neighbours` in arrays, for formats that float64 holds."""
    line = np.unique(np.array([float(value) for value, _ in decoded(fmt)[0]]))
    finite = line[np.isfinite(line)]
    middle = finite[:-1] / 2 + finite[1:] / 2
    with np.errstate(over="ignore"):
        beyond = finite[-1] * np.array([1.5, -1.5, 0.25, -0.25])
    x = np.concatenate([line, middle, [np.inf, -np.inf, *beyond]])
    up = line[np.minimum(np.searchsorted(line, x, side="right"), line.size - 1)]
    down = line[np.maximum(np.searchsorted(line, x, side="left") - 1, 0)]
    np.testing.assert_array_equal(fp.next_up(x, fmt), up)
    np.testing.assert_array_equal(fp.next_down(x, fmt), down)
    plus = finite[finite >= 0]
    if not fmt.has_zero or fmt.subnormals:
        np.testing.assert_array_equal(fp.spacing(plus, fmt)[:-1], np.diff(plus))
    np.testing.assert_array_equal(fp.spacing(-x, fmt), fp.spacing(x, fmt))
    inside = np.searchsorted(plus, middle[middle > plus[0]]) - 1
    if not fmt.has_zero or fmt.subnormals:
        np.testing.assert_array_equal(fp.spacing(middle[middle > plus[0]], fmt), np.diff(plus)[inside])


def check_neighbours(fmt: fp.Format, every: int = 1) -> None:
    """At every value, between all neighbours, and beyond the ends."""
    line = sorted({value for value, _ in decoded(fmt)[0]})
    finite = [Fraction(v) for v in line if abs(v) != math.inf][::every]
    points = [*line[::every], *((a + b) / 2 for a, b in itertools.pairwise(finite)), math.inf, -math.inf]
    points += [finite[-1] * 2, -finite[-1] * 2, -finite[-1] / 4, finite[-1] / 4, Fraction(0), -0.0]
    if wide(fmt):
        made = [[f(x, fmt) for x in points] for f in (fp.next_up, fp.next_down, fp.spacing)]
    else:
        exact = [float(x) for x in points]
        assert exact == points
        made = [f(np.array(exact), fmt).tolist() for f in (fp.next_up, fp.next_down, fp.spacing)]
    for x, up, down, step in zip(points, *made, strict=True):
        above, below = bisect_right(line, x), bisect_left(line, x) - 1
        next_up, next_down = line[min(above, len(line) - 1)], line[max(below, 0)]
        assert up == as_float(next_up)
        assert down == as_float(next_down)
        # what float64 cannot tell from zero keeps its sign
        if up == 0:
            minus = x < 0 and fmt.has_negative_zero if next_up == 0 else next_up < 0
            assert math.copysign(1, up) == (-1 if minus else 1)
        if down == 0:
            assert math.copysign(1, down) == (1 if next_down >= 0 else -1)
        size = abs(Fraction(x)) if abs(x) != math.inf else math.inf
        if size in (0, math.inf):
            assert step == (as_float(Fraction(2) ** (fmt.emin - fmt.mantissa_bits)) if size == 0 else math.inf)
        else:  # 2^M to 2^(M+1) steps make a number whose exponent is not below emin
            count, quantum = size / exact_step(step, size, fmt), Fraction(2) ** (fmt.emin - fmt.mantissa_bits)
            assert count < 2 << fmt.mantissa_bits
            assert count >= 1 << fmt.mantissa_bits or exact_step(step, size, fmt) == quantum
    # the step is the distance to the next value away from zero
    steps = dict(zip(points, made[2], strict=True))
    for a, b in itertools.pairwise(finite):
        if a >= 0 and (a or fmt.subnormals) and not wide(fmt) and every == 1:
            assert steps[a] == b - a


def exact_step(step: float, size: Fraction, fmt: fp.Format) -> Fraction:
    """The step as a fraction; where float64 does not hold it, what it should be."""
    if not wide(fmt):
        return Fraction(step)
    exact = Fraction(2) ** (max(reference.floor_log2(size), fmt.emin) - fmt.mantissa_bits)
    assert step == as_float(exact)
    return exact


def as_float(value: Fraction | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


@pytest.mark.parametrize("fmt", SMALL, ids=name_of)
def test_all_codes(fmt):
    check_values(fmt)
    check_neighbours(fmt)
    if not wide(fmt):
        check_many_neighbours(fmt)


# fractions of thousands of bits take minutes, and there are hundreds of P3109's
HUGE = [fmt for fmt in MEDIUM if fmt.bits > 9 and fmt.name.startswith("binary")]
MEDIUM_MARKED = [
    pytest.param(fmt, marks=pytest.mark.nightly if fmt in HUGE else pytest.mark.slow, id=fmt.name) for fmt in MEDIUM
]


@pytest.mark.parametrize("fmt", MEDIUM_MARKED)
def test_all_codes_of_up_to_16_bits(fmt):
    check_values(fmt)
    if wide(fmt):
        check_neighbours(fmt, every=1 << (fmt.bits - 8))
    else:
        check_many_neighbours(fmt)


BITS32 = st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=50)
BITS64 = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=50)
ENDS = (0, 1, 2, -1, -2)


@pytest.mark.parametrize("name", ["fp16", "fp32", "fp64"])
@settings(deadline=None)
@given(bits32=BITS32, bits64=BITS64)
def test_numpy(name, bits32, bits64):
    """Every value is its own format's: NumPy's nextafter and spacing, which has the sign of x and no step at the end."""
    kind = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}[name]
    word = np.dtype(f"uint{8 * np.dtype(kind).itemsize}").type
    top = int(np.iinfo(word).max)
    edges = [base + d & top for base in (0, 1 << 52, 1 << 23, 1 << 10, top >> 1, (top >> 1) + 1,
                                         int(kind(np.inf).view(word)), int(kind(-np.inf).view(word))) for d in ENDS]  # fmt: skip
    x = np.array([b & top for b in (*bits32, *bits64, *edges)], word).view(kind)
    with np.errstate(all="ignore"):
        up, down, step = np.nextafter(x, kind(np.inf)), np.nextafter(x, kind(-np.inf)), np.abs(np.spacing(x))
    up[x == 0], down[x == 0] = kind(fp.get(name).smallest_subnormal), -kind(fp.get(name).smallest_subnormal)
    made = fp.next_up(x, name), fp.next_down(x, name), fp.spacing(x, name)
    assert {part.dtype for part in made} == {np.dtype(kind)}
    np.testing.assert_array_equal(made[0], up)
    np.testing.assert_array_equal(made[1], down)
    # IEEE 754: nextUp of the last value below zero is -0, nextDown of the first above it +0
    assert (np.signbit(made[0][made[0] == 0])).all()
    assert not (np.signbit(made[1][made[1] == 0])).any()
    inner = np.isfinite(step) & ((x > 0) | (name != "fp16"))  # NumPy 2.4's float16: 0.25 at -512, 0.5 at 512
    np.testing.assert_array_equal(made[2][inner], step[inner])
    ulps = [math.ulp(v) for v in x.tolist()] if name == "fp64" else None
    assert ulps is None or [v for v in made[2].tolist() if v == v] == [v for v in ulps if v == v]


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 2**32, 2**28))
def test_every_float32(start):
    x = np.arange(start, start + 2**28, 61, dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        up, step = np.nextafter(x, np.float32(np.inf)), np.abs(np.spacing(x))
    np.testing.assert_array_equal(fp.next_up(x, "fp32"), up)
    made, inner = fp.spacing(x, "fp32"), np.isfinite(step)
    np.testing.assert_array_equal(made[inner], step[inner])


def test_ends():
    """What the docstring says, by hand."""
    assert fp.next_up(448, "e4m3") == 448.0  # no infinity: the largest is the end
    assert fp.next_up(1e9, "e4m3") == 448.0
    assert fp.next_up(math.inf, "e4m3") == 448.0
    assert fp.next_up(-math.inf, "e4m3") == -448.0
    assert fp.next_down(math.inf, "e4m3") == 448.0
    assert fp.next_up(57344, "e5m2") == math.inf
    assert fp.next_up(60000, "e5m2") == math.inf
    assert fp.next_up(math.inf, "e5m2") == math.inf
    assert fp.next_down(math.inf, "e5m2") == 57344.0
    assert fp.next_down(60000, "e5m2") == 57344.0
    assert math.isnan(fp.next_up(math.nan, "e2m1"))
    assert math.isnan(fp.spacing(math.nan, "e2m1"))
    assert fp.spacing(-math.inf, "e2m1") == math.inf
    assert fp.spacing(448, "e4m3") == 32.0
    assert fp.spacing(-1000, "e4m3") == 64.0  # as if exponents went on
    assert fp.next_down(-2, "int8") == -2.0
    assert fp.next_up(0.1, TOYS[0]) == 0.25  # no subnormals: nothing between 0 and 1/4
    assert fp.next_down(0.25, TOYS[0]) == 0.0
    assert math.copysign(1, fp.next_up(-0.25, TOYS[0])) == -1
    assert math.copysign(1, fp.next_up(Fraction(-1, 10**400), "e4m3")) == -1
    assert fp.next_down(0, "e8m0") == 2.0**-127
    assert fp.next_up(-5, "ue4m3") == 0.0


def test_beyond_float64():
    """P3109's widest: 2^-16381 ... 2^16381 and inf; ranks are exact, what float64 holds is too."""
    wide_one = "binary16p1se"
    assert fp.next_up(1, wide_one) == 2.0
    assert fp.next_up(Fraction(3, 2**1000), wide_one) == 2.0**-998
    assert fp.next_up(2.0**1023, wide_one) == math.inf  # 2^1024
    assert fp.next_down("1e400", wide_one) == math.inf
    assert fp.next_up(np.array([1.0, 3.0]), wide_one).tolist() == [2.0, 4.0]
    with pytest.raises(ValueError, match="binary16p1se has numbers that fp64 does not hold; dtype=object"):
        fp.values(wide_one)
    numbers = fp.values(wide_one, dtype=object)
    assert numbers[-2] == Fraction(fp.get(wide_one).max)
    assert numbers[-1] == math.inf


@pytest.mark.parametrize(
    ("x", "up"),
    [
        (2**53 + 1, 2.0**53 + 2), (2**53 + 2, 2.0**53 + 4), (-(2**53) - 1, -(2.0**53)), (2**80 + 1, 2.0**80 + 2**28),
        ("0.1", 0.1), ("1e-400", 5e-324), (Fraction(1, 3), 0.33333333333333337), (Decimal("0.3"), 0.30000000000000004),
        (True, 1 + 2.0**-52),
    ],
)  # fmt: skip
def test_single_numbers_are_exact(x, up):
    assert fp.next_up(x, "fp64") == up
    assert fp.next_down(x, "fp64") == reference_below(x)


def reference_below(x: object) -> float:
    """The last double below x: rounded down, and one further where that is x itself."""
    negative, size = reference.exact(x)
    exact = -size if negative else size
    down = reference.decode(reference.encode(exact, "fp64", reference.Rules(rounding="toward_negative")), "fp64")
    return math.nextafter(float(down), -math.inf) if down == exact else float(down)


def test_integers_in_arrays():
    x = np.array([2**53 + 1, 2**63 - 1, -(2**53) - 1, 5])
    assert fp.next_up(x, "fp64").tolist() == [2.0**53 + 2, 2.0**63, -(2.0**53), math.nextafter(5, 6)]
    assert fp.next_down(np.array([2**64 - 1], np.uint64), "fp32").tolist() == [2.0**64 - 2**40]
    assert fp.next_up(np.array([17, -17], np.int8), "e4m3").tolist() == [18.0, -16.0]
    assert fp.next_up([True], "e4m3").dtype == np.float32


@pytest.mark.parametrize("call", [fp.next_up, fp.next_down, fp.spacing])
def test_types(call):
    """A type that holds all numbers of the format stays; otherwise float32, or float64."""
    assert call(np.float32(1), "e4m3").dtype == np.float32
    assert call(np.ones(3, np.float16), "e4m3").dtype == np.float16
    assert call(np.ones((2, 3), np.float16), "bf16").dtype == np.float32
    assert call(np.ones(3, np.float32), "fp64").dtype == np.float64  # 1 + 2^-52 is no float32
    assert call(np.ones((2, 0), np.float64), "e2m1").shape == (2, 0)
    assert type(call(1, "e4m3")) is float
    assert type(call("1", "e4m3")) is float
    assert isinstance(call([1, 2], "e4m3"), np.ndarray)
    assert isinstance(call(np.array(1.0), "e4m3"), np.ndarray)
    big = np.array([1.0, 3.0]).astype(">f8")[::-1]
    assert call(big, "e4m3").tolist() == [call(3.0, "e4m3"), call(1.0, "e4m3")]


def test_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    x = np.array([1.0, -1.0, 448.0, np.nan], ml_dtypes.float8_e4m3fn)
    made = fp.next_up(x, "e4m3")
    assert made.dtype == x.dtype
    assert made.astype(float).tolist()[:3] == [1.125, -0.9375, 448.0]
    assert np.isnan(made.astype(float)[3])
    assert fp.values("e2m1", dtype=ml_dtypes.float4_e2m1fn).tolist() == fp.values("e2m1").tolist()


def test_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    made = fp.next_up(torch.tensor([[1.0], [3.1]]), "e4m3")
    assert made.dtype == torch.float32
    assert made.tolist() == [[1.125], [3.25]]
    assert fp.spacing(torch.ones(2, dtype=torch.bfloat16), "bf16").dtype == torch.bfloat16


@pytest.mark.parametrize("call", [fp.next_up, fp.next_down, fp.spacing])
def test_refusals(call):
    with pytest.raises(TypeError, match="mxfp4 is a block format; an element format such as e2m1 was expected here"):
        call(1.0, "mxfp4")
    with pytest.raises(TypeError, match="complex"):
        call(1j, "e4m3")
    with pytest.raises(TypeError, match="dtype object"):
        call(np.array([None]), "e4m3")
    with pytest.raises(ValueError, match="did you mean"):
        call(1.0, "e4m4")


def test_values_refusals():
    with pytest.raises(ValueError, match="fp32 has 2\\^32 codes; values lists formats of up to 20 bits"):
        fp.values("fp32")
    with pytest.raises(ValueError, match="tf32 has numbers that fp16 does not hold"):
        fp.values("tf32", dtype=np.float16)
    with pytest.raises(TypeError, match="a float type, or object for fractions, was expected"):
        fp.values("e4m3", dtype=int)


def test_values_types():
    assert fp.values("e4m3").dtype == np.float64
    assert fp.values("e4m3", dtype=np.float32).dtype == np.float32
    assert fp.values("e4m3", dtype="float16").tolist() == fp.values("e4m3").tolist()
    assert fp.values("tf32").size == 2**19 - 2 * 1023
    assert fp.values("nvfp4").tolist() == fp.values("e2m1").tolist()
    assert fp.values("e2m1", dtype=object)[1] == Fraction(-4)
