"""The table of expected differences agrees with itself, with `encode` and with the profiles; no peer is needed.

`tests/test_differences_live.py` asks the peers.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from differing import check, is_nan, numbers

import fpformats as fp
from fpformats.profiles import PROFILES
from fpformats.registry import FORMATS
from fpformats.testing import differences, peers
from fpformats.testing.differences import expected_codes
from fpformats.testing.seen import NO_CODE
from fpformats.testing.words import AS_MAGNITUDE, INPUTS, OUTCOMES, SOME_NAN

CASTS = [(peer, fmt, source) for peer in peers() for fmt, sources in peer.casts.items() for source in sources]
TITLES = [f"{peer.name}-{fmt}-{source}" for peer, fmt, source in CASTS]


def step(fmt):
    """Of the formats with many values a seventh: a step that meets values, midpoints and their neighbours alike."""
    return 7 if fp.get(fmt).bits > 8 else 1


def inputs(peer, fmt, source, every=None):
    return numbers(fmt, source, fmt in peer.through_fp32, step=every or step(fmt))


@lru_cache(maxsize=64)
def encoded(fmt, source, profile=None):
    """What `encode` gives for all of them, with NO_CODE where it raises for NaN."""
    x = numbers(fmt, source, False, step=step(fmt)).source
    raises = not fp.get(fmt).has_nan and (profile is None or PROFILES[profile].rows[fmt].nan_codes is None)
    nan = np.isnan(x.wide()) if raises else np.zeros(x.bits.shape, bool)
    if raises and nan.any():
        with pytest.raises(ValueError, match="NaN"):
            fp.convert(x.bits, x.format, fmt, profile=profile)
    codes = fp.convert(np.where(nan, x.bits.dtype.type(0), x.bits), x.format, fmt, profile=profile)
    return np.where(nan, NO_CODE, codes.astype(np.int64))


def shown(source, i):
    return f"x = {source.text(int(i))}"


def test_rows_are_well_formed():
    assert len({str(row) for row in differences()}) == len(differences())
    for row in differences():
        assert set(row.formats) <= set(row.peer.casts), row
        assert row.formats, row
        assert row.inputs in INPUTS, row
        for told in (row.theirs, row.ours):
            assert isinstance(told, tuple) or told in OUTCOMES or told in (SOME_NAN, AS_MAGNITUDE), (row, told)
        assert row.theirs != row.ours, row
        assert row.reason, row
        assert row.source, row
        for fmt in row.formats:
            assert fmt in FORMATS, row
            assert set(row.sources) & set(row.peer.casts[fmt]) or not row.sources, row


def test_every_profile_of_a_library_is_a_peer():
    """Or it is a row of the standards' own family, or rounds at random: neither has one answer to compare."""
    have = {peer.profile for peer in peers()}
    assert set(PROFILES) - have == {"ptx_rs", "p3109_finite", "p3109_propagate", "p3109_none"}


def test_words_are_all_used():
    assert {row.inputs for row in differences()} == set(INPUTS)
    assert {told for row in differences() for told in (row.theirs, row.ours) if isinstance(told, str)} == {
        *OUTCOMES, SOME_NAN, AS_MAGNITUDE
    }  # fmt: skip


@pytest.mark.parametrize(("peer", "fmt", "source"), CASTS, ids=TITLES)
def test_cast(peer, fmt, source):
    """Rows speak of different inputs; ours is what `encode` gives, theirs what it gives with the profile."""
    given = inputs(peer, fmt, source)
    x, default = given.source, encoded(fmt, source)
    by_profile = encoded(fmt, source, peer.profile) if peer.profile and fmt in PROFILES[peer.profile].rows else None
    theirs, told = expected_codes(peer, given), np.zeros(x.bits.size, bool)
    reproduced = np.ones(x.bits.size, bool)
    for row in differences(peer.name, fmt):
        there = row.holds(given)
        both = there & told
        assert not both.any(), f"{row}: another row speaks of {shown(x, both.argmax())} too"
        told |= there
        wrong = there & (row.codes(given, "ours") != default)
        assert not wrong.any(), f"{row}: ours is not {row.ours!r} for {shown(x, wrong.argmax())}"
        same = there & (theirs == default)
        assert not same.any() or row.theirs == SOME_NAN, f"{row}: no difference for {shown(x, same.argmax())}"
        if row.profile is None:
            reproduced &= ~there
        else:
            wrong = there & (by_profile != theirs)
            assert not wrong.any(), f"{row}: profile={row.profile!r} does not give it for {shown(x, wrong.argmax())}"
    if by_profile is not None and (fmt, source) not in peer.unprofiled:
        more = reproduced & ~told & (by_profile != default)
        assert not more.any(), f"profile={peer.profile!r} differs where no row says so: {shown(x, more.argmax())}"


@pytest.mark.parametrize("row", differences(), ids=str)
def test_row_speaks_of_something(row):
    """For each of its formats, from one of its sources at least."""
    for fmt in row.formats:
        found = [
            row.holds(inputs(row.peer, fmt, source)).any()
            for source in row.sources or row.peer.casts[fmt]
            if source in row.peer.casts[fmt]
        ]
        assert any(found), f"{row}: no input of {fmt} is meant"


def small_cast(row):
    """The cast of the row with the fewest inputs among which it speaks of some."""
    casts = [(fmt, s) for fmt in row.formats for s in row.sources or row.peer.casts[fmt] if s in row.peer.casts[fmt]]
    casts.sort(key=lambda cast: (fp.get(cast[0]).bits, cast[1] != "float32"))
    tried = (inputs(row.peer, *cast, every) for every in (7, 1) for cast in casts)
    return next(given for given in tried if row.holds(given).any())


@pytest.mark.parametrize("row", differences(), ids=str)
def test_a_wrong_table_and_a_changed_peer_fail(row):
    """What the tests of live peers do when a row is missing or says something else, and when the peer changes."""
    given = small_cast(row)
    rows = differences(row.peer.name, given.fmt)
    answers = expected_codes(row.peer, given)
    there = row.holds(given)
    if row.theirs == SOME_NAN:
        other = int(np.flatnonzero(is_nan(given.fmt.name, np.arange(1 << given.fmt.bits)))[-1])
        answers = np.where(there, other, answers)
    others = [other for other in rows if other is not row]
    ask = [row.peer, given, answers]

    check(*ask, rows, "")
    with pytest.raises(
        AssertionError, match=r"no row says that it differs|is out of date"
    ):  # of others that build on it
        check(*ask, others, "")
    with pytest.raises(AssertionError, match=rf"{re.escape(str(row))}» is out of date: (no difference|all are ours)"):
        check(row.peer, given, np.where(there, given.default, answers), rows, "")
    if row.theirs != SOME_NAN:
        with pytest.raises(AssertionError, match="is out of date: theirs is not"):
            check(*ask, [*others, replace(row, theirs=(3, 3))], "")
    for other in ("zeros", "NaN"):
        if row.inputs != other:
            with pytest.raises(AssertionError, match=r"out of date|no row says"):
                check(*ask, [*others, replace(row, inputs=other)], "")
    changed = answers.copy()
    changed[int((~there & (given.x > 0.5) & (given.x < 2)).argmax())] ^= 1
    with pytest.raises(AssertionError, match=r"no row says that it differs|is out of date"):
        check(row.peer, given, changed, rows, "")


def test_names_are_checked():
    with pytest.raises(ValueError, match="peer='pytorch': one of torch, ml_dtypes"):
        differences("pytorch")
    with pytest.raises(ValueError, match="e4m4"):
        differences(fmt="e4m4")
    assert differences("numpy", "float8_e4m3fn") == ()


def test_known_answers():
    """Worked out by hand."""

    def theirs(name, fmt, x):
        peer = next(peer for peer in peers() if peer.name == name)
        rows = differences(name, fmt)
        return expected_codes(peer, rows[0].numbers(x, fmt)).tolist()

    tie = 1 + 2.0**-4 + 2.0**-40  # float32 sees 1.0625, the midpoint of 0x38 = 1 and 0x39 = 1.125
    assert theirs("torch", "e4m3", np.float64([tie, -tie, 1.0, 500.0])) == [0x38, 0xB8, 0x38, 0x7E]
    assert theirs("ml_dtypes", "e4m3", np.float32([464, 464.00003, -np.inf])) == [0x7E, 0x7F, 0xFF]
    assert theirs("ml_dtypes", "e8m0", np.float32([1.5, 6.0, 0.0, -1.0])) == [128, 130, 0xFF, 0xFF]
    assert theirs("torch", "e8m0", np.float32([2.0**-127 * 1.25, -6.0, -0.0])) == [1, 130, 0]
    assert theirs("cuda_satfinite", "e8m0", np.float32([1.0, 1.0000001, -1.0000001, np.inf])) == [127, 128, 128, 254]
    assert theirs("numpy", "fp16", np.uint32([0x7F800001, 0xFFA12345]).view(np.float32)) == [0x7C01, 0xFD09]
