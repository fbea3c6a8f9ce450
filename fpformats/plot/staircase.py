"""What every number becomes: a format's rounding as a graph."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from .. import reference
from ..casts import rules_for
from ..format import Format
from ..registry import get_element
from ..rounding import ROUNDINGS, Rules
from .canvas import SECOND, Look, axes_for, finish
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
    low, high = limits_of(limits) or _around(grid)
    grid.between(None if limits is None else (low, high), "to draw each") if limits is None else _few(grid, low, high)
    steps = _steps(grid, rules, low, high)
    ax = axes_for(ax)
    look = Look(ax)
    x0, x1 = float(low), float(high)
    ax.plot([x0, x1], [x0, x1], color=look.ink, linewidth=0.8, alpha=0.6, label="y = x")
    drawn: list[tuple[float, float]] = []
    for step in steps:
        y = float(step.y)
        y = y if math.isfinite(y) else math.nan
        drawn += [(float(step.left), y), (float(step.right), y)]
    ax.plot([x for x, _ in drawn], [y for _, y in drawn], color=look.colour(0), linewidth=1.8, label=row.name)
    joints = [(here, after) for here, after in zip(steps, steps[1:], strict=False)]
    if len(joints) <= CIRCLES:
        _circles(ax, look, joints, row, rules)
    _overflows(ax, look, grid, steps, row, rules)
    ax.set_xlim(x0, x1)
    ax.set_xlabel("x")
    ax.set_ylabel(f"x in {row.name}")
    ax.set_title(f"{row.name}, {rounding}", loc="left", fontsize=10)
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


def _around(grid: Grid) -> tuple[Fraction, Fraction]:
    """All values and, beyond both ends, twice the last step."""
    first, last = grid.value(grid.low), grid.value(grid.high)
    down = grid.value(grid.low + 1) - first
    up = last - grid.value(grid.high - 1)
    return (first - 2 * down if grid.format.signed else min(first, -up)), last + 2 * up


def _steps(grid: Grid, rules: Rules, low: Fraction, high: Fraction) -> list[Step]:
    """The steps between two ends; neighbours differ."""
    fmt = grid.format
    first, last = max(grid.floor(low), grid.low - 1), min(grid.floor(high), grid.high)
    made: list[Step] = []

    def add(left: Fraction, right: Fraction, y: Result) -> None:
        left, right = max(left, low), min(right, high)
        if left >= right:
            return
        if made and _same(made[-1].y, y) and _same(_result(left, fmt, rules), y):
            made[-1] = made[-1]._replace(right=right)
        else:
            made.append(Step(left, right, y))

    below = grid.value(grid.low - 1)
    if low < below:
        add(low, below, _result((low + below) / 2 if low < below else below, fmt, rules))
    for index in range(first, last + 1):
        left, right = grid.value(index), grid.value(index + 1)
        middle = (left + right) / 2
        # between two neighbours, a rounding changes its mind at most once: in the middle
        near, far = (_result((left + middle) / 2, fmt, rules), _result((middle + right) / 2, fmt, rules))
        add(left, middle, near)
        add(middle, right, far)
    above = grid.value(grid.high + 1)
    if high > above:
        add(above, high, _result((above + high) / 2, fmt, rules))
    return made


def _few(grid: Grid, low: Fraction, high: Fraction) -> None:
    """Complain about limits that hold too many steps; none at all is a flat picture."""
    if grid.floor(high) >= grid.low and grid.floor(low) <= grid.high and grid.floor(high) > grid.floor(low):
        grid.between((low, high), "to draw each")


def _circles(ax: Axes, look: Look, joints: list[tuple[Step, Step]], fmt: Format, rules: Rules) -> None:
    filled, hollow = set(), set()
    for here, after in joints:
        x, at = here.right, _result(here.right, fmt, rules)
        for y in (here.y, after.y, at):
            if math.isfinite(float(y)):
                (filled if _same(y, at) else hollow).add((float(x), float(y)))
    back = ax.get_facecolor()
    for points, face, name in ((hollow, back, "hollow"), (filled, look.colour(0), "filled")):
        ordered = sorted(points)
        ax.plot(
            [x for x, _ in ordered], [y for _, y in ordered], linestyle="none", marker="o", markersize=4.5,
            markerfacecolor=face, markeredgecolor=look.colour(0), markeredgewidth=1.1, label=name, zorder=3,
        )  # fmt: skip


def _overflows(ax: Axes, look: Look, grid: Grid, steps: list[Step], fmt: Format, rules: Rules) -> None:
    """Shade what is beyond the finite values, and say what becomes of it."""
    low, high = steps[0].left, steps[-1].right
    for end, inside, outside, y in (
        (grid.value(grid.low), low, low, steps[0].y),
        (grid.value(grid.high), high, high, steps[-1].y),
    ):
        beyond = outside < end if end == grid.value(grid.low) and inside == low else outside > end
        if not beyond:
            continue
        step = steps[0] if inside == low else steps[-1]
        stays = math.isfinite(float(y))
        start = end if stays else (step.right if inside == low else step.left)
        ax.axvspan(
            float(min(start, outside)), float(max(start, outside)), color=look.colour(SECOND), alpha=0.15, linewidth=0
        )
        text = (
            f"saturates at {number(Fraction(y))}"
            if stays
            else "NaN"
            if y != y
            else ("+" if y > 0 else "\N{MINUS SIGN}") + "infinity"
        )
        ax.text(
            float(start + outside) / 2, 0.5, text, rotation=90, ha="center", va="center", color=look.ink, fontsize=9,
            transform=ax.get_xaxis_transform(),
        )  # fmt: skip
