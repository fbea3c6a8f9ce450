"""gguf 0.19 (the Python half of ggml) on the CPU: MXFP4, and the parts of NVFP4 that it has.

``gguf.quants.MXFP4.quantize`` is asked, and its blocks of 17 bytes are taken apart. gguf reads NVFP4 but does not write it:
`nvfp4` puts ggml's quantizer together of gguf's conversions to and from UE4M3 and its table of values, as its MXFP4 does.

gguf takes float32; bfloat16 inputs are rounded to it first. Scales are stored as E8M0 and UE4M3 codes; there is no second
level.

Not to be trusted for:

* Blocks with an infinity or a NaN, and MXFP4 blocks with an amax below 2**-125: a float out of range goes to uint8, which
  is undefined, and ggml's C half skips NaN. `undefined` has these blocks, whose scale codes mean as little.
* The way from block to code of NVFP4, which is not gguf's. It was seen to give what ggml's C quantizer gives.

MXFP4 scale codes are floor(log2(·)) - 2: one more than the OCP rule's just below powers of two, where log2 rounds up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..block_result import BlockResult
from ._common import DTYPES, Peer, blocks_with, imported, unusable

__all__ = ["RECIPES", "VERSION", "available", "mxfp4", "nvfp4"]

VERSION = "0.19.0"


def available() -> str | None:
    """None when this gguf can be used, else the reason why not."""
    return unusable({"gguf": VERSION, "PyYAML": None, "requests": None, "tqdm": None})


def _float32(x: NDArray[np.float32], dtype: str) -> NDArray[np.float32]:
    if dtype not in DTYPES:
        raise ValueError(f"one of {', '.join(DTYPES)} was expected, got {dtype!r}")
    if dtype == "float32":
        return x
    bits = x.view(np.uint32).astype(np.uint64)
    even = (bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(x), np.float32(np.nan), even)


def mxfp4(x: NDArray[np.float32], *, dtype: str = "float32") -> BlockResult:
    """``MXFP4.quantize``."""
    data = _float32(x, dtype)
    with np.errstate(all="ignore"):
        stored = imported("gguf.quants").MXFP4.quantize(data).reshape(len(x), -1, 17)
    packed = stored[..., 1:]
    codes = np.concatenate([packed & 15, packed >> 4], axis=-1).reshape(x.shape)
    amax = np.abs(data).reshape(len(x), -1, 32).max(axis=-1)
    outside = (~np.isfinite(amax) | (amax > 0) & (amax < 2.0**-125)).repeat(32, axis=1)
    return BlockResult(codes, stored[..., 0].copy(), undefined=outside)


def nvfp4(x: NDArray[np.float32], *, dtype: str = "float32") -> BlockResult:
    """ggml's NVFP4 of gguf's parts: the scale is amax / 6, the codes are the first nearest values."""
    quants: Any = imported("gguf.quants").NVFP4
    data = _float32(x, dtype)
    blocks = data.reshape(len(x), -1, 16)
    with np.errstate(all="ignore"):
        scales = quants.fp32_to_ue4m3(np.abs(blocks).max(axis=-1) / np.float32(6))
        values = quants.ue4m3_to_fp32(scales).astype(np.float32)[..., None] * np.array(quants.kvalues, np.float32)
        codes = np.abs(values[..., None, :] - blocks[..., None]).argmin(axis=-1)
    undefined = blocks_with(~np.isfinite(data), 1, 16)
    return BlockResult(codes.astype(np.uint8).reshape(x.shape), scales.astype(np.uint8), undefined=undefined)


#: The recipes, by our names.
RECIPES: dict[str, Peer] = {"mxfp4_ggml": mxfp4, "nvfp4_ggml": nvfp4}
