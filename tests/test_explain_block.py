"""`explain` for block formats: what it says is what encode_blocks does, and its numbers follow from each other."""

from __future__ import annotations

import math
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
    assert str(told).count("\n") == len(told.steps) + 3 + len(x)
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
        ([[1.0]], "nvfp4", {}, TypeError, "one number, or the numbers of one block, were expected"),
        ([], "nvfp4", {}, TypeError, "one number, or the numbers of one block, were expected"),
        ([1.0], "nvfp4", {"nan": "zero"}, ValueError, "the recipe decides nan"),
        ([1.0], "nvfp4", {"random": (1, 2)}, ValueError, "random bits are for element formats"),
        (1.0, "e4m3", {"scale": 2.0}, ValueError, "^scale: e4m3 is not a block format$"),
        ([1.0], "e4m3", {}, TypeError, "explain takes one number"),
    ],
)
def test_refusals(x: Any, name: str, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fp.explain(x, name, **options)
