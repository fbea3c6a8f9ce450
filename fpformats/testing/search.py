"""Which cause explains the differences: all of them, or a few causes together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..format import Format
from ..rounding import OVERFLOWS, ROUNDINGS, Rules
from .case import Case, Cause
from .causes import causes
from .lines import is_nan, magnitudes, same
from .source import Source

__all__ = ["Verdict", "infer_rules", "likely", "partly", "spread"]

#: differences, and equal elements, that are looked at; so many differences first, as most causes explain none
WRONG, RIGHT, FIRST = 1 << 15, 1 << 20, 256
#: a cause has to explain so many times as many differences as it would have changed right elements
CREDIBLE = 10
#: causes that may be needed together
TOGETHER = 3
#: causes that are tried as the first of two that act one after the other
TOP = 6


@dataclass(frozen=True)
class Verdict:
    """A cause, how many differences it explains, and how many right elements it would have changed.

    ``alike`` names causes that fit just as well.
    """

    cause: str
    explained: int
    broken: int
    alike: tuple[str, ...] = ()


def spread(where: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """At most so many indices, from all over."""
    return where if where.size <= most else where[np.linspace(0, where.size - 1, most).astype(np.intp)]


def of_each(case: Case, where: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """At most so many indices of each kind of number, from all over: a NaN among millions of others is not missed."""
    if where.size <= most:
        return where
    some = case.take(where)
    if some.source is None:
        line = magnitudes(some.expected, case.fmt)[0]
        kinds = [is_nan(some.expected, case.fmt), line == 0, line < np.uint64(1 << case.fmt.mantissa_bits)]
    else:
        x, largest, smallest = np.abs(some.source.wide()), float(case.fmt.max), float(case.fmt.smallest_normal)
        kinds = [np.isnan(x), np.isinf(x), x > largest, x == 0, x < smallest]
    kind = np.select(kinds, list(range(1, len(kinds) + 1)), 0)
    chosen = [spread(where[kind == k], most) for k in range(len(kinds) + 1)]
    return np.sort(np.concatenate(chosen))


def _fits(cause: Cause, case: Case, nan: str) -> NDArray[np.bool_] | None:
    try:
        codes = cause.wrong(case)
    except (ValueError, OverflowError):
        return None  # a wrong cast that is no cast for these numbers
    return None if codes is None else same(case.actual, codes, case.fmt, nan)


def infer_rules(source: Source, expected: NDArray[np.unsignedinteger], fmt: Format) -> Rules:
    """Rules under which these numbers become these codes, the default ones where none do."""
    where = spread(np.arange(expected.size), 4096)
    some, codes = source.take(where), expected[where]
    for overflow in (None, *OVERFLOWS):
        for mode, row in ROUNDINGS.items():
            if not row.random_bits:
                rules = Rules(mode, overflow, "max")
                if same(some.encode(fmt, rules), codes, fmt, "class").all():
                    return rules
    return Rules(nan="max")


class _Search:
    """The causes against samples of what differs and of what does not."""

    def __init__(self, case: Case, equal: NDArray[np.bool_], nan: str, places: bool) -> None:
        self.case, self.nan = case, nan
        differ = np.flatnonzero(~equal)
        self.count = differ.size
        some = of_each(case, differ, WRONG)
        self.bad = case.take(some)
        self.few = self.bad.take(of_each(self.bad, np.arange(some.size), FIRST))
        right = spread(np.flatnonzero(equal), RIGHT)
        self.good, self.both = case.take(right), case.take(np.concatenate([some, right]))
        self.rows = [cause for cause in causes(case.fmt)
                     if not (cause.needs_x and case.source is None) and (places or not cause.places)]  # fmt: skip
        self._broken: dict[int, int] = {}

    def fits(self, cause: Cause) -> NDArray[np.bool_] | None:
        """Which of the differences it explains; None where none."""
        if cause.places:
            fits = _fits(cause, self.case, self.nan)
            return np.ones(self.bad.actual.size, bool) if fits is not None and fits.all() else None
        if cause.reads_actual:
            fits = _fits(cause, self.both, self.nan)
            if fits is not None:
                self._broken[id(cause)] = int((~fits[self.bad.actual.size :]).sum())
            return None if fits is None or not fits[: self.bad.actual.size].any() else fits[: self.bad.actual.size]
        for case in (self.few, self.bad):
            fits = _fits(cause, case, self.nan)
            if fits is None or not fits.any():
                return None
        return fits

    def broken(self, cause: Cause) -> int:
        """How many right elements it would have changed."""
        if cause.places:
            return 0
        if id(cause) not in self._broken:
            kept = _fits(cause, self.good, self.nan)
            self._broken[id(cause)] = 0 if kept is None else int((~kept).sum())
        return self._broken[id(cause)]

    def one(self, part: list[tuple[Cause, NDArray[np.bool_]]]) -> tuple[Verdict, ...]:
        """The cause that explains every difference and would have changed the fewest right elements."""
        whole = [(self.broken(cause), cause.mistakes, cause.name) for cause, fits in part if fits.all()]
        if not whole:
            return ()
        *least, name = min(whole, key=lambda row: row[:2])
        alike = dict.fromkeys(other for *rank, other in whole if rank == least and other != name)
        broken = least[0]
        return (Verdict(name, self.count, broken, tuple(alike)),) if broken * CREDIBLE <= self.bad.actual.size else ()

    def together(self, part: list[tuple[Cause, NDArray[np.bool_]]]) -> tuple[Verdict, ...]:
        """A few causes that leave no difference unexplained, the greediest first; () where they do not do."""
        left = np.ones(self.bad.actual.size, bool)
        chosen: list[Verdict] = []
        while left.any() and len(chosen) < TOGETHER:
            best: tuple[int, int, Cause, NDArray[np.bool_]] | None = None
            for cause, fits in part:
                gain = int((fits & left).sum())
                if not gain or (best is not None and gain < best[0]) or self.broken(cause) * CREDIBLE > gain:
                    continue
                if best is None or (gain, -self.broken(cause)) > (best[0], -best[1]):
                    best = gain, self.broken(cause), cause, fits
            if best is None:
                return ()
            share = round(best[0] * self.count / left.size)
            chosen.append(Verdict(best[2].name, share, best[1]))
            left &= ~best[3]
        return () if left.any() else tuple(chosen)

    def partly(self, part: list[tuple[Cause, NDArray[np.bool_]]]) -> tuple[Verdict, ...]:
        """Causes that explain the most, where some differences stay unexplained."""
        left = np.ones(self.bad.actual.size, bool)
        chosen: list[Verdict] = []
        for _ in range(TOGETHER):
            gains = [(int((fits & left).sum()), -self.broken(cause), i) for i, (cause, fits) in enumerate(part)]
            able = [(gain, broken, -i) for gain, broken, i in gains if gain and -broken * CREDIBLE <= gain]
            if not able:
                break
            gain, broken, i = max(able)
            chosen.append(Verdict(part[-i][0].name, round(gain * self.count / left.size), -broken))
            left &= ~part[-i][1]
        return tuple(chosen)

    def one_after_another(self, part: list[tuple[Cause, NDArray[np.bool_]]]) -> tuple[Verdict, ...]:
        """One of the causes that explain most, and another that acts on what it gives; () where no two do."""
        first = sorted((cause for cause, _ in part if not cause.places), key=self._gain(part), reverse=True)[:TOP]
        then = [cause for cause in self.rows if not (cause.needs_x or cause.places or cause.vague)]
        for one in first:
            for other in then:
                if all(self._both(one, other, case) for case in (self.few, self.bad, self.good)):
                    return (Verdict(f"{one.name}, and then {other.name}", self.count, 0),)
        return ()

    def _gain(self, part: list[tuple[Cause, NDArray[np.bool_]]]) -> Callable[[Cause], int]:
        gains = {id(cause): int(fits.sum()) for cause, fits in part}
        return lambda cause: gains[id(cause)]

    def _both(self, one: Cause, other: Cause, case: Case) -> bool:
        made = one.wrong(case)
        fits = None if made is None else _fits(other, replace(case, expected=made), self.nan)
        return fits is not None and bool(fits.all())


def likely(case: Case, equal: NDArray[np.bool_], nan: str, *, places: bool = True) -> tuple[Verdict, ...]:
    """One verdict that explains every difference, else a few that do together, else none.

    Of causes that explain every difference the one that would change the fewest right elements is meant; of several
    such, the first row. Without ``places`` the elements are a choice, and no row that moves them is asked.
    """
    search = _Search(case, equal, nan, places)
    part = [(cause, fits) for cause in search.rows if (fits := search.fits(cause)) is not None]
    sharp = [(cause, fits) for cause, fits in part if not cause.vague]
    one = search.one(sharp)
    if one and not one[0].broken:
        return one
    several = search.together(sharp)
    if several and not any(verdict.broken for verdict in several):
        return several
    return one or several or search.one_after_another(sharp) or search.one([pair for pair in part if pair[0].vague])


def partly(case: Case, equal: NDArray[np.bool_], nan: str, *, places: bool = True) -> tuple[Verdict, ...]:
    """What explains the most differences, where `likely` has nothing to say."""
    search = _Search(case, equal, nan, places)
    part = [(cause, fits) for cause in search.rows if not cause.vague and (fits := search.fits(cause)) is not None]
    return search.partly(part)
