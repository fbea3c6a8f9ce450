"""The Hadamard transform: against exact sums, Transformer Engine's recorded transform, and itself backwards."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from block_ours import typed
from oracles.block_model import rht
from oracles.block_model.nvfp4 import SIGNS
from test_block_model import recorded, tensor

import fpformats as fp


def wide(seed: int, *shape: int, low: int = -60, high: int = 60) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) * 2.0 ** rng.integers(low, high, shape)).astype(np.float32)


@pytest.mark.parametrize("signs", [True, False])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-20, 20), (-60, 60), (-149, -110), (100, 126)])
def test_against_the_model(signs: bool, low: int, high: int) -> None:
    """Exact sums of rationals, however unlike in size the numbers are."""
    x = wide(1, 16, 20, low=low, high=high)
    got = fp.hadamard(np.ascontiguousarray(x.T), signs="te" if signs else None)
    np.testing.assert_array_equal(got, rht(x, signs=signs))
    np.testing.assert_array_equal(fp.hadamard(x, signs="te" if signs else None, axis=0), got.T)


def exact(row: np.ndarray, signs: tuple[int, ...]) -> list[Fraction]:
    part = [Fraction(float(v)) * s for v, s in zip(row, signs, strict=True)]
    return [sum(v * (-1) ** (r & j).bit_count() for r, v in enumerate(part)) / 4 for j in range(16)]


@pytest.mark.parametrize("fmt", ["fp32", "bf16", "fp16", "e4m3"])
def test_one_rounding(fmt: str) -> None:
    """To any format: what a fraction is rounded to. Sums just beside midpoints, by far less than float64 sees."""
    rows = wide(2, 6, 16, low=-30, high=10)
    beside = np.zeros((8, 16), np.float32)
    for i, row in enumerate(beside):
        row[0], row[5], row[9] = 4.0, 2.0 ** -(9 - i % 4), (-1.0) ** i * 2.0 ** -(20 + 15 * i)
    for row in (*rows, *beside):
        want = [float(fp.quantize(value, fmt)) for value in exact(row, SIGNS)]
        assert fp.hadamard(row, fmt=fmt).tolist() == want


@pytest.mark.parametrize("signs", [0, 1])
@pytest.mark.parametrize("name", ["normal", "zeros"])
def test_as_transformer_engine(signs: int, name: str) -> None:
    """Its recorded transform, where the order of its sums does not matter; all of it."""
    y = recorded("te_ref")[f"te2.20_ref/nvfp4_rht_sign{signs}_colwise/bf16/{name}/rht"]
    x = tensor(name, "bf16")
    np.testing.assert_array_equal(fp.hadamard(x.T, signs="te" if signs else None), y)


def test_way_back() -> None:
    x = np.random.default_rng(3).integers(-64, 64, (3, 32, 5)).astype(np.float32)
    for signs in ("te", None, [1, -1] * 8):
        y = fp.hadamard(x, signs=signs, axis=1, fmt="fp32")
        np.testing.assert_array_equal(fp.hadamard(y, signs=signs, axis=1, fmt="fp32", inverse=True), x)
        np.testing.assert_array_equal((y**2).sum(1), (x**2).sum(1))


def test_containers_and_ends() -> None:
    x = wide(4, 2, 16)
    made = fp.hadamard(typed(fp.quantize(x, "bf16"), "bfloat16"))
    assert made.dtype == np.uint16  # bfloat16's bits
    assert fp.hadamard(x.astype(np.float64)).dtype == np.float64
    assert fp.hadamard(np.ones((2, 16), np.float16)).dtype == np.float32
    assert fp.hadamard(range(16)).dtype == np.float32
    assert fp.hadamard(np.empty((0, 16), np.float32)).shape == (0, 16)
    x[0, 3], x[1, 2] = np.inf, np.nan
    y = fp.hadamard(x)
    assert np.isinf(y[0]).all()
    assert np.isnan(y[1]).all()
    x[0, 5] = np.inf
    assert np.isnan(fp.hadamard(x)[0]).any()
    huge = np.full(16, np.finfo(np.float32).max, np.float32)
    assert fp.hadamard(huge, signs=None)[0] == np.inf
    assert not np.signbit(fp.hadamard(np.full(16, -0.0, np.float32))).any()


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"axis -1 has 17 numbers; a multiple of 16 was expected"):
        fp.hadamard(np.ones(17))
    for signs in ([1] * 15, [0] * 16, "random", 3):
        with pytest.raises(ValueError, match="'te', None, or 16 numbers 1 or -1 were expected"):
            fp.hadamard(np.ones(16), signs=signs)
    with pytest.raises(ValueError, match=r"axis=2: an int from -1 to 0 was expected"):
        fp.hadamard(np.ones(16), axis=2)
    with pytest.raises(TypeError, match="a single number; an array was expected"):
        fp.hadamard(1.0)
