"""Vector files: what casts and block quantizers have to give, for suites that are not Python.

A kind of file is a row of `FORMATS`: what it is, and what writes it. Which one a file is, its first bytes say.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import IO, Any

import numpy as np

from ..block_format import BlockFormat
from .block_vectors import verify_blocks
from .check import Tally
from .chunks import leaves_nan_out
from .lines import is_nan
from .report import Report
from .source import Source
from .vector_json import read_json, write_json
from .vector_npz import read_npz, write_npz
from .vector_sets import SETS, Job, Part
from .vector_text import read_text, write_text

__all__ = ["FORMATS", "SETS", "Job", "VectorFormat", "read_vectors", "verify_vectors", "write_vectors"]

#: parts among which the samples for the cause are shared
PARTS = 64


@dataclass(frozen=True)
class VectorFormat:
    """One kind of file."""

    what: str
    write: Callable[[Job, str], Iterator[bytes]]


FORMATS: dict[str, VectorFormat] = {
    "hex": VectorFormat("input and output, as TestFloat writes them", write_text),
    "csv": VectorFormat("comma-separated, with a line of names", write_text),
    "memh": VectorFormat("one word a line for $readmemh: input_output", write_text),
    "json": VectorFormat(
        "a header and one vector a line, with flags; data/vectors-1.schema.json is the schema", write_json
    ),
    "npz": VectorFormat("NumPy arrays: the fields, flags, and the header as text in metadata", write_npz),
}


def write_vectors(job: Job, how: str) -> Iterator[bytes]:
    """The file, part by part; an exhaustive one of 2^32 vectors is never held.

    NaN are left out where the format has none and the rules do not say what they become.
    """
    return FORMATS[how].write(job, how)


def read_vectors(file: IO[bytes], name: str, job: Job) -> Iterator[Part]:
    """The vectors of a file or a pipe, some at a time: codes by the names of fields, (vectors, codes in one).

    Raises
    ------
    ValueError
        What is no vector, with its line; a file of another job.
    """
    peeking: Any = file if hasattr(file, "peek") else io.BufferedReader(file)
    if peeking.peek(4)[:4] == b"PK\x03\x04":
        yield from read_npz(peeking if peeking.seekable() else io.BytesIO(peeking.read()), name, job)
        return
    decoded = (line.decode("utf-8-sig", "replace") for line in peeking)
    lines = (part + "\n" for line in decoded for part in line.rstrip("\r\n").split("\r"))  # any system's line ends
    blank = list(_to_first(lines))
    every = chain(blank, lines)
    if blank[-1].lstrip().startswith("{"):
        yield from read_json(every, name, job)
    else:
        yield from read_text(every, name, job.fields)


def _to_first(lines: Iterator[str]) -> Iterator[str]:
    """The lines up to the first that is not blank, and that one; "" where there is none."""
    for line in lines:
        yield line
        if line.strip():
            return
    yield ""


def verify_vectors(file: IO[bytes], name: str, job: Job, *, title: str, nan_codes: str) -> Report:
    """What a file of vectors says, as `check_cast` reports it.

    Raises
    ------
    ValueError
        A line that is no vector; no vectors at all.
    """
    made = read_vectors(file, name, job)
    if isinstance(job.fmt, BlockFormat):
        report = verify_blocks(made, job.fmt, job.source, title=title, nan_codes=nan_codes)
        if not report.inputs:
            raise ValueError(f"{name} holds no vectors: {', '.join(map(str, job.fields))} were expected")
        return report
    fmt, source, rules = job.fmt, job.source, job.rules
    assert rules is not None
    tally = Tally(PARTS, fmt, source, rules, nan_codes)
    largest = 0
    for part in made:
        bits, codes = part["input"].reshape(-1), part["output"].reshape(-1)
        keep = ~is_nan(bits, source) if leaves_nan_out(fmt, rules) else np.ones(bits.size, bool)
        largest = max(largest, int(bits.max()))
        tally.left_out += int(bits.size - keep.sum())
        bits, codes = bits[keep], codes[keep]
        if bits.size:
            tally.add(bits.copy, codes, Source(bits, source).encode(fmt, rules))
    if not tally.total:
        raise ValueError(f"{name} holds no pairs of input and output")
    report = tally.report(title)
    if report or largest >> source.bits // 2:
        return report
    hint = f"every input is below {1 << source.bits // 2:#x}: are they codes of a narrower type than {source.name}?"
    return replace(report, text=f"{report.text}\n  {hint}")
