"""A wrong cast as data: what came and what was due, and the four shapes that a row of `causes.TABLE` has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..format import Format
from ..registry import get_element
from ..rounding import Rules
from .source import Source

__all__ = [
    "Case",
    "Cause",
    "by_codes",
    "by_inputs",
    "by_places",
    "by_rounding",
    "by_rules",
    "openly",
    "reading_actual",
    "two_mistakes",
    "vague",
    "with_x",
]

Array = NDArray[Any]


@dataclass(frozen=True)
class Case:
    """What a cast gave and what it should have given; ``source`` is None where nobody knows x."""

    fmt: Format
    actual: Array
    expected: Array
    rules: Rules
    source: Source | None = None
    shape: tuple[int, ...] = ()

    def take(self, where: Any) -> Case:
        """Some of the elements."""
        source = None if self.source is None else self.source.take(where)
        return replace(self, actual=self.actual[where], expected=self.expected[where], source=source)


@dataclass(frozen=True)
class Cause:
    """One way to be wrong.

    ``wrong`` gives the codes of a `Case` under this cause, or None where it does not apply. A ``vague`` row is asked
    only when no other explains everything, also not several together. Of rows that explain as much, the one made of the
    fewest ``mistakes`` is meant. One that ``reads_actual`` codes, to find a limit in them, is asked about right and
    wrong elements at once.
    """

    name: str
    wrong: Callable[[Case], Array | None]
    needs_x: bool = False
    places: bool = False
    vague: bool = False
    mistakes: int = 1
    reads_actual: bool = False


def openly(case: Case, rules: Rules) -> Rules:
    """The rules, for NaN as well: who looks for a cause is not to be stopped by one."""
    return replace(rules, nan="max") if rules.nan == "raise" and not case.fmt.has_nan else rules


def by_rules(name: str, **changes: Any) -> Cause:
    """The same cast under changed rules."""

    def wrong(case: Case) -> Array | None:
        assert case.source is not None
        via = changes.get("via")
        if via is not None and get_element(via).mantissa_bits <= case.fmt.mantissa_bits:
            return None
        return case.source.encode(case.fmt, openly(case, replace(case.rules, **changes)))

    return Cause(name, wrong, needs_x=True)


def by_inputs(name: str, of: Callable[[Array, Case], Array | None]) -> Cause:
    """The same cast of other numbers: a function of x and the case."""

    def wrong(case: Case) -> Array | None:
        assert case.source is not None
        with np.errstate(all="ignore"):
            x = of(case.source.wide(), case)
        return None if x is None else Source.of_doubles(x).encode(case.fmt, openly(case, case.rules))

    return Cause(name, wrong, needs_x=True)


def by_codes(name: str, of: Callable[[Array, Case], Array | None]) -> Cause:
    """A function of the right codes and the case."""
    return Cause(name, lambda case: of(case.expected, case))


def by_places(name: str, of: Callable[[Array], Array | None]) -> Cause:
    """A function of all the right codes, in their shape."""

    def wrong(case: Case) -> Array | None:
        right = case.expected.reshape(case.shape)
        moved = of(right)
        return None if moved is None or moved.size != right.size else moved.reshape(-1)

    return Cause(name, wrong, places=True)


def by_rounding(name: str, mode: str) -> Cause:
    """Another rounding of what does not overflow; what overflows stays as it is due."""

    def wrong(case: Case) -> Array | None:
        assert case.source is not None
        fmt = case.fmt
        made = case.source.encode(fmt, openly(case, replace(case.rules, rounding=mode)))
        with np.errstate(all="ignore"):
            beyond = ~(np.abs(case.source.wide()) < float(fmt.value_of_line(fmt.max_line + 1)))
        return np.where(beyond, case.expected, made)

    return Cause(name, wrong, needs_x=True)


def with_x(cause: Cause) -> Cause:
    """The same row, asked only where x is known."""
    return replace(cause, needs_x=True)


def reading_actual(cause: Cause) -> Cause:
    """The same row, asked about all elements at once."""
    return replace(cause, reads_actual=True)


def two_mistakes(cause: Cause) -> Cause:
    """The same row, as made of two mistakes."""
    return replace(cause, mistakes=2)


def vague(cause: Cause) -> Cause:
    """The same row, asked last."""
    return replace(cause, vague=True)
