"""The P3109 family up to 8 bits: formats on one grid of values are proved together."""

from collections import defaultdict
from itertools import chain

import pytest
import z3

from fpformats.registry import formats, get

from .cases import MODES, SOURCES, Machine, cast_claims
from .solve import first_counterexample

pytestmark = pytest.mark.proof


def _grids():
    grids = defaultdict(list)
    for name in formats("element"):
        if name.startswith("binary") and get(name).bits <= 8:
            grids[get(name).emin, get(name).mantissa_bits].append(name)
    return grids


GRIDS = _grids()


def _cases():
    for source in SOURCES:
        for grid in GRIDS:
            for mode in MODES:
                long = mode != "nearest_even" or source == "float64"
                ident = f"emin{grid[0]}-m{grid[1]}-{mode}-{source}"
                yield pytest.param(grid, mode, source, id=ident, marks=[pytest.mark.nightly] if long else [])


@pytest.mark.parametrize(("grid", "mode", "source"), list(_cases()))
def test_every_source_under_every_rule(grid, mode, source):
    kind = SOURCES[source]
    x, machine = z3.BitVec("x", kind.bits), Machine()
    claims = chain.from_iterable(cast_claims(get(name), mode, kind, x, machine) for name in GRIDS[grid])
    found = first_counterexample(x, claims)
    assert found is None, str(found)
