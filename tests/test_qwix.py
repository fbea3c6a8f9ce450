"""NVFP4 of qwix: what it answered, and what it answers where it is installed."""

from __future__ import annotations

import numpy as np
import pytest
from block_ours import OURS
from oracles.block_model import MODELS
from record_qwix import FILE, VERSION, answer, chosen

ANSWERS = dict(np.load(FILE))
CASES = sorted({key.removesuffix("/codes") for key in ANSWERS if key.endswith("/codes")})


def compare(case: str, codes: np.ndarray, scales: np.ndarray) -> None:
    """With the model and with ours, but for NaN, and for subnormal numbers, which XLA flushes."""
    name, dtype = case.split("/")
    x = chosen()[name]
    undefined = MODELS["nvfp4_qwix"](x, dtype=dtype).undefined
    free = (np.abs(x) < 2.0**-126) & (x != 0)
    if undefined is not None:
        free |= undefined
    assert free.mean() < 0.5
    for who in (MODELS, OURS):
        made = who["nvfp4_qwix"](x, dtype=dtype)
        assert ((made.codes == codes) | free).all(), case
        assert ((made.scales == scales) | ((made.scales & scales) == 0x7F)).all(), case


@pytest.mark.parametrize("case", CASES)
def test_recorded(case: str) -> None:
    assert str(ANSWERS["versions"]).startswith(f"qwix {VERSION}, jax ")
    compare(case, ANSWERS[f"{case}/codes"], ANSWERS[f"{case}/scales"])


def test_nothing_is_missing() -> None:
    assert len(CASES) == 42
    assert {case.split("/")[0] for case in CASES} == set(chosen())


@pytest.mark.peers
def test_live() -> None:
    pytest.importorskip("qwix", reason="qwix is not installed")
    for case in CASES:
        name, dtype = case.split("/")
        compare(case, *answer(chosen()[name], dtype))
