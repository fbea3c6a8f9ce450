"""What a failed comparison says."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .. import reference
from ..explore.words import fields, text
from ..format import Format
from .case import Case
from .lines import FAR, ulp_distance
from .search import Verdict, likely, partly
from .source import Source

__all__ = ["describe", "difference_lines", "value_text", "verdict_lines"]

#: differences that are printed, and those among which they are chosen
SHOWN, LOOKED_AT = 5, 4096
#: other causes that are named where they fit just as well
ALIKE = 2


def value_text(code: int, fmt: Format) -> str:
    """A code in hexadecimal, in its fields, and its value."""
    digits = -(-fmt.bits // 4)
    try:
        value = text(reference.decode(code, fmt))
    except ValueError:
        value = "no value"
    return f"0x{code:0{digits}x} = {fields(code, fmt)} = {value}"


def _part(v: Fraction) -> str:
    """How far between two neighbours, in words."""
    marks = {Fraction(0): "the lower one", Fraction(1, 2): "the midpoint", Fraction(1): "the upper one"}
    for mark, name in marks.items():
        if v == mark:
            return "a tie"
        if abs(v - mark) < Fraction(1, 1000):
            return f"just {'above' if v > mark else 'below'} {name}"
    return f"{text(Fraction(round(v * 1000), 1000))} of the way"


def _near(x: Fraction | float, fmt: Format, source: Source, i: int) -> list[str]:
    """The neighbours of x, and what kind of number it is."""
    if isinstance(x, float) and not math.isfinite(x):
        return ["x is NaN" if math.isnan(x) else "x is infinite"]
    negative, magnitude = reference.exact(x)
    assert isinstance(magnitude, Fraction)
    said = []
    largest = Fraction(fmt.value_of_line(fmt.max_line + (fmt.twos_complement and negative)))
    line, v, step = reference.line_and_fraction(magnitude, fmt)
    sign = "-" if negative else ""
    low, high = (sign + text(fmt.value_of_line(k)) for k in (line, line + step))
    if magnitude > largest:
        said.append(f"x is beyond {sign}{text(largest)}, the largest value")
        if line == fmt.max_line and v:
            said[-1] += f", {'at' if v == Fraction(1, 2) else 'below' if v < Fraction(1, 2) else 'above'} the midpoint"
    elif v:
        said.append(f"x lies between {low} and {high}: {_part(v)}")
    else:
        said.append("the format holds x")
    if 0 < magnitude < Fraction(fmt.smallest_normal) and fmt.exponent_bits:
        said.append(f"below the smallest normal number {text(Fraction(fmt.smallest_normal))}")
    if 0 < magnitude < Fraction(source.format.smallest_normal):
        said.append(f"x is subnormal in {source.format.name}")
    return said


def difference_lines(case: Case, i: int, where: str) -> list[str]:
    """One element that differs."""
    fmt, got, due = case.fmt, int(case.actual[i]), int(case.expected[i])
    apart = int(ulp_distance(case.actual[i : i + 1], case.expected[i : i + 1], fmt)[0])
    distance = "NaN against a number" if apart == FAR else f"{apart} ulp apart"
    head = f"  {where}" + ("" if case.source is None else f": x = {case.source.text(i)}")
    notes = [] if case.source is None else _near(case.source.exact(i), fmt, case.source, i)
    return [
        head,
        f"    got       {value_text(got, fmt)}",
        f"    expected  {value_text(due, fmt)}",
        f"    {'; '.join([distance, *notes])}",
    ]


def verdict_lines(verdicts: tuple[Verdict, ...], part: tuple[Verdict, ...] = ()) -> list[str]:
    """The likely cause, or causes; where there is none, what explains a part of the differences."""
    if not verdicts:
        said = [f"    of some: {one.cause} ({one.explained})" for one in part]
        return ["  likely cause: none of the known ones explains every difference", *said]
    if len(verdicts) == 1:
        one = verdicts[0]
        rest = "and agrees elsewhere" if not one.broken else f"but would also change {one.broken} that are right"
        lines = [f"  likely cause: {one.cause}; it explains every difference {rest}"]
        more = len(one.alike) - ALIKE
        others = "; ".join(one.alike[:ALIKE]) + (f"; {more} more" if more > 0 else "")
        return lines + ([f"    what fits as well: {others}"] if others else [])
    return ["  likely causes, together:", *(f"    {one.cause} ({one.explained})" for one in verdicts)]


def _telling(case: Case, differ: NDArray[np.intp]) -> list[int]:
    """The first differences, no two alike while there are others."""
    some = differ[:LOOKED_AT]
    pairs = np.stack([case.actual[some], case.expected[some]])
    unlike = np.sort(np.unique(pairs, axis=1, return_index=True)[1])[:SHOWN]
    more = np.setdiff1d(np.arange(min(some.size, 2 * SHOWN)), unlike)[: SHOWN - unlike.size]
    return [int(i) for i in some[np.sort(np.concatenate([unlike, more]))]]


def _plainest(case: Case, differ: NDArray[np.intp]) -> NDArray[np.intp]:
    """The differences, those of plain numbers first: between 1/64 and 64 if there are any, few ones, and positive."""
    if case.source is None:
        return differ
    with np.errstate(all="ignore"):
        x = np.abs(case.source.take(differ).wide())
        plain = np.isfinite(x) & (x > 0)
        mantissa, exponent = np.frexp(np.where(plain, x, 1.0))
    digits = (mantissa * 2.0**53).astype(np.int64)
    ones = 53 - np.frexp((digits & -digits).astype(np.float64))[1]
    away = np.where(plain, np.maximum(np.abs(exponent) - 6, 0), 1 << 12)
    order: NDArray[np.intp] = np.lexsort(
        [np.abs(exponent - 1), ones, np.signbit(case.source.take(differ).wide()), away]
    )
    return differ[order]


def _kinds(case: Case) -> str:
    """How many of the differences are what kind of number."""
    if case.source is None:
        return ""
    x, fmt = np.abs(case.source.wide()), case.fmt
    with np.errstate(all="ignore"):
        counts = {
            "NaN": np.isnan(x),
            "infinite": np.isinf(x),
            "beyond the largest value": (x > float(fmt.max)) & np.isfinite(x),
            "below the smallest normal number": (x < float(fmt.smallest_normal)) & (x > 0) & (fmt.exponent_bits > 0),
        }
    said = [f"{int(mask.sum())} {kind}" for kind, mask in counts.items() if mask.any()]
    return f" (x: {', '.join(said)})" if said else ""


def describe(
    case: Case, equal: NDArray[np.bool_], nan: str, *, title: str = "", total: int | None = None,
    wrong: int | None = None, places: bool = True,
) -> tuple[str, tuple[Verdict, ...]]:  # fmt: skip
    """The whole message, and the verdicts in it.

    ``total`` and ``wrong`` count elements that a caller has seen beyond those of the case. Without ``places`` the case
    is a choice of elements, which have no places.
    """
    differ = np.flatnonzero(~equal)
    verdicts = likely(case, equal, nan, places=places)
    total, wrong = total or equal.size, wrong or differ.size
    share = f"{100 * wrong / total:.3g}%"
    lines = [f"{title or case.fmt.name}: {wrong} of {total} codes differ, {share}{_kinds(case.take(differ))}"]
    lines += verdict_lines(verdicts, () if verdicts else partly(case, equal, nan, places=places))
    for i in _telling(case, differ if places else _plainest(case, differ)):
        index = [int(j) for j in np.unravel_index(i, case.shape)] if case.shape else []
        lines += difference_lines(case, i, f"element {index}" if index and places else "input")
    if wrong > SHOWN:
        lines.append(f"  ... {wrong - SHOWN} more")
    return "\n".join(lines), verdicts
