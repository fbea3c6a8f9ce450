"""Every float32 there is, in every deterministic mode and flush mode, against the reference's decisions at boundaries.

`decisions` has the argument why a decision at every value, middle and interval end is one for all numbers between. The
sweeps use ``overflow="nonfinite"``, where modes differ most; the other rules, and every combination of mode and flush
mode, are held at the first and last number of every interval.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import partial

import numpy as np
import pytest
from decisions import decide, segments
from sweep import CHUNK, SIGN, Check, Difference, Scratch, fill, sweep

import fpformats as fp
from fpformats import reference
from fpformats.rounding import OVERFLOWS, ROUNDINGS, SUBNORMALS, Rules

SWEPT = ("fp16", "bf16", "tf32", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "e4m3fnuz", "e5m2fnuz", "e4m3_ieee", "e3m4")
TOY = fp.Format("toy", exponent_bits=3, mantissa_bits=2, bias=3, emax=2, subnormals=False)
HELD = (*SWEPT, "e4m3b11fnuz", "int8", "e8m0", "ue4m3", "ue5m3", "binary8p4se", "binary8p1uf", "binary5p3ue", TOY)

MODES = [name for name, row in ROUNDINGS.items() if not row.random_bits]
#: (rounding, subnormals): to nearest even without flushing is `test_exhaustive`'s.
VARIANTS = [(mode, "keep") for mode in MODES[1:]] + [("nearest_even", flush) for flush in list(SUBNORMALS)[1:]]


def keywords(rules: Rules) -> dict[str, str | None]:
    """The arguments that mean these rules."""
    return {key: getattr(rules, key) for key in ("rounding", "overflow", "nan", "subnormals")}


def described(fmt: str | fp.Format, rules: Rules) -> str:
    """What a failure calls it."""
    return f"encode to {fp.get(fmt).name}, {rules.rounding}, {rules.overflow}, subnormals {rules.subnormals}"


def value_bits(fmt: fp.Format) -> np.ndarray:
    """The float32 bits of every code's value, by the reference; NaN where a code stands for nothing."""

    def value(code: int) -> float:
        try:
            return float(reference.decode(code, fmt))
        except ValueError:
            return np.nan

    return np.array([value(code) for code in range(1 << fmt.bits)], np.float32).view(np.uint32)


class Expected:
    """Codes of all float32 as runs, for one set of rules."""

    def __init__(self, starts: np.ndarray, halves: Iterable[np.ndarray]) -> None:
        self._halves = []
        for codes in halves:
            change = np.append(True, codes[1:] != codes[:-1])
            self._halves.append((starts[change], codes[change]))

    def write(self, out: np.ndarray, start: int) -> None:
        """The codes of the patterns from `start` on."""
        starts, codes = self._halves[start >= SIGN]
        start &= ~SIGN
        here = slice(np.searchsorted(starts, start, "right") - 1, np.searchsorted(starts, start + out.size, "left"))
        fill(out, np.maximum(starts[here] - start, 0).tolist(), codes[here].tolist())


def make_check(fmt: str, expected: list[tuple[Rules, Expected]], dtype: np.dtype) -> Check:
    """A check of encode by all variants; the chunk stays in cache meanwhile."""
    scratch, got, wanted = Scratch(), np.empty(CHUNK, dtype), np.empty(CHUNK, dtype)
    calls = [(described(fmt, rules), keywords(rules), runs) for rules, runs in expected]

    def check(start: int, x: np.ndarray) -> Difference | None:
        values = x.view(np.float32)
        for what, options, runs in calls:
            runs.write(wanted, start)
            fp.encode(values, fmt, out=got, **options)
            if difference := scratch.compare(what, x, wanted, got):
                return difference
        return None

    return check


#: those that run in CI; the rest differ from one of them in constants only, and CI proves all of them
ALWAYS = ("e4m3", "e2m1")


@pytest.mark.exhaustive
@pytest.mark.parametrize("fmt", [pytest.param(f, marks=[] if f in ALWAYS else [pytest.mark.nightly]) for f in SWEPT])
def test_all_float32(fmt: str) -> None:
    cut, expected = segments(fp.get(fmt)), []
    for rounding, subnormals in VARIANTS:
        rules = Rules(rounding=rounding, overflow="nonfinite", nan="max", subnormals=subnormals)
        halves = [decide(cut, rules, negative=negative) for negative in (False, True)]
        expected.append((rules, Expected(cut.start, halves)))
    dtype = fp.encode(np.zeros(1, np.float32), fmt).dtype
    difference = sweep(partial(make_check, fmt, expected, dtype))
    assert difference is None, str(difference)


@pytest.mark.slow
@pytest.mark.parametrize("fmt", HELD, ids=lambda fmt: fp.get(fmt).name)
def test_every_combination_at_every_boundary(fmt: str | fp.Format) -> None:
    cut, scratch, table = segments(fp.get(fmt)), Scratch(1 << 22), value_bits(fp.get(fmt))
    combinations = itertools.product(MODES, OVERFLOWS, SUBNORMALS)
    if fp.get(fmt).bits > 8:  # a large format's share of the time
        combinations = itertools.product(MODES, OVERFLOWS, ["keep"])
    for rounding, overflow, subnormals in combinations:
        rules = Rules(rounding=rounding, overflow=overflow, nan="max", subnormals=subnormals)
        what, options = described(fmt, rules), keywords(rules)
        for negative in (False, True):
            codes = np.tile(decide(cut, rules, negative=negative, sample=100), 2)
            x = np.concatenate([cut.start, cut.last]).astype(np.uint32) | np.uint32(SIGN * negative)
            got = fp.encode(x.view(np.float32), fmt, **options)
            difference = scratch.compare(what, x, codes.astype(got.dtype), got)
            assert difference is None, str(difference)
            values = fp.quantize(x.view(np.float32), fmt, **options).view(np.uint32)
            difference = scratch.compare(f"the value of {what}", x, table[codes], values, as_float=True)
            assert difference is None, str(difference)
