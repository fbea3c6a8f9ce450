"""What a caller gives in place of what the array says: tensor_amax, scale, eps, amax_history."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracles.block_model import MODELS, delayed_scales

import fpformats as fp

X = np.random.default_rng(0).normal(size=(4, 64)).astype(np.float32)
TENSOR, ROWS = "fp8_e4m3_tensor_te", "fp8_e4m3_row_torchao"
DELAYED = ("fp8_e4m3_delayed_te", "fp8_e5m2_delayed_te")
GIVEN: list[tuple[str, dict[str, Any]]] = [
    ("nvfp4", {"tensor_amax": 7.5}),
    ("nvfp4_te_4over6_mae_448", {"tensor_amax": 7.5}),
    ("nvfp4_te_rowscaled", {"tensor_amax": [3, 4, 5, 6]}),
    (TENSOR, {"tensor_amax": 11}),
    (TENSOR, {"eps": 30.0}),
    (TENSOR, {"scale": 2.0}),
    (ROWS, {"scale": np.float32([[1], [2], [3], [4]])}),
    (DELAYED[0], {"amax_history": [1, 9.5, 3]}),
    (DELAYED[1], {"amax_history": np.float16([0.5]), "scale": 4.0}),
]


@pytest.mark.parametrize(("name", "given"), GIVEN)
def test_quantize_takes_what_encode_blocks_takes(name: str, given: dict[str, Any]) -> None:
    plain, made = fp.quantize(X, name), fp.quantize(X, name, **given)
    assert not np.array_equal(plain, made)
    np.testing.assert_array_equal(made, fp.encode_blocks(X, name, **given).decode())
    out = np.empty_like(X)
    assert fp.quantize(X, name, out=out, **given) is out
    np.testing.assert_array_equal(out, made)


def test_a_single_number() -> None:
    assert fp.quantize(3.3, TENSOR, scale=1.0) == fp.quantize(3.3, "e4m3")
    assert fp.quantize(1e9, DELAYED[0], amax_history=[448.0]) == 448.0


@pytest.mark.parametrize("name", ["tensor_amax", "scale", "eps", "amax_history"])
def test_element_formats_take_none(name: str) -> None:
    for x in (X, 1.0, [1.0]):
        with pytest.raises(ValueError, match=f"^{name}: e4m3 is not a block format$"):
            fp.quantize(x, "e4m3", **{name: 1.0})


BAD: list[tuple[str, dict[str, Any], str]] = [
    (name, {argument: bad}, expected)
    for name, argument, expected in (
        ("nvfp4", "tensor_amax", "one number was expected"),
        ("nvfp4_te_rowscaled", "tensor_amax", "one number for each of 4 rows was expected"),
        (TENSOR, "eps", "a finite number >= 0 was expected"),
        (TENSOR, "scale", "finite positive numbers were expected"),
        (DELAYED[0], "amax_history", "magnitudes of the steps before were expected"),
    )
    for bad in ("a", "1.0", ["a"], b"1", True, [1, None], 1j, object(), [[1.0], [1.0, 2.0]])
]


@pytest.mark.parametrize(("name", "given", "expected"), BAD, ids=str)
def test_wrong_types(name: str, given: dict[str, Any], expected: str) -> None:
    argument = next(iter(given))
    for call in (fp.quantize, fp.encode_blocks):
        with pytest.raises(ValueError, match=f"{argument}=.*: {expected}$") as caught:
            call(X, name, **given)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        (DELAYED[0], {"tensor_amax": 1.0}, "takes amax_history=, the amaxes of the steps before"),
        (TENSOR, {"amax_history": [1.0]}, "amax_history: fp8_e4m3_tensor_te has none; only recipes with delayed"),
        ("nvfp4", {"amax_history": [1.0]}, "amax_history: nvfp4_te has none"),
        (DELAYED[0], {"amax_history": [1.0, -1.0]}, r"amax_history=\[1.0, -1.0\]: magnitudes"),
        (DELAYED[0], {"eps": 1.0}, "eps=1.0: fp8_e4m3_delayed_te has none"),
        (TENSOR, {"eps": [1.0, 2.0]}, r"eps=\[1.0, 2.0\]: a finite number"),
        ("ternary_tensor_bitnet", {"tensor_amax": 1.0}, "takes the mean of the magnitudes; it takes scale="),
        ("mxfp8", {"scale": np.ones((300, 300))}, "scale=array.* finds its own scales"),
    ],
)
def test_what_a_recipe_does_not_take(name: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        fp.quantize(X, name, **given)
    assert "\n" not in str(caught.value)


def test_numbers_of_any_library() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    want = fp.encode_blocks(X, "nvfp4", tensor_amax=3.5)
    for amax in (torch.tensor(3.5), torch.tensor([3.5], dtype=torch.bfloat16), np.float16(3.5), np.array([[3.5]])):
        assert fp.encode_blocks(X, "nvfp4", tensor_amax=amax) == want


# --- delayed scaling --------------------------------------------------------------------------------
@pytest.mark.parametrize("name", DELAYED)
def test_history(name: str) -> None:
    """Step by step, the scale of Transformer Engine's kernel: of all amaxes so far, kept where they give none."""
    hard = np.float32([0, np.inf, np.nan, 1e-45, 1e-38, 3e38, 3.4028235e38, 1.0, 447.9, 0.1])
    largest = float(fp.get(fp.get(name).element).max)
    rng = np.random.default_rng(1)
    for start in range(12):
        amaxes = rng.choice(hard[: 3 if start < 4 else None], 8)
        kept = 1.0
        for step, scale in enumerate(delayed_scales(amaxes.tolist(), largest=largest)):
            history = amaxes[: step + 1]
            made = fp.encode_blocks(X, name, amax_history=rng.permutation(history), scale=kept)
            model = MODELS[name](X, history=history.tolist(), kept=kept)
            np.testing.assert_array_equal(made.codes, model.codes)
            np.testing.assert_array_equal(made.scales, model.scales)
            with np.errstate(all="ignore"):
                assert made.scales.item() == np.float32(1) / np.float32(scale)
            kept = scale


def test_history_and_the_class_that_keeps_one() -> None:
    keeper = fp.DelayedScaling("e4m3", length=1024)
    amaxes: list[float] = []
    for step in range(6):
        x = X * np.float32(2.5**step)
        one = fp.encode_blocks(x, DELAYED[0], amax_history=amaxes)
        other = fp.encode_blocks(x, TENSOR, scale=keeper.scale)
        np.testing.assert_array_equal(one.codes, other.codes)
        np.testing.assert_array_equal(one.scales, other.scales)
        np.testing.assert_array_equal(fp.quantize(x, DELAYED[0], amax_history=amaxes), other.decode())
        amaxes.append(float(np.abs(x).max()))
        keeper.update(amaxes[-1])


def test_first_step() -> None:
    assert fp.encode_blocks(X, DELAYED[0]).scales.item() == 1.0
    assert fp.encode_blocks(X, DELAYED[0], amax_history=[]).scales.item() == 1.0
    assert fp.encode_blocks(X, DELAYED[0], amax_history=[], scale=8).scales.item() == 0.125
