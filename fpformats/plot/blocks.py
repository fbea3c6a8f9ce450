"""The scales of a matrix's blocks, where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..block_format import BlockFormat
from ..blocks.array import BlockArray, block_format
from ..blocks.encode import encode_blocks
from ..casts import decode
from .canvas import Look, axes_for
from .data import array_of, float64, magnitudes
from .labels import axes_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["blocks"]

#: boundaries are drawn between blocks of that many points on average
BOUNDARY = 6.0


def blocks(x: Any, fmt: str | BlockFormat, *, axis: int = -1, ax: Axes | None = None) -> Axes:
    """The scale of every block of a matrix, as an image.

    Parameters
    ----------
    x : array_like
        Two-dimensional, or one row; anything that `encode_blocks` takes.
    fmt : str or BlockFormat
    axis : int
        Along which the blocks run, as in `encode_blocks`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        x are the matrix's columns, y its rows, downwards; one rectangle for each block, short ones at ragged ends as
        wide as what they hold. Its colour is log2 of the scale that is stored, without second level and without unit.

    Raises
    ------
    ValueError
        An `x` of other dimensions, or without a finite number other than zero.
    TypeError
        An element format.
    ImportError
        Without Matplotlib.

    Notes
    -----
    Scales of 0 and of NaN, which have no logarithm, are left empty.

    Examples
    --------
    >>> import fpformats as fp, numpy as np
    >>> x = np.full((2, 40), 6.0)
    >>> x[1, 32:] = 0.75
    >>> ax = fp.plot.blocks(x, "mxfp4")
    >>> ax.collections[0].get_array().tolist()
    [[0.0, 0.0], [0.0, -3.0]]
    """
    row = block_format(fmt)
    magnitudes(x, "x")  # complains
    matrix = array_of(x)
    shape = float64(matrix).shape
    if len(shape) not in (1, 2):
        raise ValueError(f"x has shape {shape}; two dimensions were expected, or one row")
    q = encode_blocks(matrix, row, axis=axis)
    down, across = edges(row, shape, q.axis)
    image = np.ma.masked_invalid(_log2(q).reshape(down.size - 1, across.size - 1))
    ax = axes_for(ax)
    look = Look(ax)
    mesh = ax.pcolormesh(across, down, image, cmap="viridis" if look.dark else "viridis_r")
    width, height = axes_points(ax)
    gaps: dict[str, Any] = {"color": ax.get_facecolor(), "linewidth": 0.8}
    if width > BOUNDARY * (across.size - 1):
        ax.vlines(across[1:-1], 0, down[-1], **gaps)
    if height > BOUNDARY * (down.size - 1):
        ax.hlines(down[1:-1], 0, across[-1], **gaps)
    ax.set_xlim(0, across[-1])
    ax.set_ylim(down[-1], 0)
    ax.set_xlabel("column")
    ax.set_ylabel("row")
    ax.set_title(f"{row.name}: {q.scales.size} blocks, {row.block_text}", loc="left", fontsize=10)
    bar = ax.figure.colorbar(mesh, ax=ax)
    bar.set_label("log2 of the scale", color=look.ink)
    return ax


def _log2(q: BlockArray) -> NDArray[np.float64]:
    fmt = q.format
    scales = q.scales if fmt.scale == "fp32" else decode(q.scales, fmt.scale, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        made: NDArray[np.float64] = np.log2(scales.astype(np.float64))
    return made


def edges(fmt: BlockFormat, shape: tuple[int, ...], axis: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where blocks begin and end in the rows and in the columns of a matrix.

    >>> from fpformats import MXFP4
    >>> [part.tolist() for part in edges(MXFP4, (3, 40), 1)], [part.tolist() for part in edges(MXFP4, (40, 2), 0)]
    ([[0, 1, 2, 3], [0, 32, 40]], [[0, 32, 40], [0, 1, 2]])
    """
    rows, columns = shape if len(shape) == 2 else (1, *shape)
    across_axis = len(shape) == 1 or axis == 1
    height, width = fmt.block if across_axis else fmt.block[::-1]

    def cut(length: int, size: int | None) -> NDArray[np.int64]:
        return np.append(np.arange(0, length, size or length), length)

    return cut(rows, height), cut(columns, width)
