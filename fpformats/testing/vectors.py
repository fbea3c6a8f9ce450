"""Vector files: (input, output) pairs as text, for suites that are not Python.

A text format is a row of `FORMATS`: what stands before the pairs, and how a pair is written, with ``#`` for the digits.
All are hexadecimal, fixed in width, one pair a line, and the same bytes for the same arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..format import Format
from ..plan import code_dtype
from ..rounding import Rules
from .check import Report, Tally, leaves_nan_out
from .chunks import Chunk, chunks, expected_codes
from .lines import is_nan
from .source import Source

__all__ = ["FORMATS", "SETS", "VectorFormat", "read_vectors", "verify_vectors", "write_vectors"]

Array = NDArray[Any]
#: inputs at a time, and lines
SIZE, LINES = 1 << 16, 1 << 16
#: parts among which the samples for the cause are shared
PARTS = 64
SETS = ("boundary", "level2", "exhaustive", "random")


@dataclass(frozen=True)
class VectorFormat:
    """One text format: the line before the pairs, and what stands around input and output."""

    name: str
    what: str
    head: str
    before: str
    between: str


FORMATS: dict[str, VectorFormat] = {
    row.name: row
    for row in (
        VectorFormat("hex", "input and output, as TestFloat writes them", "", "", " "),
        VectorFormat("csv", "comma-separated, with a line of names", "input,output\n", "0x", ",0x"),
        VectorFormat("memh", "one word a line for $readmemh: input_output", "// {title}\n", "", "_"),
    )
}


def _digits(fmt: Format) -> int:
    return -(-fmt.bits // 4)


def _hexadecimal(codes: Array, digits: int) -> NDArray[np.uint8]:
    """Each code as so many ASCII digits, in a row."""
    shifts = np.arange(4 * (digits - 1), -1, -4, dtype=np.uint64)
    nibbles = (codes.astype(np.uint64)[:, None] >> shifts) & np.uint64(15)
    return np.frombuffer(b"0123456789abcdef", np.uint8)[nibbles]


def _lines(bits: Array, codes: Array, source: Format, fmt: Format, how: VectorFormat) -> bytes:
    def column(text: str) -> NDArray[np.uint8]:
        return np.broadcast_to(np.frombuffer(text.encode(), np.uint8), (bits.size, len(text)))

    parts = [column(how.before), _hexadecimal(bits, _digits(source)), column(how.between),
             _hexadecimal(codes, _digits(fmt)), column("\n")]  # fmt: skip
    return np.concatenate(parts, axis=1).tobytes()


def _inputs(fmt: Format, source: Format, which: str, seed: int, count: int) -> Iterator[Chunk]:
    if which == "random":
        rng = np.random.Generator(np.random.Philox(seed))
        for start in range(0, count, SIZE):
            size = min(SIZE, count - start)
            made = rng.integers(0, (1 << source.bits) - 1, size, dtype=np.uint64, endpoint=True)
            yield Chunk(source, made.astype(code_dtype(source)).copy)
        return
    yield from chunks(
        fmt, source, exhaustive=which == "exhaustive", level=2 if which == "level2" else 1, x=None, size=SIZE
    )[1]


def write_vectors(
    fmt: Format, source: Format, rules: Rules, how: str, *, which: str = "boundary", seed: int = 0, count: int = 10_000
) -> Iterator[bytes]:
    """The file, part by part; an exhaustive one of 2^32 lines is never held.

    NaN are left out where the format has none and the rules do not say what they become.
    """
    row = FORMATS[how]
    title = f"{source.name} to {fmt.name}, {rules.rounding}, {rules.overflow_of(fmt.has_inf)}, set {which}"
    yield row.head.format(title=title).encode()
    for chunk in _inputs(fmt, source, which, seed, count):
        part = chunk.without_nan() if leaves_nan_out(fmt, rules) else chunk
        bits = part.make()
        if bits.size:
            yield _lines(bits, expected_codes(part, bits, fmt, rules), source, fmt, row)


def _pair(line: str, number: int, name: str, widths: tuple[int, int]) -> tuple[int, int]:
    words = line.replace(",", " ").replace("_", " ").split()
    try:
        if len(words) < 2:
            raise ValueError
        pair = int(words[0], 16), int(words[1], 16)
    except ValueError:
        raise ValueError(f"{name}, line {number}: {line.strip()!r}; two hexadecimal numbers were expected, "
                         "input and output") from None  # fmt: skip
    for what, value, bits in zip(("input", "output"), pair, widths, strict=True):
        if not 0 <= value < 1 << bits:
            raise ValueError(f"{name}, line {number}: the {what} {value:#x} has more than {bits} bits")
    return pair


def read_vectors(lines: Iterable[str], name: str, fmt: Format, source: Format) -> Iterator[tuple[Array, Array]]:
    """(inputs, outputs) of a file, part by part: pairs of hexadecimal numbers, apart by blanks, a comma or ``_``.

    What follows a pair (TestFloat's flags), empty lines, ``//`` and ``#`` comments and a first line of names are passed
    over.

    Raises
    ------
    ValueError
        A line that is no pair, with its number.
    """

    def pairs() -> Iterator[tuple[int, int]]:
        for number, line in enumerate(lines, 1):
            text = line.split("//")[0].split("#")[0].strip()
            if text and not (number == 1 and text.replace(" ", "") == "input,output"):
                yield _pair(text, number, name, (source.bits, fmt.bits))

    every = pairs()
    while some := list(islice(every, LINES)):
        inputs, outputs = zip(*some, strict=True)
        yield np.array(inputs, code_dtype(source)), np.array(outputs, code_dtype(fmt))


def verify_vectors(
    lines: Iterable[str], name: str, fmt: Format, source: Format, rules: Rules, *, title: str, nan_codes: str
) -> Report:
    """What a file of pairs says, as `check_cast` reports it.

    Raises
    ------
    ValueError
        A line that is no pair; no pairs at all.
    """
    tally = Tally(PARTS, fmt, source, rules, nan_codes)
    for bits, codes in read_vectors(lines, name, fmt, source):
        keep = ~is_nan(bits, source) if leaves_nan_out(fmt, rules) else np.ones(bits.size, bool)
        tally.left_out += int(bits.size - keep.sum())
        bits, codes = bits[keep], codes[keep]
        if bits.size:
            tally.add(bits.copy, codes, Source(bits, source).encode(fmt, rules))
    if not tally.total:
        raise ValueError(f"{name} holds no pairs of input and output")
    return tally.report(title)
