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
    """Blocks of several rows that stay where they are: `across` blocks, side by side, take turns for `rows` rows.

    A row of a block has a run of numbers, or where blocks are `single`, one.
    """

    rows: int = 1
    across: int = 1
    single: bool = False

    def largest(self, amaxes: Array) -> Array:
        """Each block's, of its rows' as bits."""
        if self.rows == 1 or self.single:
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

    The array is seen as (many, rows, columns), with an axis moved to the end where need be, and each of the many is cut
    into tiles; the last ones may be short, and are then filled with zeros, which change no amax and no number. Blocks
    along an axis that is not the last are tiles one column wide.
    """

    shape: tuple[int, ...]
    axis: int
    many: int
    rows: int
    columns: int
    tile: tuple[int, int]
    #: the shape of the scales: the array's, blocks in place of numbers
    grid: tuple[int, ...]
    #: the axis that is moved to the end
    last: int

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
    def straight(self) -> bool:
        """Whether no axis is moved."""
        return self.last == max(len(self.shape) - 1, 0)

    @property
    def in_place(self) -> bool:
        """Whether the blocks lie one after the other in the array's own memory."""
        r, c = self.tile
        rows, columns = self.columns == c and self.rows % r == 0, r == 1 and self.columns % c == 0
        return self.straight and (rows or columns)

    @property
    def turns(self) -> Turns:
        """How rows of blocks take turns in the array's own memory, where they can stay there."""
        r, c = self.tile
        if self.in_place or not self.straight or not self.count or self.rows % r or self.columns % c:
            return ALONE
        return Turns(r, self.across, c == 1) if c == 1 or c % 16 == 0 else ALONE

    def in_order(self, turns: Turns) -> bool:
        """Whether `rows_of` are in the array's own order."""
        return turns.rows > 1 or self.in_place

    def rows_of(self, x: Array, turns: Turns) -> Array:
        """(blocks, numbers), or where they take turns their rows, or the array's: a view where that is possible."""
        if turns.rows == 1:
            return self.cut(x)
        return np.ascontiguousarray(x).reshape(-1, self.columns if turns.single else self.tile[1])

    def array_of(self, rows: Array, turns: Turns) -> Array:
        """The way back."""
        return rows.reshape(self.shape) if turns.rows > 1 else self.join(rows)

    def _moved(self) -> tuple[int, ...]:
        shape = list(self.shape) or [1]
        shape.append(shape.pop(self.last))
        return tuple(shape)

    def cut(self, x: Array) -> Array:
        """(blocks, numbers): a view where that is possible."""
        if self.in_place:
            return np.ascontiguousarray(x).reshape(self.count, self.size)
        x = np.moveaxis(x.reshape(self.shape or (1,)), self.last, -1).reshape(self.many, self.rows, self.columns)
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
        x = np.moveaxis(x.reshape(self._moved() or (1,)), -1, self.last)
        return np.ascontiguousarray(x).reshape(self.shape)

    def join_scales(self, scales: Array) -> Array:
        """One a block, in the shape of `grid`."""
        if self.count <= 1 or self.straight:
            return scales.reshape(self.grid)
        moved = [*self.grid]
        moved.append(moved.pop(self.last))
        return np.ascontiguousarray(np.moveaxis(scales.reshape(moved), -1, self.last))

    def cut_scales(self, scales: Array) -> Array:
        """The way back."""
        if self.count <= 1 or self.straight:
            return np.ascontiguousarray(scales).reshape(-1)
        return np.ascontiguousarray(np.moveaxis(scales, self.last, -1)).reshape(-1)

    # --- one number for all blocks along the axis -----------------------------------------------
    def _lines(self) -> tuple[int, int, int]:
        """Blocks before the axis, along it, and behind it."""
        single = self.tile[1] == 1 and self.last != self.axis
        return (self.many, self.down, self.across) if single else (self.many * self.down, self.across, 1)

    @property
    def lines(self) -> int:
        """How many there are of them."""
        before, _, behind = self._lines()
        return before * behind

    def line_amaxes(self, amaxes: Array) -> Array:
        """The largest of blocks' magnitudes along the axis; as bits, a NaN is the largest."""
        before, along, behind = self._lines()
        most: Array = amaxes.view(np.uint32).reshape(before, along, behind).max(axis=1, initial=0).view(np.float32)
        return most.reshape(-1)

    def per_block(self, lines: Array) -> Array:
        """One number for every line along the axis, as one for every block."""
        before, along, behind = self._lines()
        return np.repeat(lines.reshape(before, 1, behind), along, axis=1).reshape(-1)


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
        return _tiling(shape, reach - 1, 1, 1, size, (1, max(size, 1)), reach - 1)
    filled = shape or (1,)
    length, behind = filled[axis], math.prod(filled[axis + 1 :])
    if rows == 1 and axis < reach - 1:
        return _tiling(shape, axis, math.prod(filled[:axis]), length, behind, (columns or max(length, 1), 1), reach - 1)
    moved = [*filled]
    moved.append(moved.pop(axis))
    height = moved[-2] if len(moved) > 1 else 1
    many = math.prod(moved[:-2])
    if rows == 1:  # rows are alike, whichever of the many they are in
        return _tiling(shape, axis, many * height, 1, length, (1, columns or max(length, 1)), axis)
    tile = (rows or max(height, 1), columns or max(length, 1))
    return _tiling(shape, axis, many, height, length, tile, axis)


def _tiling(
    shape: tuple[int, ...], axis: int, many: int, rows: int, columns: int, tile: tuple[int, int], last: int
) -> Tiling:
    down, across = -(-rows // tile[0]), -(-columns // tile[1])
    grid = [*shape]
    if many * down * across <= 1:
        grid = [many * down * across] * len(shape)
    elif last != axis:
        grid[axis] = down
    else:
        grid[axis] = across
        if tile[0] > 1 and len(shape) > 1:
            grid[axis - 1 if axis == len(shape) - 1 else -1] = down
    return Tiling(shape, axis, many, rows, columns, tile, tuple(grid), last)
