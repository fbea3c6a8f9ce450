"""Vectors as JSON, in the manner of Wycheproof: a header that says everything, then one vector a line.

`data/vectors-1.schema.json` is the schema. Files are written and read as a stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from .flags import flag_names
from .layout import Field
from .vector_sets import Job, Part, parts
from .vector_text import checked, digits_of, gathered, hexadecimal

__all__ = ["check_header", "read_json", "write_json"]


def _listed(text: str, width: int) -> str:
    """The digits of some codes as a JSON array."""
    return "[" + ", ".join(f'"{text[i : i + width]}"' for i in range(0, len(text), width)) + "]"


def write_json(job: Job, how: str) -> Iterator[bytes]:
    """The file, some vectors at a time."""
    head = json.dumps(job.header(), indent=1)
    yield (head.removesuffix("\n}") + ',\n "vectors": [\n').encode()
    known: dict[int, str] = {}
    number, before = 1, ""
    named = ", ".join(
        f'"{field.name}": {"%s" if field.count > 1 else chr(34) + "%s" + chr(34)}' for field in job.fields
    )
    line = f'  {{"id": %d, {named}, "flags": %s}}'
    for part in parts(job, flags=True):
        columns = []
        for field in job.fields:
            made = digits_of(part[field.name], field.digits).reshape(len(part["input"]), -1)
            width, text = made.shape[1], made.tobytes().decode()
            texts = [text[i : i + width] for i in range(0, len(text), width)]
            columns.append(texts if field.count == 1 else [_listed(text, field.digits) for text in texts])
        bits = part["flags"].tolist()
        for some in set(bits) - known.keys():
            known[some] = json.dumps(flag_names(some))
        numbers = range(number, number + len(bits))
        lines = map(line.__mod__, zip(numbers, *columns, map(known.__getitem__, bits), strict=True))
        yield (before + ",\n".join(lines)).encode()
        number, before = number + len(bits), ",\n"
    yield b"\n ]\n}\n"


# --- reading --------------------------------------------------------------------------------------------
def _object(text: str, place: str, wanted: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # not only JSONDecodeError: thousands of digits, or of brackets
        raise ValueError(f"{place}: {getattr(error, 'msg', error)}; {wanted}") from None


def _codes(vector: Any, fields: tuple[Field, ...], place: str) -> list[list[int]]:
    """The codes of a vector, field by field."""
    example = ", ".join(f'"{field.name}": {"[...]" if field.count > 1 else chr(34) + "0" * field.digits + chr(34)}'
                        for field in fields)  # fmt: skip
    if not isinstance(vector, dict):
        raise ValueError(f"{place}: a vector such as {{{example}}} was expected")
    made = []
    for field in fields:
        value = vector.get(field.name)
        texts: list[Any] = value if isinstance(value, list) else [value]
        try:
            if len(texts) != field.count or not all(isinstance(text, str) for text in texts):
                raise ValueError  # also a number, which is decimal
            made.append([hexadecimal(text) for text in texts])
        except ValueError:
            raise ValueError(f"{place}: {field.name} is {json.dumps(value)[:60]}; {field}, in hexadecimal, "
                             "was expected") from None  # fmt: skip
    return checked(made, fields, place)


def check_header(header: Any, job: Job, name: str) -> None:
    """ValueError where the file speaks of another cast than the one that is asked about."""
    if not isinstance(header, dict):
        raise ValueError(f"{name}: a JSON object with vectors was expected")
    for key, due in (("format", job.fmt.name), ("source", job.source.name)):
        said = header.get(key)
        if isinstance(said, dict) and said.get("name", due) != due:
            raise ValueError(f"{name}: its {key} is {said['name']}, {due} was expected")
    said = header.get("rules")
    if isinstance(said, dict):
        for key, value in job.said().items():
            if key in said and said[key] != value:
                raise ValueError(f"{name}: its {key} is {said[key]!r}, {value!r} was asked for")


def read_json(lines: Iterable[str], name: str, job: Job) -> Iterator[Part]:
    """The vectors of a file, some at a time. What is written line by line is read so; other JSON is read whole.

    Raises
    ------
    ValueError
        What is no such file, with the line; another format, source or rules than the job's.
    """
    return gathered(_records(iter(lines), name, job), job.fields)


def _records(lines: Iterator[str], name: str, job: Job) -> Iterator[list[list[int]]]:
    head: list[str] = []
    for line in lines:
        head.append(line)
        if line.strip() == '"vectors": [':
            break
    first = next(lines, "")
    try:
        json.loads("".join(head) + "]}")
        streamed = first.strip() in ("]", "]}") or isinstance(json.loads(first.strip().rstrip(",")), dict)
    except (ValueError, RecursionError):
        streamed = False
    if not streamed:
        yield from _whole("".join(chain(head, [first], lines)), name, job)
        return
    check_header(json.loads("".join(head) + "]}"), job, name)
    number, wanted = len(head), "a vector on a line of its own was expected"
    for number, line in enumerate(chain([first], lines), len(head) + 1):
        text = line.strip()
        if text.startswith("]"):
            rest = "".join(chain(['{"vectors": [', text], lines))
            _object(rest, f"{name}, from line {number} on", "the end of the one JSON object was expected")
            return
        if text:
            place = f"{name}, line {number}"
            yield _codes(_object(text.rstrip(","), place, wanted), job.fields, place)
    raise ValueError(f"{name}, line {number}: the file ends among its vectors; ]}} was expected")


def _whole(text: str, name: str, job: Job) -> Iterator[list[list[int]]]:
    try:
        header = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{name}, line {error.lineno}: {error.msg}; JSON with a list of vectors was expected"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name}: {error}; JSON with a list of vectors was expected") from None
    vectors = header.get("vectors") if isinstance(header, dict) else None
    if not isinstance(vectors, list):
        raise ValueError(f'{name}: a JSON object with "vectors", a list, was expected')
    check_header(header, job, name)
    for i, vector in enumerate(vectors, 1):
        yield _codes(vector, job.fields, f"{name}, vector {i}")
