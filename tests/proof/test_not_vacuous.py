"""A wrong constant or a wrong operator has a counterexample, and the counterexample is one.

Every mutant is shown to z3 on terms, and then, with the x that z3 found, to the NumPy instantiation of the same bodies
with the same mutation, beside `reference`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
import z3

from fpformats import plan, reference
from fpformats.kernels import rows as R
from fpformats.kernels import vector
from fpformats.kernels.bodies import Words, bodies
from fpformats.registry import get
from fpformats.rounding import Rules

from .cases import MODES, SOURCES, Machine, rules_of
from .grid import BITS, Grid
from .solve import Claim, counterexample
from .spec import cast
from .terms import PlainTerms

pytestmark = pytest.mark.proof


@dataclass(frozen=True)
class Mutant:
    """A cast whose kernel is changed: by a field of its row, or by a word of its vocabulary."""

    fmt: str
    rules: Rules
    codes: bool = False
    source: str = "float32"
    field: int = 0
    new: Callable[[int], int] = lambda old: old
    words: Callable[[Words], Words] = lambda words: words

    @property
    def stage(self) -> plan.Stage:
        """The one stage of the plan, unchanged."""
        source, fmt = SOURCES[self.source], get(self.fmt)
        make = (
            plan.encode_plan(source, fmt, self.rules)
            if self.codes
            else plan.quantize_plan(source, fmt, self.rules, source)
        )
        first = make.stages[0]
        assert isinstance(first.what, str)
        return first

    def row(self) -> np.ndarray:
        """Its row, changed."""
        row = self.stage.row.copy()
        row[self.field] = self.new(int(row[self.field])) & ((1 << (row.itemsize * 8)) - 1)
        return row


def _rules(rounding: str = "nearest_even", **more: str) -> Rules:
    return Rules(rounding=rounding, nan="max", **more)


def _cleared(words: Words) -> Words:
    """Float results lose their last bit: an adder that truncates."""
    ones = words.const((1 << (1 + words.exponent + words.mantissa)) - 2)
    return replace(words, float=lambda x: words.to_float(words.to_bits(x) & ones))


def _piece(name: str, change: Callable[[Words], Callable]) -> Callable[[Words], Words]:
    """One named piece of the bodies gives something else."""

    def mutate(words: Words) -> Words:
        after = change(words)

        def function(body: Callable) -> Callable:
            return (lambda *args: after(body(*args))) if body.__name__ == name else words.function(body)

        return replace(words, function=function)

    return mutate


MUTANTS = {
    "last finite source + 1": Mutant("e4m3", _rules(), field=R.LAST, new=lambda old: old + 1),
    "last finite source - 1": Mutant("e5m2", _rules(), field=R.LAST, new=lambda old: old - 1),
    "pushing constant halved": Mutant("e5m2", _rules(), field=R.UP, new=lambda old: old - (1 << 23)),
    "smallest normal doubled": Mutant("fp16", _rules(), field=R.EMIN, new=lambda old: old + (1 << 23)),
    "less than half, by much": Mutant("e3m2", _rules("nearest_away"), field=R.TIE, new=lambda old: old - (1 << 22)),
    "just half": Mutant("e2m3", _rules("nearest_zero"), field=R.TIE, new=lambda old: old + 1),
    "half a step up": Mutant("e4m3", _rules("toward_positive"), field=R.STEP, new=lambda old: old - (1 << 23)),
    "half that is a half": Mutant("bf16", _rules(), field=R.HALF, new=lambda old: old + 1),
    "a bit too few kept": Mutant("bf16", _rules("toward_zero"), field=R.KEEP, new=lambda old: old << 1),
    "odd not looked at": Mutant("e4m3fnuz", _rules("to_odd"), field=R.SHARE_ODD, new=lambda old: 0),
    "never compared with a half": Mutant(
        "e8m0", _rules("nearest_zero"), False, "float64", field=R.HALVE, new=lambda old: 0
    ),
    "a line too many": Mutant(
        "e8m0", _rules("toward_zero"), True, "float64", field=R.MAX_LINE, new=lambda old: old + 1
    ),
    "more than half is half": Mutant("ue5m3", _rules("nearest_zero"), field=R.SHARE, new=lambda old: old - 1),
    "both signs alike": Mutant("e5m2fnuz", _rules("toward_positive"), field=R.SHARE_FLIP, new=lambda old: 0),
    "-2.02 is not too much": Mutant("int8", _rules(), field=R.LARGEST_MORE, new=lambda old: 2 * old),
    "a negative scale": Mutant("ue4m3", _rules("toward_zero"), field=R.NEGATIVE_SET, new=lambda old: 1 << 31),
    "a binade forgotten": Mutant("e8m0", _rules("toward_zero"), field=R.SPREAD, new=lambda old: 0),
    "the source's parity": Mutant("e8m0", _rules("to_odd"), field=R.ODD_FLIP, new=lambda old: 0),
    "parity of the line": Mutant("e8m0", _rules(), True, "float64", field=R.ODD_FLIP, new=lambda old: old ^ 1),
    "flushed one line late": Mutant(
        "e5m2", _rules(subnormals="flush_after_rounding"), field=R.FLUSH_OUT, new=lambda old: old + 1
    ),
    "clamped one early": Mutant("e5m2", _rules(), True, field=R.CLAMP, new=lambda old: old - (1 << 21)),
    "code off by one": Mutant("e4m3", _rules(), True, field=R.MAGIC, new=lambda old: old + 1),
    "-0 kept": Mutant("binary8p4se", _rules("toward_zero"), field=R.ZERO_SIGN, new=lambda old: 1 << 31),
    "greater is lesser": Mutant("e4m3", _rules(), words=lambda words: replace(words, maximum=words.minimum)),
    "lesser is greater": Mutant("e4m3", _rules(), True, words=lambda words: replace(words, minimum=words.maximum)),
    "additions truncate": Mutant("fp16", _rules(), words=_cleared),
    "a mantissa bit lost": Mutant(
        "e4m3fnuz", _rules("to_odd"), words=lambda words: replace(words, mantissa=words.mantissa - 1)
    ),
    "one more before the shift": Mutant(
        "tf32", _rules("nearest_away"), words=_piece("addend", lambda words: lambda y: y + words.const(1))
    ),
}


def _expected(x: int, mutant: Mutant) -> int | float:
    """The definition's code or value."""
    source, fmt = SOURCES[mutant.source], get(mutant.fmt)
    code = reference.encode(reference.decode(x, source), fmt, mutant.rules, source=source)
    return code if mutant.codes else float(reference.decode(code, fmt))


def _answer(x: int, mutant: Mutant, row: np.ndarray, change: Callable[[Words], Words]) -> int | float:
    """The NumPy instantiation's."""
    stage, width = mutant.stage, row.itemsize * 8
    name = stage.what.rstrip("0123456789")
    with np.errstate(all="ignore"):
        bits = bodies(change(vector.words(width)))[name][stage.kind](np.array([x], row.dtype), tuple(row))
    if mutant.codes:
        return int(bits.astype(stage.out)[0])
    return float(bits.view(f"f{row.itemsize}")[0])


def _same(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_refuted(name):
    mutant = MUTANTS[name]
    source, fmt, stage = SOURCES[mutant.source], get(mutant.fmt), mutant.stage
    x, row = z3.BitVec("x", source.bits), mutant.row()
    machine, kernel = Machine(mutant.words, PlainTerms), stage.what.rstrip("0123456789")
    got = machine.body(kernel, stage.kind, source.bits, x, row)
    want = cast(Grid(fmt, source.bits), x, mutant.rules, source.emin)
    if mutant.codes:
        bits = np.dtype(stage.out).itemsize * 8
        holds = z3.ZeroExt(BITS - bits, z3.Extract(bits - 1, 0, got)) == want.code()
    else:
        holds = got == want.value()
    number = z3.fpBVToFP(x, Grid(fmt, source.bits).source)
    found = counterexample(x, [Claim(name, z3.Or(z3.fpIsNaN(number), holds))])
    assert found is not None, "z3 calls the mutant right"
    expected = _expected(found.x, mutant)
    assert not _same(_answer(found.x, mutant, row, mutant.words), expected)
    assert _same(_answer(found.x, mutant, stage.row, lambda words: words), expected)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", ["e4m3", "e2m1", "bf16", "e5m2fnuz", "ue4m3", "int8", "e8m0", "binary8p4se"])
def test_terms_are_what_numpy_computes(name, source):
    """The translation to terms, on numbers: both instantiations give the same bits."""
    kind, fmt, machine = SOURCES[source], get(name), Machine(terms=PlainTerms)
    rng = np.random.default_rng(7)
    uint, flt = (np.uint32, np.float32) if kind.bits == 32 else (np.uint64, np.float64)
    sizes = np.exp2(rng.uniform(fmt.emin - fmt.mantissa_bits - 3, fmt.maxexp + 3, 12))
    xs = (sizes * rng.choice([-1, 1], 12)).astype(flt).view(uint)
    for mode in MODES:
        for rules in rules_of(fmt, mode)[:4]:
            stage = plan.quantize_plan(kind, fmt, rules, kind).stages[0]
            expected = np.empty_like(xs)
            getattr(vector.kernels(), stage.what)(xs.copy(), expected, stage.row, stage.kind)
            for x, bits in zip(xs.tolist(), expected.tolist(), strict=True):
                term = machine.body(
                    stage.what.rstrip("0123456789"), stage.kind, kind.bits, z3.BitVecVal(x, kind.bits), stage.row
                )
                assert z3.simplify(term).as_long() == bits, (mode, hex(x))


def test_every_deterministic_body_is_proved():
    """No body is left that no claim reaches."""
    machine = Machine()
    used = {("general", 0), ("general", 1)}
    for name in ("e4m3", "e2m1", "bf16", "fp16", "tf32", "e4m3fnuz", "ue4m3", "e8m0", "int8"):
        fmt = get(name)
        for source in SOURCES.values():
            for mode in MODES:
                for rules in rules_of(fmt, mode):
                    plans = plan.quantize_plan(source, fmt, rules, source), plan.encode_plan(source, fmt, rules)
                    used |= {(s.what, s.kind) for made in plans for s in made.stages}
            used |= {(s.what, s.kind) for s in plan.decode_plan(fmt, source).stages}
    reached = {(what.rstrip("0123456789"), kind) for what, kind in used if isinstance(what, str)}
    programs = {name: steps for name, steps in machine.bodies[32].items() if name not in ("random", "draw", "blocks")}
    assert reached == {(name, kind) for name, steps in programs.items() for kind in range(len(steps))}
