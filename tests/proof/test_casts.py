"""quantize and encode, proved for every float32 and every float64."""

import pytest
import z3

from fpformats.registry import FORMATS, get

from .cases import MODES, SOURCES, claims, given
from .grid import Grid
from .solve import counterexample

ELEMENTS = [name for name, fmt in FORMATS.items() if fmt.bits <= 19]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ELEMENTS)
def test_every_input(name, mode, source):
    fmt, kind = get(name), SOURCES[source]
    x = z3.BitVec("x", kind.bits)
    found = counterexample(x, list(claims(fmt, mode, kind, x)), given(fmt, x, Grid(fmt, kind.bits)))
    assert found is None, str(found)
