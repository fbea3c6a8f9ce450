"""quantize and encode, proved for every float32 and every float64 there is."""

import pytest
import z3

from fpformats.registry import FORMATS, get

from .cases import MODES, SOURCES, Machine, cast_claims
from .solve import first_counterexample

pytestmark = pytest.mark.proof

ELEMENTS = [name for name, fmt in FORMATS.items() if fmt.bits <= 19]

#: one of each kind (mirrored, unsigned, one zero, powers of two, two's complement): the others differ from them in
#: constants only, and additions in binary64 take the solver seconds a mode
OF_EACH_KIND = ("e2m1", "ue4m3", "e4m3fnuz", "e8m0", "s2")


def _cases():
    for source in SOURCES:
        for name in ELEMENTS:
            for mode in MODES:
                long = source == "float64" and name not in OF_EACH_KIND and mode != "nearest_even"
                yield pytest.param(name, mode, source, marks=[pytest.mark.nightly] if long else [])


@pytest.mark.parametrize(("name", "mode", "source"), list(_cases()))
def test_every_source_under_every_rule(name, mode, source):
    fmt, kind = get(name), SOURCES[source]
    x = z3.BitVec("x", kind.bits)
    found = first_counterexample(x, cast_claims(fmt, mode, kind, x, Machine()))
    assert found is None, str(found)
