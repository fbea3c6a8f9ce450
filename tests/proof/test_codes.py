"""Codes to values, and values to codes, proved for every code."""

import pytest
import z3

from fpformats.registry import FORMATS, formats, get

from .cases import SOURCES, Machine, decode_claims, packing_claims
from .grid import BITS
from .solve import counterexample

pytestmark = pytest.mark.proof

ELEMENTS = [name for name, fmt in FORMATS.items() if fmt.bits <= 19]
P3109 = [name for name in formats("element") if name.startswith("binary") and get(name).bits <= 8]


def _code(fmt):
    """Any code of the format, in as many bits as codes are compared in."""
    code = z3.BitVec("code", fmt.bits)
    return code, z3.ZeroExt(BITS - fmt.bits, code)


@pytest.mark.parametrize("target", SOURCES)
@pytest.mark.parametrize("name", [*ELEMENTS, *P3109])
def test_decode(name, target):
    fmt = get(name)
    code, wide = _code(fmt)
    if claims := list(decode_claims(fmt, SOURCES[target], wide, Machine())):
        found = counterexample(code, claims)
        assert found is None, str(found)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", [*ELEMENTS, *P3109])
def test_values_are_packed_into_their_codes(name, source):
    fmt = get(name)
    code, wide = _code(fmt)
    if claims := list(packing_claims(fmt, SOURCES[source], wide, Machine())):
        found = counterexample(code, claims)
        assert found is None, str(found)
