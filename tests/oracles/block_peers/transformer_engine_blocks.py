"""Transformer Engine 2.20.2's Python references on the CPU: NVFP4 and FP8 current scaling.

The PyPI wheel ``transformer_engine`` is pure Python and refuses to be imported without its CUDA half. Its references need
of the rest only two base classes, which are stood in for here: ``custom_recipes/reference_nvfp4.py`` (`NVFP4QuantizerRef`)
and ``custom_recipes/reference_current_scaling.py`` (`CurrentScalingQuantizerRef`). TE's own tests hold its kernels to them.

Scales are stored as: E4M3 codes, and as second level the amax of the tensor or of each row (NVFP4); the decode scale (FP8).
For 16 × 16 tiles TE repeats a tile's code in its 16 rows; here it comes once.

Not to be trusted for:

* Zero signs and NaN of NVFP4 elements. The reference gives -0 and NaN the code 0; the hardware conversion, 8 and 7. The
  reference lets a NaN into the amax; the kernels skip it.
* Infinities and NaN of FP8. For an infinite amax the reference has scale 0, inverse inf and so NaN for the infinities
  (the kernels: scale 1); for a NaN amax, scale 0.5 with powers of two.
* TE before 2.14, whose NVFP4 scales are in another order, and TE's fast-math option.
* Block scaling (1 × 128, 128 × 128), delayed scaling and MXFP8: the wheel has no reference of these that runs without CUDA.
"""

from __future__ import annotations

import importlib
from functools import cache, partial
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..block_result import BlockResult
from ._common import TORCH, Peer, array, bits, nibbles, package_path, partly, shell, tensor, unusable

__all__ = ["RECIPES", "VERSION", "available", "fp8", "nvfp4"]

VERSION = "2.20.2"


def available() -> str | None:
    """None when this Transformer Engine's references can be used, else the reason why not."""
    return unusable({"torch": TORCH, "transformer_engine": VERSION})


class _Quantizer:
    """Stands for TE's base class of quantizers; all that the references use of it."""

    def __init__(self, *, rowwise: bool, columnwise: bool) -> None:
        self.rowwise_usage = rowwise
        self.columnwise_usage = columnwise


class _Storage:
    """Stands for TE's base class of quantized tensors."""


class _References(NamedTuple):
    nvfp4: Any
    current_scaling: Any
    utils: Any


@cache
def _references() -> _References:
    root = package_path("transformer_engine")
    bases = ModuleType("transformer_engine.pytorch.quantized_tensor")
    bases.__dict__.update(Quantizer=_Quantizer, QuantizedTensorStorage=_Storage)
    kinds = ModuleType("transformer_engine.pytorch.tensor.utils")  # its GEMM asks for it, which is not run here
    kinds.__dict__.update(is_custom=None)
    packages = [
        shell(name, root)
        for name in ("transformer_engine", "transformer_engine.pytorch", "transformer_engine.pytorch.tensor")
    ]
    with partly(*packages, bases, kinds):
        recipes = "transformer_engine.pytorch.custom_recipes"
        return _References(
            importlib.import_module(f"{recipes}.reference_nvfp4"),
            importlib.import_module(f"{recipes}.reference_current_scaling"),
            importlib.import_module(f"{recipes}.reference_utils"),
        )


def nvfp4(
    x: NDArray[np.float32],
    *,
    dtype: str = "float32",
    tile: tuple[int, int] = (1, 16),
    row_scaled: bool = False,
    four_over_six: str | None = None,
    e4m3_max: int = 448,
) -> BlockResult:
    """``NVFP4QuantizerRef``, of rows; `four_over_six` is None, "MAE" or "MSE"."""
    references = _references()
    quantizer = references.nvfp4.NVFP4QuantizerRef(
        dtype=references.utils.Fp4Formats.E2M1,
        columnwise=False,
        quant_tile_shape=tile,
        row_scaled_nvfp4=row_scaled,
        nvfp4_use_4over6=four_over_six is not None,
        nvfp4_e4m3_max=e4m3_max,
        nvfp4_4over6_err_mode=four_over_six or "MAE",
    )
    found = quantizer.quantize(tensor(x, dtype))
    scales = bits(found.scale)
    repeated = scales.reshape(-1, tile[0], scales.shape[1])
    if not (repeated == repeated[:, :1]).all():
        raise AssertionError("the rows of a tile have different scales")
    return BlockResult(nibbles(bits(found.data)), repeated[:, 0].copy(), array(found.global_amax_row, -1))


def fp8(x: NDArray[np.float32], *, dtype: str = "float32", element: str, pow2: bool = False) -> BlockResult:
    """``CurrentScalingQuantizerRef``: one scale a tensor."""
    import torch

    quantizer = _references().current_scaling.CurrentScalingQuantizerRef(
        dtype=getattr(torch, element), columnwise=False, pow_2_scales=pow2
    )
    found = quantizer.quantize(tensor(x, dtype))
    return BlockResult(bits(found.data), array(found.scale, 1, 1))


#: The recipes, by our names.
RECIPES: dict[str, Peer] = {
    "nvfp4_te": nvfp4,
    "nvfp4_te_16x16": partial(nvfp4, tile=(16, 16)),
    "nvfp4_te_rowscaled": partial(nvfp4, row_scaled=True),
}
for _error in ("mae", "mse"):
    for _max in (448, 256):
        _arguments: dict[str, Any] = {"four_over_six": _error.upper(), "e4m3_max": _max}
        RECIPES[f"nvfp4_te_4over6_{_error}_{_max}"] = partial(nvfp4, **_arguments)
        RECIPES[f"nvfp4_te_4over6_{_error}_{_max}_16x16"] = partial(nvfp4, **_arguments, tile=(16, 16))
for _short, _name in (("e4m3", "float8_e4m3fn"), ("e5m2", "float8_e5m2")):
    RECIPES[f"fp8_{_short}_tensor_te"] = partial(fp8, element=_name)
    RECIPES[f"fp8_{_short}_tensor_te_pow2"] = partial(fp8, element=_name, pow2=True)
