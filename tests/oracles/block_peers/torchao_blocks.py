"""torchao 0.18 on the CPU: MX and NVFP4 prototypes, float8 training, Float8Tensor, blockwise float8 training.

Functions asked: ``to_mx``, ``NVFP4Tensor.to_nvfp4``, ``hp_tensor_to_float8_dynamic``, ``Float8Tensor.from_hp`` and
``torch_blockwise_scale_*_quant*``. None needs Triton or a GPU; the last are defined in a module that imports Triton, which
gets a stand-in where there is none.

Scales are stored as: E8M0 codes (MX); E4M3 codes, and the decode scale amax / 2688 as second level (NVFP4); the encode
scale that elements are multiplied by (training); the decode scale (Float8Tensor and blockwise).

Not to be trusted for:

* MX blocks with an infinity. Under the names of the OCP recipes that is a block with code 255 and nothing else defined;
  0.18 gives it a finite scale code. `undefined` covers these blocks and those with a NaN.
* Element codes of FP6 and FP4 blocks with a NaN. They follow from the NaN's payload bits. `undefined` says where.
* The sign of NaN scales (0/0 where the whole tensor is zero or has a NaN): x86 and Arm differ.
* What the GPU kernels do: these are the eager PyTorch paths. torchao after 0.18 has another RCEIL.

RCEIL codes are ceil(log2(·)): one less than the smallest sufficient power of two up to some 43 float32 steps above one.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from functools import cache, partial
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..block_result import BlockResult
from ._common import TORCH, Peer, array, bits, blocks_with, imported, nibbles, quiet, tensor, unusable

__all__ = ["RECIPES", "VERSION", "available", "blockwise", "float8tensor", "mx", "nvfp4", "training"]

VERSION = "0.18.0"

#: Element formats by our names, and torchao's.
ELEMENTS = {
    "mxfp8_e4m3": "float8_e4m3fn",
    "mxfp8_e5m2": "float8_e5m2",
    "mxfp6_e3m2": "fp6_e3m2",
    "mxfp6_e2m3": "fp6_e2m3",
    "mxfp4": "float4_e2m1fn_x2",
}


def available() -> str | None:
    """None when this torchao can be used, else the reason why not."""
    return unusable({"torch": TORCH, "torchao": VERSION})


def mx(x: NDArray[np.float32], *, dtype: str = "float32", element: str, mode: str, ocp: bool = False) -> BlockResult:
    """``to_mx`` with blocks of 32; `element` is one of `ELEMENTS` and `mode` floor, rceil, ceil or even.

    With `ocp`, blocks with an infinity count as undefined too, of all elements.
    """
    import torch

    to_mx = imported("torchao.prototype.mx_formats.mx_tensor").to_mx
    modes = imported("torchao.prototype.mx_formats.config").ScaleCalculationMode
    name = ELEMENTS[element]
    scales, data = to_mx(tensor(x, dtype), getattr(torch, name, name), 32, modes(mode))
    codes = bits(data)
    if element == "mxfp4":
        codes = nibbles(codes)
    undefined = None
    if ocp:
        undefined = blocks_with(~np.isfinite(x), 1, 32)
    elif not element.startswith("mxfp8"):
        undefined = blocks_with(np.isnan(x), 1, 32)
    return BlockResult(codes, bits(scales), undefined=undefined)


def nvfp4(x: NDArray[np.float32], *, dtype: str = "float32", two_level: bool = True) -> BlockResult:
    """``NVFP4Tensor.to_nvfp4``, with the tensor's own amax as second level or without one."""
    import torch

    module = imported("torchao.prototype.mx_formats.nvfp4_tensor")
    data = tensor(x, dtype)
    scale = module.per_tensor_amax_to_scale(torch.max(torch.abs(data))) if two_level else None
    found = module.NVFP4Tensor.to_nvfp4(data, per_tensor_scale=scale)
    scales = bits(found.scale)
    return BlockResult(
        nibbles(bits(found.qdata)),
        scales,
        None if scale is None else array(found.per_tensor_scale, 1),
        undefined=((scales & 0x7F) == 0x7F).repeat(16, axis=1),
    )


def training(
    x: NDArray[np.float32], *, dtype: str = "float32", element: str, row: bool = False, pow2: bool = False
) -> BlockResult:
    """``hp_tensor_to_float8_dynamic``: one scale a tensor, or a row."""
    import torch

    module = imported("torchao.float8.float8_scaling_utils")
    config = imported("torchao.float8.config")
    mm_config = imported("torchao.float8.float8_training_tensor").LinearMMConfig()
    granularity = config.ScalingGranularity.AXISWISE if row else config.ScalingGranularity.TENSORWISE
    found = module.hp_tensor_to_float8_dynamic(
        tensor(x, dtype),
        getattr(torch, element),
        mm_config,
        scaling_granularity=granularity,
        axiswise_dim=-1 if row else None,
        round_scales_to_power_of_2=pow2,
    )
    return BlockResult(bits(found._data), array(found._scale, len(x) if row else 1, 1))


def float8tensor(x: NDArray[np.float32], *, dtype: str = "float32", block: tuple[int, int] | str) -> BlockResult:
    """``Float8Tensor.from_hp`` to E4M3; `block` is "tensor", "row" or the shape of a block."""
    module = imported("torchao.quantization.quantize_.workflows.float8.float8_tensor")
    granularities = imported("torchao.quantization.granularity")
    if block == "tensor":
        granularity = granularities.PerTensor()
    elif block == "row":
        granularity = granularities.PerRow()
    else:
        granularity = granularities.PerBlock(block)
    found = module.Float8Tensor.from_hp(
        tensor(x, dtype), granularity=granularity, kernel_preference=module.KernelPreference.TORCH
    )
    return BlockResult(bits(found.qdata), array(found.scale))


def blockwise(x: NDArray[np.float32], *, dtype: str = "float32", block: tuple[int, int]) -> BlockResult:
    """``torch_blockwise_scale_act_quant_lhs`` (1 × 128), ``_weight_quant`` (128 × 128), ``_act_quant_rhs`` (128 × 1)."""
    kernels = _blockwise_kernels()
    quantize = {
        (1, 128): kernels.torch_blockwise_scale_act_quant_lhs,
        (128, 128): kernels.torch_blockwise_scale_weight_quant,
        (128, 1): kernels.torch_blockwise_scale_act_quant_rhs,
    }[block]
    codes, scales = quantize(tensor(x, dtype))
    return BlockResult(bits(codes), array(scales))


class _Triton(ModuleType):
    """Stands for Triton: decorators do nothing, names exist."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = importlib.machinery.ModuleSpec(name, None)
        self.__path__: list[str] = []

    @staticmethod
    def jit(function: object) -> object:
        return function

    @staticmethod
    def autotune(**_: object) -> object:
        return lambda function: function

    @staticmethod
    def Config(*_: object, **__: object) -> None:
        return None

    constexpr = object


@cache
def _blockwise_kernels() -> Any:
    name = "torchao.prototype.blockwise_fp8_training.kernels"
    imported("torchao.float8.config")
    if importlib.util.find_spec("triton") is not None:
        return imported(name)
    triton, language = _Triton("triton"), _Triton("triton.language")
    triton.language = language
    sys.modules.update({"triton": triton, "triton.language": language})
    try:
        with quiet():
            return importlib.import_module(name)
    finally:
        del sys.modules["triton"], sys.modules["triton.language"]


#: The recipes, by our names.
RECIPES: dict[str, Peer] = {}
for _element in ELEMENTS:
    RECIPES[_element] = partial(mx, element=_element, mode="floor", ocp=True)
    for _mode in ("rceil", "ceil", "even"):
        RECIPES[f"{_element}_torchao018_{_mode}"] = partial(mx, element=_element, mode=_mode)
RECIPES["nvfp4_torchao"] = nvfp4
RECIPES["nvfp4_torchao_onelevel"] = partial(nvfp4, two_level=False)
for _short, _name in (("e4m3", "float8_e4m3fn"), ("e5m2", "float8_e5m2")):
    for _block in ("tensor", "row"):
        _arguments: dict[str, Any] = {"element": _name, "row": _block == "row"}
        RECIPES[f"fp8_{_short}_{_block}_torchao"] = partial(training, **_arguments)
        RECIPES[f"fp8_{_short}_{_block}_torchao_pow2"] = partial(training, **_arguments, pow2=True)
RECIPES["fp8_e4m3_tensor_torchao_float8tensor"] = partial(float8tensor, block="tensor")
RECIPES["fp8_e4m3_row_torchao_float8tensor"] = partial(float8tensor, block="row")
RECIPES["fp8_e4m3_1x128_torchao_float8tensor"] = partial(float8tensor, block=(1, 128))
RECIPES["fp8_e4m3_128x128_torchao_float8tensor"] = partial(float8tensor, block=(128, 128))
RECIPES["fp8_e4m3_1x128_torchao_blockwise"] = partial(blockwise, block=(1, 128))
RECIPES["fp8_e4m3_128x128_torchao_blockwise"] = partial(blockwise, block=(128, 128))
RECIPES["fp8_e4m3_128x1_torchao_blockwise"] = partial(blockwise, block=(128, 1))
