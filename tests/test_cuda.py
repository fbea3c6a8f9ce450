"""torch's casts on an NVIDIA GPU: all 2^32 float32 inputs, and tensors that stay on their device."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import torch_cast

import fpformats as fp

pytestmark = pytest.mark.cuda
NAMES = {
    "float16": "fp16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "float8_e4m3fnuz": "e4m3fnuz",
    "float8_e5m2fnuz": "e5m2fnuz",
}


@pytest.fixture(autouse=True)
def gpu():
    if reason := torch_cast.available("cuda"):
        pytest.skip(reason)


@pytest.mark.parametrize("name", NAMES)
def test_every_float32(name):
    """NaN codes too, but for fp16, whose NaN payloads torch leaves to the hardware."""
    step = 1 << 26
    pattern = np.arange(step, dtype=np.uint32)
    for start in range(0, 1 << 32, step):
        x = (pattern + np.uint32(start)).view(np.float32)
        expected = torch_cast.codes(name, x, device="cuda")
        got = fp.encode(x, NAMES[name], profile="torch_cuda")
        same = (got == expected) | (np.isnan(x) if name == "float16" else False)
        wrong = np.flatnonzero(~same)
        assert not wrong.size, (hex(start + wrong[0]), hex(got[wrong[0]]), hex(expected[wrong[0]]))


def test_tensors_stay_on_their_device():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.linspace(-500, 500, 1001, device="cuda")
    for result in (fp.quantize(x, "e4m3"), fp.encode(x, "e4m3"), fp.quantize(x.bfloat16(), "e2m1", nan="max")):
        assert result.device == x.device
    assert torch.equal(fp.quantize(x, "e4m3").cpu(), fp.quantize(x.cpu(), "e4m3"))
