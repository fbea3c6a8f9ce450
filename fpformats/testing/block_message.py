"""What a failed comparison of blocks says: scales first, then the elements, then the second level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..block_format import BlockFormat
from ..explore.words import text
from ..registry import get_element
from .block_answer import Answer
from .block_case import BlockCase
from .block_causes import block_causes
from .block_search import ALIKE, explain, fitting
from .message import SHOWN, value_text
from .source import Source

__all__ = ["describe_blocks", "describe_values", "level_line", "scale_text"]

Array = NDArray[Any]


def scale_text(value: Any, fmt: BlockFormat) -> str:
    """A stored scale, as its code and its value."""
    if fmt.scale == "fp32":
        return f"{float(value):.9g} = 0x{int(np.float32(value).view(np.uint32)):08x}"
    return value_text(int(value), get_element(fmt.scale))


def level_line(case: BlockCase, answer: Answer) -> str:
    """What is wrong with the second level or the zero points; "" where nothing is."""
    due, fmt = case.due, case.fmt
    if answer.second is not None and answer.second.tobytes() != due.tensor_scale.tobytes():
        return f"{fmt.name}: the second level is {answer.second}, {due.tensor_scale} was expected"
    if answer.points is not None and not (answer.points == due.zero_points).all():
        first = int((answer.points != due.zero_points).argmax())
        came, right = answer.points.reshape(-1)[first], due.zero_points.reshape(-1)[first]
        return f"{fmt.name}: a zero point is {came}, {right} was expected"
    return ""


def _cause_lines(causes: Sequence[str], alike: Sequence[str], whole: str) -> list[str]:
    if not causes:
        return []
    if len(causes) == 1:
        others = [f"    what fits as well: {'; '.join(alike)}"] if alike else []
        return [f"  likely cause: {causes[0]}{whole}", *others]
    return ["  likely causes, together:", *(f"    {cause}" for cause in causes)]


def _scale_lines(cases: Sequence[BlockCase]) -> list[str]:
    """The first scales that differ, with the amax of their blocks."""
    lines: list[str] = []
    count = total = 0
    for case in cases:
        due, fmt = case.due, case.fmt
        differ = np.flatnonzero(~case.equal_scales(due).reshape(-1))
        count, total = count + differ.size, total + due.scales.size
        if case.scales is None or not differ.size:
            continue
        numbers = Source.of(case.x, get_element("fp32"))[0].wide()
        blocks = due._tiling.cut(np.ascontiguousarray(np.abs(numbers).reshape(due.shape)))
        order = due._tiling.cut_scales(np.arange(due.scales.size).reshape(due.scales.shape))
        for i in differ[: max(SHOWN - len(lines) // 3, 0)].tolist():
            place = [int(j) for j in np.unravel_index(i, due.scales.shape)]
            with np.errstate(all="ignore"):
                amax = float(np.max(blocks[int(np.flatnonzero(order == i)[0])]))
            lines += [
                f"  scale {place}: the block's amax = {amax:.9g} = {amax.hex()}",
                f"    got       {scale_text(case.scales.reshape(-1)[i], fmt)}",
                f"    expected  {scale_text(due.scales.reshape(-1)[i], fmt)}",
            ]
    if not count:
        return []
    more = [f"  ... {count - SHOWN} more"] if count > SHOWN else []
    return [f"  {count} of {total} scales differ", *lines, *more]


def describe_blocks(cases: Sequence[BlockCase], nan: str, title: str) -> tuple[str, tuple[str, ...]]:
    """(the whole message, the causes in it) of cases in which something differs."""
    wrong = sum(int((~case.equal_codes(case.due, nan)).sum()) for case in cases)
    size = sum(case.codes.size for case in cases)
    scaled = sum(int((~case.equal_scales(case.due)).sum()) for case in cases)
    what = f"{wrong} of {size} codes differ" if wrong or not scaled else f"all {size} codes are right, not all scales"
    lines = [f"{title}: {what}"]
    element = get_element(cases[0].fmt.element)
    found = explain(cases, nan, f"elements ({element.name}, x over its scale)")
    scales = _scale_lines(cases)
    lines += _cause_lines(found.causes, found.alike, "; it explains every code and scale" if found.whole else "")
    if not found.causes:
        lines.append("  likely cause: none of the known ones explains every code and scale")
    lines += scales
    if found.elements and (not scales or found.causes):
        lines += ["  " + line for line in found.elements]
    elif found.whole and not scales:
        lines += _first_codes(cases, nan)
    return "\n".join(lines), found.causes


def _first_codes(cases: Sequence[BlockCase], nan: str) -> list[str]:
    """A few elements that differ, where their cause is known."""
    lines: list[str] = []
    for case in cases:
        differ = np.flatnonzero(~case.equal_codes(case.due, nan).reshape(-1))
        numbers, element = Source.of(case.x, get_element("fp32"))[0], get_element(case.fmt.element)
        for i in differ[: max(SHOWN - len(lines) // 3, 0)].tolist():
            place = [int(j) for j in np.unravel_index(i, case.due.shape)]
            lines += [
                f"  element {place}: x = {numbers.text(i)}",
                f"    got       {value_text(int(case.codes.reshape(-1)[i]), element)}",
                f"    expected  {value_text(int(case.due.codes.reshape(-1)[i]), element)}",
            ]
    return lines


def describe_values(case: BlockCase, got: Source, title: str) -> tuple[str, tuple[str, ...]]:
    """The same, where values came; "" where all are right."""
    wide, wanted = got.wide(), case.due.decode().reshape(-1).astype(np.float64)
    equal = _alike(wide, wanted)
    if equal.all():
        return "", ()
    lines = [f"{title}: {int((~equal).sum())} of {equal.size} values differ"]
    found = fitting(
        [case],
        block_causes(case.fmt),
        lambda case, made: bool(_alike(wide, made.decode().reshape(-1).astype(np.float64)).all()),
    )
    first = next(found, None)
    causes = () if first is None else (first,)
    alike = [name for _, name in zip(range(ALIKE), found, strict=False)] if causes else []
    lines += _cause_lines(causes, alike, "; it explains every value")
    numbers = Source.of(case.x, get_element("fp32"))[0]
    for i in np.flatnonzero(~equal)[:SHOWN].tolist():
        place = [int(j) for j in np.unravel_index(i, case.due.shape)]
        lines.append(f"  element {place}: x = {numbers.text(i)}; got {got.text(i)}, expected {text(float(wanted[i]))}")
    return "\n".join(lines), causes


def _alike(a: Array, b: Array) -> NDArray[np.bool_]:
    return (a == b) | (np.isnan(a) & np.isnan(b))
