"""What is proved of a format, and how the library does it: the stages of its plans, and the bodies that fit any format.

A plan's stages are followed one by one on terms, so the choice of bodies, the rows, and the steps between are all part of
what is proved; only NaN on its way into a format without one is left out, which `convert` looks for by itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import z3

from fpformats import plan
from fpformats.compile_row import WIDTHS, build_row, fit
from fpformats.format import Format
from fpformats.kernels.bodies import bodies
from fpformats.profiles import PROFILES
from fpformats.registry import get
from fpformats.rounding import OVERFLOWS, ROUNDINGS, SUBNORMALS, Rules

from .grid import BITS, Grid
from .solve import Claim
from .spec import cast, decoded
from .terms import Bits, Terms

__all__ = ["MODES", "SOURCES", "claims", "given", "packing_claims", "rules_of", "run"]

MODES = tuple(row.name for row in ROUNDINGS.values() if not row.random_bits)
SOURCES = {"float32": get("fp32"), "float64": get("fp64")}


def rules_of(fmt: Format, mode: str) -> tuple[Rules, ...]:
    """Every rule that can matter to a kernel, each once with the format's defaults; and the profiles' rows."""
    base = Rules(rounding=mode, nan="max")
    out = [replace(base, overflow=name) for name in OVERFLOWS]
    out += [replace(base, subnormals=name) for name in SUBNORMALS]
    if fmt.has_nan:
        out += [replace(base, overflow="saturate", inf="nan")]
    if not fmt.signed:
        out += [replace(base, negative=name) for name in ("clamp", "nan", "abs")]
    if not fmt.has_zero and mode not in (
        "toward_zero",
        "toward_negative",
    ):  # a zero that becomes NaN counts as an overflow, and so needs one that does
        out += [replace(base, zero="nan", overflow="nonfinite")]
    for profile in PROFILES.values():
        key = "p3109" if fmt.name.startswith("binary") else fmt.name
        if key in profile.rows and profile.rows[key].rounding == mode:
            out.append(replace(profile.rows[key], nan="max", via=None, nan_codes=None, nan_payload_bits=0))
    return tuple(dict.fromkeys(out))


def label(rules: Rules) -> str:
    """The rules that are not a default, in short."""
    default = Rules()
    names = ("overflow", "subnormals", "inf", "negative", "zero", "quirk")
    return (
        ", ".join(f"{n}={getattr(rules, n)}" for n in names if getattr(rules, n) != getattr(default, n)) or "defaults"
    )


def given(fmt: Format, x: z3.BitVecRef, grid: Grid) -> z3.BoolRef:
    """Which sources are a kernel's business."""
    return z3.BoolVal(True) if fmt.has_nan else z3.Not(z3.fpIsNaN(z3.fpBVToFP(x, grid.source)))


# --- stages on terms ----------------------------------------------------------------------------------------
def _resized(x: z3.BitVecRef, width: int) -> z3.BitVecRef:
    """To another unsigned type, as a C cast does it."""
    if x.size() == width:
        return x
    return z3.Extract(width - 1, 0, x) if x.size() > width else z3.ZeroExt(width - x.size(), x)


def _float_cast(x: z3.BitVecRef, to: Terms, source: Terms) -> z3.BitVecRef:
    """Between binary32 and binary64 to nearest even; a NaN keeps its sign and the top of its payload, and is quiet."""
    number = z3.fpBVToFP(x, source.sort)
    fraction = z3.Extract(source.mantissa - 1, 0, x)
    if source.mantissa > to.mantissa:
        payload = z3.Extract(source.mantissa - 1, source.mantissa - to.mantissa, fraction)
    else:
        payload = z3.Concat(fraction, z3.BitVecVal(0, to.mantissa - source.mantissa))
    exponent = z3.BitVecVal((1 << to.exponent) - 1, to.exponent)
    sign = z3.Extract(source.width - 1, source.width - 1, x)
    nan = z3.Concat(sign, exponent, payload | (1 << (to.mantissa - 1)))
    return z3.If(z3.fpIsNaN(number), nan, z3.fpToIEEEBV(z3.fpFPToFP(z3.RNE(), number, to.sort)))


@lru_cache(maxsize=2)
def _machine(width: int) -> tuple[Terms, dict[str, Any]]:
    terms = Terms(width)
    return terms, bodies(terms.words())


def body(name: str, kind: int, width: int, x: z3.BitVecRef, row: Any) -> z3.BitVecRef:
    """One body on one term."""
    terms, programs = _machine(width)
    terms.fresh_start()
    return programs[name][kind](Bits(x), terms.row(row)).term


def run(stages: Sequence[plan.Stage], x: z3.BitVecRef) -> z3.BitVecRef:
    """What comes out of a plan's stages."""
    for stage in stages:
        out = np.dtype(stage.out).itemsize * 8
        if isinstance(stage.what, str):
            name = stage.what.rstrip("0123456789")
            width = 64 if stage.what.endswith("64") else 32
            x = _resized(body(name, stage.kind, width, _resized(x, width), stage.row), out)
        elif stage.what in (plan._widen, plan._narrow):
            x = _float_cast(x, _machine(out)[0], _machine(96 - out)[0])
        elif stage.what is plan._store:
            x = _resized(x, out)
        elif stage.what.__qualname__ == plan._shift(1).__qualname__:
            x = _resized(z3.LShR(x, inspect.getclosurevars(stage.what).nonlocals["count"]), out)
        else:
            raise NotImplementedError(stage.what)
    return x


# --- claims -------------------------------------------------------------------------------------------------
def _same(a: plan.Stage, b: plan.Stage) -> bool:
    return (a.what, a.kind, a.out) == (b.what, b.kind, b.out) and np.array_equal(a.row, b.row)


def encode_stages(fmt: Format, rules: Rules, source: Format) -> tuple[bool, tuple[plan.Stage, ...]]:
    """(whether values are made first, just as quantize does; the stages from there on)."""
    first = plan.quantize_plan(source, fmt, rules, source).stages
    stages = plan.encode_plan(source, fmt, rules).stages
    through = len(first) < len(stages) and all(_same(a, b) for a, b in zip(first, stages, strict=False))
    return through, stages[len(first) :] if through else stages


def claims(fmt: Format, mode: str, source: Format, x: z3.BitVecRef) -> Iterator[Claim]:
    """That quantize and encode are right for every source x, under every rule.

    Where encode is quantize and then a packing of values, the packing is `packing_claims`' business.
    """
    width, grid = WIDTHS[source.bits], Grid(fmt, source.bits)
    for rules in rules_of(fmt, mode):
        want = cast(grid, x, rules, source.emin)
        results = {("plan", False): run(plan.quantize_plan(source, fmt, rules, source).stages, x)}
        through, stages = encode_stages(fmt, rules, source)
        if not through:
            results["plan", True] = run(stages, x)
        if fit(fmt, width) is not None:
            for codes in (False, True):
                row = build_row(fmt, rules, width, codes=codes, source=source)
                results["general", codes] = body("general", int(codes), width.bits, x, row)
        for (how, codes), got in results.items():
            same = _resized(got, BITS) == want.code() if codes else got == want.value()
            yield Claim(f"{fmt.name} {mode}: {how} {'encode' if codes else 'quantize'} ({label(rules)})", same)


def packing_claims(fmt: Format, source: Format, code: z3.BitVecRef) -> Iterator[Claim]:
    """That every value of the format, as `quantize` leaves it in a source, is packed into its code."""
    result, _ = decoded(Grid(fmt, source.bits), code)
    done: list[tuple[plan.Stage, ...]] = []
    for mode in MODES:
        for rules in rules_of(fmt, mode):
            through, stages = encode_stages(fmt, rules, source)
            known = any(len(stages) == len(old) and all(map(_same, stages, old)) for old in done)
            if through and not known:
                done.append(stages)
                got = _resized(run(stages, result.value()), BITS)
                yield Claim(f"{fmt.name}: packing ({mode}, {label(rules)})", got == result.code())
