"""How far apart the values of formats are, against how large they are."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..format import Format, pow2
from ..registry import get_element
from .canvas import Look, axes_for, finish, line_style, log2_axis
from .data import AnyFormat, checked_formats, drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["spacing"]

#: with more powers of two in view, the teeth of the relative spacing become one band
TEETH = 40


def spacing(formats: Iterable[AnyFormat] | AnyFormat, *, relative: bool = False, ax: Axes | None = None) -> Axes:
    """The distance between neighbouring values against their magnitude, both on axes of powers of two.

    Parameters
    ----------
    formats : iterable of str or Format
        One line each.
    relative : bool
        Divide by the magnitude.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        x is the magnitude, y the spacing in the same unit, or without unit when `relative`.

    Raises
    ------
    ValueError
        No format, or one whose range is beyond float64's.
    TypeError
        A block format: its spacing is its element's times the block's scale.
    ImportError
        Without Matplotlib.

    Notes
    -----
    At a magnitude between two values the spacing is the distance between them; at a value, that to the next larger one.
    It doubles at each power of two and is flat below the smallest normal number, where the values are subnormal. The
    relative one grows to 1 there, and falls by half from each power of two to the next; where more than 40 powers of
    two are in view, such teeth are a band, and the line is their upper end. Lines reach from the smallest value to the
    largest.

    Examples
    --------
    >>> import fpformats as fp
    >>> ax = fp.plot.spacing(["e4m3", "e5m2"])
    >>> x, y = ax.get_lines()[0].get_data()
    >>> float(x[0]), float(y[0]), float(x[-1]), float(y[-1])
    (0.001953125, 0.001953125, 448.0, 32.0)
    """
    rows = [drawable(get_element(fmt)) for fmt in checked_formats(formats)]  # type: ignore[arg-type]
    lines = [_line(_steps(fmt), relative) for fmt in rows]
    low, high = min(x[0] for x, _ in lines), max(x[-1] for x, _ in lines)
    teeth = not relative or math.log2(high) - math.log2(low) <= TEETH
    ax = axes_for(ax)
    look = Look(ax)
    log2_axis(ax, "x", low, high)
    log2_axis(ax, "y", min(min(y) for _, y in lines), max(max(y) for _, y in lines))
    for index, (fmt, (x, y)) in enumerate(zip(rows, lines, strict=True)):
        style = line_style(look, index)
        if not teeth and fmt.exponent_bits and float(fmt.smallest_normal) < x[-1]:
            normal, top = float(fmt.smallest_normal), 2.0**-fmt.mantissa_bits
            ax.fill_between([normal, x[-1]], top / 2, top, color=style["color"], alpha=0.3, linewidth=0)
            x, y = [x[0], normal, x[-1]], [y[0], top, top]
        ax.plot(x, y, label=fmt.name, linewidth=1.6, **style)
        ax.plot(x[:1], y[:1], marker=".", color=style["color"], markersize=6)
    ax.set_xlabel("magnitude")
    ax.set_ylabel("spacing / magnitude" if relative else "spacing")
    return finish(ax, look, legend=len(rows) > 1)


def _line(steps: list[tuple[float, float, float]], relative: bool) -> tuple[list[float], list[float]]:
    """The corners of a line."""
    x = [end for low, high, _ in steps for end in (low, high)]
    return x, [gap / end if relative else gap for low, high, gap in steps for end in (low, high)]


def _steps(fmt: Format) -> list[tuple[float, float, float]]:
    """(from, to, spacing), upwards; exact."""
    largest, low = fmt.value_of_line(fmt.max_line), float(fmt.smallest_subnormal)
    steps: list[tuple[float, float, float]] = []
    exponent = fmt.emin
    while not steps or (fmt.exponent_bits and pow2(exponent) < largest):
        gap = pow2(exponent - fmt.mantissa_bits)
        high = min(pow2(exponent + 1), largest) if fmt.exponent_bits else largest
        steps.append((low, float(high), float(gap)))
        low, exponent = float(high), exponent + 1
    return steps
