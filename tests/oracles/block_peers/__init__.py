"""The real packages as oracles of the block-scaling recipes that carry their names, on the CPU.

``PEERS[recipe](x, dtype="float32")`` is what the package computes of a float32 matrix, taken as float32 or bfloat16. None
of this imports fpformats, and a package is imported only when one of its recipes is asked. `available` of a module says why
its package cannot be used: versions count, because bits changed between them.

====================  ============================  ==================================================================
module                package                       not to be trusted for (each module says more)
====================  ============================  ==================================================================
torchao_blocks        torchao 0.18.0                MX blocks with infinities under the OCP names; FP6 and FP4 codes of
                                                    NaN blocks; its GPU kernels; later versions' RCEIL
transformer_engine_   transformer_engine 2.20.2     -0 and NaN of NVFP4, inf and NaN of FP8: kernels differ from these
blocks                (the wheel's references)      references; NVFP4 before 2.14
modelopt_blocks       nvidia-modelopt 0.47.0        MXFP4 blocks with inf or NaN; its GPU kernels
compressed_tensors_   compressed-tensors 0.20.1     MX and NVFP4 blocks with inf or NaN; MX amaxes from 1.75 * 2**127;
blocks                                              its GPU kernels
gguf_blocks           gguf 0.19.0                   blocks with inf or NaN; MXFP4 amaxes below 2**-125; NVFP4 is put
                                                    together of its parts, it has no quantizer
====================  ============================  ==================================================================

Of all of them: the sign of a NaN (scale or element, of torch and NumPy) depends on the processor. `same` looks past it.
``ceil(log2(·))`` and ``floor(log2(·))`` rest on torch's and NumPy's log2, which gave the same integers with AVX-512, AVX2
and neither.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ..block_result import BlockResult
from . import compressed_tensors_blocks, gguf_blocks, modelopt_blocks, torchao_blocks, transformer_engine_blocks
from ._common import DTYPES, Peer

__all__ = ["DTYPES", "MODULES", "OCP", "PEERS", "UNDEFINED_SCALES", "BlockResult", "Peer", "same"]

#: The adaptors, by package.
MODULES: dict[str, ModuleType] = {
    "torchao": torchao_blocks,
    "transformer_engine": transformer_engine_blocks,
    "modelopt": modelopt_blocks,
    "compressed_tensors": compressed_tensors_blocks,
    "gguf": gguf_blocks,
}

#: Every recipe, by our name.
PEERS: dict[str, Peer] = {name: peer for module in MODULES.values() for name, peer in module.RECIPES.items()}

#: The recipes of the OCP MX specification itself; torchao's floor answers for them where all is finite.
OCP = tuple(torchao_blocks.ELEMENTS)

#: The recipes whose scale codes mean nothing either where a whole block's element codes are undefined.
UNDEFINED_SCALES = frozenset(
    {*OCP, *compressed_tensors_blocks.RECIPES, "mxfp4_modelopt", *gguf_blocks.RECIPES},
)


def _element(recipe: str, codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """NaN codes made one."""
    family = recipe.split("_")
    if family[0] not in ("mxfp8", "fp8"):
        return codes
    first = 0x7F if family[1] == "e4m3" else 0x7D
    return np.where((codes & 0x7F) >= first, np.uint8(0x7F), codes)


def _floats(values: NDArray[np.float32]) -> NDArray[np.uint32]:
    return np.where(np.isnan(values), np.float32(np.nan), values).view(np.uint32)


def same(recipe: str, one: BlockResult, other: BlockResult) -> str | None:
    """None when two results are one, else what differs. Bits count, but not those of NaNs nor undefined ones."""
    if one.codes.shape != other.codes.shape or one.scales.shape != other.scales.shape:
        return f"{recipe}: {one.codes.shape} and {one.scales.shape}, {other.codes.shape} and {other.scales.shape}"
    counts = np.ones(one.codes.shape, bool)
    for undefined in (one.undefined, other.undefined):
        if undefined is not None:
            counts &= ~undefined
    height, width = (size // blocks for size, blocks in zip(counts.shape, one.scales.shape, strict=True))
    blocks = counts.reshape(one.scales.shape[0], height, one.scales.shape[1], width).any(axis=(1, 3))
    if recipe not in UNDEFINED_SCALES:
        blocks = np.ones_like(blocks)

    if one.scales.dtype != other.scales.dtype:
        return f"{recipe}: scales of {one.scales.dtype} and {other.scales.dtype}"
    if one.scales.dtype == np.float32:
        scales = _floats(one.scales) != _floats(other.scales)
    elif recipe.startswith("nvfp4"):
        scales = [np.where((found.scales & 0x7F) == 0x7F, np.uint8(0x7F), found.scales) for found in (one, other)]
        scales = scales[0] != scales[1]
    else:
        scales = one.scales != other.scales
    scales &= blocks
    codes = (_element(recipe, one.codes) != _element(recipe, other.codes)) & counts
    if (one.second is None) != (other.second is None):
        return f"{recipe}: one of them has no second level"
    second = 0
    if one.second is not None and other.second is not None:
        if one.second.shape != other.second.shape:
            return f"{recipe}: second levels {one.second.shape} and {other.second.shape}"
        second = int((_floats(one.second) != _floats(other.second)).sum())
    if not (codes.any() or scales.any() or second):
        return None
    told = [f"{recipe}: {int(scales.sum())} scales, {int(codes.sum())} codes and {second} second levels differ"]
    for what, where, left, right in (
        ("scale", scales, one.scales, other.scales),
        ("code", codes, one.codes, other.codes),
    ):
        if where.any():
            at = tuple(int(index) for index in np.argwhere(where)[0])
            told.append(f"first {what} {at}: {left[at]!r} and {right[at]!r}")
    return "; ".join(told)
