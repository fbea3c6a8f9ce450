"""Every peer of the table of differences is asked: it differs where its rows say, as they say, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import live
from test_differences import nan_codes, numbers

import fpformats as fp
from fpformats.testing import differences, peers
from fpformats.testing.differences import expected_codes
from fpformats.testing.words import SOME_NAN

TABLE = "fpformats/testing/difference_rows.py"
CASTS = [(p, fmt, source) for p in peers() if p.live for fmt, sources in p.casts.items() for source in sources]
ROWS = [row for row in differences() if row.peer.live]


def array(source):
    """The numbers as the type that the peer is given."""
    name = source.format.name
    if name == "bf16":
        import ml_dtypes

        return source.bits.view(ml_dtypes.bfloat16)
    return source.bits.view({"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}[name])


def ask(peer, given):
    return live.PEERS[peer.name].codes(given.fmt.name, array(given.source).copy()).astype(np.int64)


def check(peer, fmt, source, level, asked=None):
    """All that is said above, of one kind of cast."""
    given = numbers(fmt, source, fmt in peer.through_fp32, level)
    asked = ask(peer, given) if asked is None else asked
    default, theirs, nan = given.default, expected_codes(peer, given), nan_codes(fmt)
    where = f"{peer.name} {live.PEERS[peer.name].version()} (the rows speak of {peer.version}), {source} to {fmt}"

    def fail(what, bad):
        if bad.any():
            i = int(bad.argmax())
            x = given.source.text(i)
            pytest.fail(
                f"{where}: {what}. {int(bad.sum())} of {bad.size}; x = {x}: theirs {asked[i]:#x}, "
                f"as the rows say {theirs[i]:#x}, ours {default[i]:#x}. See {TABLE}"
            )

    differs, told = asked != default, np.zeros(asked.size, bool)
    for row in differences(peer.name, fmt):
        there = row.holds(given)
        told |= there
        if row.theirs == SOME_NAN:
            fail(f"the row «{row}» says that it is a NaN", there & ~nan[np.clip(asked, 0, nan.size - 1)])
            fail(f"the row «{row}» is out of date: all are ours", there & ~(differs & there).any())
            continue
        fail(f"the row «{row}» is out of date: no difference any more", there & ~differs)
        fail(f"the row «{row}» is out of date: theirs is not {row.theirs!r}", there & (asked != theirs))
    fail("no row says that it differs", differs & ~told)


@pytest.mark.parametrize(("peer", "fmt", "source"), CASTS, ids=[f"{p.name}-{fmt}-{s}" for p, fmt, s in CASTS])
def test_peer(peer, fmt, source, need):
    need(live.PEERS[peer.name])
    if source == "bfloat16":
        need(live.ml_dtypes_cast)
    check(peer, fmt, source, level=1 if fp.get(fmt).bits > 8 else 2)


def test_every_live_peer_can_be_asked():
    assert {peer.name for peer in peers() if peer.live} == set(live.PEERS)


@pytest.mark.parametrize("peer", [peer for peer in peers() if peer.live], ids=lambda peer: peer.name)
def test_a_changed_peer_fails(peer, need):
    """A peer that begins to act as we do, or to act differently once more, makes its rows' tests fail."""
    need(live.PEERS[peer.name])
    for fmt in peer.casts:
        source = peer.casts[fmt][0] if peer.casts[fmt][0] != "bfloat16" else "float32"
        if source not in peer.casts[fmt]:
            continue
        given = numbers(fmt, source, fmt in peer.through_fp32, 1)
        if any(row.speaks_of(fmt, source) for row in differences(peer.name, fmt)):
            with pytest.raises(pytest.fail.Exception, match="out of date"):
                check(peer, fmt, source, 1, asked=given.default)
        changed = expected_codes(peer, given)
        i = int(np.flatnonzero(given.x == 1.0)[0])
        changed[i] ^= 1
        with pytest.raises(pytest.fail.Exception, match="no row says that it differs"):
            check(peer, fmt, source, 1, asked=changed)
