"""check_cast for block formats: whole blocks into somebody's quantizer, codes and scales out."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import adapt
from ..block_format import BlockFormat
from ..format import Format
from ..plan import code_dtype
from .block_case import BlockCase
from .block_inputs import block_bits, block_shape
from .block_message import describe_blocks, describe_values, level_line
from .call import Function, call_blocks
from .random_inputs import random_blocks
from .report import Report
from .source import Source

__all__ = ["block_array", "check_blocks"]

Array = NDArray[Any]


def block_array(fmt: BlockFormat, source: Format, *, level: int, x: Any, random: int, seed: int) -> Array:
    """The blocks of a check, as an array of the source's type: the caller's, random ones, or `boundary_inputs`."""
    if x is not None:
        if not np.ndim(x):
            raise ValueError(f"x is one number, {x!r}; an array of blocks was expected")
        seen = adapt(x)
        if seen.format != source.name:
            raise ValueError(f"x holds {seen.format or seen.data.dtype}, source is {source.name}")
        return Source(np.ascontiguousarray(seen.data).reshape(-1), source).array().reshape(seen.data.shape)
    if random:
        bits = np.concatenate(list(random_blocks(fmt, source, seed, random)))
    else:
        bits = block_bits(fmt, source, level)
    return Source(np.ascontiguousarray(bits, code_dtype(source)).reshape(-1), source).array().reshape(bits.shape)


def check_blocks(
    function: Function, fmt: BlockFormat, source: Format, nan_codes: str, *, level: int, x: Any, random: int, seed: int,
    options: dict[str, Any],
) -> Report:  # fmt: skip
    """`check.check_cast` for a block format; its docstring says all."""
    started = time.perf_counter()
    blocks = block_array(fmt, source, level=level, x=x, random=random, seed=seed)
    expected = BlockCase(fmt, blocks, options, np.zeros(0, np.uint8))
    height = block_shape(fmt)[0] if blocks.ndim > 1 else 1
    answer = call_blocks(function, blocks, expected, height)
    title, count = f"{fmt.name}, from {source.name}", expected.due._tiling.count
    text = ""
    causes: tuple[str, ...] = ()
    differ: Array = np.zeros(count, bool)
    if answer.values is not None:
        case = BlockCase(fmt, blocks, options, expected.due.codes)
        text, causes = describe_values(case, answer.values, title)
        wide, due = answer.values.wide().reshape(blocks.shape), case.due.decode().astype(np.float64)
        unlike = ~((wide == due) | (np.isnan(wide) & np.isnan(due)))
        differ = np.asarray(case.due._tiling.cut(unlike).any(axis=1))
    else:
        assert answer.codes is not None
        case = BlockCase(fmt, blocks, options, answer.codes, answer.scales)
        differ = case.differing(case.due, nan_codes)
        problem = level_line(case, answer)
        if differ.any():
            text, causes = describe_blocks([case], nan_codes, title)
            text += f"\n  {problem}" if problem else ""
        elif problem:
            text, differ = problem, np.ones(count, bool)
    wrong = int(differ.sum())
    return Report(
        fmt, None, source, count, wrong, 0, causes, int(differ.argmax()) if wrong else None,
        time.perf_counter() - started, text or f"{title}: all {count} blocks as expected",
    )  # fmt: skip
