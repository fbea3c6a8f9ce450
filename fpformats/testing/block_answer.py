"""What somebody's block quantizer gave back: codes, scales and second level, a `BlockArray`, or values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import adapt
from ..block_format import BlockFormat
from ..blocks.array import BlockArray
from ..registry import get_element
from .lines import as_codes
from .source import Source

__all__ = ["Answer", "as_answer"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Answer:
    """Codes in x's shape with the rest in the shapes of a `BlockArray`'s, each None where nobody gave it; or values."""

    codes: Array | None = None
    scales: Array | None = None
    second: Array | None = None
    points: Array | None = None
    values: Source | None = None


def as_answer(actual: Any, fmt: BlockFormat, due: BlockArray, what: str = "actual") -> Answer:
    """Take it apart: a `BlockArray`, (codes, scales), (codes, scales, second level or zero points), codes, or values.

    Raises
    ------
    AssertionError
        Codes that are no values of the element format.
    TypeError, ValueError
        Other types and shapes; the message begins with `what`.
    """
    if isinstance(actual, BlockArray):
        own = actual.format
        if (own.element, own.block, own.scale) != (fmt.element, fmt.block, fmt.scale):
            raise ValueError(f"{what} is in {own.name}, {fmt.name} was expected")
        third = actual.zero_points if fmt.zero_point else actual.tensor_scale
        if (own.second, own.z) != (fmt.second, fmt.z):
            third = None  # another recipe's second level is another number
        actual = (actual.codes, actual.scales, third)
    if not isinstance(actual, tuple):
        seen = adapt(actual)
        if seen.format not in (None, fmt.element):
            return Answer(values=_values(actual, due, what))
        actual = (actual, None)
    if not 2 <= len(actual) <= 3:
        raise ValueError(f"{what} has {len(actual)} parts; (codes, scales) were expected, or these and a second level")
    codes, scales, third = (*actual, None)[:3]
    second = None if third is None or not fmt.second else _second(third, due, what)
    points = None if third is None or not fmt.zero_point else _points(third, due, what)
    return Answer(
        _codes(codes, fmt, due, what), None if scales is None else _scales(scales, fmt, due, what), second, points
    )


def _values(actual: Any, due: BlockArray, what: str) -> Source:
    got, shape = Source.of(actual, get_element("fp32"))
    if shape != due.shape:
        raise ValueError(f"{what} has shape {shape}, x has {due.shape}")
    return got


def _codes(codes: Any, fmt: BlockFormat, due: BlockArray, what: str) -> Array:
    element = get_element(fmt.element)
    got = as_codes(f"{what}'s codes", codes, element)
    if got.shape != due.shape:
        packed = got.flat.size * 8 == due.codes.size * element.bits
        hint = "; packed? fpformats.unpack takes them apart" if packed and element.bits < 8 else ""
        raise ValueError(f"{what}'s codes have shape {got.shape}, x has {due.shape}{hint}")
    if got.problem:
        raise AssertionError(got.problem)
    return got.flat.reshape(got.shape)


def _scales(scales: Any, fmt: BlockFormat, due: BlockArray, what: str) -> Array:
    if fmt.scale == "fp32":
        seen = adapt(scales)
        if seen.format != "fp32":
            raise TypeError(
                f"{what}'s scales are {seen.format or seen.data.dtype}; float32 was expected for {fmt.name}"
            )
        flat = np.ascontiguousarray(seen.data).view(np.float32).reshape(-1)
    else:
        got = as_codes(f"{what}'s scales", scales, get_element(fmt.scale))
        if got.problem:
            raise AssertionError(got.problem)
        flat = got.flat
    if flat.size != due.scales.size:
        raise ValueError(f"{what} has {flat.size} scales, {due.scales.size} were expected for {fmt.block_text} blocks")
    return flat.reshape(due.scales.shape)


def _second(given: Any, due: BlockArray, what: str) -> Array:
    second = np.asarray(given, np.float32)
    if second.size != due.tensor_scale.size:
        raise ValueError(
            f"{what} has {second.size} numbers of the second level; {due.tensor_scale.size} were expected: "
            f"{due.format.second_text}"
        )
    return second.reshape(due.tensor_scale.shape)


def _points(given: Any, due: BlockArray, what: str) -> Array:
    points = np.asarray(given)
    if points.dtype.kind not in "iu" or points.size != due.zero_points.size:
        raise ValueError(
            f"{what}'s zero points have dtype {points.dtype} and {points.size} numbers; "
            f"{due.zero_points.size} integers were expected"
        )
    return points.reshape(due.zero_points.shape)
