"""What a peer answered against the rows of the table of differences: shared by the tests with and without peers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

import fpformats as fp
from fpformats.testing import Difference, Peer
from fpformats.testing.difference import every_number
from fpformats.testing.differences import expected_codes
from fpformats.testing.seen import Numbers
from fpformats.testing.source import Source
from fpformats.testing.words import SOME_NAN

__all__ = ["check", "is_nan", "numbers"]

TABLE = "fpformats/testing/difference_rows.py"


@lru_cache(maxsize=64)
def numbers(fmt: str, source: str, through_fp32: bool, level: int = 1, step: int = 1) -> Numbers:
    """Inputs for casts from `source` to `fmt`: every `step`-th of `every_number`."""
    x = every_number(fmt, source, level)
    return Numbers(Source(x.bits[::step], x.format), fp.get(fmt), through_fp32)


@lru_cache(maxsize=64)
def nan_codes(fmt: str) -> np.ndarray:
    """Whether each code is a NaN."""
    return np.isnan(fp.decode(np.arange(1 << fp.get(fmt).bits, dtype=np.uint16), fmt))


def is_nan(fmt: str, codes: np.ndarray) -> np.ndarray:
    """Which codes are NaN; what is no code is none."""
    table = nan_codes(fmt)
    return table[np.clip(codes, 0, table.size - 1)] & (codes >= 0) & (codes < table.size)


def check(peer: Peer, given: Numbers, asked: np.ndarray, rows: Sequence[Difference], version: str) -> None:
    """Assert that `asked` differs from our default where the rows say, as they say, and nowhere else."""
    fmt = given.fmt.name
    default, theirs = given.default, expected_codes(peer, given, rows)
    where = f"{peer.name} {version} (the rows speak of {peer.version}), {given.source.format.name} to {fmt}"

    def fail(what: str, bad: np.ndarray) -> None:
        if bad.any():
            i = int(bad.argmax())
            raise AssertionError(
                f"{where}: {what}. {int(bad.sum())} of {bad.size}; x = {given.source.text(i)}: theirs {asked[i]:#x}, "
                f"as the rows say {theirs[i]:#x}, ours {default[i]:#x}. See {TABLE}"
            )

    differs, told = asked != default, np.zeros(asked.size, bool)
    for row in rows:
        there = row.holds(given)
        told |= there
        if row.theirs == SOME_NAN:
            fail(f"the row «{row}» is out of date: it says that this is a NaN", there & ~is_nan(fmt, asked))
            fail(f"the row «{row}» is out of date: all are ours", there & (not (differs & there).any()))
        else:
            fail(f"the row «{row}» is out of date: no difference any more", there & ~differs)
            fail(f"the row «{row}» is out of date: theirs is not {row.theirs!r}", there & (asked != theirs))
    fail("no row says that it differs", differs & ~told)
