"""The page of expected differences: a matrix of peers and formats, then the rows, each with an input that shows it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

import fpformats as fp
from fpformats.registry import FORMATS
from fpformats.testing import Difference, Peer, differences, peers
from fpformats.testing.difference import every_number
from fpformats.testing.differences import expected_codes
from fpformats.testing.seen import NO_CODE, Numbers
from fpformats.testing.source import Source
from fpformats.testing.words import NOT_A_CODE, SOME_NAN

#: what a cell of the matrix calls the rows whose inputs begin so
LABELS = {
    "NaN": "NaN", "+NaN": "NaN", "-NaN": "NaN", "signalling": "NaN", "overflow": "overflow", "infinities": "infinity",
    "float64": "float64", "ties": "rounding", "values between": "rounding", "negative": "sign", "zeros": "zero",
    "0 < x": "tiny", "2^-127 < x": "tiny", "x >": "overflow",
}  # fmt: skip
Table = Callable[[list[str], list[list[str]]], str]

HEAD = """# Compatibility

Where other implementations' casts differ from `fp.encode(x, fmt)` without further arguments, and why. The rows are
`fpformats.testing.differences()`, in `fpformats/testing/difference_rows.py`; each can say which inputs it means
(`row.where(x, fmt)`). Where a profile is named, `profile=` gives the peer's codes, bit for bit, for the inputs of the row.

For **peers that are asked** a test holds that each differs on the inputs of its rows, as they say, and nowhere else: on
`boundary_inputs` of the format (every value, midpoint and what lies beside them, every exponent, NaN with many payloads) as
float32 and float64, and on all 65,536 numbers of float16 and bfloat16, on an x86-64 CPU. When a peer changes, that test
fails and names the row. What is **known from sources** has not been run.

Not in the table: casts between 8-bit types (`tests/test_peers.py` has torch's and ml_dtypes'), gfloat's P3109 formats
(`tests/test_p3109.py`), stochastic rounding (the profile `ptx_rs`), the profiles of P3109 (`p3109_*`; a standard of its own
formats), HIP 6.2's emulation on the host, which is wrong for tiny inputs, and block formats ([recipes](recipes.md)).
"""


def _told(told: str | tuple[int, int]) -> str:
    if isinstance(told, str):
        return told
    positive, negative = told
    return f"`{positive:#x}`" if positive == negative else f"`{positive:#x}` / `{negative:#x}`"


def _code(code: int) -> str:
    return {NO_CODE: "ValueError", NOT_A_CODE: "no code"}.get(code, f"`{code:#x}`")


@lru_cache(maxsize=256)
def _numbers(fmt: str, source: str, through_fp32: bool) -> Numbers:
    """Some of the boundary inputs."""
    x = every_number(fmt, source)
    step = 7 if fp.get(fmt).bits > 8 else 1
    return Numbers(Source(x.bits[::step], x.format), fp.get(fmt), through_fp32)


def _example(row: Difference) -> str:
    """The first input in the narrowest format, and what becomes of it."""
    for fmt in sorted(row.formats, key=lambda name: fp.get(name).bits):
        for source in sorted(row.sources or row.peer.casts[fmt], key=lambda name: name != "float32"):
            if source not in row.peer.casts[fmt]:
                continue
            given = _numbers(fmt, source, fmt in row.peer.through_fp32)
            where = np.flatnonzero(row.holds(given))
            if where.size:
                one = Numbers(given.source.take(where[:1]), given.fmt, given.through_fp32)
                theirs = "a NaN" if row.theirs == SOME_NAN else _code(int(expected_codes(row.peer, one)[0]))
                return f"{fmt}: {one.source.text(0)} → {theirs}, ours {_code(int(one.default[0]))}"
    raise AssertionError(f"{row} speaks of no input")


def _label(row: Difference) -> str:
    return next(label for start, label in LABELS.items() if row.inputs.startswith(start))


def _sources(row: Difference) -> list[str]:
    """The types that the row names, those that its formats are reached from."""
    return [name for name in row.sources if any(name in row.peer.casts[fmt] for fmt in row.formats)]


def _matrix(chosen: list[Peer], table: Table) -> str:
    rows = []
    for fmt in FORMATS:
        if any(fmt in peer.casts for peer in chosen):
            cells = []
            for peer in chosen:
                links = [
                    f"[{_label(row)}](#r{i})"
                    for i, row in enumerate(differences(), 1)
                    if row.peer is peer and fmt in row.formats
                ]
                cells.append(", ".join(links) or ("same" if fmt in peer.casts else ""))
            rows.append([f"`{fmt}`", *cells])
    return table(["to", *(f"[{peer.name}](#peer-{i})" for i, peer in enumerate(peers(), 1) if peer in chosen)], rows)


def _section(number: int, peer: Peer, table: Table) -> str:
    rows = [
        [
            f'<a id="r{i}"></a>{i}', ", ".join(f"`{fmt}`" for fmt in row.formats), ", ".join(_sources(row)) or "any",
            row.inputs, _told(row.theirs), _told(row.ours), _example(row), row.reason, row.source,
            f"`{row.profile}`" if row.profile else "",
        ]
        for i, row in enumerate(differences(), 1) if row.peer is peer
    ]  # fmt: skip
    sources = sorted({source for sources in peer.casts.values() for source in sources})
    same = [f"`{fmt}`" for fmt in peer.casts if not any(fmt in row.formats for row in differences(peer.name))]
    return (
        f'\n<a id="peer-{number}"></a>\n\n### {peer.name}\n\n{peer.what}. Version: {peer.version}. From {", ".join(sources)}.'
        + (f" The same throughout: {', '.join(same)}." if same else "")
        + "\n\n"
        + table(["", "to", "from", "inputs", "theirs", "ours", "for example", "why", "source", "profile"], rows)
    )


def page(note: str, table: Table) -> str:
    """The whole page."""
    kinds = {
        "Peers that are asked": [peer for peer in peers() if peer.live],
        "Known from sources": [peer for peer in peers() if not peer.live],
    }
    parts = [
        note
        + HEAD
        + '\nWords lead to rows; "same" means no difference on any input; nothing: no such cast, or not compared.\n'
    ]
    for title, chosen in kinds.items():
        versions = "; ".join(f"{peer.name}: {peer.version}" for peer in chosen)
        parts.append(f"\n## {title}\n\nVersions: {versions}.\n\n" + _matrix(chosen, table))
    parts.append("\n## Rows\n\n`a / b` are the codes for positive and for negative inputs. \"float32(x)\" is x rounded to float32.\n")  # fmt: skip
    parts += [_section(i, peer, table) for i, peer in enumerate(peers(), 1)]
    return "".join(parts)
