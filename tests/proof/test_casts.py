"""quantize and encode, proved for every float32 and every float64."""

import pytest

z3 = pytest.importorskip("z3", reason="z3 is not installed: pip install '.[proof]'")

from fpformats.kernels import rows as R  # noqa: E402
from fpformats.registry import FORMATS, get  # noqa: E402

from . import cases  # noqa: E402
from .cases import MODES, SOURCES, claims, given  # noqa: E402
from .grid import Grid  # noqa: E402
from .solve import counterexample  # noqa: E402

pytestmark = pytest.mark.proof
ELEMENTS = [name for name, fmt in FORMATS.items() if fmt.bits <= 19]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ELEMENTS)
def test_every_input(name, mode, source):
    """The stages that the library runs, and the bodies that fit any format, under every rule."""
    fmt, kind = get(name), SOURCES[source]
    x = z3.BitVec("x", kind.bits)
    found = counterexample(x, list(claims(fmt, mode, kind, x)), given(fmt, x, Grid(fmt, kind.bits)))
    assert found is None, str(found)


#: (format, mode, field of the row): one wrong bit there, and the proof must fail
WRONG = [
    ("e4m3", "nearest_even", R.LAST),
    ("e4m3", "nearest_even", R.UP),
    ("e5m2", "nearest_even", R.EMIN),
    ("e2m1", "nearest_away", R.TIE),
    ("e4m3", "toward_positive", R.STEP),
    ("bf16", "nearest_even", R.HALF),
    ("bf16", "toward_zero", R.KEEP),
    ("e4m3fnuz", "to_odd", R.IF_ODD),
    ("e8m0", "nearest_even", R.ODD_FLIP),
    ("int8", "nearest_even", R.FIELD),
]


@pytest.mark.parametrize(("name", "mode", "field"), WRONG)
def test_a_wrong_constant_has_a_counterexample(name, mode, field, monkeypatch):
    """The proofs are not vacuous."""
    fmt, kind = get(name), SOURCES["float32"]
    right = cases.build_row

    def wrong(*arguments, **keywords):
        row = right(*arguments, **keywords)
        if field < row.size:
            row[field] ^= row.dtype.type(1)
        return row

    from fpformats import plan

    for cached in (plan.quantize_plan, plan.encode_plan):
        cached.cache_clear()
    monkeypatch.setattr(cases, "build_row", wrong)
    monkeypatch.setattr(plan, "build_row", wrong)
    x = z3.BitVec("x", kind.bits)
    try:
        found = counterexample(x, list(claims(fmt, mode, kind, x)), given(fmt, x, Grid(fmt, kind.bits)))
    finally:
        for cached in (plan.quantize_plan, plan.encode_plan):
            cached.cache_clear()
    assert found is not None
