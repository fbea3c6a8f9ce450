"""How often a tensor uses each value of a format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..block_format import BlockFormat
from ..blocks.encode import encode_blocks
from ..casts import decode, encode
from ..explore.compare import compare
from ..explore.measure import Row
from ..format import Format
from ..registry import get, get_element
from .canvas import Look, axes_for, finish
from .data import AnyFormat, array_of, drawable
from .grid import Grid, reading_order
from .labels import axes_points, fitting, numbers, plain_share, text_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["histogram"]

#: size of the numbers under the bars
POINTS = 9.0


def histogram(x: Any, fmt: AnyFormat, *, ax: Axes | None = None) -> Axes:
    """How many of a tensor's numbers become each of a format's values.

    Parameters
    ----------
    x : array_like
        Anything that `quantize` takes; it is quantized with the defaults.
    fmt : str, Format or BlockFormat
        Of at most 1024 values. Of a block format the values are its element's, not yet multiplied by the scales.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        One bar for each finite value, in order and equally wide, so the x axis is not to scale. y counts numbers.

    Raises
    ------
    ValueError
        An empty `x`, one whose results are all infinite or NaN, a NaN and a format without one, or too many values.
    ImportError
        Without Matplotlib.

    Notes
    -----
    Above the picture: the share of numbers *saturated* (finite and beyond the largest value) and *flushed* (not zero,
    and became zero), as `compare` counts them, and how many results are infinite or NaN and so have no bar. 0 and -0
    are one bar. Subnormal values have a colour of their own.

    Examples
    --------
    >>> import fpformats as fp
    >>> ax = fp.plot.histogram([0.1, 0.9, 1.1, 9.0], "e2m1")
    >>> [int(bar.get_height()) for bar in ax.patches]
    [0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 1]
    >>> ax.get_title(loc="left")
    'e2m1: 25% saturated, 25% flushed to zero'
    """
    row = get(fmt)
    block = isinstance(row, BlockFormat)
    element = drawable(get_element(row.element if isinstance(row, BlockFormat) else row))
    grid = Grid(element)
    chosen = _all(grid)
    x = array_of(x)
    counted = compare(x, [row]).rows[0]
    if not counted.count:
        raise ValueError("x is empty; at least one number was expected")
    codes = encode_blocks(x, row).codes if isinstance(row, BlockFormat) else encode(x, row)
    counts, left = _counts(codes, element, grid)
    if left == counted.count:
        raise ValueError(f"x: all {left} values become infinite or NaN in {row.name}; a finite one was expected")
    ax = axes_for(ax)
    from matplotlib.patches import Rectangle

    look = Look(ax)
    ax.set_xlabel(f"value of {element.name}" + (", before the block's scale" if block else ""))
    ax.set_ylabel("count")
    ax.set_ylim(0, max(int(counts.max()), 1) * 1.05)
    ax.set_xlim(-0.8, len(chosen) - 0.2)
    width = axes_points(ax)[0]
    _ticks(ax, grid, chosen, width / (len(chosen) + 0.6))
    text = _title(counted)
    ax.set_title(text if text_size(text, 10)[0] <= width else text.replace(": ", ":\n", 1), loc="left", fontsize=10)
    small = [bool(element.exponent_bits) and 0 < abs(index) < grid.normal for index in chosen]
    colours = [look.second if is_small else look.colour(0) for is_small in small]
    wide = 0.85 if len(chosen) <= 64 else 1.0
    for place, (count, colour) in enumerate(zip(counts.tolist(), colours, strict=True)):
        # as Axes.bar does, which looks at the limits after each
        ax.add_artist(Rectangle((place - wide / 2, 0), wide, count, facecolor=colour, linewidth=0))
    return finish(ax, look, grid="y")


def _all(grid: Grid) -> range:
    try:
        return grid.between(None, "")
    except ValueError:
        raise ValueError(
            f"fmt: {grid.format.name} has {grid.count} values, too many for a bar each; at most 10 bits were expected"
        ) from None


def _counts(codes: Any, element: Format, grid: Grid) -> tuple[NDArray[np.int64], int]:
    """How often each finite value occurs, and how many codes are none."""
    values = np.array([float(grid.value(index)) for index in range(grid.low, grid.high + 1)])
    used, often = np.unique(np.asarray(codes), return_counts=True)
    became = decode(used, element, dtype=np.float64)
    finite = np.isfinite(became)
    counts = np.zeros(values.size, np.int64)
    np.add.at(counts, np.searchsorted(values, became[finite]), often[finite])
    return counts, int(often[~finite].sum())


def _title(row: Row) -> str:
    """What is lost, and what has no bar."""
    saturated, flushed = plain_share(row.saturated, row.count), plain_share(row.flushed, row.count)
    text = f"{row.format}: {saturated} saturated, {flushed} flushed to zero"
    return text + "".join(f", {many} {what}" for many, what in ((row.inf, "inf"), (row.nan, "NaN")) if many)


def _ticks(ax: Axes, grid: Grid, chosen: range, step: float) -> None:
    """Names of the values, as many as fit; from one to the next are so many points."""
    texts = numbers([grid.value(index) for index in chosen])
    order = [reading_order(index, grid, chosen) for index in chosen]
    shown = fitting([step * place for place in range(len(chosen))], texts, order, POINTS)
    ax.set_xticks(shown, [texts[place] for place in shown], fontsize=POINTS)
