"""The vectors of a file: which, and what each has to become. How they are written is another matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..arrays import Adapted
from ..block_format import BlockFormat
from ..blocks.array import BlockArray
from ..blocks.encode import Prepared
from ..format import Format
from ..registry import get_element
from ..rounding import Rules
from .block_case import BlockCase, finished
from .block_inputs import block_bits, block_shape
from .chunks import chunks, expected_codes, leaves_nan_out
from .flags import FLAGS, Facts, flag_bits
from .layout import Field, layout
from .random_inputs import random_blocks
from .source import Source

__all__ = ["SCHEMA", "SETS", "Job", "Part", "alone", "block_case", "outputs", "parts"]

Array = NDArray[Any]
#: codes by the names of fields: (vectors, codes in one)
Part = dict[str, Array]
#: inputs at a time
SIZE = 1 << 16
SETS = ("boundary", "level2", "exhaustive", "random")
#: what JSON files say they follow: `data/vectors-1.schema.json`
SCHEMA = "urn:fpformats:vectors-1"


@dataclass(frozen=True)
class Job:
    """What a file holds. ``rules`` is None of block formats: the recipe says it."""

    fmt: Format | BlockFormat
    source: Format
    rules: Rules | None = None
    which: str = "boundary"
    seed: int = 0
    count: int = 10_000
    tensor_amax: float | None = None

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """Of a vector."""
        return layout(self.fmt, self.source)

    @cached_property
    def title(self) -> str:
        """The job in a line."""
        fmt, rules = self.fmt, self.rules
        how = f"{rules.rounding}, {rules.overflow_of(fmt.has_inf)}, " if rules and isinstance(fmt, Format) else ""
        return f"{self.source.name} to {self.fmt.name}, {how}set {self.which}"

    def said(self) -> dict[str, Any]:
        """What the vectors follow: the rules, or the recipe's expressions."""
        fmt, rules = self.fmt, self.rules
        if isinstance(fmt, BlockFormat):
            names = (
                "element",
                "scale",
                "v",
                "rule",
                "y",
                "q",
                "z",
                "zero_point",
                "rounding",
                "overflow",
                "zero",
                "clause",
            )
            return {name: getattr(fmt, name) for name in names}
        assert rules is not None
        said = {name: getattr(rules, name) for name in ("rounding", "nan", "subnormals", "via")}
        codes = rules.nan_codes
        return {**said, "overflow": rules.overflow_of(fmt.has_inf), "nan_codes": None if codes is None else list(codes)}

    def header(self) -> dict[str, Any]:
        """Everything but the vectors."""
        fmt = self.fmt
        facts = {"name": fmt.name, "bits": fmt.bits} if isinstance(fmt, Format) else {
            "name": fmt.name, "bits": get_element(fmt.element).bits, "block": list(block_shape(fmt))}  # fmt: skip
        header = {
            "schema": SCHEMA,
            "generator": {"name": "fpformats", "version": __version__},
            "format": facts,
            "source": {"name": self.source.name, "bits": self.source.bits},
            "rules": self.said(),
            "set": self.which,
            "fields": [field.facts() for field in self.fields],
            "flags": {flag.name: flag.what for flag in FLAGS},
        }
        return header | ({"seed": self.seed, "count": self.count} if self.which == "random" else {})


def parts(job: Job, *, flags: bool = False) -> Iterator[Part]:
    """The vectors, some at a time; with flags, a field of that name holds their bits."""
    made = _numbers(job) if isinstance(job.fmt, Format) else _blocks(job, job.fmt)
    for part, numbers, cast in made:
        if flags:
            part["flags"] = flag_bits(numbers, cast, part["input"].shape)
        yield part


def _numbers(job: Job) -> Iterator[tuple[Part, Facts, Facts | None]]:
    fmt, rules = job.fmt, job.rules
    assert isinstance(fmt, Format)
    assert rules is not None
    level, random = 2 if job.which == "level2" else 1, job.count if job.which == "random" else 0
    made = chunks(fmt, job.source, exhaustive=job.which == "exhaustive", level=level, x=None, size=SIZE, random=random,
                  seed=job.seed)[1]  # fmt: skip
    for chunk in made:
        part = chunk.without_nan() if leaves_nan_out(fmt, rules) else chunk
        bits = part.make()
        if bits.size:
            codes = expected_codes(part, bits, fmt, rules)
            facts = Facts(Source(bits, job.source), fmt)
            yield {"input": bits[:, None], "output": codes[:, None]}, facts, facts


# --- blocks -------------------------------------------------------------------------------------------
def alone(fmt: BlockFormat) -> BlockFormat:
    """The recipe for arrays of whole blocks; a row or a tensor with one scale is a block of so many numbers."""
    return replace(fmt, block=block_shape(fmt))


def block_case(
    fmt: BlockFormat, source: Format, bits: Array, amax: Any, codes: Array, scales: Array | None
) -> BlockCase:
    """Blocks of a vector file, one a row of `bits` and `codes`, as a case."""
    width = block_shape(fmt)[1]
    x = Adapted(np.ascontiguousarray(bits).reshape(-1, width), source.name, lambda made, name: made)
    return BlockCase(alone(fmt), x, {"tensor_amax": amax}, codes.reshape(-1, width), scales)


def _tensors(job: Job, fmt: BlockFormat) -> Iterator[Array]:
    if job.which == "random":
        yield from random_blocks(fmt, job.source, job.seed, job.count)
    else:
        yield block_bits(fmt, job.source, 2 if job.which == "level2" else 1)


def outputs(ready: Prepared, due: BlockArray) -> Part:
    """The codes of each field but the input, one block a row."""
    tiles, count = due._tiling, due._tiling.count
    scales = tiles.cut_scales(due.scales)
    part = {"output": tiles.cut(due.codes)}
    part["scale"] = (scales.view(np.uint32) if scales.dtype.kind == "f" else scales)[:, None]
    if due.zero_points is not None:
        mask = np.uint8((1 << get_element(due.format.element).bits) - 1)
        part["zero_point"] = (tiles.cut_scales(due.zero_points).view(np.uint8) & mask)[:, None]
    for name, value in (("tensor_amax", ready.scaling.G), ("second_level", due.tensor_scale)):
        each = np.broadcast_to(np.asarray(0 if value is None else value, np.float32).reshape(-1), (count,))
        part[name] = np.ascontiguousarray(each).view(np.uint32)[:, None]
    return part


def _blocks(job: Job, fmt: BlockFormat) -> Iterator[tuple[Part, Facts, Facts | None]]:
    rows, columns = block_shape(fmt)
    for bits in _tensors(job, fmt):
        case = block_case(fmt, job.source, bits, job.tensor_amax, np.zeros(bits.shape, np.uint8), None)
        ready = case.prepared()
        due = finished(ready)
        part = {"input": bits.reshape(-1, rows * columns)} | outputs(ready, due)
        y, element = case.scaled(due.scales), get_element(fmt.element)
        numbers = Facts(Source(np.ascontiguousarray(bits).reshape(-1), job.source), element)
        yield part, numbers, None if y is None else Facts(y, element)
