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


def _solver() -> z3.Solver:
    """Everything into propositional logic, then SAT: faster than z3's own choice for these."""
    steps = ("simplify", "propagate-values", "fpa2bv", "propagate-values", "simplify", "max-bv-sharing", "bit-blast", "aig", "sat")
    solver = z3.Then(*steps).solver()
    solver.set("timeout", _PATIENCE)
    return solver


def counterexample(x: z3.BitVecRef, claims: Sequence[Claim], given: z3.BoolRef | bool = True) -> Counterexample | None:
    """None when every claim holds for every x that satisfies `given`.

    All claims are one question: most of what they say they share, and it is worked out once.
    """
    solver = _solver()
    solver.add(given, z3.Not(z3.And([claim.holds for claim in claims])))
    answer = solver.check()
    if answer == z3.unsat:
        return None
    if answer != z3.sat:
        raise TimeoutError(f"z3 answers {answer}: {solver.reason_unknown()}")
    model = solver.model()
    broken = tuple(claim.name for claim in claims if not z3.is_true(model.eval(claim.holds, model_completion=True)))
    return Counterexample(model.eval(x, model_completion=True).as_long(), broken)
