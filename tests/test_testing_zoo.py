"""Wrong casts are told apart, right ones raise no alarm. What is right comes from `reference`, integers and peers."""

from __future__ import annotations

import numpy as np
import pytest
import zoo
from oracles import cuda_host, ml_dtypes_cast, torch_cast
from strategies import DETERMINISTIC

import fpformats as fp
from fpformats import reference
from fpformats.rounding import Rules
from fpformats.testing import assert_quantized, assert_same_codes, boundary_inputs, check_cast, identify

EVERY = (*zoo.ZOO, *zoo.REAL)


def named(found, wanted):
    """Each of the wanted causes, and no other."""
    return len(found) == len(wanted) and all(part in cause for cause, part in zip(found, wanted, strict=True))


def test_the_zoo_is_large():
    assert len({(str(wrong), wrong.causes) for wrong in EVERY}) >= 60
    assert len({wrong.causes for wrong in EVERY}) >= 30
    assert len({wrong.fmt for wrong in EVERY}) >= 10


@pytest.mark.parametrize("wrong", EVERY, ids=str)
def test_wrong_casts_are_identified(wrong):
    report = check_cast(wrong.cast, wrong.fmt, source=wrong.source, **wrong.expected)
    assert not report
    assert named(report.causes, wrong.causes), str(report)
    with pytest.raises(AssertionError, match="likely cause"):
        report.check()


def mixed(wrong):
    """The numbers of somebody's test: a grid of boundaries, normal ones of many sizes, in two dimensions."""
    rng = np.random.default_rng(7)
    x = boundary_inputs(wrong.fmt, wrong.source)
    x = rng.permutation(x)
    with np.errstate(all="ignore"):
        normal = (rng.standard_normal(20_000) * 2.0 ** rng.integers(-20, 20, 20_000)).astype(x.dtype)
    x = np.concatenate([x, normal])
    return x[: x.size // 2 * 2].reshape(2, -1)


@pytest.mark.parametrize("wrong", EVERY, ids=str)
def test_the_assert_says_so_too(wrong):
    x = mixed(wrong)
    got = wrong.cast(x.reshape(-1)).reshape(x.shape)
    with pytest.raises(AssertionError) as caught:
        assert_quantized(got, x, wrong.fmt, **wrong.expected)
    told = [line for line in str(caught.value).splitlines() if "likely cause" in line or line.startswith("    ")]
    assert any(part in line for line in told for part in wrong.causes[:1]), str(caught.value)


@pytest.mark.parametrize(("name", "saturate"), zoo.RIGHT, ids=str)
def test_no_false_alarm(name, saturate):
    overflow = "saturate" if saturate else "nonfinite"
    for level in (1, 2):
        report = check_cast(zoo.Kernel(name, saturate=saturate), name, overflow=overflow, nan="max", level=level)
        assert report, str(report)
        assert report.causes == ()
        assert report.first is None


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e4m3fnuz", "e2m1", "e8m0", "ue5m3", "int8", "binary6p3se", "s4"])
def test_what_is_expected_is_the_definitions(name):
    """Every rounding and overflow rule, against exact rational arithmetic, through the assert."""
    x = boundary_inputs(name)
    x = x[~np.isnan(x)]
    x = x[np.linspace(0, x.size - 1, 97).astype(int)]
    for mode in DETERMINISTIC:
        for overflow in ("saturate", "propagate", "nonfinite"):
            rules = Rules(mode, overflow, "max")
            codes = np.array([reference.encode(float(v), name, rules) for v in x], np.uint8)
            assert_quantized(codes, x, name, rounding=mode, overflow=overflow, nan="max")
            off = codes.copy()
            off[5] ^= 1
            with pytest.raises(AssertionError, match="1 of 97"):
                assert_quantized(off, x, name, rounding=mode, overflow=overflow, nan="max", nan_codes="exact")


# --- codes in wrong places ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("move", "cause"),
    [
        (lambda c: c.reshape(-1, 2)[:, ::-1].reshape(c.shape), "nibbles swapped"),
        (lambda c: np.ascontiguousarray(c.T), "transposed"),
        (lambda c: np.roll(c.reshape(-1), 1).reshape(c.shape), "shifted by one element forwards"),
        (lambda c: c.reshape(-1, 8)[:, ::-1].reshape(c.shape), "order of each 8 codes reversed"),
        (np.zeros_like, "never written"),
    ],
    ids=["nibbles", "transposed", "shifted", "eights", "zeros"],
)
def test_codes_elsewhere(move, cause):
    codes = np.random.default_rng(0).integers(0, 16, (16, 16), dtype=np.uint8)
    with pytest.raises(AssertionError, match=cause):
        assert_same_codes(move(codes), codes, "e2m1")


def test_bytes_swapped():
    codes = np.random.default_rng(0).integers(0, 0x7C00, 100, dtype=np.uint16)
    with pytest.raises(AssertionError, match="bytes of each code swapped"):
        assert_same_codes(codes.byteswap(), codes, "fp16")


@pytest.mark.parametrize(
    ("other", "fmt"), [("e4m3_ieee", "e4m3"), ("e5m2", "e4m3"), ("e4m3fnuz", "e4m3"), ("e2m3", "e3m2")]
)
def test_codes_of_another_format(other, fmt):
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32) * 100
    codes = np.array([reference.encode(float(v), other) for v in x], np.uint8)
    with pytest.raises(AssertionError, match=f"codes of {other}"):
        assert_quantized(codes, x, fmt)


def test_two_causes_together():
    """Ties away, and NaN become zeros: neither explains all, and they meet nowhere."""
    cast = lambda x: np.where(np.isnan(x), 0, zoo.TiesAway("e4m3")(x)).astype(np.uint8)  # noqa: E731
    report = check_cast(cast, "e4m3")
    assert named(report.causes, ["ties away from zero", "NaN becomes +0"]), report.causes
    x = boundary_inputs("e4m3")
    with pytest.raises(AssertionError, match="likely causes, together"):
        assert_quantized(cast(x), x, "e4m3")


def test_two_causes_after_one_another():
    """Truncated, and then -0 lost: what was cut to -0 has met both."""
    cast = lambda x: np.where((c := zoo.Truncates("e4m3")(x)) == 0x80, 0, c).astype(np.uint8)  # noqa: E731
    report = check_cast(cast, "e4m3")
    assert named(report.causes, ["truncation (rounding='toward_zero'), and then sign of zero lost"]), report.causes


def test_what_explains_a_part_is_said():
    """NaN become the largest value, and scattered codes are wrong, which nothing explains."""
    x = boundary_inputs("e4m3")
    codes = zoo.NaNIsMax("e4m3")(x)
    where = np.flatnonzero(np.abs(x) == 1)[:2]
    codes[where] ^= np.uint8([0x15, 0x22])
    with pytest.raises(AssertionError, match="none of the known ones") as caught:
        assert_quantized(codes, x, "e4m3")
    assert f"  of some: NaN becomes the largest finite value ({np.isnan(x).sum()})" in str(caught.value)


def test_no_cause_is_made_up():
    """Scattered wrong bits fit no cause."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal(5000).astype(np.float32)
    codes = fp.encode(x, "e4m3")
    wrong = rng.choice(5000, 40, replace=False)
    codes[wrong] ^= rng.integers(2, 0x40, 40).astype(np.uint8)
    with pytest.raises(AssertionError, match="none of the known ones explains every difference"):
        assert_quantized(codes, x, "e4m3")


# --- blocks ---------------------------------------------------------------------------------------------
def mxfp4(x, *, exponent=np.floor, up=lambda y, low, high: np.abs(y) - low > (high - low) / 2):
    """MX by hand, for rows of 32 numbers whose amax is no edge case: scale codes and e2m1 codes, ties toward zero."""
    grid = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    scales, codes = [], []
    for row in x.astype(np.float64):
        e = int(exponent(np.log2(np.abs(row).max()))) - 2
        y = row / 2.0**e
        low = np.clip(np.searchsorted(grid, np.abs(y), side="right") - 1, 0, 7)
        high = np.minimum(low + 1, 7)
        line = np.where(up(y, grid[low], grid[high]), high, low)
        codes.append(line | np.signbit(y) << 3)
        scales.append(e + 127)
    return np.array(codes, np.uint8), np.array(scales, np.uint8)[:, None]


def rows():
    return np.random.default_rng(2).standard_normal((40, 32)).astype(np.float32)


def test_blocks_that_are_right():
    assert_quantized(mxfp4(rows()), rows(), "mxfp4")


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"exponent": np.ceil}, "scale rule 'ceil 2' in place of 'floor 2'"),
        ({"up": lambda y, low, high: low < 0}, "elements rounded by 'toward_zero'"),
        ({"up": lambda y, low, high: np.abs(y) > low}, "elements rounded by 'away_from_zero'"),
    ],
    ids=["ceil", "truncated", "away"],
)
def test_wrong_blocks(options, cause):
    x = rows()
    with pytest.raises(AssertionError, match=cause):
        assert_quantized(mxfp4(x, **options), x, "mxfp4")


def test_wrong_blocks_as_values():
    x = rows()
    codes, scales = mxfp4(x, exponent=np.ceil)
    grid = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
    values = np.where(codes >> 3, -1, 1) * grid[codes & 7] * np.exp2(scales - np.float32(127))
    with pytest.raises(AssertionError, match="scale rule 'ceil 2'"):
        assert_quantized(values.astype(np.float32), x, "mxfp4")


def test_swapped_nibbles_and_lone_errors_in_blocks():
    x = rows()
    codes, scales = mxfp4(x)
    with pytest.raises(AssertionError, match="nibbles swapped"):
        assert_quantized((codes.reshape(-1, 2)[:, ::-1].reshape(codes.shape), scales), x, "mxfp4")
    with pytest.raises(AssertionError, match="every scale's code is 1 too large"):
        assert_quantized((codes, scales + 1), x, "mxfp4")
    codes[3, 4] ^= 8
    with pytest.raises(
        AssertionError, match=r"(?s)1 of 1280 codes differ.*element \[3, 4\].*x over its scale|x over its scale"
    ):
        assert_quantized((codes, scales), x, "mxfp4")


# --- black boxes ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", DETERMINISTIC)
@pytest.mark.parametrize("overflow", ["saturate", "nonfinite"])
def test_identify(mode, overflow):
    """A box made of the definition is named; each counterexample holds by the definition."""
    for name in ("e3m2", "e4m3", "binary5p2se"):
        fmt = fp.get(name)

        def box(x, fmt=fmt):
            rules = Rules(mode, overflow, "max")
            return np.array([reference.encode(float(v), fmt, rules) for v in x], np.uint8)

        small = boundary_inputs(name, "float16")
        assert small.size < 20_000
        found = identify(box, name, source="float16")
        assert found.rules is not None
        again = Rules(**{"nan": "max", **found.rules})
        some = small[:: max(1, small.size // 300)]
        assert [reference.encode(float(v), fmt, again) for v in some] == box(some).tolist()
        assert found.rules["rounding"] == mode
        for mark, text in found.counterexamples.items():
            key, _, value = mark.partition("=")
            if key == "rounding":
                x = np.array([int(text.split("0x")[1].split()[0], 16)], np.uint16).view(np.float16)
                other = Rules(value.strip("'"), found.rules["overflow"], "max")
                assert reference.encode(float(x[0]), fmt, other) != box(x)[0], (mark, text)


def test_identify_double_rounding():
    found = identify(zoo.double_through_float(zoo.Kernel("e4m3")), "e4m3", source="float64")
    assert found.rules == {"rounding": "nearest_even", "overflow": "saturate", "via": "fp32"}
    assert "via='fp32'" in str(found)


def test_identify_what_follows_no_rules():
    found = identify(zoo.NoCarry("e4m3"), "e4m3")
    assert found.rules is None
    assert found.nearest == {"rounding": "nearest_even", "overflow": "saturate"}
    assert 0 < found.wrong < found.inputs / 10


PEERS = {
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "float8_e4m3fnuz": "e4m3fnuz",
    "float8_e5m2fnuz": "e5m2fnuz",
    "float8_e8m0fnu": "e8m0",
}


BOTH_SOURCES = [(name, source) for name in PEERS for source in ("float32", "float64")]


@pytest.mark.parametrize(("name", "source"), BOTH_SOURCES)
def test_torch_is_itself(need, name, source):
    need(torch_cast)
    report = check_cast(
        lambda x: torch_cast.codes(name, x), PEERS[name], source=source, profile="torch", nan_codes="exact"
    )
    assert report, str(report)
    assert "torch" in identify(lambda x: torch_cast.codes(name, x), PEERS[name], source=source).profiles


@pytest.mark.parametrize(
    ("name", "source"),
    [*BOTH_SOURCES, ("float4_e2m1fn", "float64"), ("float6_e2m3fn", "float32"), ("float8_e3m4", "float64")],
)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_ml_dtypes_is_itself(need, name, source):
    need(ml_dtypes_cast)
    found = identify(lambda x: ml_dtypes_cast.codes(name, x), fp.get(name), source=source)
    assert "ml_dtypes" in found.profiles, str(found)


def test_ml_dtypes_rounds_doubles_twice(need):
    need(ml_dtypes_cast)
    cast = lambda x: ml_dtypes_cast.codes("float8_e5m2", x)  # noqa: E731
    report = check_cast(cast, "e5m2", source="float64")
    assert named(report.causes, ["double rounding through fp32"]), str(report)
    assert report.wrong >= 248  # one for each midpoint, measured


def test_torch_arrays_of_the_formats_own_type(need):
    need(torch_cast)
    import torch

    x = boundary_inputs("e4m3")
    made = torch.from_numpy(x.copy()).to(torch.float8_e4m3fn)
    assert_quantized(made, x, "e4m3", profile="torch")
    with pytest.raises(AssertionError, match=r"profile torch<=2\.12"):
        assert_quantized(made, x, "e4m3", profile="torch<=2.12")


@pytest.mark.parametrize("saturate", [True, False])
def test_cuda_headers_are_themselves(need, saturate):
    need(cuda_host)
    for name, fmt in (("e4m3", "e4m3"), ("e5m2", "e5m2")):
        cast = lambda x, name=name: cuda_host.codes(name, x, saturate=saturate)  # noqa: E731
        found = identify(cast, fmt)
        assert ("cuda_satfinite" if saturate else "cuda_nosat") in found.profiles, str(found)


@pytest.fixture
def one_thread(need):
    """torch in one thread: its threads wait for each other where others use the machine."""
    need(torch_cast)
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.exhaustive
def test_all_inputs_of_a_cast_that_is_right(one_thread):
    """2^32 inputs, in the memory of a few chunks."""
    report = check_cast(lambda x: torch_cast.codes("float8_e4m3fn", x), "e4m3", exhaustive=True, profile="torch")
    assert report, str(report)
    assert report.inputs == 1 << 32


@pytest.mark.exhaustive
def test_all_inputs_of_double_rounding(one_thread):
    """How many there are has been counted before by other means: 516096 of each sign."""
    import torch

    def cast(x):
        return torch_cast.codes("float8_e4m3fn", torch.from_numpy(x).to(torch.float16).numpy())

    report = check_cast(cast, "e4m3", exhaustive=True)
    assert report.wrong == 2 * 516096
    assert named(report.causes, ["double rounding through fp16"]), str(report)


def test_a_cause_that_would_change_many_right_codes_is_not_named():
    """One code in place of another: its neighbours are right, so nothing was clamped."""
    cast = lambda x: np.where((c := zoo.Kernel("e2m1")(x)) & 7 == 5, c - 1, c).astype(np.uint8)  # noqa: E731
    report = check_cast(cast, "e2m1")
    assert report.causes == ("wherever it differs, one step toward zero",)
