"""The stochastic modes, proved for every source and every random word.

P3109's definitions on the line: with f the discarded fraction and R the N random bits, the line goes up where
floor(f 2^N) + R >= 2^N (A), floor(f 2^(N+1)) + 2R + 1 >= 2^(N+1) (B), nearest_even(f 2^N) + R >= 2^N (C). In each case that
is z3's conversion to N or N + 1 more bits, plus a number, cut.
"""

from __future__ import annotations

import pytest
import z3

from fpformats import plan
from fpformats.format import Format
from fpformats.registry import FORMATS, get
from fpformats.rounding import OVERFLOWS, Rules

from .cases import SOURCES, Machine
from .grid import BITS, Grid
from .solve import Claim, first_counterexample
from .spec import cast
from .terms import PlainTerms

pytestmark = pytest.mark.proof

ELEMENTS = [name for name, fmt in FORMATS.items() if fmt.bits <= 19]


class RandomGrid(Grid):
    """A grid whose rounding depends on a word of `count` random bits."""

    def __init__(self, fmt: Format, width: int, word: z3.BitVecRef, count: int) -> None:
        super().__init__(fmt, width)
        self.word, self.count = z3.ZeroExt(BITS - word.size(), word), count

    def line(self, x: z3.BitVecRef, mode: str) -> z3.BitVecRef:
        extra = self.count + (mode == "stochastic_b")
        plus = 2 * self.word + 1 if mode == "stochastic_b" else self.word
        cut = z3.RNE() if mode == "stochastic_c" else z3.RTZ()
        return z3.LShR(self.converted(z3.fpAbs(self.scaled(x)), cut, extra) + plus, extra)


def _claims(fmt, mode, source, count, x, word):
    machine = Machine(terms=PlainTerms)
    grid = RandomGrid(fmt, source.bits, word, count)
    given = z3.ULE(word, (1 << count) - 1)
    if not fmt.has_nan:
        given = z3.And(given, z3.Not(z3.fpIsNaN(z3.fpBVToFP(x, grid.source))))
    for overflow in OVERFLOWS:
        rules = Rules(rounding=mode, nan="max", overflow=overflow, random_bits=count)
        want = cast(grid, x, rules, source.emin)
        values = machine.run(plan.quantize_plan(source, fmt, rules, source, False).stages, x, word)
        yield Claim(f"quantize, {overflow}", z3.Implies(given, values == want.value()), "quantize")
        codes = machine.run(plan.encode_plan(source, fmt, rules, False).stages, x, word)
        same = z3.ZeroExt(BITS - codes.size(), codes) == want.code() if codes.size() < BITS else codes == want.code()
        yield Claim(f"encode, {overflow}", z3.Implies(given, same), "encode")


@pytest.mark.parametrize("count", [8, pytest.param(32, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("mode", ["stochastic", "stochastic_b", "stochastic_c"])
@pytest.mark.parametrize("name", ELEMENTS)
def test_every_source_and_every_word(name, mode, source, count):
    kind = SOURCES[source]
    x, word = z3.BitVec("x", kind.bits), z3.BitVec("word", 32)
    found = first_counterexample(x, _claims(get(name), mode, kind, count, x, word))
    assert found is None, str(found)
