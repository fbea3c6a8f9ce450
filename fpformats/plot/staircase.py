"""What every number becomes: a format's rounding as a graph."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from .. import reference
from ..casts import rules_for
from ..format import Format
from ..registry import get_element
from ..rounding import ROUNDINGS, Rules
from .canvas import Look, axes_for, finish
from .data import drawable
from .grid import Grid, limits_of
from .labels import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["staircase"]

#: With more steps than this in view, the circles at their ends would hide them.
CIRCLES = 40

Result = Fraction | float  # a float for an infinity or NaN


class Step(NamedTuple):
    """All x in the open interval become y."""

    left: Fraction
    right: Fraction
    y: Result


def staircase(
    fmt: str | Format,
    *,
    limits: tuple[float, float] | None = None,
    rounding: str = "nearest_even",
    overflow: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The result of quantizing x, against x.

    Parameters
    ----------
    fmt : str or Format
    limits : (number, number), optional
        The x to draw; by default all that is finite in the format and a little more on both sides.
    rounding, overflow : str, optional
        As in `quantize`; no stochastic rounding, which has more than one result.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        Both axes are linear and have the unit of x.

    Raises
    ------
    ValueError
        More than 1024 values (give `limits`), a rounding or overflow that is unknown or random.
    TypeError
        A block format.
    ImportError
        Without Matplotlib.

    Notes
    -----
    Steps are where the definition puts them, exactly: at midpoints or, in directed modes, at the values. At a step a
    filled circle is what x itself becomes, so of a tie where it goes; a hollow one is the other end. They are left
    out where more than 40 steps are in view. The thin line is y = x. Shaded are the x beyond the largest finite value
    whose result is said there: infinity, NaN, or the largest value.

    Examples
    --------
    >>> import fpformats as fp
    >>> ax = fp.plot.staircase("e2m1", limits=(0, 1))
    >>> x, y = ax.get_lines()[1].get_data()
    >>> x.tolist(), y.tolist()
    ([0.0, 0.25, 0.25, 0.75, 0.75, 1.0], [0.0, 0.0, 0.5, 0.5, 1.0, 1.0])
    """
    row = drawable(get_element(fmt))
    rules = _rules(row, rounding, overflow)
    grid = Grid(row)
    low, high = _view(grid, limits)
    steps = _steps(grid, rules, low, high)
    ax = axes_for(ax)
    look = Look(ax)
    ends = [float(low), float(high)]
    ax.plot(ends, ends, color=look.ink, linewidth=0.8, alpha=0.6, label="y = x")
    x = [float(end) for step in steps for end in (step.left, step.right)]
    y = [float(step.y) if math.isfinite(step.y) else math.nan for step in steps for _ in range(2)]
    ax.plot(x, y, color=look.colour(0), linewidth=1.8, label=row.name)
    if len(steps) <= CIRCLES:
        _circles(ax, look, steps, row, rules)
    if low < grid.value(grid.low):
        _beyond(ax, look, steps[0].y, low, grid.value(grid.low), steps[0].right)
    if high > grid.value(grid.high):
        _beyond(ax, look, steps[-1].y, high, grid.value(grid.high), steps[-1].left)
    ax.set_xlim(*ends)
    ax.set_xlabel("x")
    ax.set_ylabel(f"x in {row.name}")
    ax.set_title(", ".join(filter(None, (row.name, rounding, overflow))), loc="left", fontsize=10)
    return finish(ax, look)


def _rules(fmt: Format, rounding: str, overflow: str | None) -> Rules:
    rules = rules_for(fmt, rounding, overflow, "max", "keep", None, None)
    if ROUNDINGS[rounding].random_bits:
        modes = ", ".join(name for name, mode in ROUNDINGS.items() if not mode.random_bits)
        raise ValueError(f"rounding={rounding!r} has more than one result; one of {modes} was expected")
    return rules


def _result(x: Fraction, fmt: Format, rules: Rules) -> Result:
    """What x becomes, by the definition; both zeros are 0."""
    value = reference.decode(reference.encode(x, fmt, rules), fmt)
    return value if isinstance(value, float) and not math.isfinite(value) else Fraction(value)


def _same(one: Result, other: Result) -> bool:
    return one == other or (one != one and other != other)


def _view(grid: Grid, limits: tuple[float, float] | None) -> tuple[Fraction, Fraction]:
    """The ends of x: the limits, if not too many steps lie between; or all values and twice the last step beyond."""
    chosen = limits_of(limits)
    if chosen is None:
        grid.between(None, "to draw the step of each")
        first, last = grid.value(grid.low), grid.value(grid.high)
        up = last - grid.value(grid.high - 1)
        down = grid.value(grid.low + 1) - first if grid.format.signed else min(first, up)
        return first - 2 * down if grid.format.signed else first - down, last + 2 * up
    if grid.floor(chosen[0]) < min(grid.floor(chosen[1]), grid.high) and chosen[1] > grid.value(grid.low):
        grid.between(chosen, "to draw the step of each")
    return chosen


def _steps(grid: Grid, rules: Rules, low: Fraction, high: Fraction) -> list[Step]:
    """The steps between two ends; neighbours differ."""
    fmt = grid.format
    made: list[Step] = []

    def add(left: Fraction, right: Fraction, y: Result) -> None:
        left, right = max(left, low), min(right, high)
        if left >= right:
            return
        if made and _same(made[-1].y, y) and _same(_result(left, fmt, rules), y):
            made[-1] = made[-1]._replace(right=right)
        else:
            made.append(Step(left, right, y))

    below, above = grid.value(grid.low - 1), grid.value(grid.high + 1)
    add(low, below, _result(min(low, below) - 1, fmt, rules))
    for index in range(max(grid.floor(low), grid.low - 1), min(grid.floor(high), grid.high) + 1):
        left, right = grid.value(index), grid.value(index + 1)
        middle = (left + right) / 2
        # between two neighbours a rounding changes its mind once at most: in the middle
        add(left, middle, _result((left + middle) / 2, fmt, rules))
        add(middle, right, _result((middle + right) / 2, fmt, rules))
    add(above, high, _result(max(high, above) + 1, fmt, rules))
    return made


def _circles(ax: Axes, look: Look, steps: list[Step], fmt: Format, rules: Rules) -> None:
    """Where each step ends: filled what x becomes there, hollow what it does not."""
    filled: set[tuple[float, float]] = set()
    hollow: set[tuple[float, float]] = set()
    for here, after in pairwise(steps):
        x, at = here.right, _result(here.right, fmt, rules)
        for y in (here.y, after.y, at):
            if math.isfinite(y):
                (filled if _same(y, at) else hollow).add((float(x), float(y)))
    for points, face, name in ((hollow, ax.get_facecolor(), "hollow"), (filled, look.colour(0), "filled")):
        ordered = sorted(points)
        ax.plot(
            [x for x, _ in ordered], [y for _, y in ordered], linestyle="none", marker="o", markersize=4.5,
            markerfacecolor=face, markeredgecolor=look.colour(0), markeredgewidth=1.1, label=name, zorder=3,
        )  # fmt: skip


def _beyond(ax: Axes, look: Look, y: Result, outside: Fraction, last: Fraction, step: Fraction) -> None:
    """Shade what is beyond the last value, and say what becomes of it."""
    stays = math.isfinite(y)
    start, end = sorted((float(last if stays else step), float(outside)))
    ax.axvspan(start, end, color=look.second, alpha=0.18, linewidth=0)
    sign = "+" if y > 0 else "\N{MINUS SIGN}"
    text = "becomes " + (number(y) if stays else "NaN" if y != y else f"{sign}infinity")
    ax.text(
        (start + end) / 2, 0.5, text, rotation=90, ha="center", va="center", color=look.ink, fontsize=9,
        transform=ax.get_xaxis_transform(),
    )  # fmt: skip
