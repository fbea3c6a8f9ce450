"""Claims, and z3's answers to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import z3

__all__ = ["Claim", "Counterexample", "counterexample", "first_counterexample"]

_PATIENCE = 600_000  # ms; most answers take less than a second

# straight to propositional logic: several times faster than z3's own choice, but without a model
_QUICK = (
    "simplify",
    "propagate-values",
    "fpa2bv",
    "propagate-values",
    "simplify",
    "max-bv-sharing",
    "bit-blast",
    "sat",
)


@dataclass(frozen=True)
class Claim:
    """That something holds for every x; `name` says what, in the words of a failing test.

    Claims of one `group` have most of their terms in common.
    """

    name: str
    holds: z3.BoolRef
    group: str = ""


@dataclass(frozen=True)
class Counterexample:
    """An x for which claims do not hold."""

    x: int
    broken: tuple[str, ...]

    def __str__(self) -> str:
        return f"x = {self.x:#x} breaks {'; '.join(self.broken)}"


def counterexample(x: z3.BitVecRef, claims: Sequence[Claim]) -> Counterexample | None:
    """None when every claim holds for every x. All claims are one question: what they share is worked out once."""
    for solver in (z3.Then(*_QUICK).solver(), z3.SolverFor("QF_FP")):
        solver.set("timeout", _PATIENCE)
        solver.add(z3.Not(z3.And([claim.holds for claim in claims])))
        answer = solver.check()
        if answer == z3.unsat:
            return None
        if answer == z3.sat:
            model = solver.model()
            broken = (c.name for c in claims if not z3.is_true(model.eval(c.holds, model_completion=True)))
            return Counterexample(model.eval(x, model_completion=True).as_long(), tuple(broken))
    raise TimeoutError(f"z3 answers {answer} to {claims[0].name} ...: {solver.reason_unknown()}")


def first_counterexample(x: z3.BitVecRef, claims: Iterable[Claim]) -> Counterexample | None:
    """The same, one question for each group, and none about what is literally the same as an answered one."""
    groups: dict[str, dict[int, Claim]] = {}
    seen: set[int] = set()
    for claim in claims:
        if claim.holds.get_id() not in seen:
            seen.add(claim.holds.get_id())
            groups.setdefault(claim.group, {})[claim.holds.get_id()] = claim
    for group in groups.values():
        if (found := counterexample(x, list(group.values()))) is not None:
            return found
    return None
