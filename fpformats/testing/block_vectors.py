"""Vector files of block formats against their recipes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..block_format import BlockFormat
from ..format import Format
from .block_case import BlockCase, finished
from .block_message import describe_blocks
from .report import Report
from .vector_sets import Part, block_case, outputs

__all__ = ["verify_blocks"]

Array = NDArray[Any]
#: numbers of blocks that differ, which are kept to tell the cause
KEPT = 1 << 20


def _groups(part: Part, fmt: BlockFormat) -> Iterator[tuple[Any, Part]]:
    """Vectors of one tensor amax at a time, and that; all at once where there is none, or each row has its own."""
    if "tensor_amax" not in part:
        yield None, part
        return
    amaxes = part["tensor_amax"].reshape(-1)
    if fmt.second_of == "row":
        yield amaxes.view(np.float32), part
        return
    for bits in np.unique(amaxes):
        where = amaxes == bits
        yield bits.view(np.float32), {name: np.ascontiguousarray(codes[where]) for name, codes in part.items()}


_LEVELS = ("zero_point", "second_level")


def _level_text(fmt: BlockFormat, name: str, got: int, due: int) -> str:
    if name == "zero_point":
        return f"a zero point is {got:#x}, {due:#x} was expected"
    values = np.array([got, due], np.uint32).view(np.float32)
    right = f"{values[1]:.9g} = {due:#010x} was expected: {fmt.second_text}"
    return f"a second level is {values[0]:.9g} = {got:#010x}, {right}"


def verify_blocks(parts: Iterator[Part], fmt: BlockFormat, source: Format, *, title: str, nan_codes: str) -> Report:
    """What the vectors say, as `check_cast` reports it."""
    started = time.perf_counter()
    total = wrong = kept = 0
    first: int | None = None
    cases: list[BlockCase] = []
    problems: list[str] = []
    for part in parts:
        for amax, some in _groups(part, fmt):
            scales = some["scale"].reshape(-1)
            scales = scales.view(np.float32) if fmt.scale == "fp32" else scales
            case = block_case(fmt, source, some["input"], amax, some["output"], None)
            case = block_case(fmt, source, some["input"], amax, some["output"], case.due._tiling.join_scales(scales))
            ready = case.prepared()
            right, differ = outputs(ready, finished(ready)), case.differing(case.due, nan_codes)
            for name in _LEVELS:
                if name in some and (unlike := (some[name] != right[name]).reshape(-1)).any():
                    i = int(unlike.argmax())
                    problems.append(_level_text(fmt, name, int(some[name][i, 0]), int(right[name][i, 0])))
                    differ |= unlike
            if differ.any():
                first = total + int(differ.argmax()) if first is None else first
                wrong += int(differ.sum())
                if not case.agrees(case.due, nan_codes) and kept < KEPT:
                    cases.append(case)
                    kept += case.codes.size
            total += differ.size
    text = f"{title}: all {total} blocks as expected"
    causes: tuple[str, ...] = ()
    if cases:
        text, causes = describe_blocks(cases, nan_codes, title)
        text = "\n".join([f"{title}: {wrong} of {total} blocks differ", *text.splitlines()[1:]])
    elif wrong:
        text = f"{title}: {wrong} of {total} blocks differ"
    text = "\n  ".join([text, *problems[:3]])
    return Report(fmt, None, source, total, wrong, 0, causes, first, time.perf_counter() - started, text)
