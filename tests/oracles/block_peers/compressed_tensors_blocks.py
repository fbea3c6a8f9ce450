"""compressed-tensors 0.20.1 (what llm-compressor stores) on the CPU: NVFP4, MXFP4, MXFP6, MXFP8 and FP8 weights.

Asked for the scales is ``calculate_qparams`` with the min and max of every block, as llm-compressor's min-max observer does,
after ``generate_gparam`` where there is a second level; for the codes, the compressor of the preset scheme.

Scales are stored as: E8M0 codes (MX); E4M3 codes, and the *encode* scale 2688 / amax as second level (NVFP4); the decode
scale (FP8). All arithmetic is in the dtype of the input: bfloat16 scales of FP8 are given as float32 here, exactly.

Not to be trusted for:

* Blocks of FP4 and MX with an infinity or a NaN, and finite MX blocks with an amax from 1.75 * 2**127 (FP6: 1.9375) on,
  whose bits overflow when they are rounded up: inf and NaN go to integers, which is undefined and differs between CPUs.
  `undefined` has these blocks, whose scale codes mean as little.
* GPUs: Triton kernels run there instead.

It needs transformers and huggingface_hub only to load checkpoints; where they are missing, stand-ins are imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from functools import cache, partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..block_result import BlockResult
from ._common import TORCH, Peer, array, bits, blocks_with, nibbles, quiet, tensor, unusable

if TYPE_CHECKING:
    import torch

__all__ = ["RECIPES", "VERSION", "available", "fp8", "mx", "nvfp4"]

VERSION = "0.20.1"

#: What its modules import at once and what the tests need; without transformers and huggingface_hub.
NEEDED: dict[str, str | None] = {
    "torch": TORCH,
    "compressed-tensors": VERSION,
    "pydantic": None,
    "loguru": None,
    "psutil": None,
    "safetensors": None,
    "tqdm": None,
}


def available() -> str | None:
    """None when this compressed-tensors can be used, else the reason why not."""
    return unusable(NEEDED)


class _Anything(ModuleType):
    """Stands for a module of any contents: every name is an empty class."""

    __path__: list[str] = []  # noqa: RUF012

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _Package(NamedTuple):
    scheme: Any
    compressors: Any
    helpers: Any


@cache
def _package() -> _Package:
    missing = [name for name in ("transformers", "huggingface_hub") if importlib.util.find_spec(name) is None]
    parts = ("file_utils", "utils", "masking_utils", "modeling_utils")
    names = [*missing, *(f"transformers.{part}" for part in parts if "transformers" in missing)]
    sys.modules.update({name: _Anything(name) for name in names})
    try:
        with quiet():
            return _Package(
                importlib.import_module("compressed_tensors.quantization.quant_scheme").preset_name_to_scheme,
                importlib.import_module("compressed_tensors.compressors"),
                importlib.import_module("compressed_tensors.quantization.utils.helpers"),
            )
    finally:
        for name in names:
            del sys.modules[name]


def _extremes(blocks: torch.Tensor, dims: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    import torch

    return torch.amin(blocks, dim=dims), torch.amax(blocks, dim=dims)


def nvfp4(x: NDArray[np.float32], *, dtype: str = "float32") -> BlockResult:
    """Preset NVFP4 and its compressor."""
    package = _package()
    scheme, data = package.scheme("NVFP4", ["Linear"]), tensor(x, dtype)
    second = package.helpers.generate_gparam(*_extremes(data, (0, 1)))
    lowest, highest = _extremes(data.unflatten(-1, (-1, 16)), (-1,))
    scales, _ = package.helpers.calculate_qparams(lowest, highest, scheme.weights, global_scale=second)
    found = package.compressors.NVFP4PackedCompressor.compress(
        {"weight": data, "weight_scale": scales, "weight_global_scale": second}, scheme
    )
    return BlockResult(
        nibbles(bits(found["weight_packed"])),
        bits(found["weight_scale"]),
        array(found["weight_global_scale"], 1),
        undefined=blocks_with(~np.isfinite(x), 1, 16),
    )


#: Presets and compressors of the MX formats, and from which amax on the scale overflows.
MX = {
    "mxfp4": ("MXFP4", "MXFP4PackedCompressor", 1.75 * 2.0**127),
    "mxfp6_e2m3": ("MXFP6A16", "MXFP6PackedCompressor", 1.9375 * 2.0**127),
    "mxfp8_e4m3": ("MXFP8", "MXFP8QuantizationCompressor", 1.75 * 2.0**127),
}


def mx(x: NDArray[np.float32], *, dtype: str = "float32", element: str) -> BlockResult:
    """Presets MXFP4, MXFP6A16 and MXFP8, and their compressors."""
    package = _package()
    preset, compressor, limit = MX[element]
    scheme, data = package.scheme(preset, ["Linear"]), tensor(x, dtype)
    lowest, highest = _extremes(data.unflatten(-1, (-1, 32)), (-1,))
    scales, _ = package.helpers.calculate_qparams(lowest, highest, scheme.weights)
    found = getattr(package.compressors, compressor).compress({"weight": data, "weight_scale": scales}, scheme)
    if element == "mxfp8_e4m3":
        codes = bits(found["weight"])
    elif element == "mxfp4":
        codes = nibbles(bits(found["weight_packed"]))
    else:
        word = bits(found["weight_packed"]).reshape(len(x), -1, 3).astype(np.uint32) @ np.uint32([1, 1 << 8, 1 << 16])
        codes = (word[..., None] >> np.uint32([0, 6, 12, 18]) & 0x3F).astype(np.uint8).reshape(x.shape)
    undefined = blocks_with(~(np.abs(array(data)) < limit), 1, 32)
    return BlockResult(codes, bits(found["weight_scale"]), undefined=undefined)


def fp8(x: NDArray[np.float32], *, dtype: str = "float32", preset: str) -> BlockResult:
    """Presets FP8 (one scale a tensor), FP8_DYNAMIC (a row) and FP8_BLOCK (128 × 128), weights."""
    package = _package()
    scheme, data = package.scheme(preset, ["Linear"]), tensor(x, dtype)
    if preset == "FP8":
        lowest, highest = _extremes(data.reshape(1, 1, -1), (-1,))
    elif preset == "FP8_DYNAMIC":
        lowest, highest = _extremes(data.unsqueeze(1), (-1,))
    else:
        lowest, highest = _extremes(data.unflatten(0, (-1, 128)).unflatten(-1, (-1, 128)), (1, 3))
    scales, _ = package.helpers.calculate_qparams(lowest, highest, scheme.weights)
    stored = scales.reshape(-1) if preset == "FP8" else scales
    found = package.compressors.NaiveQuantizationCompressor.compress({"weight": data, "weight_scale": stored}, scheme)
    return BlockResult(bits(found["weight"]), array(found["weight_scale"], *scales.shape))


#: The recipes, by our names.
RECIPES: dict[str, Peer] = {
    "nvfp4_compressed_tensors": nvfp4,
    **{f"{element}_compressed_tensors": partial(mx, element=element) for element in MX},
    "fp8_e4m3_tensor_compressed_tensors": partial(fp8, preset="FP8"),
    "fp8_e4m3_channel_compressed_tensors": partial(fp8, preset="FP8_DYNAMIC"),
    "fp8_e4m3_128x128_compressed_tensors": partial(fp8, preset="FP8_BLOCK"),
}
