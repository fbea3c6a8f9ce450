"""How an array is cut into blocks: to one row of numbers a block, and back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..block_format import BlockFormat

__all__ = ["ALONE", "Tiling", "Turns", "tiling"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Turns:
    """Blocks of several rows that stay where they are: `across` blocks, side by side, take turns for `rows` rows."""

    rows: int = 1
    across: int = 1

    def largest(self, amaxes: Array) -> Array:
        """Each block's, of its rows' as bits."""
        if self.rows == 1:
            return amaxes
        return amaxes.reshape(-1, self.rows, self.across).max(axis=1).reshape(-1)

    def spread(self, numbers: Array) -> Array:
        """A block's number for each of its rows."""
        if self.rows == 1:
            return numbers
        return np.repeat(numbers.reshape(-1, 1, self.across), self.rows, axis=1).reshape(-1)


ALONE = Turns()


@dataclass(frozen=True)
class Tiling:
    """An array's shape, its axes, and the block's.

    With the axis of the columns moved to the end, the array is seen as (many, rows, columns) and each of the many is
    cut into tiles; the last ones may be short, and are then filled with zeros, which change no amax and no number.
    """

    shape: tuple[int, ...]
    axis: int
    many: int
    rows: int
    columns: int
    tile: tuple[int, int]

    @property
    def down(self) -> int:
        """Blocks along the rows' axis."""
        return -(-self.rows // self.tile[0])

    @property
    def across(self) -> int:
        """Blocks along the columns' axis."""
        return -(-self.columns // self.tile[1])

    @property
    def size(self) -> int:
        """Numbers in a (filled) block."""
        return self.tile[0] * self.tile[1]

    @property
    def count(self) -> int:
        """Blocks in all."""
        return self.many * self.down * self.across

    @property
    def grid(self) -> tuple[int, ...]:
        """The shape of the scales: the array's, blocks in place of numbers."""
        if self.count <= 1:
            return (self.count,) * len(self.shape)
        moved = [*self._moved()]
        moved[-1] = self.across
        if self.tile[0] > 1 and len(moved) > 1:
            moved[-2] = self.down
        moved.insert(self.axis, moved.pop())
        return tuple(moved)

    @property
    def in_place(self) -> bool:
        """Whether the blocks lie one after the other in the array's own memory."""
        return (self.axis == len(self.shape) - 1 and self.tile[0] == 1 and self.columns % self.tile[1] == 0) or (
            self.count <= 1 and self.axis == max(len(self.shape) - 1, 0) and self.tile == (self.rows, self.columns)
        )

    @property
    def turns(self) -> Turns:
        """How rows of blocks take turns in the array's own memory, where they can stay there."""
        r, c = self.tile
        whole = self.count and self.rows % r == 0 and self.columns % c == 0 and c % 16 == 0
        return Turns(r, self.across) if r > 1 and whole and self.axis == len(self.shape) - 1 else ALONE

    def in_order(self, turns: Turns) -> bool:
        """Whether `rows_of` are in the array's own order."""
        return turns.rows > 1 or self.in_place

    def rows_of(self, x: Array, turns: Turns) -> Array:
        """(blocks, numbers), or where they take turns the blocks' rows: a view where that is possible."""
        return np.ascontiguousarray(x).reshape(-1, self.tile[1]) if turns.rows > 1 else self.cut(x)

    def array_of(self, rows: Array, turns: Turns) -> Array:
        """The way back."""
        return rows.reshape(self.shape) if turns.rows > 1 else self.join(rows)

    def _moved(self) -> tuple[int, ...]:
        shape = list(self.shape) or [1]
        shape.append(shape.pop(self.axis))
        return tuple(shape)

    def cut(self, x: Array) -> Array:
        """(blocks, numbers): a view where that is possible."""
        if self.in_place:
            return np.ascontiguousarray(x).reshape(self.count, self.size)
        x = np.moveaxis(x.reshape(self.shape or (1,)), self.axis, -1).reshape(self.many, self.rows, self.columns)
        r, c = self.tile
        if self.rows % r or self.columns % c:
            filled = np.zeros((self.many, self.down * r, self.across * c), x.dtype)
            filled[:, : self.rows, : self.columns] = x
            x = filled
        x = x.reshape(self.many, self.down, r, self.across, c).swapaxes(2, 3)
        return np.ascontiguousarray(x).reshape(self.count, self.size)

    def join(self, blocks: Array) -> Array:
        """The way back."""
        if self.in_place:
            return blocks.reshape(self.shape)
        r, c = self.tile
        x = blocks.reshape(self.many, self.down, self.across, r, c).swapaxes(2, 3)
        x = x.reshape(self.many, self.down * r, self.across * c)[:, : self.rows, : self.columns]
        x = np.moveaxis(x.reshape(self._moved() or (1,)), -1, self.axis)
        return np.ascontiguousarray(x).reshape(self.shape)

    def join_scales(self, scales: Array) -> Array:
        """One a block, in the shape of `grid`."""
        if self.count <= 1 or self.in_place:
            return scales.reshape(self.grid)
        down = (self.down,) if self.tile[0] > 1 and len(self.shape) > 1 else ()
        ahead = self._moved()[: -1 - len(down)]
        return np.ascontiguousarray(np.moveaxis(scales.reshape(*ahead, *down, self.across), -1, self.axis))

    def cut_scales(self, scales: Array) -> Array:
        """The way back."""
        if self.count <= 1 or self.in_place:
            return np.ascontiguousarray(scales).reshape(-1)
        return np.ascontiguousarray(np.moveaxis(scales, self.axis, -1)).reshape(-1)

    def per_block(self, rows: Array) -> Array:
        """One number for every row of the array, as one for every block."""
        return np.repeat(rows.reshape(-1), self.across)


def tiling(fmt: BlockFormat, shape: tuple[int, ...], axis: int = -1) -> Tiling:
    """How an array of that shape is cut.

    Raises
    ------
    ValueError
        An axis that the array does not have.
    """
    dimensions = len(shape)
    reach = max(dimensions, 1)
    if not isinstance(axis, (int, np.integer)) or isinstance(axis, bool) or not -reach <= axis < reach:
        raise ValueError(
            f"axis={axis!r}: x has {dimensions} dimensions; an int from {-dimensions} to {dimensions - 1} was expected"
        )
    axis = int(axis) % reach
    rows, columns = fmt.block
    if rows is None and columns is None:  # the whole array is one row
        size = math.prod(shape)
        return Tiling(shape, max(dimensions - 1, 0), 1, 1, size, (1, max(size, 1)))
    moved = [*shape] or [1]
    moved.append(moved.pop(axis))
    height = moved[-2] if len(moved) > 1 else 1
    many = math.prod(moved[:-2])
    if (rows or 1) == 1:  # rows are alike, whichever of the many they are in
        return Tiling(shape, axis, many * height, 1, moved[-1], (1, columns or max(moved[-1], 1)))
    return Tiling(shape, axis, many, height, moved[-1], (rows or max(height, 1), columns or max(moved[-1], 1)))
