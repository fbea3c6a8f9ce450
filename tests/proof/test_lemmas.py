"""What the proofs lean on, proved by itself."""

import pytest
import z3

from fpformats.registry import FORMATS, get

from .cases import MODES, SOURCES
from .grid import BITS, Grid
from .solve import Claim, counterexample
from .terms import Terms, exact_product

pytestmark = pytest.mark.proof

ELEMENTS = [name for name, fmt in FORMATS.items() if fmt.bits <= 19]


@pytest.mark.parametrize("width", [32, 64])
def test_products_are_exact(width):
    """By a power of two and normal: every rounding agrees, hence x + e * c is the same fused or not."""
    terms = Terms(width)
    field, factor = z3.BitVec("field", terms.exponent), z3.BitVec("factor", width)
    power = z3.Concat(z3.BitVecVal(0, 1), field, z3.BitVecVal(0, terms.mantissa))
    exact, value = exact_product(power, factor, terms)
    numbers = z3.fpBVToFP(power, terms.sort), z3.fpBVToFP(factor, terms.sort)
    claims = [
        Claim(str(rounding), z3.Implies(exact, z3.fpMul(rounding, *numbers) == value))
        for rounding in (z3.RNE(), z3.RTP(), z3.RTN())
    ]
    assert counterexample(factor, claims) is None


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("name", ELEMENTS)
def test_values_of_lines(name, width):
    """The quick form of a line's value is what z3's conversion out of the sort gives."""
    fmt = get(name)
    grid, line = Grid(fmt, width), z3.BitVec("line", BITS)
    inside = z3.And(z3.ULE(fmt.min_line, line), z3.ULE(line, fmt.max_line + fmt.twos_complement))
    claim = Claim(name, z3.Implies(inside, grid.value(line) == grid.converted_value(line)))
    assert counterexample(line, [claim]) is None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("name", "source"), [("e4m3", "float32"), ("e5m2", "float64"), ("bf16", "float32"), ("e2m3", "float64")]
)
def test_both_ways_to_round_agree(name, source, mode):
    """z3's own modes, and what is made of two more bits and exactness for those that z3 does not have."""
    grid, x = Grid(get(name), SOURCES[source].bits), z3.BitVec("x", SOURCES[source].bits)
    number = z3.fpBVToFP(x, grid.source)
    finite = z3.Not(z3.Or(z3.fpIsNaN(number), z3.fpIsInf(number)))
    assert grid.has_direct
    claim = Claim(mode, z3.Implies(finite, grid.direct(x, mode) == grid.derived(x, mode)))
    assert counterexample(x, [claim]) is None
