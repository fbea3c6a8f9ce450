"""Which cause explains the differences: all of them, or a few causes together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..format import Format
from ..rounding import OVERFLOWS, ROUNDINGS, Rules
from .case import Case, Cause
from .causes import causes
from .codes import same
from .source import Source

__all__ = ["Verdict", "infer_rules", "likely"]

#: differences, and equal elements, that are looked at
SAMPLE = 1 << 15
FIRST = 256


@dataclass(frozen=True)
class Verdict:
    """A cause with how many differences it explains, and how many right elements it would have changed."""

    cause: str
    explained: int
    broken: int


def _spread(where: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """At most so many indices, from all over."""
    return where if where.size <= most else where[np.linspace(0, where.size - 1, most).astype(np.intp)]


def _fits(cause: Cause, case: Case, nan: str) -> NDArray[np.bool_] | None:
    try:
        codes = cause.wrong(case)
    except (ValueError, OverflowError):
        return None  # a wrong cast that is no cast for these numbers
    return None if codes is None else same(case.actual, codes, case.fmt, nan)


def infer_rules(source: Source, expected: NDArray[np.unsignedinteger], fmt: Format) -> Rules:
    """Rules under which these numbers become these codes, the default ones where none do."""
    where = _spread(np.arange(expected.size), 4096)
    some, codes = source.take(where), expected[where]
    for overflow in (None, *OVERFLOWS):
        for mode, row in ROUNDINGS.items():
            if not row.random_bits:
                rules = Rules(mode, overflow, "max")
                if same(some.encode(fmt, rules), codes, fmt, "class").all():
                    return rules
    return Rules(nan="max")


def likely(case: Case, equal: NDArray[np.bool_], nan: str, *, places: bool = True) -> tuple[Verdict, ...]:
    """One verdict that explains every difference, else a few that do together, else none.

    Of causes that explain every difference the one that would change the fewest right elements is meant; of several
    such, the first row. Without ``places`` the elements are a choice, and no row that moves them is asked.
    """
    wrong, right = np.flatnonzero(~equal), np.flatnonzero(equal)
    differ, agree = _spread(wrong, SAMPLE), _spread(right, SAMPLE)
    bad, good, few = case.take(differ), case.take(agree), case.take(differ[:FIRST])
    whole: list[Verdict] = []
    part: list[tuple[Cause, NDArray[np.bool_]]] = []
    for cause in causes(case.fmt):
        if cause.needs_x and case.source is None:
            continue
        if cause.places and not places:
            continue
        if cause.places:
            fits = _fits(cause, case, nan)
            if fits is not None and fits.all():
                whole.append(Verdict(cause.name, wrong.size, 0))
            continue
        fits = _fits(cause, few, nan)
        if fits is None or not fits.any():
            continue
        fits = _fits(cause, bad, nan)
        if fits is None or not fits.any():
            continue
        part.append((cause, fits))
        if fits.all():
            kept = _fits(cause, good, nan)
            whole.append(Verdict(cause.name, wrong.size, 0 if kept is None else int((~kept).sum())))
    best = min(whole, key=lambda verdict: verdict.broken, default=None)
    if best is not None and best.broken <= differ.size:
        return (best,)
    return _together(part, bad, good, nan, wrong.size)


def _together(
    part: list[tuple[Cause, NDArray[np.bool_]]], bad: Case, good: Case, nan: str, count: int
) -> tuple[Verdict, ...]:
    """Up to three causes that leave no difference unexplained, the greediest first; () where they do not do."""
    left = np.ones(bad.actual.size, bool)
    chosen: list[Verdict] = []
    broken: dict[str, int] = {}
    while left.any() and len(chosen) < 3:
        best: tuple[int, Verdict] | None = None
        for cause, fits in part:
            gain = int((fits & left).sum())
            if not gain or (best is not None and gain < best[0]):
                continue
            if cause.name not in broken:
                kept = _fits(cause, good, nan)
                broken[cause.name] = 0 if kept is None else int((~kept).sum())
            verdict = Verdict(cause.name, gain, broken[cause.name])
            if verdict.broken <= gain and (best is None or (gain, -verdict.broken) > (best[0], -best[1].broken)):
                best = gain, verdict
        if best is None:
            return ()
        chosen.append(best[1])
        left &= ~next(fits for cause, fits in part if cause.name == best[1].cause)
    if left.any():
        return ()
    scale = count / bad.actual.size
    return tuple(replace(verdict, explained=round(verdict.explained * scale)) for verdict in chosen)
