"""Blocks at which block formats go wrong: aligned to ties, at the edges of the scale rules, and degenerate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..block_format import BlockFormat
from ..format import Format
from ..registry import get_element
from ..rounding import Rules
from ..tables import decode_table
from .inputs import boundary_bits
from .source import Source

__all__ = ["block_bits", "block_inputs", "block_shape"]

Array = NDArray[Any]
#: columns of a block whose size is the array's business
OPEN = 64
#: exponents of the amax
EXPONENTS = (-130, -126, -30, -1, 0, 1, 30, 100, 120)
#: numbers at about which level 2 stops to try every exponent
MOST = 1 << 23
#: steps of binary32 on either side of an amax at which the scale's rounding changes
BESIDE = 2


def _rows(values: Array, size: int) -> Array:
    """Values cut into rows, the last one filled with zeros."""
    padded = np.zeros(-(-values.size // size) * size)
    padded[: values.size] = values
    return padded.reshape(-1, size)


def _midpoints(element: Format) -> Array:
    values = np.unique(decode_table(element)[np.isfinite(decode_table(element))])
    mid = (values[1:] + values[:-1]) / 2
    return np.concatenate([mid, np.nextafter(mid.astype(np.float32), np.float32(np.inf)).astype(np.float64),
                           np.nextafter(mid.astype(np.float32), np.float32(-np.inf)).astype(np.float64)])  # fmt: skip


def _tie_blocks(element: Format, size: int) -> Array:
    """Blocks led by the largest element value, whose other numbers are midpoints of the scaled grid and beside them."""
    ties = _rows(_midpoints(element), size - 1) if size > 1 else np.zeros((1, 0))
    lead = np.full((len(ties), 1), float(element.max))
    return np.concatenate([lead, ties], axis=1)


def _edge_blocks(element: Format, size: int) -> Array:
    """Blocks led by an amax at which rules for scales differ: powers of two, the element's largest value, midpoints."""
    top = float(element.max)
    binade = 2.0 ** (element.maxexp - 1)
    marks = np.array([binade, 2 * binade, top, (top + 2 * binade) / 2, binade * 1.5, binade * 1.75, binade * 1.25],
                     np.float32)  # fmt: skip
    beside = [marks, np.nextafter(marks, np.float32(0)), np.nextafter(marks, np.float32(np.inf))]
    lead = np.unique(np.concatenate(beside)).astype(np.float64)
    rest = np.resize(_midpoints(element), size - 1)
    return np.concatenate([lead[:, None], np.broadcast_to(rest, (lead.size, size - 1)) / 2], axis=1)


def _scale_edges(fmt: BlockFormat, element: Format, size: int, amax: float) -> Array:
    """Blocks whose amax makes a scale that is a midpoint of the scale format, or lies beside one.

    Recipes that differ in nothing but the order of their roundings are told apart there.
    """
    values = np.unique(decode_table(get_element(fmt.scale)))
    values = values[(values >= 0) & np.isfinite(values)]
    unit = amax / values[-1] if fmt.second else float(element.max)
    middle = ((values[1:] + values[:-1]) / 2 * unit).astype(np.float32).view(np.int32)
    lead = (middle[:, None] + np.arange(-BESIDE, BESIDE + 1, dtype=np.int32)).ravel().view(np.float32).astype(float)
    lead = lead[lead <= amax] if fmt.second else lead
    rest = np.resize(_midpoints(element), size - 1) / (2 * float(element.max))
    return np.concatenate([lead[:, None], lead[:, None] * rest], axis=1)


def _degenerate(size: int, top: float) -> Array:
    """Finite blocks with nothing in the middle: zeros, equal numbers, one number that is not zero, subnormal ones."""
    one = np.zeros(size)
    one[-1] = 1.0
    tiny = 2.0**-149
    signs = np.resize([1.0, -1.0], size)
    return np.array([np.zeros(size), -np.zeros(size), signs * 0.0, np.full(size, 1.0), -np.full(size, 3.0), one, -one,
                     one * tiny, np.full(size, tiny), signs * 2.0**-126, signs * 2.0**-127, signs * top,
                     np.linspace(-1, 1, size)])  # fmt: skip


def _special(size: int) -> Array:
    rows = np.ones((6, size))
    rows[0, -1], rows[1, 0], rows[2, 0] = np.nan, np.inf, -np.inf
    rows[3] = np.nan
    rows[4] = np.inf
    rows[5, :1], rows[5, -1:] = np.inf, np.nan
    return rows


def block_shape(fmt: BlockFormat) -> tuple[int, int]:
    """Rows and columns of one block; 1 and 64 where they are the array's business."""
    rows, columns = fmt.block
    return rows or 1, columns or OPEN


def block_inputs(fmt: BlockFormat, source: Format, level: int) -> Array:
    """`block_bits` as an array of the source's type."""
    bits = block_bits(fmt, source, level)
    return Source(bits.reshape(-1), source).array().reshape(bits.shape)


def block_bits(fmt: BlockFormat, source: Format, level: int) -> Array:
    """Whole blocks, one a row (or as many rows as a block has), stacked, as codes of the source.

    Blocks with infinities and NaN come last, and are left out where a second level, or one scale for the whole array,
    would carry them into every other block. Level 2 scales the blocks to more exponents, and adds the element's
    boundary inputs.
    """
    height, size = block_shape(fmt)
    element = get_element(fmt.element)
    made = [_tie_blocks(element, size), _edge_blocks(element, size)] if size > 1 else []
    exponents: tuple[int, ...] = EXPONENTS if not fmt.second and fmt.size is not None else (0,)
    if level == 2 and not fmt.second:
        whole = height * sum(block.size for block in made)
        exponents = tuple(sorted({*exponents, *range(-140, 121, max(1, 261 * whole // MOST))}))
    with np.errstate(all="ignore"):
        scaled = [block * 2.0**e for block in made for e in exponents]
    parts = [*scaled, _degenerate(size, float(element.max))]
    if level == 2:
        bits = boundary_bits(element, get_element("fp32"), 1)
        numbers = Source(bits, get_element("fp32")).wide()
        parts.append(_rows(numbers[np.isfinite(numbers) & (np.abs(numbers) < 1e30)], size))
    if not fmt.second and fmt.size is not None:
        parts.append(_special(size))
    if fmt.scale == "e4m3" and size > 1:
        parts.append(_scale_edges(fmt, element, size, max(float(np.abs(part).max()) for part in parts)))
    stacked = np.concatenate(parts)
    stacked = np.repeat(stacked, height, axis=0)
    if height > 1:  # the amax of a tile stands in its first row alone
        stacked.reshape(-1, height, size)[:, 1:, 0] = 0
    flat = Source.of_doubles(stacked).encode(source, Rules(overflow="saturate", nan="max"))
    keep = np.isinf(stacked.reshape(-1))
    if source.has_inf:
        flat[keep] = Source.of_doubles(stacked.reshape(-1)[keep]).encode(source, Rules())
    return flat.reshape(stacked.shape)
