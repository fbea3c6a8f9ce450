"""quantize and encode, proved for every float32 and every float64 there is."""

import pytest
import z3

from fpformats.registry import FORMATS, get

from .cases import MODES, SOURCES, Machine, cast_claims
from .solve import first_counterexample

pytestmark = pytest.mark.proof

ELEMENTS = [name for name, fmt in FORMATS.items() if fmt.bits <= 19]

#: formats whose additions in binary64 take the solver several seconds a mode, and those that differ from another one in
#: constants only
SLOW = ("fp16", "bf16", "tf32", "e4m3_ieee", "e3m4", "e5m2fnuz", "e4m3b11fnuz", "ue5m3", "s8", "s4", "mxint4_element")


def _cases():
    for source in SOURCES:
        for name in ELEMENTS:
            for mode in MODES:
                slow = source == "float64" and name in SLOW and mode != "nearest_even"
                yield pytest.param(name, mode, source, marks=[pytest.mark.nightly] if slow else [])


@pytest.mark.parametrize(("name", "mode", "source"), list(_cases()))
def test_every_source_under_every_rule(name, mode, source):
    fmt, kind = get(name), SOURCES[source]
    x = z3.BitVec("x", kind.bits)
    found = first_counterexample(x, cast_claims(fmt, mode, kind, x, Machine()))
    assert found is None, str(found)
