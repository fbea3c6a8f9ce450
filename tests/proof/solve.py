"""Claims, and z3's answers to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import z3

__all__ = ["Claim", "Counterexample", "counterexample"]

_PATIENCE = 300_000  # ms; a proof takes a fraction of a second


@dataclass(frozen=True)
class Claim:
    """That something holds for every x; `name` says what, in the words of a failing test."""

    name: str
    holds: z3.BoolRef


@dataclass(frozen=True)
class Counterexample:
    """An x for which claims do not hold."""

    x: int
    broken: tuple[str, ...]

    def __str__(self) -> str:
        return f"x = {self.x:#x} breaks {', '.join(self.broken)}"


_STEPS = (
    "simplify",
    "propagate-values",
    "fpa2bv",
    "propagate-values",
    "simplify",
    "max-bv-sharing",
    "bit-blast",
    "sat",
)


def counterexample(x: z3.BitVecRef, claims: Sequence[Claim], given: z3.BoolRef | bool = True) -> Counterexample | None:
    """None when every claim holds for every x that satisfies `given`.

    All claims are one question: most of what they say they share, and it is worked out once.
    """
    # straight to propositional logic is several times faster than z3's own choice, but gives no model
    for solver in (z3.Then(*_STEPS).solver(), z3.SolverFor("QF_FP")):
        solver.set("timeout", _PATIENCE)
        solver.add(given, z3.Not(z3.And([claim.holds for claim in claims])))
        answer = solver.check()
        if answer == z3.unsat:
            return None
        if answer == z3.sat:
            model = solver.model()
            broken = (c.name for c in claims if not z3.is_true(model.eval(c.holds, model_completion=True)))
            return Counterexample(model.eval(x, model_completion=True).as_long(), tuple(broken))
    raise TimeoutError(f"z3 answers {answer}: {solver.reason_unknown()}")
