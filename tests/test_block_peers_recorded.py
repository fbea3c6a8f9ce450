"""The recorded answers of the block-scaling packages: complete, and what the packages answer still."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from oracles.block_peers import DTYPES, MODULES, PEERS, same
from oracles.block_peers.recorded import DIRECTORY, inputs, load, packages

#: Blocks of the recipes whose names do not say.
BLOCKS = {"nvfp4": (1, 16), "mxfp4": (1, 32), "mxfp6": (1, 32), "mxfp8": (1, 32)}


def block(recipe: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The rows and columns that share a scale."""
    for part in recipe.split("_"):
        if part in ("1x128", "128x128", "128x1", "16x16"):
            return tuple(int(size) for size in part.split("x"))
        if part == "tensor" and recipe.startswith("fp8"):
            return shape
        if part in ("row", "channel"):
            return 1, shape[1]
    return BLOCKS[recipe.split("_")[0]]


def test_every_package_is_recorded() -> None:
    assert packages() == sorted(MODULES)
    assert sum(path.stat().st_size for path in DIRECTORY.iterdir()) <= 400_000


@pytest.mark.parametrize("package", MODULES)
def test_recorded_recipes(package: str) -> None:
    cases = load(package)
    assert {case.recipe for case in cases} == set(MODULES[package].RECIPES)
    assert len({(case.recipe, case.dtype, case.input) for case in cases}) == len(cases)
    for recipe in MODULES[package].RECIPES:
        asked = [case for case in cases if case.recipe == recipe]
        for dtype in DTYPES:
            kinds = {case.input.split("_")[0] for case in asked if case.dtype == dtype}
            assert {"ties", "wide"} <= kinds
            assert {"special"} <= kinds or {"normal", "extreme", "tiny", "zeros", "nan", "inf"} <= kinds
    for case in cases:
        codes, scales, second, undefined = case.result
        rows, columns = block(case.recipe, case.x.shape)
        assert case.versions[package] == MODULES[package].VERSION
        assert codes.shape == case.x.shape
        assert codes.dtype == np.uint8
        assert scales.shape == (codes.shape[0] // rows, codes.shape[1] // columns)
        assert scales.dtype == (np.float32 if case.recipe.startswith("fp8") else np.uint8)
        two_levels = case.recipe.startswith("nvfp4") and not case.recipe.endswith(("onelevel", "ggml"))
        assert (second is not None) == two_levels
        assert undefined is None or (undefined.shape == codes.shape and not codes[undefined].any())
        if not case.recipe.startswith(("fp8", "mxfp8")):
            assert codes.max() < (64 if case.recipe.startswith("mxfp6") else 16)
        if case.dtype == "bfloat16":
            assert not (case.x.view(np.uint32) & 0xFFFF).any()


def test_no_input_is_left_over() -> None:
    assert {case.input for package in packages() for case in load(package)} == set(inputs())


def test_same_sees_one_bit() -> None:
    case = next(case for case in load("torchao") if case.recipe == "nvfp4_torchao" and case.input == "normal")
    result = case.result
    assert result.second is not None
    codes, scales, second = result.codes.copy(), result.scales.copy(), result.second.copy()
    codes[3, 5] ^= 1
    scales[7, 1] ^= 1
    second.view(np.uint32)[0] ^= 1
    assert same(case.recipe, result, result) is None
    for changed in ({"codes": codes}, {"scales": scales}, {"second": second}):
        assert same(case.recipe, result, result._replace(**changed))


@pytest.mark.parametrize("recipe", PEERS)
def test_peer_answers_as_recorded(recipe: str, need: Callable[..., None]) -> None:
    package, module = next((name, module) for name, module in MODULES.items() if recipe in module.RECIPES)
    need(module)
    for case in load(package):
        if case.recipe == recipe:
            answer = PEERS[recipe](case.x, dtype=case.dtype)
            difference = same(recipe, case.result, answer)
            assert difference is None, f"{case.input} as {case.dtype}: {difference}"


@pytest.mark.parametrize("package", MODULES)
def test_peer_leaves_its_input_alone(package: str, need: Callable[..., None]) -> None:
    module = MODULES[package]
    need(module)
    for recipe in module.RECIPES:
        x = np.full((128, 128), 1.5, np.float32)
        x.setflags(write=False)
        for dtype in DTYPES:
            PEERS[recipe](x, dtype=dtype)
        assert (x == 1.5).all()
