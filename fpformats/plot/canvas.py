"""What all pictures share: Matplotlib itself, the Axes, colours for light and dark, where a legend goes."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Look", "axes_for", "finish", "line_style", "log2_axis"]

#: Told apart with any kind of colour vision, and each at least three times as bright or dark as its background.
ON_LIGHT = ("#0072B2", "#C84E00", "#008A64", "#AA4499", "#946300", "#4D4D4D")
ON_DARK = ("#56B4E9", "#E69F00", "#2CC295", "#E08BC3", "#F0E442", "#C8C8C8")
#: for what stands beside the first colour: of another brightness, so that grey tells them apart
SECOND_ON_LIGHT, SECOND_ON_DARK = "#E58A00", "#C8571B"
#: with as many dashes as this, the colours repeat after twelve lines only; in grey the dashes are left
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1.2, 1.2)))


def axes_for(ax: Any, height: float = 4.0) -> Axes:
    """The caller's Axes, or those of a new figure.

    Raises
    ------
    ImportError
        Without Matplotlib.
    TypeError
        An `ax` that is something else.
    """
    try:
        from matplotlib import pyplot
        from matplotlib.axes import Axes
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ModuleNotFoundError as missing:
        raise ImportError(
            "fpformats.plot draws with Matplotlib, which is not installed: pip install 'fpformats[plot]'"
        ) from missing
    if ax is None:
        layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)  # inches
        made: Axes = pyplot.subplots(figsize=(6.4, height), layout=layout)[1]
        return made
    if not isinstance(ax, Axes):
        raise TypeError(f"ax={ax!r}: a Matplotlib Axes was expected, such as the second result of pyplot.subplots()")
    return ax


def _brightness(colour: Any) -> float | None:
    from matplotlib.colors import to_rgba

    red, green, blue, alpha = to_rgba(colour)
    return 0.299 * red + 0.587 * green + 0.114 * blue if alpha > 0.5 else None


class Look:
    """The colours of one Axes.

    Attributes
    ----------
    dark : bool
        Whether its background is; of a transparent one, whether its text is light.
    ink : colour
        Of text and neutral lines: that of its axis labels.
    colours : tuple of colour
    second : colour
        Of subnormals, and of what is beyond a format.
    """

    def __init__(self, ax: Axes) -> None:
        self.ink = ax.xaxis.label.get_color()
        behind = _brightness(ax.get_facecolor())
        if behind is None:
            behind = _brightness(ax.figure.get_facecolor())
        if behind is None:
            behind = 1 - (_brightness(self.ink) or 0.0)
        self.dark = behind < 0.5
        self.colours = ON_DARK if self.dark else ON_LIGHT
        self.second = SECOND_ON_DARK if self.dark else SECOND_ON_LIGHT

    def colour(self, index: int) -> str:
        """One for each thing that is drawn, again and again the same."""
        return self.colours[index % len(self.colours)]


def line_style(look: Look, index: int) -> dict[str, Any]:
    """Colour and dashes of the line with that index."""
    return {"color": look.colour(index), "linestyle": DASHES[index % len(DASHES)]}


def log2_axis(ax: Axes, which: str, low: float, high: float) -> None:
    """Make the x or y axis one of powers of two, around two positive numbers, within float64."""
    from .ticks import powers

    room = 2.0 ** max(0.03 * (math.log2(high) - math.log2(low)), 0.25)
    ends = max(low / room, 5e-324), min(high * room, sys.float_info.max)
    if which == "x":
        ax.set_xlim(*ends)
        ax.set_xscale("log", base=2)
        powers(ax.xaxis, which)
    else:
        ax.set_ylim(*ends)
        ax.set_yscale("log", base=2)
        powers(ax.yaxis, which)
    ax.minorticks_off()


def finish(ax: Axes, look: Look, *, grid: str = "both", legend: bool = False) -> Axes:
    """Grid, frame and legend: beside the data where the figure makes room for it, else where least is covered."""
    if grid:
        ax.grid(True, axis=grid, color=look.ink, alpha=0.15, linewidth=0.6)  # type: ignore[arg-type]
        ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if legend:
        place: dict[str, Any] = {"loc": "best"}
        if ax.figure.get_layout_engine() is not None:
            place = {"loc": "upper left", "bbox_to_anchor": (1.03, 1.0), "borderaxespad": 0.0}
        ax.legend(frameon=False, labelcolor=look.ink, handlelength=2.4, **place)
    return ax
