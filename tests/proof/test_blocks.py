"""The bodies of numbers in blocks: those of nearest-even, but for NaN, for every float32 there is."""

import numpy as np
import pytest
import z3

from fpformats import get, reference
from fpformats.blocks.recipe import Recipe, recipe
from fpformats.kernels import BLOCK_BODIES, BLOCK_LOOPS
from fpformats.kernels.rows import INDEX

from .cases import Machine
from .solve import Claim, counterexample

pytestmark = pytest.mark.proof

RECIPES = (
    "mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4", "nvfp4_te", "fp8_e5m2_row_torchao", "mxint8",
    "int8_channel_absmax", "int4_1x128_absmax",
)  # fmt: skip


def _both(what: str, x: z3.BitVecRef, got: z3.BitVecRef, want: z3.BitVecRef, row: np.ndarray) -> list[Claim]:
    """What a number becomes, and what NaN does."""
    is_nan = z3.fpIsNaN(z3.fpBVToFP(x, z3.Float32()))
    return [
        Claim(f"{what} of a number", z3.Or(is_nan, got == want)),
        Claim(f"{what} of NaN", z3.Implies(is_nan, got == int(row[INDEX["nan"]]))),
    ]


def _claims(name: str, x: z3.BitVecRef, more: int = 0) -> list[Claim]:
    made, machine = recipe(get(name), get("fp32")), Machine()
    claims: list[Claim] = []
    jobs = {"code": (made.fused_codes, made.encode), "value": (made.fused_values, made.quantize)}
    for what, (fused, cast) in jobs.items():
        loop, row = fused
        (stage,) = cast.stages
        row = row.copy()
        row[INDEX["over"]] += np.uint32(more)  # what the largest value is: of values only
        got = machine.body("blocks", list(BLOCK_BODIES).index(BLOCK_LOOPS[loop][0]), 32, x, row)
        kind = stage.what.rstrip("0123456789")
        want = machine.body(kind, stage.kind, 32, x, stage.row)
        claims += _both(what, x, got, want, row)
        assert int(row[INDEX["nan"]]) == (made.nan_code if what == "code" else _value_bits(made))
    return claims


TO_ZERO = ("mxfp4_ggml", "nvfp4_mlx", "fp4_1x128_deepgemm")


def _zero_claims(name: str, x: z3.BitVecRef, more: int = 0) -> list[Claim]:
    """Ties towards zero, in one body, are two stages and what the recipe does with -0."""
    made, machine = recipe(get(name), get("fp32")), Machine()
    loop, row = made.fused_codes
    row = row.copy()
    row[INDEX["tie"]] += np.uint32(more)
    got = machine.body("blocks", list(BLOCK_BODIES).index(BLOCK_LOOPS[loop][0]), 32, x, row)
    want = machine.run(made.encode.stages, x)
    if made.fmt.zero == "drop":
        want = z3.If(want == made.element.sign_bit, z3.BitVecVal(0, want.size()), want)
    got = z3.Extract(want.size() - 1, 0, got)
    return _both("code", x, got, want, row)


@pytest.mark.parametrize("name", TO_ZERO)
def test_ties_towards_zero(name):
    x = z3.BitVec("x", 32)
    found = counterexample(x, _zero_claims(name, x))
    assert found is None, str(found)


def test_another_share_of_a_step_is_refuted():
    x = z3.BitVec("x", 32)
    assert counterexample(x, _zero_claims("mxfp4_ggml", x, more=3)) is not None


def _value_bits(made: Recipe) -> int:
    value = reference.decode(made.nan_code, made.element)
    return int(np.float32(value).view(np.uint32))


@pytest.mark.parametrize("name", RECIPES)
def test_every_float32(name):
    x = z3.BitVec("x", 32)
    found = counterexample(x, _claims(name, x))
    assert found is None, str(found)


def test_a_wrong_row_is_refuted():
    x = z3.BitVec("x", 32)
    assert counterexample(x, _claims("mxfp8_e4m3", x, more=1 << 20)) is not None
