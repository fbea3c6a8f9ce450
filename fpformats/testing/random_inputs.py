"""Random inputs: every bit pattern alike, or blocks whose numbers lie some binades below their largest.

All come from the words of a Philox generator, by integer steps of our own: a seed means the same bytes everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..block_format import BlockFormat
from ..format import Format
from ..plan import code_dtype
from ..registry import get_element
from ..rounding import Rules
from .block_inputs import block_shape
from .source import Source

__all__ = ["random_blocks", "random_codes"]

Array = NDArray[Any]


#: numbers of blocks at a time
PART = 1 << 12


def _words(seed: int) -> np.random.Philox:
    return np.random.Philox(seed)


def random_codes(source: Format, seed: int, count: int, size: int) -> Iterator[Array]:
    """So many codes of the source, in parts of `size`; the same whatever the size."""
    words = _words(seed)
    for start in range(0, count, size):
        made = words.random_raw(min(size, count - start)) >> np.uint64(64 - source.bits)
        yield made.astype(code_dtype(source))


def random_blocks(fmt: BlockFormat, source: Format, seed: int, count: int) -> Iterator[Array]:
    """So many blocks as codes of the source, in the shape of `boundary_inputs`, in parts of some blocks.

    Largest numbers lie in 41 binades around 1, in the 16 below 2 where a second level takes care of the rest; one block
    in sixteen of the former lies anywhere. Of the numbers in a block one in 32 is 0 and one in eight has few ones.
    """
    words = _words(seed)
    rows, columns = block_shape(fmt)
    size = max(PART // (rows * columns), 1)
    for start in range(0, count, size):
        blocks = min(size, count - start)
        of_block = words.random_raw(blocks)
        anywhere = (of_block >> np.uint64(60) == 0) & (not fmt.second)
        near = (
            -(of_block & np.uint64(15)).astype(np.int64) if fmt.second else (of_block % np.uint64(41)).astype(int) - 20
        )
        exponent = np.where(anywhere, (of_block >> np.uint64(8) & np.uint64(255)).astype(np.int64) - 127, near)
        number = words.random_raw(blocks * rows * columns).reshape(blocks, -1)
        lower = number >> np.uint64(24) & np.uint64(255) | np.uint64(256)
        below = (
            np.frexp((lower & (~lower + np.uint64(1))).astype(np.float64))[1] - 1
        )  # zeros at its end: half have none
        field = np.clip(127 + exponent[:, None] - below, 0, 254).astype(np.uint64)
        fraction = number >> np.uint64(1) & np.uint64(0x7FFFFF)
        fraction = np.where(number >> np.uint64(40) & np.uint64(7) == 0, fraction & np.uint64(0x780000), fraction)
        bits = (number & np.uint64(1)) << np.uint64(31) | field << np.uint64(23) | fraction
        bits = np.where(number >> np.uint64(48) & np.uint64(31) == 0, bits & np.uint64(1 << 31), bits)
        made = Source(bits.astype(np.uint32).reshape(-1), get_element("fp32")).encode(
            source, Rules(overflow="saturate")
        )
        yield made.reshape(blocks * rows, columns)
