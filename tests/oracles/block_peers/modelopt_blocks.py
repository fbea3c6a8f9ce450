"""NVIDIA ModelOpt 0.47's quantized tensors on the CPU: NVFP4, MXFP4, MXFP8 and FP8.

Asked are the classes in ``modelopt/torch/quantization/qtensor``, which checkpoints are exported with. They are imported
without the rest of ModelOpt, whose ``__init__`` needs much more (transformers, scipy, pulp) and looks for plugins.

Scales are stored as: E8M0 codes (MX); E4M3 codes, and the decode scale amax / 2688 as second level (NVFP4); the decode
scale (FP8). FP8 divides in the dtype of the input: bfloat16 scales are given as float32 here, exactly.

Not to be trusted for:

* MXFP4 blocks with an infinity or a NaN: floats that are none go to uint8, which is undefined and differs between CPUs.
  `undefined` has these blocks, whose scale codes mean as little.
* MXFP8 blocks with a NaN, whose amax counts as zero (code 0); an infinite amax has code 254.
* The sign of NaN scales of NVFP4 (0/0 where the whole tensor is zero): x86 and Arm differ.
* What the GPU kernels do: the fake-quantization kernels and TensorRT-LLM's quantizer have other rules.

MX codes are ceil(log2(·)): one less than the smallest sufficient power of two up to some 43 float32 steps above one.
"""

from __future__ import annotations

import importlib
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..block_result import BlockResult
from ._common import TORCH, Peer, array, bits, blocks_with, nibbles, package_path, partly, shell, tensor, unusable

__all__ = ["RECIPES", "VERSION", "available", "fp8", "mxfp4", "mxfp8", "nvfp4"]

VERSION = "0.47.0"

#: What the classes' modules import.
NEEDED: dict[str, str | None] = {
    "torch": TORCH,
    "nvidia-modelopt": VERSION,
    "pydantic": None,
    "omegaconf": None,
    "packaging": None,
    "requests": None,
    "tqdm": None,
    "PyYAML": None,
}


def available() -> str | None:
    """None when this ModelOpt can be used, else the reason why not."""
    return unusable(NEEDED)


class _QTensors(NamedTuple):
    nvfp4: Any
    mxfp4: Any
    mxfp8: Any
    fp8: Any


@cache
def _qtensors() -> _QTensors:
    root = package_path("modelopt")
    packages = [
        shell("modelopt", root, __version__=VERSION),
        *(shell(f"modelopt.torch{part}", root) for part in ("", ".opt", ".quantization", ".quantization.backends")),
    ]
    with partly(*packages):
        found = importlib.import_module("modelopt.torch.quantization.qtensor")
        return _QTensors(found.NVFP4QTensor, found.MXFP4QTensor, found.MXFP8QTensor, found.FP8QTensor)


def nvfp4(x: NDArray[np.float32], *, dtype: str = "float32") -> BlockResult:
    """``NVFP4QTensor.quantize`` with amaxes of its own."""
    found, scales, second = _qtensors().nvfp4.quantize(tensor(x, dtype), 16)
    return BlockResult(nibbles(bits(found._quantized_data)), bits(scales), array(second, 1))


def mxfp4(x: NDArray[np.float32], *, dtype: str = "float32") -> BlockResult:
    """``MXFP4QTensor.quantize``."""
    found, scales = _qtensors().mxfp4.quantize(tensor(x, dtype), 32)
    return BlockResult(
        nibbles(bits(found._quantized_data)),
        bits(scales).reshape(len(x), -1),
        undefined=blocks_with(~np.isfinite(x), 1, 32),
    )


def mxfp8(x: NDArray[np.float32], *, dtype: str = "float32") -> BlockResult:
    """``MXFP8QTensor.quantize``."""
    found, scales = _qtensors().mxfp8.quantize(tensor(x, dtype))
    return BlockResult(bits(found._quantized_data), bits(scales))


def fp8(x: NDArray[np.float32], *, dtype: str = "float32", **blocks: Any) -> BlockResult:
    """``FP8QTensor.quantize``; `blocks` are its ``axis`` or ``block_sizes``."""
    found, scales = _qtensors().fp8.quantize(tensor(x, dtype), **blocks)
    return BlockResult(bits(found._quantized_data), array(scales if scales.ndim else scales.reshape(1, 1)))


#: The recipes, by our names.
RECIPES: dict[str, Peer] = {
    "nvfp4_modelopt": nvfp4,
    "mxfp4_modelopt": mxfp4,
    "mxfp8_e4m3_modelopt": mxfp8,
    "fp8_e4m3_tensor_modelopt": fp8,
    "fp8_e4m3_row_modelopt": partial(fp8, axis=0),
    "fp8_e4m3_128x128_modelopt": partial(fp8, block_sizes={-1: 128, -2: 128}),
}
