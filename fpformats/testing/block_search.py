"""Which mistake explains wrong blocks: one for codes and scales together, or one for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..blocks.array import BlockArray
from ..registry import get_element
from ..rounding import Rules
from .block_case import BlockCase, BlockCause
from .block_causes import block_causes
from .case import Case
from .lines import same
from .message import describe
from .search import Verdict, infer_rules
from .source import Source

__all__ = ["Explained", "explain", "fitting"]

#: other causes that are named where they fit just as well
ALIKE = 2


@dataclass(frozen=True)
class Explained:
    """Causes, most telling first, what fits as well as the first, and how elements differ, line by line."""

    causes: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()
    whole: bool = False
    elements: tuple[str, ...] = ()


def _made(cause: BlockCause, case: BlockCase) -> BlockArray | None:
    try:
        return cause.wrong(case)
    except (ValueError, TypeError):
        return None  # a mistake that cannot be made with these numbers or options


def fitting(
    cases: Sequence[BlockCase], causes: Sequence[BlockCause], agrees: Callable[[BlockCase, BlockArray], bool]
) -> Iterator[str]:
    """Names of the rows that give what came, in every case, and not what is right."""
    for cause in causes:
        if all((made := _made(cause, case)) is not None and agrees(case, made) for case in cases):
            yield cause.name


def explain(cases: Sequence[BlockCase], nan: str, title: str) -> Explained:
    """The first row that gives exactly what came; else one for the scales, and one for elements under those scales."""
    rows = block_causes(cases[0].fmt)
    found = fitting(cases, rows, lambda case, made: case.agrees(made, nan))
    if (first := next(found, None)) is not None:
        alike = tuple(name for _, name in zip(range(ALIKE), (name for name in found if name != first), strict=False))
        return Explained((first,), alike, whole=True)
    wrong_scales = any(not case.equal_scales(case.due).all() for case in cases)
    of_scales: tuple[str, ...] = ()
    if wrong_scales:
        match = lambda case, made: bool(case.equal_scales(made).all())  # noqa: E731
        first = next(fitting(cases, rows, match), None)
        of_scales = () if first is None else (first,)
    verdicts, lines = _elements(cases, nan, title)
    if wrong_scales and not of_scales:
        return Explained(elements=lines)
    alike = verdicts[0].alike[:ALIKE] if len(verdicts) == 1 and not of_scales else ()
    return Explained((*of_scales, *(verdict.cause for verdict in verdicts)), alike, elements=lines)


def _elements(cases: Sequence[BlockCase], nan: str, title: str) -> tuple[tuple[Verdict, ...], tuple[str, ...]]:
    """What makes elements wrong, under the scales that came, and how they differ; ((), ()) where all are right.

    The same where nobody can say what they should be: see `BlockCase.with_scales`.
    """
    element = get_element(cases[0].fmt.element)
    got, expected, equal, sources = [], [], [], []
    for case in cases:
        scales = case.due.scales if case.scales is None else case.scales
        right = case.equal_scales(case.due).all()
        made = case.due if right else case.with_scales(scales)
        if made is None:
            return (), ()
        got.append(case.codes.reshape(-1))
        expected.append(made.codes.reshape(-1))
        equal.append(case.equal_codes(made, nan).reshape(-1))
        sources.append(case.scaled(scales))
    flat, due, fine = np.concatenate(got), np.concatenate(expected), np.concatenate(equal)
    if fine.all():
        return (), ()
    source = None
    if all(part is not None for part in sources):
        source = Source(np.concatenate([part.bits for part in sources if part is not None]), get_element("fp32"))
    rules = Rules(overflow="saturate", nan="max") if source is None else infer_rules(source, due, element)
    if source is not None:  # zeros whose sign a recipe drops, and NaN with a code of its own, are no cast's
        odd = ~same(source.encode(element, rules), due, element, "class")
        fine = fine | (odd & np.isin(due, due[odd & fine]))
    if fine.all():
        return (), ()
    shape = cases[0].due.shape if len(cases) == 1 else flat.shape
    text, verdicts = describe(
        Case(element, flat, due, rules, source, shape), fine, nan, title=title, places=len(cases) == 1
    )
    head, *rest = text.splitlines()
    first = next((i for i, line in enumerate(rest) if line.startswith(("  element", "  input"))), len(rest))
    return verdicts, (head, *rest[first:])
