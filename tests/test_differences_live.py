"""Every peer of the table of differences is asked: it differs where its rows say, as they say, and nowhere else.

A failure names the row. The inputs are `boundary_inputs`, with every exponent for formats up to 8 bits, and all numbers of
16-bit sources. That a missing or a changed row fails is tested in `test_differences.py`.
"""

from __future__ import annotations

import numpy as np
import pytest
from differing import check, numbers
from oracles import live, ml_dtypes_cast

import fpformats as fp
from fpformats.testing import differences, peers

CASTS = [(p, fmt, source) for p in peers() if p.live for fmt, sources in p.casts.items() for source in sources]


def array(source):
    """The numbers as the type that the peer is given; peers may not write into it."""
    name = source.format.name
    if name == "bf16":
        import ml_dtypes

        return source.bits.view(ml_dtypes.bfloat16).copy()
    return source.bits.view({"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}[name]).copy()


@pytest.mark.parametrize(("peer", "fmt", "source"), CASTS, ids=[f"{p.name}-{fmt}-{s}" for p, fmt, s in CASTS])
def test_peer(peer, fmt, source, need):
    need(live.PEERS[peer.name], *([ml_dtypes_cast] if source == "bfloat16" else []))
    given = numbers(fmt, source, fmt in peer.through_fp32, 1 if fp.get(fmt).bits > 8 else 2)
    asked = live.PEERS[peer.name].codes(fmt, array(given.source)).astype(np.int64)
    check(peer, given, asked, differences(peer.name, fmt), live.PEERS[peer.name].version())


def test_every_live_peer_can_be_asked():
    assert {peer.name for peer in peers() if peer.live} == set(live.PEERS)
