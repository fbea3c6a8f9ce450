"""What the elements of one block can be, and what all blocks can: by the recipe's own decoding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..block_format import BlockFormat
from ..blocks.array import BlockArray
from ..blocks.encode import encode_blocks
from ..casts import decode
from ..format import Format
from ..registry import get_element

__all__ = ["block_reach", "block_values"]


FP32: Format = get_element("fp32")


def _like(fmt: BlockFormat, amax: float | None, count: int) -> BlockArray:
    """As many blocks of one number, each with that amax."""
    amax = float(get_element(fmt.element).max) if amax is None else amax
    return encode_blocks(np.full((count, 1, 1), min(amax, float(FP32.max)), np.float32), fmt)


def _positive(values: NDArray[np.float32]) -> NDArray[np.float64]:
    kept = values[np.isfinite(values) & (values > 0)]
    return kept.astype(np.float64)


def block_values(fmt: BlockFormat, amax: float | None) -> tuple[float, float, float]:
    """The smallest, smallest normal and largest magnitude that an element has in a block with that amax.

    >>> from fpformats import MXFP4
    >>> block_values(MXFP4, 6.0), block_values(MXFP4, 0.75)
    ((0.5, 1.0, 6.0), (0.0625, 0.125, 0.75))
    """
    element = get_element(fmt.element)
    codes = np.arange(1 << element.bits, dtype=np.uint8).reshape(-1, 1, 1)
    q = _like(fmt, amax, codes.size)
    made = BlockArray(codes, q.scales, fmt, q.tensor_scale, q.axis, q.zero_points).decode().reshape(-1)
    values = _positive(made)
    if not values.size:
        raise ValueError(f"{fmt.name}: a block whose largest magnitude is {amax!r} holds nothing but zeros")
    normal = float(made[1 << element.mantissa_bits]) if element.exponent_bits else float(values.max())
    return float(values.min()), normal, float(values.max())


def block_reach(fmt: BlockFormat, amax: float | None) -> tuple[float, float] | None:
    """The smallest and the largest magnitude that any scale gives, in a tensor with that amax.

    None where the tensor is one block. With float32 scales, all magnitudes of float32.

    >>> from fpformats import MXFP4
    >>> block_reach(MXFP4, None) == (2.0**-127 * 0.5, 2.0**127 * 1.5)
    True
    """
    element = get_element(fmt.element)
    if fmt.block == (None, None):
        return None
    if fmt.scale == "fp32":
        return float(FP32.smallest_subnormal), float(FP32.max)
    codes = np.arange(256, dtype=np.uint8)
    known = decode(codes, fmt.scale, dtype=np.float64)
    scales = codes[np.isfinite(known) & (known > 0)].reshape(-1, 1, 1)
    like = _like(fmt, amax, scales.size)
    ends = [
        _positive(BlockArray(np.full(scales.shape, code), scales, fmt, like.tensor_scale, like.axis).decode())
        for code in range(1, element.max_code + 1)
    ]
    return min(float(part.min()) for part in ends), max(float(part.max()) for part in ends)
