"""What the library does, followed on terms, and what is claimed of it.

A plan's stages are followed one by one: the choice of bodies, their rows and the NumPy steps between them are all part of
what is proved. Left out is only what `convert` looks after by itself: NaN on its way into a format without one, NaN codes
that a profile prescribes, and `via`, which is two plans.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import z3

from fpformats import plan
from fpformats.compile_row import WIDTHS, build_row, fit
from fpformats.format import Format
from fpformats.kernels.bodies import Words, bodies
from fpformats.profiles import PROFILES
from fpformats.registry import get
from fpformats.rounding import OVERFLOWS, ROUNDINGS, SUBNORMALS, Rules

from .grid import BITS, Grid
from .solve import Claim
from .spec import cast, decoded
from .terms import Bits, Terms

__all__ = ["MODES", "SOURCES", "Machine", "cast_claims", "decode_claims", "packing_claims", "rules_of"]

MODES = tuple(row.name for row in ROUNDINGS.values() if not row.random_bits)
SOURCES = {"float32": get("fp32"), "float64": get("fp64")}


def rules_of(fmt: Format, mode: str) -> tuple[Rules, ...]:
    """Every rule that can matter to a kernel, each once beside the format's defaults; and the profiles' rows."""
    base = Rules(rounding=mode, nan="max")
    out = [replace(base, overflow=name) for name in OVERFLOWS]
    out += [replace(base, subnormals=name) for name in SUBNORMALS]
    if fmt.has_nan:
        out.append(replace(base, overflow="saturate", inf="nan"))
    if not fmt.signed:
        out += [replace(base, negative=name) for name in ("clamp", "nan", "abs")]
    for profile in PROFILES.values():
        row = profile.rows.get("p3109" if fmt.name.startswith("binary") else fmt.name)
        if row is not None and row.rounding == mode:
            out.append(replace(row, nan="max", via=None, nan_codes=None, nan_payload_bits=0))
    return tuple(dict.fromkeys(out))


def _label(rules: Rules) -> str:
    """The rules that are not a default."""
    names = ("overflow", "subnormals", "inf", "negative", "zero", "quirk")
    said = [f"{name}={getattr(rules, name)}" for name in names if getattr(rules, name) != getattr(Rules(), name)]
    return ", ".join(said) or "defaults"


def _resized(x: z3.BitVecRef, width: int) -> z3.BitVecRef:
    """To another unsigned type, as C casts do it."""
    if x.size() == width:
        return x
    return z3.Extract(width - 1, 0, x) if x.size() > width else z3.ZeroExt(width - x.size(), x)


def _float_cast(x: z3.BitVecRef, source: Terms, to: Terms) -> z3.BitVecRef:
    """Between binary32 and binary64, to nearest even; a NaN keeps its sign and the top of its payload, and is quiet."""
    number = z3.fpBVToFP(x, source.sort)
    payload = z3.Extract(source.mantissa - 1, max(0, source.mantissa - to.mantissa), x)
    if to.mantissa > source.mantissa:
        payload = z3.Concat(payload, z3.BitVecVal(0, to.mantissa - source.mantissa))
    sign = z3.Extract(source.width - 1, source.width - 1, x)
    nan = z3.Concat(sign, z3.BitVecVal(-1, to.exponent), payload | 1 << (to.mantissa - 1))
    return z3.If(z3.fpIsNaN(number), nan, z3.fpToIEEEBV(z3.fpFPToFP(z3.RNE(), number, to.sort)))


class Machine:
    """Runs bodies and stages on terms.

    Parameters
    ----------
    change : callable, optional
        Makes another vocabulary of a width's own, to see a wrong one fail.
    terms : type
        What the vocabulary is made of.
    """

    def __init__(self, change: Callable[[Words], Words] = lambda words: words, terms: type[Terms] = Terms) -> None:
        self.terms = {width: terms(width) for width in WIDTHS}
        self.bodies = {width: bodies(change(self.terms[width].words())) for width in WIDTHS}
        self.used: set[tuple[str, int]] = set()

    def body(self, name: str, kind: int, width: int, x: z3.BitVecRef, row: Any, *word: z3.BitVecRef) -> z3.BitVecRef:
        """One body on one term, and on a random word if it takes one."""
        self.used.add((name, kind))
        terms = self.terms[width]
        terms.fresh_start()
        words = [Bits(_resized(w, width)) for w in word]
        return self.bodies[width][name][kind](Bits(x), *words, terms.row(row)).term

    def run(self, stages: Sequence[plan.Stage], x: z3.BitVecRef, *word: z3.BitVecRef) -> z3.BitVecRef:
        """What comes out of a plan's stages."""
        for stage in stages:
            out = np.dtype(stage.out).itemsize * 8
            if isinstance(stage.what, str):
                name = stage.what.rstrip("0123456789")
                width = 64 if stage.what.endswith("64") else 32
                random = word if name == "random" else ()
                name = "draw" if (name, width) == ("random", 32) else name
                x = self.body(name, stage.kind, width, _resized(x, width), stage.row, *random)
            elif stage.what in (plan._widen, plan._narrow):
                x = _float_cast(x, self.terms[96 - out], self.terms[out])
            elif stage.what is not plan._store:
                x = _shifted(stage.what, _resized(x, max(out, x.size())))
            x = _resized(x, out)
        return x


def _shifted(step: Any, x: z3.BitVecRef) -> z3.BitVecRef:
    """A shift by a fixed number of bits; NotImplementedError for any other step."""
    for make, shift in ((plan._shift, z3.LShR), (plan._shift_left, lambda x, count: x << count)):
        if step.__code__ is make(0).__code__:
            return shift(x, inspect.getclosurevars(step).nonlocals["count"])
    raise NotImplementedError(step)


# --- claims -------------------------------------------------------------------------------------------------
def _same(a: Sequence[plan.Stage], b: Sequence[plan.Stage]) -> bool:
    return len(a) == len(b) and all(
        (s.what, s.kind, s.out) == (t.what, t.kind, t.out) and np.array_equal(s.row, t.row)
        for s, t in zip(a, b, strict=True)
    )


def _encode_stages(fmt: Format, rules: Rules, source: Format) -> tuple[bool, tuple[plan.Stage, ...]]:
    """(whether encode first makes values just as quantize does, its stages from there on)."""
    first = plan.quantize_plan(source, fmt, rules, source).stages
    stages = plan.encode_plan(source, fmt, rules).stages
    through = len(first) < len(stages) and _same(first, stages[: len(first)])
    return through, stages[len(first) :] if through else stages


def cast_claims(
    fmt: Format, mode: str, source: Format, x: z3.BitVecRef, machine: Machine, rules_of: Any = rules_of
) -> Iterator[Claim]:
    """That quantize and encode are right for every source x, under every rule.

    Where encode is quantize and a packing of the values, the packing is `packing_claims`' business.
    """
    width, grid = WIDTHS[source.bits], Grid(fmt, source.bits)
    relevant = z3.BoolVal(True) if fmt.has_nan else z3.Not(z3.fpIsNaN(z3.fpBVToFP(x, grid.source)))
    how = fit(fmt, width)
    for rules in rules_of(fmt, mode):
        want = cast(grid, x, rules, source.emin)
        results = {}
        for codes in (True, False):
            if how == "general" or (how in ("narrow", "aligned") and codes):
                row = build_row(fmt, rules, width, codes=codes, source=source, kernel="general")
                results["general", codes] = machine.body("general", int(codes), width.bits, x, row)
        results["plan", False] = machine.run(plan.quantize_plan(source, fmt, rules, source).stages, x)
        through, stages = _encode_stages(fmt, rules, source)
        if not through:
            results["plan", True] = machine.run(stages, x)
        for (what, codes), got in results.items():
            name = f"{fmt.name} {mode}: {what} {'encode' if codes else 'quantize'} ({_label(rules)})"
            same = _resized(got, BITS) == want.code() if codes else got == want.value()
            yield Claim(name, z3.Implies(relevant, same), f"{what} {codes}")


def packing_claims(fmt: Format, source: Format, code: z3.BitVecRef, machine: Machine) -> Iterator[Claim]:
    """That every value of the format, as quantize leaves it in a source, is packed into its code."""
    result, valid = decoded(Grid(fmt, source.bits), code)
    done: list[tuple[plan.Stage, ...]] = []
    for mode in MODES:
        for rules in rules_of(fmt, mode):
            through, stages = _encode_stages(fmt, rules, source)
            if through and not any(_same(stages, old) for old in done):
                done.append(stages)
                same = _resized(machine.run(stages, result.value()), BITS) == result.code()
                yield Claim(f"{fmt.name}: packing ({mode}, {_label(rules)})", z3.Implies(valid, same))


def decode_claims(fmt: Format, result: Format, code: z3.BitVecRef, machine: Machine) -> Iterator[Claim]:
    """That decode gives every code's value, and for a NaN any NaN of its sign.

    Nothing is claimed where it looks the value up in a table, which is the definition's own.
    """
    grid = Grid(fmt, result.bits)
    want, valid = decoded(grid, code)
    stages = plan.decode_plan(fmt, result).stages
    if not isinstance(stages[0].what, str) and stages[0].what.__code__ is plan._look_up(np.zeros(1)).__code__:
        return
    got = machine.run(stages, _resized(code, np.dtype(plan.code_dtype(fmt)).itemsize * 8))
    sign = 1 << (result.bits - 1)
    nan = z3.And(z3.fpIsNaN(z3.fpBVToFP(got, grid.source)), got & sign == want.value() & sign)
    yield Claim(f"{fmt.name}: decode", z3.Implies(valid, z3.If(want.end.nan, nan, got == want.value())))
