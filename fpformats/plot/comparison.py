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
from .labels import axes_points, spread, text_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["compare"]


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
    placed = [(float(row.bits), min(max(row.sqnr_db, low - room), high + room)) for row in rows]
    for shape, at in (("o", None), ("^", math.inf), ("v", -math.inf)):
        chosen = [
            p
            for p, row in zip(placed, rows, strict=True)
            if row.sqnr_db == at or (at is None and math.isfinite(row.sqnr_db))
        ]
        if chosen:
            x, y = zip(*chosen, strict=True)
            ax.scatter(x, y, marker=shape, s=36, color=look.colour(0), zorder=3)
    bits = [bit for bit, _ in placed]
    ax.set_ylim(bottom, top)
    _name(ax, look, [row.format for row in rows], placed, min(bits), max(bits))
    ax.set_xlabel("bits per value")
    ax.set_ylabel("SQNR (dB)")
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


def _name(ax: Axes, look: Look, names: list[str], placed: list[tuple[float, float]], low: float, high: float) -> None:
    """Names to the right of the points, moved up or down where they would overlap."""
    points = 9.0
    width, height = axes_points(ax)
    sizes = [text_size(name, points)[0] + 10 for name in names]
    span = max(high - low, 1.0)
    # the axis ends where the last name does
    left = low - 0.06 * span
    unit = min(
        [(width - size) / (bit - left) for size, (bit, _) in zip(sizes, placed, strict=True) if bit > left] or [1.0]
    )
    ax.set_xlim(left, left + width / max(unit, 1e-9))
    bottom, top = ax.get_ylim()
    scale = height / (top - bottom)
    columns: list[list[int]] = []
    for index in sorted(range(len(names)), key=lambda i: placed[i][0]):
        start = placed[index][0] * unit
        near = next((c for c in columns if any(abs(placed[i][0] * unit - start) < sizes[i] for i in c)), None)
        if near is None:
            columns.append(near := [])
        near.append(index)
    for column in columns:
        column.sort(key=lambda i: placed[i][1])
        wanted = [(placed[i][1] - bottom) * scale for i in column]
        for index, at in zip(column, spread(wanted, [points * 1.3] * len(column), 0, height), strict=True):
            x, y = placed[index]
            moved = abs(at - (y - bottom) * scale) > points * 0.6
            ax.annotate(
                names[index], xy=(x, y), xytext=(7, at - (y - bottom) * scale), textcoords="offset points",
                ha="left", va="center", fontsize=points, color=look.ink,
                arrowprops={"arrowstyle": "-", "color": look.ink, "linewidth": 0.5, "shrinkB": 3} if moved else None,
            )  # fmt: skip
