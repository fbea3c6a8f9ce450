"""`explain`: the numbers it tells, against literals worked out by hand, and its words against its numbers."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fpformats as fp
from fpformats import reference
from fpformats.explore.explain import explain
from fpformats.explore.words import dyadic, fields, text
from fpformats.rounding import ROUNDINGS

HALF = Fraction(1, 2)


def test_between_two_values():
    """3.1 in e4m3: binade [2, 4) has steps of 1/4; 3 = 0 1000 100 and 3.25 = 0 1000 101."""
    told = explain("3.1", "e4m3")
    assert told.exact == Fraction(31, 10)
    assert (told.below.value, told.below.code, told.below.line) == (3, 0x44, 0x44)
    assert (told.above.value, told.above.code, told.above.line) == (Fraction(13, 4), 0x45, 0x45)
    assert told.midpoint == Fraction(25, 8)
    assert told.discarded == Fraction(2, 5)
    assert told.grs == (0, 1, 1)  # 0.4 = .0110...
    assert not told.tie
    assert (told.code, told.value) == (0x44, 3)
    assert told.error == Fraction(-1, 10)
    assert told.ulps == 0.4
    assert told.events == ()


@pytest.mark.parametrize(
    ("x", "rounding", "value"),
    [
        (17, "nearest_even", 16),  # between 16 (line 88) and 18: the even line
        (19, "nearest_even", 20),  # between 18 (line 89) and 20
        (17, "nearest_away", 18),
        (19, "nearest_zero", 18),
        (17, "to_odd", 18),
        (-17, "toward_positive", -16),
        (-17, "toward_negative", -18),
        (-17, "away_from_zero", -18),
        (-17, "toward_zero", -16),
    ],
)
def test_ties(x, rounding, value):
    told = explain(x, "e4m3", rounding=rounding)
    assert told.tie
    assert told.discarded == HALF
    assert told.grs == (1, 0, 0)
    assert told.value == value
    assert told.ulps == 0.5
    assert ROUNDINGS[rounding].rule in told.rule
    assert told.below.value < x < told.above.value
    assert "a tie" in str(told)


def test_neighbours_are_ordered_by_value():
    told = explain("-3.1", "e4m3")
    assert (told.below.value, told.below.code) == (Fraction(-13, 4), 0xC5)
    assert (told.above.value, told.above.code) == (-3, 0xC4)


def test_a_value_of_the_format():
    told = explain(448, "e4m3")
    assert told.below == told.above
    assert (told.below.value, told.code, told.discarded, told.error, told.ulps) == (448, 0x7E, 0, 0, 0)
    assert "nothing is discarded" in told.decision


def test_overflow_is_decided_after_rounding():
    """e4m3 ends at 448; the next step of its line is 480 and the midpoint 464 rounds down, to the even 448."""
    stays = explain(464, "e4m3", overflow="nonfinite")
    assert (stays.value, stays.events, stays.above.value, stays.above.code) == (448, (), 480, None)
    over = explain("464.0001", "e4m3", overflow="nonfinite")
    assert (over.code, math.isnan(over.value)) == (0x7F, True)
    assert over.events[0].startswith("overflow: line 127 is beyond the last finite one, 126. nonfinite")
    assert explain(500, "e4m3").value == 448
    assert explain(500, "e4m3").ulps == 52 / 32
    inward = explain(1e6, "fp16", rounding="toward_zero")
    assert (inward.value, "inward" in inward.events[0]) == (65504, True)


def test_default_overflow_follows_the_format():
    assert explain(1e6, "e5m2").value == math.inf
    assert explain(math.inf, "e4m3").value == 448
    assert explain(-math.inf, "fp16").value == -math.inf
    assert explain(-math.inf, "fp16").error == 0


def test_small_numbers():
    """e4m3: smallest normal 2^-6, smallest 2^-9."""
    subnormal = explain("0.01", "e4m3")  # 5.12 steps of 2^-9
    assert (subnormal.value, subnormal.code) == (Fraction(5, 512), 5)
    assert subnormal.discarded == Fraction(12, 100)
    assert subnormal.events[0].startswith("subnormal")
    zero = explain(Fraction(1, 1024), "e4m3")  # a tie with zero, which is even
    assert (zero.tie, zero.value, zero.code, zero.ulps) == (True, 0, 0, 0.5)
    assert zero.events[0].startswith("underflow")
    before = explain("0.0155", "e4m3", subnormals="flush_before_rounding")
    after = explain("0.0155", "e4m3", subnormals="flush_after_rounding")  # rounds up to the normal 2^-6 first
    assert (before.value, before.events[0][:5]) == (0, "flush")
    assert (after.value, after.events) == (Fraction(1, 64), ())
    assert explain(-1e-9, "e4m3").code == 0x80


def test_flush_inputs_needs_a_source():
    tiny = np.float32(1e-40)
    assert explain(tiny, "fp32", subnormals="flush_inputs").value == 0
    assert explain(tiny, "fp32").value == Fraction(float(tiny))
    assert explain("1e-40", "fp32", subnormals="flush_inputs").value != 0  # a decimal has no type to be subnormal in


def test_nan():
    told = explain(math.nan, "e5m2")
    assert (told.code, told.below, told.discarded, told.events[0][:3]) == (0x7E, None, None, "NaN")
    with pytest.raises(ValueError, match="NaN has no code in e2m1"):
        explain(math.nan, "e2m1")
    assert explain("nan", "e2m1", nan="max").value == 6
    assert explain("nan", "e2m1", nan="zero").value == 0


def test_unsigned_and_without_zero():
    assert explain(-3, "ue4m3").value == 0
    assert any("unsigned" in event for event in explain(-3, "ue4m3").events)
    assert explain(0, "e8m0").value == Fraction(1, 1 << 127)
    assert "has no zero" in explain(0, "e8m0").events[0]
    below = explain("1e-50", "e8m0")
    assert (below.below, below.above.code, below.value) == (None, 0, Fraction(1, 1 << 127))


def test_twos_complement_end():
    assert (explain(-2, "int8").code, explain(-2, "int8").value) == (0x80, -2)
    assert explain(2, "int8").value == Fraction(127, 64)


def test_a_format_without_subnormals():
    toy = fp.Format("toy", exponent_bits=3, mantissa_bits=2, bias=3, emax=2, subnormals=False)
    assert explain("3.1", toy).value == 3
    told = explain("0.1", toy)  # between 0 and 1/4, no value between
    assert (told.below.value, told.above.value, told.discarded, told.value) == (0, Fraction(1, 4), Fraction(2, 5), 0)


def test_a_profile_s_first_rounding_has_a_mode_of_its_own():
    """torch: a double between 2^-127 and the next float32 goes to the even one, though E8M0 then rounds ties away."""
    x = 2.0**-127 * (1 + 2.0**-23)
    e = explain(x, "e8m0", profile="torch")
    assert (e.via, e.code, e.value) == (Fraction(1, 2**127), 0x00, Fraction(1, 2**127))
    assert fp.encode(np.array([x]), "e8m0", profile="torch").tolist() == [0x00]


def test_double_rounding_through_a_profile():
    """1 + 2^-4 + 2^-40 is above the midpoint of 1 and 1.125, but not once it has been through float32."""
    x = 1 + 2.0**-4 + 2.0**-40
    assert explain(x, "e4m3").value == Fraction(9, 8)
    told = explain(x, "e4m3", profile="torch")
    assert (told.via, told.tie, told.value) == (Fraction(17, 16), True, 1)
    assert "through fp32" in str(told)
    assert explain(x, "e4m3", via="fp32").value == 1


def test_stochastic_needs_its_bits():
    with pytest.raises(ValueError, match="random="):
        explain(2.5, "e2m1", rounding="stochastic")
    # v = 1/2, N = 3: up exactly when 4 + R >= 8
    assert [explain(2.5, "e2m1", rounding="stochastic", random=(r, 3)).value for r in range(8)] == [2] * 4 + [3] * 4
    with pytest.raises(ValueError, match="2\\*\\*N"):
        explain(2.5, "e2m1", rounding="stochastic", random=(8, 3))


@pytest.mark.parametrize(
    ("same", "value"),
    [
        (0.1, Fraction(0.1)),
        (np.float32(0.1), Fraction(13421773, 1 << 27)),
        (np.array(0.1), Fraction(0.1)),
        (np.int64(2**53 + 1), Fraction(2**53 + 1)),
        (2**80 + 1, Fraction(2**80 + 1)),
        ("0.1", Fraction(1, 10)),
        (Decimal("0.1"), Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("0x1.8p1", Fraction(3)),
        (True, Fraction(1)),
        (np.longdouble(1) / 3, Fraction(*(np.longdouble(1) / 3).as_integer_ratio())),
        (np.longdouble("inf"), float("inf")),
    ],
)
def test_sources_are_exact(same, value):
    assert explain(same, "fp64").exact == value


def test_minus_zero_of_any_type():
    for zero in (-0.0, np.float16(-0.0), np.longdouble(-0.0)):
        assert str(explain(zero, "e4m3").exact) == "-0.0"


@pytest.mark.parametrize("bad", [[1.0, 2.0], np.ones(3), np.ones((1, 1)), 1j, None, np.complex64(1), b"1"])
def test_one_real_number_only(bad):
    with pytest.raises(TypeError, match=r"one (real )?number"):
        explain(bad, "e4m3")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounding": "nearest"}, "nearest"),
        ({"overflow": "wrap"}, "overflow='wrap'"),
        ({"nan": "keep"}, "nan='keep'"),
        ({"subnormals": "ftz"}, "subnormals='ftz'"),
        ({"profile": "torch", "rounding": "to_odd"}, "already decides rounding"),
        ({"profile": "nosuch"}, "profile='nosuch'"),
        ({"via": "e4m4"}, "unknown format"),
    ],
)
def test_unknown_options(options, message):
    with pytest.raises(ValueError, match=message):
        explain(1, "e4m3", **options)


def test_decimal_exponents_have_a_limit():
    with pytest.raises(ValueError, match="decimal exponent"):
        explain("1e999999999", "e4m3")
    assert explain("1e4000", "e4m3").value == 448
    assert explain("1e4940", "binary16p1se").value == math.inf  # its largest is 2^16382


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e2m1", "e8m0", "ue4m3", "int8", "binary6p3uf", "fp16"])
@given(x=st.floats(allow_nan=False, width=32), mode=st.sampled_from(sorted(ROUNDINGS)), bits=st.integers(0, 255))
def test_the_words_agree_with_the_result(name, x, mode, bits):
    told = explain(x, name, rounding=mode, random=(bits, 8))
    assert told.value == reference.decode(told.code, name) or math.isnan(told.value)
    if told.discarded is not None and not told.events:
        if told.discarded:
            assert told.decision.endswith(": away from zero" if abs(told.value) > abs(x) else ": toward zero")
        else:
            assert told.decision.endswith("nothing is discarded, so no rule is asked")
        chosen = told.above if told.value > x or not told.discarded else told.below
        assert chosen.value == told.value
        assert chosen.code == told.code
        assert told.ulps <= 1  # as a float: the exact quotient is below
    if told.discarded is not None:
        assert told.below.value <= told.midpoint <= told.above.value or told.discarded == 0
        assert told.tie == (told.discarded == HALF)
    json.dumps(told.as_dict(), allow_nan=False)
    assert str(told)


def test_as_dict_is_plain():
    data = explain("3.1", "e4m3").as_dict()
    assert data["exact"] == "31/10"
    assert data["below"] == {"value": 3.0, "line": 0x44, "code": 0x44}
    assert data["fields"] == "0 1000 100"
    assert data["guard_round_sticky"] == [0, 1, 1]
    assert data["value"] == 3.0
    assert explain(math.inf, "e5m2").as_dict()["value"] == "inf"
    json.dumps(explain("1e4940", "binary16p1se").as_dict(), allow_nan=False)


def test_text():
    assert text(Fraction(31, 10)) == "3.1"
    assert text(Fraction(1, 3)) == "~0.333333333333"
    assert text(Fraction(10) ** 20) == "1e20"
    assert dyadic(Fraction(1, 3)) == "1/3"
    assert dyadic(Fraction(0.1)) == "3602879701896397*2^-55"
    assert fields(0x9, fp.get("e2m1")) == "1 00 1"
    lines = str(explain(0.1, "e4m3")).splitlines()
    assert lines[0] == "0.1 into e4m3"
    assert lines[1] == "  exact value  ~0.1 = 3602879701896397*2^-55"
    assert "  result       0.1015625 = code 0x1d = 0 0011 101" in lines
