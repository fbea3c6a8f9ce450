"""How far formats reach, beside the data that has to fit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..block_format import BlockFormat
from ..format import Format
from .block_values import block_reach, block_values
from .canvas import Look, axes_for, finish, log2_axis
from .data import AnyFormat, checked_formats, drawable, magnitudes
from .labels import axes_points, spread, text_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["range_bars"]

#: What is marked of the data: name, percentage of the values at or below it, dashes.
MARKS: tuple[tuple[str, int, Any], ...] = (
    ("min", 0, (0, (1, 1.5))),
    ("1%", 1, (0, (4, 2))),
    ("median", 50, "-"),
    ("99%", 99, (0, (4, 2))),
    ("max", 100, (0, (1, 1.5))),
)


def range_bars(formats: Iterable[AnyFormat] | AnyFormat, *, data: Any = None, ax: Axes | None = None) -> Axes:
    """The magnitudes that formats can hold, one bar a format on an axis of powers of two.

    Parameters
    ----------
    formats : iterable of str, Format or BlockFormat
        One row each, the first on top.
    data : array_like, optional
        Numbers whose minimum, first percentile, median, 99th percentile and maximum are marked. Magnitudes
        count; zeros, infinities and NaN do not. A percentile is the
        smallest of the values with that share at or below it.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Its x axis is the magnitude.

    Raises
    ------
    ValueError
        No format, a format whose range is beyond float64's, or `data` without a finite number other than zero.
    ImportError
        Without Matplotlib.

    Notes
    -----
    *Element formats*: solid from the smallest normal number to the largest, hatched from the smallest subnormal to the
    smallest normal. Below the hatched part everything becomes zero or the smallest number. An integer format is hatched
    all along: its spacing is the same everywhere.

    *Block formats* hold two ranges. The bar is that of **one block**, the values that its elements can have beside
    each other: of a block whose amax is that of `data`, and without `data`, the largest number of the element. The thin
    line is what **all blocks** of such a tensor can reach, whatever their scales; the bar slides along it. There is no
    line where the tensor is one block.

    Examples
    --------
    >>> import fpformats as fp
    >>> ax = fp.plot.range_bars(["fp16", "e4m3", "mxfp4"], data=[0.02, -0.3, 1.5])
    >>> ax.get_xscale(), len(ax.get_yticks())
    ('log', 3)
    """
    rows = [drawable(fmt) if isinstance(fmt, Format) else fmt for fmt in checked_formats(formats)]
    sizes = None if data is None else magnitudes(data, "data")
    parts = [_parts(fmt, None if sizes is None else float(sizes.max())) for fmt in rows]
    ax = axes_for(ax, height=max(1.8, 0.9 + 0.34 * len(rows)))
    look = Look(ax)
    ends = [end for part in parts for end in (part.smallest, part.largest, *(part.reach or ()))]
    ends += [] if sizes is None else [float(sizes.min()), float(sizes.max())]
    log2_axis(ax, "x", min(ends), max(ends))
    for row, (fmt, part) in enumerate(zip(rows, parts, strict=True)):
        colour = look.colour(0 if isinstance(fmt, Format) else 3)
        if part.reach is not None:
            ax.plot(
                part.reach, [row, row], color=colour, linewidth=1.2, marker="|", markersize=7, gid=f"reach:{fmt.name}"
            )
        if part.smallest < part.normal:
            ax.barh(
                row, part.normal - part.smallest, left=part.smallest, height=0.62, facecolor="none",
                edgecolor=look.second, hatch="//////", linewidth=1.0, gid=f"subnormal:{fmt.name}",
            )  # fmt: skip
        if part.normal < part.largest:
            ax.barh(
                row, part.largest - part.normal, left=part.normal, height=0.62, color=colour, linewidth=0,
                gid=f"normal:{fmt.name}",
            )  # fmt: skip
    ax.set_yticks(range(len(rows)), [fmt.name for fmt in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlabel("magnitude")
    finish(ax, look, grid="x")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    if sizes is not None:
        _mark(ax, look, sizes)
    return ax


class _Part:
    """One row's ends: smallest number, smallest normal one, largest; and what all blocks can reach."""

    def __init__(self, smallest: float, normal: float, largest: float, reach: tuple[float, float] | None) -> None:
        self.smallest, self.largest, self.reach = smallest, largest, reach
        self.normal = min(normal, largest)


def _parts(fmt: Format | BlockFormat, amax: float | None) -> _Part:
    if isinstance(fmt, BlockFormat):
        smallest, normal, largest = block_values(fmt, amax)
        return _Part(smallest, normal, largest, block_reach(fmt, amax))
    largest = float(fmt.max)
    normal = float(fmt.smallest_normal) if fmt.exponent_bits else largest
    return _Part(float(fmt.smallest_subnormal), normal, largest, None)


def _mark(ax: Axes, look: Look, sizes: np.ndarray) -> None:
    """Lines at the marks of the data, and names above them that do not overlap."""
    ordered = np.sort(sizes)
    at = [float(ordered[max(-(-percent * ordered.size // 100) - 1, 0)]) for _, percent, _ in MARKS]
    for value, (name, _, dashes) in zip(at, MARKS, strict=True):
        ax.axvline(value, color=look.ink, linestyle=dashes, linewidth=1.1, zorder=3, gid=f"data:{name}")
    width, _ = axes_points(ax)
    low, high = np.log2(ax.get_xlim())
    points = 9.0
    room = [text_size(name, points)[0] + 8 for name, _, _ in MARKS]
    wanted = [(np.log2(value) - low) / (high - low) * width for value in at]
    for place, value, (name, _, _) in zip(spread(wanted, room, 0, width), at, MARKS, strict=True):
        ax.annotate(
            name, xy=(value, 1.0), xycoords=ax.get_xaxis_transform(), xytext=(place / width, 1.07),
            textcoords="axes fraction", ha="center", va="bottom", fontsize=points, color=look.ink,
            arrowprops={"arrowstyle": "-", "color": look.ink, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
