"""`explain` for block formats: what it says is what encode_blocks does, and its numbers follow from each other."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fpformats as fp
from fpformats.explore.explain_block import BlockExplanation

BLOCK = [3.1, -0.2, 0.75, 0.0, -1.6, 2.5]


def explained(x: Any, name: str, **options: Any) -> BlockExplanation:
    made = fp.explain(x, name, **options)
    assert isinstance(made, BlockExplanation)
    return made


@pytest.mark.parametrize("name", fp.formats("block"))
def test_says_what_is_done(name: str) -> None:
    fmt = fp.get(name)
    x = BLOCK[:1] if fmt.block[1] == 1 else BLOCK
    told, made = explained(x, name), fp.encode_blocks(x, name)
    assert [number["code"] for number in told.numbers] == made.codes.tolist()
    assert [number["value"] for number in told.numbers] == made.decode().tolist()
    steps = {step: (how, value) for step, how, value in told.steps}
    if fmt.scale != "fp32":
        assert steps["code"][1] == made.scales.item()
    elif fmt.stored:
        assert np.float32(steps["stored"][1]) == made.scales.item()
    else:
        assert np.float32(steps["s"][1]) == made.scales.item()
    if fmt.zero_point:
        assert steps["p"] == (fmt.zero_point, made.zero_points.item())
    if fmt.z:
        assert np.float32(steps[fmt.second][1]) == made.tensor_scale.reshape(())
        assert steps["z"][0] == fmt.z
    for number in told.numbers:  # y is rounded to q
        element = fp.get(fmt.element)
        want = fp.quantize(number["y"], element, rounding=fmt.rounding, overflow="saturate")
        assert want == number["q"]
        assert number["x"] == float(np.float32(x[told.numbers.index(number)]))
    lines = len(told.steps) + sum(map(len, told.roundings.values())) + 3 + len(x)
    if len(x) == 1 and told.elements[0]:
        lines += str(told.elements[0]).count("\n") + 1
    assert str(told).count("\n") == lines
    for number, element in zip(told.numbers, told.elements, strict=True):
        if element is not None:
            assert (element.code, element.value) == (number["code"], number["q"])
            assert element.exact == number["y"]
        else:  # where the recipe has a rule beside rounding
            assert fmt.zero != "keep" or fmt.argmin or fmt.symmetric or fmt.y_at
    json.dumps(told.as_dict(), allow_nan=False)
    assert told._repr_html_().count("<tr") >= len(x) + len(told.steps)
    assert told.as_dict()["format"] == fmt.name
    assert len(told.as_dict()["steps"]) == len(told.steps)


def test_steps_of_one_recipe_by_hand() -> None:
    """The first row of the midpoints on which NVFP4's recipes differ: 1.1328125 in a tensor of 4.375."""
    told = explained([1.1328125, 0.5], "nvfp4_te", tensor_amax=4.375)
    steps = {step: value for step, _, value in told.steps}
    z = np.float32(2688) / np.float32(4.375)
    v = np.float32(1.1328125) * (z * (np.float32(1) / np.float32(6)))
    assert steps == {"G": 4.375, "z": float(z), "a": 1.1328125, "v": float(v), "code": 0x6F, "s": 120.0}
    y = np.float32(0.5) * (np.float32(1) / (np.float32(120) * (np.float32(1) / z)))
    assert told.numbers[1]["y"] == float(y)
    assert {step: value for step, _, value in explained([1.1328125], "nvfp4_torchao", tensor_amax=4.375).steps}[
        "code"
    ] == 0x6E


def test_given_and_special() -> None:
    assert [step for step, _, _ in explained([1.0], "fp8_e4m3_tensor_te", scale=2.0).steps] == ["s", "stored"]
    told = explained([math.nan, 1.0], "mxfp8")
    assert {step: value for step, _, value in told.steps}["code"] == 255
    assert all(math.isnan(number["value"]) for number in told.numbers)
    assert explained("0.1", "mxfp4").numbers[0]["x"] == float(np.float32(0.1))
    assert len(explained(np.ones(32, np.float32), "mxfp4").numbers) == 32
    assert explained([2, 1], "ternary_tensor_bitnet").steps[0] == ("a", "the mean magnitude", 1.5)


@pytest.mark.parametrize(
    ("x", "name", "options", "error", "message"),
    [
        ([1.0] * 17, "nvfp4", {}, ValueError, "x has 17 numbers; a block of nvfp4_te has at most 16"),
        ([1.0, 2.0], "fp8_e4m3_128x1_deepgemm", {}, ValueError, "x has 2 numbers along the axis"),
        ([1.0] * 33, "mxfp8_e4m3_te_32x32", {}, ValueError, "x has 33 numbers along the axis; .* at most 32"),
        ([[1.0]], "nvfp4", {}, TypeError, "one number, or the numbers of one block, were expected"),
        ([], "nvfp4", {}, TypeError, "x is empty; one number, or the numbers of one block, were expected"),
        ([1.0], "nvfp4", {"nan": "zero"}, ValueError, "the recipe decides nan"),
        ([1.0], "nvfp4", {"random": (1, 2)}, ValueError, "random bits are for element formats"),
        (1.0, "e4m3", {"scale": 2.0}, ValueError, "^scale: e4m3 is not a block format$"),
        ([1.0], "e4m3", {}, TypeError, "explain takes one number"),
    ],
)
def test_refusals(x: Any, name: str, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fp.explain(x, name, **options)


def test_each_rounding_of_a_recipe() -> None:
    """Transformer Engine's NVFP4: every operator is one float32 operation, told with its result."""
    told = explained([1.1328125, 0.5], "nvfp4_te", tensor_amax=4.375)
    one, six, g = np.float32(1), np.float32(6), np.float32(4.375)
    z = np.float32(2688) / g
    scaled = np.float32(120) * (one / z)
    assert dict(told.roundings["z"]) == {"2688 / G": float(z)}
    assert dict(told.roundings["v"]) == {"1 / 6": float(one / six), "z * (1 / 6)": float(z * (one / six))}
    assert dict(told.roundings["y"]) == {
        "1 / z": float(one / z), "s * (1 / z)": float(scaled), "1 / (s * (1 / z))": float(one / scaled)
    }  # fmt: skip
    out = np.float32(120) * g
    assert dict(told.roundings["value"]) == {
        "s * G": float(out), "1 / 2688": float(one / np.float32(2688)),
        "s * G * (1 / 2688)": float(out * (one / np.float32(2688))),
    }  # fmt: skip
    assert "              s * (1 / z) = 0.1953125\n" in str(told)


@pytest.mark.parametrize("name", fp.formats("block")[::7])
def test_roundings_lead_to_the_result(name: str) -> None:
    """Where y is x times or over the last of its roundings, or a scale, that gives y."""
    fmt = fp.get(name)
    told = explained([3.1], name)
    last = dict(told.roundings["y"])
    for how, operate in (("x * ", np.multiply), ("x / ", np.divide)):
        factor = fmt.y.removeprefix(how).removeprefix("(").removesuffix(")")
        if fmt.y.startswith(how) and factor in last:
            assert told.numbers[0]["y"] == operate(np.float32(3.1), np.float32(last[factor]))


def test_one_number_is_told_to_be_a_block_of_its_own() -> None:
    assert "note      one number is a block of its own; give the numbers of the block as a list, up to 32" in str(
        explained(3.1, "mxfp4")
    )
    assert "as many as the tensor has" in explained("3.1", "fp8_e4m3_tensor_te").note
    assert explained([3.1], "mxfp4").note == explained(3.1, "fp8_e4m3_128x1_deepgemm").note == ""


def test_elements_are_explained() -> None:
    """3.1 / 0.5 = 6.2 in e2m1 (floor rule): between 6 and the 8 that is not there."""
    told = explained([3.1, -0.2], "mxfp4")
    element = told.elements[0]
    assert element is not None
    assert (element.below.value, element.above.value, element.above.code, element.value) == (6, 8, None, 6)
    assert told.as_dict()["numbers"][0]["element"]["code"] == 7


def test_nan_in_a_block_is_json() -> None:
    data = explained([math.nan, 1.0], "mxfp8").as_dict()
    assert data["numbers"][0]["x"] == "nan"
    json.dumps(data, allow_nan=False)


@pytest.mark.parametrize(
    ("x", "hexadecimal"),
    [
        (Fraction(1, 3), "0x1.555556p-2"),
        ("1/3", "0x1.555556p-2"),
        (Decimal("0.1"), "0x1.99999ap-4"),
        (10**400, "inf"),
        (-(2**100) - 1, "-0x1p100"),
        (3, "0x3p0"),
        (True, "0x1p0"),
    ],
)
def test_numbers_that_no_array_holds(x, hexadecimal):
    """They are rounded to float32 once, by themselves and among others."""
    alone, first = fp.explain(x, "mxfp8"), fp.explain([x, 1.5], "mxfp8")
    rounded = float.fromhex(hexadecimal)
    assert alone.numbers[0]["x"] == first.numbers[0]["x"] == rounded
    assert alone.numbers[0]["code"] == fp.encode_blocks(np.float32([rounded]), "mxfp8").codes[0]
