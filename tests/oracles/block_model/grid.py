"""A matrix cut into blocks, each given to a recipe's function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from oracles.block_result import BlockResult

from .exact import BF16, F16, F32

DTYPES = {"float32": F32, "bfloat16": BF16, "float16": F16}
WHOLE = 1 << 60  #: as a number of rows or columns of a tile: all of them

#: A recipe for one block: its elements to its scale (a code, or a float32) and their codes. A code that the package
#: leaves undefined is None.
Block = Callable[[list[float]], tuple[int | float, Sequence[int | None]]]


def tiles(shape: tuple[int, int], tile: tuple[int, int]) -> Iterator[tuple[int, int, slice, slice]]:
    """Place in the grid, rows and columns of every block; the last ones may be short."""
    for i, r in enumerate(range(0, shape[0], tile[0])):
        for j, c in enumerate(range(0, shape[1], tile[1])):
            yield i, j, slice(r, r + tile[0]), slice(c, c + tile[1])


def blockwise(x: NDArray[np.float32], tile: tuple[int, int], block: Block) -> BlockResult:
    """Every block of `tile` = (rows, columns) by `block`."""
    tile = min(tile[0], x.shape[0]), min(tile[1], x.shape[1])
    codes, undefined = np.zeros(x.shape, np.uint8), np.zeros(x.shape, bool)
    scales: dict[tuple[int, int], int | float] = {}
    for i, j, rows, cols in tiles(x.shape, tile):
        part = x[rows, cols]
        scales[i, j], got = block(part.ravel().tolist())
        codes[rows, cols] = np.reshape([code or 0 for code in got], part.shape)
        undefined[rows, cols] = np.reshape([code is None for code in got], part.shape)
    last = max(scales)
    kind = np.uint8 if isinstance(scales[last], int) else np.float32
    grid = np.array(list(scales.values()), kind).reshape(last[0] + 1, last[1] + 1)
    return BlockResult(codes, grid, None, undefined if undefined.any() else None)
