"""What bits buy: the picture of `fpformats.compare`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..explore.compare import Comparison
from ..explore.compare import compare as numbers
from ..explore.measure import Row
from .canvas import Look, axes_for, finish
from .data import AnyFormat, array_of, checked_formats, magnitudes
from .labels import axes_points, placed, text_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["compare"]

#: size of the names
POINTS = 9.0


def compare(
    comparison_or_x: Any, formats: Iterable[AnyFormat] | AnyFormat | None = None, *, ax: Axes | None = None
) -> Axes:
    """Signal to quantization noise against bits per value, one point a format.

    Parameters
    ----------
    comparison_or_x : Comparison or array_like
        What `fpformats.compare` returned, or numbers to compare `formats` with.
    formats : iterable of str, Format or BlockFormat, optional
        Only with numbers.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        x are bits a value, the scales' share included; y is `Row.sqnr_db`, in decibels.

    Raises
    ------
    ValueError
        Formats beside a comparison, or none beside numbers; numbers of which none is finite and other than zero.
    ImportError
        Without Matplotlib.

    Notes
    -----
    A format that changes nothing (infinitely many decibels) is a triangle at the top edge, one that makes a number
    infinite or NaN (minus infinitely many) one at the bottom.

    Examples
    --------
    >>> import fpformats as fp
    >>> ax = fp.plot.compare([0.1, 1.0, 3.0, 0.05], ["e4m3", "e5m2", "fp16"])
    >>> ax.collections[0].get_offsets()[:, 0].tolist()
    [8.0, 8.0, 16.0]
    """
    rows = _rows(comparison_or_x, formats)
    finite = [row.sqnr_db for row in rows if math.isfinite(row.sqnr_db)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    room = max(0.08 * (high - low), 1.0)
    bottom, top = low - 1.5 * room, high + 1.5 * room
    ax = axes_for(ax)
    look = Look(ax)
    at = [(float(row.bits), min(max(row.sqnr_db, low - room), high + room)) for row in rows]
    for shape, kind in (("o", None), ("^", math.inf), ("v", -math.inf)):
        chosen = [
            spot
            for spot, row in zip(at, rows, strict=True)
            if (None if math.isfinite(row.sqnr_db) else row.sqnr_db) == kind
        ]
        if chosen:
            x, y = zip(*chosen, strict=True)
            ax.scatter(x, y, marker=shape, s=36, color=look.colour(0), zorder=3)
    bits = [bit for bit, _ in at]
    span = max(max(bits) - min(bits), 2.0)
    ax.set_xlim(min(bits) - 0.06 * span, max(bits) + 0.12 * span)
    ax.set_ylim(bottom, top)
    ax.set_xlabel("bits per value")
    ax.set_ylabel("SQNR (dB)")
    _name(ax, look, [row.format for row in rows], at)
    return finish(ax, look)


def _rows(given: Any, formats: Any) -> tuple[Row, ...]:
    if isinstance(given, Comparison):
        if formats is not None:
            raise ValueError("formats goes with numbers; a Comparison has its own")
        rows = given.rows
    else:
        if formats is None:
            raise ValueError("formats is missing: compare(x, formats) or compare(a Comparison) was expected")
        chosen = checked_formats(formats)
        magnitudes(given, "comparison_or_x")  # complains
        rows = numbers(array_of(given), chosen).rows
    if not rows or all(math.isnan(row.sqnr_db) for row in rows):
        raise ValueError("the comparison has no row with a ratio; one of numbers other than zero was expected")
    return tuple(row for row in rows if not math.isnan(row.sqnr_db))


def _name(ax: Axes, look: Look, names: list[str], at: list[tuple[float, float]]) -> None:
    """Names beside the points, with a line to those that had to move away."""
    width, height = axes_points(ax)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    points = [((x - left) / (right - left) * width, (y - bottom) / (top - bottom) * height) for x, y in at]
    sizes = [(text_size(name, POINTS)[0] + 3, POINTS * 1.25) for name in names]
    for name, spot, here, centre, (wide, _) in zip(
        names, at, points, placed(points, sizes, (width, height)), sizes, strict=True
    ):
        away = centre[0] - here[0], centre[1] - here[1]
        far = abs(away[1]) > POINTS or abs(away[0]) > wide / 2 + 2 * POINTS
        ax.annotate(
            name, xy=spot, xytext=away, textcoords="offset points", ha="center", va="center", fontsize=POINTS,
            color=look.ink, arrowprops=arrow(look) if far else None,
        )  # fmt: skip


def arrow(look: Look) -> dict[str, Any]:
    """A thin line from a name to its point."""
    return {"arrowstyle": "-", "color": look.ink, "linewidth": 0.5, "alpha": 0.7, "shrinkA": 1, "shrinkB": 3}
