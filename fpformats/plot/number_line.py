"""All values of a format where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..format import Format
from ..registry import get_element
from .canvas import Look, axes_for, finish
from .data import drawable
from .grid import Grid, limits_of, reading_order
from .labels import axes_points, exponent_of, fitting, numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["number_line"]

#: How tall ticks are: of powers of two and zero, and of the rest.
TALL, SHORT = 1.0, 0.6


def number_line(fmt: str | Format, *, limits: tuple[float, float] | None = None, ax: Axes | None = None) -> Axes:
    """Every finite value of a format as a tick on a line.

    Parameters
    ----------
    fmt : str or Format
    limits : (number, number), optional
        Draw from the one to the other, and the values there, both included; all by default.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Its x axis is linear.

    Raises
    ------
    ValueError
        More than 1024 values (give `limits`), none between the limits, or limits that are no two rising numbers.
    TypeError
        A block format.
    ImportError
        Without Matplotlib.

    Notes
    -----
    Zero and powers of two are taller; subnormal numbers are dashed and of another colour. Numbers are written under the
    ticks where they fit beside each other: zero first, then the ends, 1, other powers of two from the largest down,
    the rest.

    Examples
    --------
    >>> import fpformats as fp
    >>> ax = fp.plot.number_line("e2m1", limits=(0, 6))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['0', '0.5', '1', '1.5', '2', '3', '4', '6']
    """
    row = drawable(get_element(fmt))
    grid = Grid(row)
    within = limits_of(limits)
    chosen = grid.between(within, "to draw each")
    values = [grid.value(index) for index in chosen]
    ax = axes_for(ax, height=1.7)
    look = Look(ax)

    tall = [exponent_of(value) is not None or not value for value in values]
    small = [bool(row.exponent_bits) and 0 < abs(index) < grid.normal for index in chosen]
    width = 1.4 if len(values) <= 128 else 0.8
    for subnormal, colour, name in ((False, look.colour(0), "normal"), (True, look.second, "subnormal")):
        picked = [place for place, is_small in enumerate(small) if is_small == subnormal]
        if picked:
            tops = [TALL if tall[place] else SHORT for place in picked]
            dashes = (0, (2.5, 0.8)) if subnormal else "-"
            at = [float(values[place]) for place in picked]
            ax.vlines(at, 0, tops, color=colour, linewidth=width, linestyle=dashes, label=name)
    first, last = map(float, within or (values[0], values[-1]))
    room = (last - first) * 0.02 or abs(first) * 0.02 or 1.0
    ax.set_xlim(first - room, last + room)
    ax.set_ylim(0, 1.12)
    texts = numbers(values)
    points = 9.0
    scale = axes_points(ax)[0] / (last - first + 2 * room)
    places = [float(value) * scale for value in values]
    shown = fitting(places, texts, [reading_order(index, grid, chosen) for index in chosen], points)
    ax.set_xticks([float(values[i]) for i in shown], [texts[i] for i in shown], fontsize=points)
    ax.set_yticks([])
    finish(ax, look, grid="")
    ax.spines["left"].set_visible(False)
    what = f"{len(values)} of {grid.count} values" if len(values) < grid.count else f"{grid.count} values"
    ax.set_title(f"{row.name}: {what}", loc="left", fontsize=10)
    if any(small):
        ax.set_title("subnormal", loc="right", fontsize=10, color=look.second)
    return ax
