"""How much numbers change, against how large they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..block_format import BlockFormat
from ..casts import quantize
from ..format import Format
from .canvas import Look, axes_for, finish, line_style, log2_axis
from .data import AnyFormat, array_of, checked_formats, float64, magnitudes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["error"]

#: Up to this many numbers are drawn one by one.
SINGLE = 500
MARKERS = ("o", "s", "^", "D", "v", "P")


def error(x: Any, formats: Iterable[AnyFormat] | AnyFormat, *, ax: Axes | None = None) -> Axes:
    """The relative error ``|x - q| / |x|`` of a tensor's numbers against ``|x|``, both on axes of powers of two.

    Parameters
    ----------
    x : array_like
        Anything that `quantize` takes; of a block format, blocks run along its last axis.
    formats : iterable of str, Format or BlockFormat
        What x is quantized to, by `quantize` with its defaults.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        x is ``|x|``, y has no unit: 1 is the error of a number that became zero.

    Raises
    ------
    ValueError
        No format, or an `x` without a finite number other than zero.
    ImportError
        Without Matplotlib.

    Notes
    -----
    Up to 500 numbers are one mark each. More are put together by their power of two, [2^k, 2^(k+1)): the thick line is
    the median of the errors there, the thin one their maximum. An error of 0, which such an axis has no place for, and
    one of a number that became infinite or NaN, are not drawn (a median or a maximum like that leaves a gap).

    Examples
    --------
    >>> import fpformats as fp
    >>> ax = fp.plot.error([0.1, 1.06, 300.0], ["e4m3", "e5m2"])
    >>> [round(float(y), 3) for y in ax.get_lines()[0].get_ydata()]
    [0.016, 0.057, 0.04]
    """
    rows = checked_formats(formats)
    magnitudes(x, "x")  # complains
    x = array_of(x)
    errors = [_errors(x, fmt) for fmt in rows]
    sizes = errors[0][0]
    single = sizes.size <= SINGLE
    lines = [part if single else binned(*part) for part in errors]
    drawn = np.concatenate([heights[np.isfinite(heights) & (heights > 0)] for line in lines for heights in line[1:]])
    ax = axes_for(ax)
    look = Look(ax)
    log2_axis(ax, "x", float(lines[0][0].min()), float(lines[0][0].max()))
    if drawn.size:
        log2_axis(ax, "y", float(drawn.min()), float(drawn.max()))
    for index, (fmt, (places, *heights)) in enumerate(zip(rows, lines, strict=True)):
        style = line_style(look, index)
        if single:
            kept = np.isfinite(heights[0]) & (heights[0] > 0)
            ax.plot(
                places[kept], heights[0][kept], linestyle="none", marker=MARKERS[index % len(MARKERS)], markersize=4,
                color=style["color"], alpha=0.75, markeredgewidth=0, label=fmt.name,
            )  # fmt: skip
            continue
        ax.stairs(heights[0], places, baseline=None, linewidth=2.0, label=fmt.name, **style)
        ax.stairs(heights[1], places, baseline=None, linewidth=0.9, **style)
    ax.set_xlabel("|x|")
    ax.set_ylabel("|x \N{MINUS SIGN} q| / |x|")
    if not single:
        ax.set_title("thick: median, thin: maximum", loc="left", fontsize=9)
    return finish(ax, look, legend=True)


def _errors(x: Any, fmt: Format | BlockFormat) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """|x| of the finite numbers other than zero, and their relative errors."""
    values = float64(x).reshape(-1)
    rules = {} if isinstance(fmt, BlockFormat) else {"nan": "max"}  # what a NaN becomes is not drawn
    q = float64(quantize(x, fmt, **rules)).reshape(-1)  # type: ignore[arg-type]
    kept = np.isfinite(values) & (values != 0)
    size = np.abs(values[kept])
    with np.errstate(over="ignore", invalid="ignore"):
        relative = np.abs(values[kept] - q[kept]) / size
    return size, relative


def binned(
    size: NDArray[np.float64], relative: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Edges at powers of two; median and maximum between them, NaN where no line can be drawn.

    >>> edges, medians, maxima = binned(np.array([1.0, 1.5, 1.9, 4.0]), np.array([0.1, 0.2, 0.4, 0.0]))
    >>> edges.tolist(), medians.tolist(), maxima.tolist()
    ([1.0, 2.0, 4.0, 8.0], [0.2, nan, nan], [0.4, nan, nan])
    """
    exponents = np.frexp(size)[1] - 1
    low, high = int(exponents.min()), int(exponents.max())
    medians, maxima = np.full((2, high - low + 1), np.nan)
    order = np.argsort(exponents, kind="stable")
    found, starts = np.unique(exponents[order], return_index=True)
    for exponent, part in zip(found, np.split(relative[order], starts[1:]), strict=True):
        medians[exponent - low], maxima[exponent - low] = np.median(part), part.max()
    for line in (medians, maxima):
        line[~np.isfinite(line) | (line == 0)] = np.nan
    edges = np.ldexp(1.0, np.arange(low, min(high + 2, 1024)))
    return (edges if high < 1023 else np.append(edges, np.finfo(np.float64).max)), medians, maxima
