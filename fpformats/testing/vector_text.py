"""Vectors as lines of hexadecimal codes: hex, csv and memh, out and in.

A text format is a row of `TEXTS`: what stands before the vectors, between fields, and between the codes of one field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ..plan import code_dtype
from .layout import Field
from .vector_sets import Job, Part, parts

__all__ = ["TEXTS", "TextFormat", "checked", "digits_of", "gathered", "hexadecimal", "read_text", "write_text"]

#: lines that are read at a time
LINES = 1 << 12
#: a simulator's word with bits that nothing drives
_UNKNOWN = re.compile(r"(?<!\w)(?:(?:0[xX])?[\da-fA-F]*(?:(?<!0)[xX]|[zZ])[\da-fA-FxXzZ]*|0[xX])(?!\w)")
_DIGITS = b"0123456789abcdef"
#: the two digits of each byte
_PAIRS = np.frombuffer(bytes(c for i in range(256) for c in (_DIGITS[i >> 4], _DIGITS[i & 15])), np.uint16)


@dataclass(frozen=True)
class TextFormat:
    """What stands before the vectors, before a line's first code, between fields, and between codes of one field."""

    head: str
    before: str
    between: str
    inside: str


TEXTS: dict[str, TextFormat] = {
    "hex": TextFormat("", "", " ", ""),
    "csv": TextFormat("{names}\n", "0x", ",0x", ",0x"),
    "memh": TextFormat("// {title}\n// {fields}\n", "", "_", ""),
}


def digits_of(codes: NDArray[np.unsignedinteger], digits: int) -> NDArray[np.uint8]:
    """Each code as so many ASCII digits: an axis more."""
    apart = np.ascontiguousarray(codes.astype(codes.dtype.newbyteorder(">"), copy=False))
    pairs = _PAIRS[apart.view(np.uint8).reshape(*codes.shape, codes.itemsize)]
    return pairs.view(np.uint8)[..., 2 * codes.itemsize - digits :]


def _names(fields: tuple[Field, ...]) -> str:
    return ",".join(field.name if field.count == 1 else ",".join(f"{field.name}_{i}" for i in range(field.count))
                    for field in fields)  # fmt: skip


def write_text(job: Job, how: str) -> Iterator[bytes]:
    """The file, some lines at a time."""
    row, fields = TEXTS[how], job.fields
    said = ", ".join(map(str, fields))
    yield row.head.format(title=job.title, names=_names(fields), fields=said).encode()
    empty = (row.before + row.between.join(row.inside.join(["0" * f.digits] * f.count) for f in fields) + "\n").encode()
    template = np.frombuffer(empty, np.uint8)
    for part in parts(job):
        lines = np.empty((len(part["input"]), template.size), np.uint8)
        lines[:] = template
        at = len(row.before)
        for field in fields:
            made = digits_of(part[field.name], field.digits)
            step = field.digits + len(row.inside)
            for i in range(field.count) if row.inside else ():
                lines[:, at + i * step : at + i * step + field.digits] = made[:, i]
            length = field.count * step - len(row.inside)
            if not row.inside:
                lines[:, at : at + length] = made.reshape(len(made), -1)
            at += length + len(row.between)
        yield lines.tobytes()


# --- reading --------------------------------------------------------------------------------------------
def _wanted(fields: tuple[Field, ...]) -> str:
    if all(field.count == 1 for field in fields):
        count = {2: "two", 3: "three", 4: "four", 5: "five"}[len(fields)]
        return f"{count} hexadecimal numbers were expected, {' and '.join(field.name for field in fields)}"
    return f"{', '.join(map(str, fields))} were expected, in hexadecimal, apart or the codes of a field in one word"


def _words(line: str) -> list[str]:
    return line.replace(",", " ").replace("_", " ").split()


def _holds_two(words: list[str], fields: tuple[Field, ...]) -> bool:
    """Whether what follows a vector looks like another one, which would not be seen."""
    widths, many = [len(word) for word in words], sum(field.count for field in fields)
    return len(words) >= 2 * many and widths[:many] == widths[many : 2 * many]


def hexadecimal(word: str) -> int:
    """A number in digits alone: `int` takes signs, blanks, underscores and the digits of other scripts too."""
    if not (word.isascii() and word.isalnum()):
        raise ValueError
    return int(word, 16)


def _taken(line: str, fields: tuple[Field, ...]) -> list[list[int]]:
    """The codes of a line, field by field; ValueError where there are others."""
    words = _words(line)
    if len(words) >= sum(field.count for field in fields):
        if _holds_two(words, fields):
            raise ValueError
        numbers = iter([hexadecimal(word) for word in words[: sum(field.count for field in fields)]])
        return [list(islice(numbers, field.count)) for field in fields]
    if len(words) < len(fields):
        raise ValueError
    made = []
    for word, field in zip(words, fields, strict=False):
        word = word.removeprefix("0x")
        if len(word) != field.count * field.digits:
            raise ValueError
        made.append([hexadecimal(word[i : i + field.digits]) for i in range(0, len(word), field.digits)])
    return made


def checked(codes: list[list[int]], fields: tuple[Field, ...], place: str) -> list[list[int]]:
    """The codes, when each is one of its format.

    Raises
    ------
    ValueError
        One is not; the message begins with the place.
    """
    for field, numbers in zip(fields, codes, strict=True):
        for number in numbers:
            if not 0 <= number < 1 << field.format.bits:
                shown = f"{number:#x}" if number >> 64 in (0, -1) else f"{number:#x}"[:18] + "..."
                raise ValueError(f"{place}: the {field.name} {shown} has more than {field.format.bits} bits")
    return codes


def gathered(records: Iterator[list[list[int]]], fields: tuple[Field, ...]) -> Iterator[Part]:
    """Vectors as arrays, some at a time."""
    while some := list(islice(records, LINES)):
        columns = zip(*some, strict=True)
        yield {field.name: np.array(column, np.uint64).astype(code_dtype(field.format))
               for field, column in zip(fields, columns, strict=True)}  # fmt: skip


def read_text(lines: Iterable[str], name: str, fields: tuple[Field, ...]) -> Iterator[Part]:
    """The vectors of a file, some at a time: hexadecimal numbers, apart by blanks, a comma or ``_``.

    What follows a vector (TestFloat's flags), empty lines, ``//`` and ``#`` comments and a first line of names are
    passed over.

    Raises
    ------
    ValueError
        A line that is no vector, with its number.
    """

    def records() -> Iterator[list[list[int]]]:
        for number, line in enumerate(lines, 1):
            text = line.split("//")[0].split("#")[0].strip()
            if not text or (number == 1 and text.startswith(fields[0].name)):
                continue
            try:
                codes = _taken(text, fields)
            except ValueError:
                shown = text if len(text) < 60 else text[:57] + "..."
                unknown = (
                    "; x and z are bits that a simulator does not know"
                    if _UNKNOWN.search(text.replace("_", " "))
                    else ""
                )
                two = "; each vector on a line of its own" if _holds_two(_words(text), fields) else ""
                raise ValueError(f"{name}, line {number}: {shown!r}; {_wanted(fields)}{two}{unknown}") from None
            yield checked(codes, fields, f"{name}, line {number}")

    return gathered(records(), fields)
