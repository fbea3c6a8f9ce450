"""Numbers as short text, and where labels go so that none lies on another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: room between two labels, in points
BESIDE = 6.0
#: how large a point is, in points, and how far from it its name may be, in which directions (degrees)
MARK = 6.0
DISTANCES = (0.0, 6.0, 12.0, 20.0, 30.0, 42.0, 56.0, 72.0, 90.0, 115.0, 145.0, 180.0, 220.0)
TURNS = (0, 180, *(side * turn for turn in range(15, 180, 15) for side in (-1, 1)))

__all__ = [
    "axes_points",
    "exponent_of",
    "fitting",
    "number",
    "numbers",
    "placed",
    "plain_share",
    "power_of_two",
    "spread",
    "text_size",
]


def number(value: Fraction | float, digits: int = 4) -> str:
    """A number in few letters: all its digits if those are seven, else so many.

    A power of two that is not a short decimal is written as such, in Matplotlib's mathematics.

    >>> number(Fraction(448)), number(0.75), number(Fraction(-1, 512))
    ('448', '0.75', '$-2^{-9}$')
    """
    exact = Fraction(value)
    exponent = exponent_of(exact)
    if exponent is not None and not -4 <= exponent <= 10:
        return f"${'-' if exact < 0 else ''}2^{{{exponent}}}$"
    whole = f"{float(exact):.7g}"
    return (
        (whole if Fraction(whole) == exact else f"{float(exact):.{digits}g}")
        .replace("-", "\N{MINUS SIGN}")
        .replace("e+", "e")
    )


def exponent_of(value: Fraction) -> int | None:
    """k, if the magnitude is 2^k.

    >>> exponent_of(Fraction(-1, 8)), exponent_of(Fraction(3))
    (-3, None)
    """
    top, bottom = abs(value.numerator), value.denominator
    power = top and top & (top - 1) == 0 == bottom & (bottom - 1)
    return top.bit_length() - bottom.bit_length() if power else None


def numbers(values: Sequence[Fraction]) -> list[str]:
    """Rising numbers as text, with as many digits as tell neighbours apart.

    >>> numbers([Fraction(1), 1 + Fraction(1, 2**23), 1 + Fraction(2, 2**23)])
    ['1', '1.0000001', '1.0000002']
    """
    for digits in range(4, 18):
        texts = [number(value, digits) for value in values]
        if all(one != other for one, other in pairwise(texts)):
            break
    return texts


def power_of_two(value: float) -> str:
    """A tick's name: ``$2^{-3}$``; nothing for what is no power of two.

    >>> power_of_two(0.125), power_of_two(0.3)
    ('$2^{-3}$', '')
    """
    exponent = exponent_of(Fraction(value))
    return "" if exponent is None else f"$2^{{{exponent}}}$"


def plain_share(part: int, whole: int) -> str:
    """A count as a percentage that is 0 or 100 only if exact.

    >>> plain_share(0, 9), plain_share(1, 10**6), plain_share(10**6 - 1, 10**6)
    ('0%', '<0.01%', '>99.99%')
    """
    percent = 100 * part / whole
    if 0 < percent < 0.01:
        return "<0.01%"
    if 99.99 < percent < 100:
        return ">99.99%"
    return f"{percent:.3g}%" if percent < 99 else f"{percent:.4g}%"


def text_size(text: str, points: float) -> tuple[float, float]:
    """Width and height of a line of text, in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=points)
    width, height, _ = text_to_path.get_text_width_height_descent(text, font, "$" in text)
    return float(width), float(height)


def axes_points(ax: Axes) -> tuple[float, float]:
    """Width and height of the Axes in points, once its figure is laid out."""
    if ax.figure.get_layout_engine() is not None:
        ax.figure.canvas.figure.draw_without_rendering()
    box, dpi = ax.get_window_extent(), ax.figure.dpi
    return box.width * 72 / dpi, box.height * 72 / dpi


def spread(wanted: Sequence[float], sizes: Sequence[float], low: float, high: float) -> list[float]:
    """Centres near the wanted ones, of intervals of the given sizes that do not overlap, between two ends.

    Moved as little as possible (the least squares of all moves); in the order of `wanted`, which has to be sorted.

    >>> spread([0.0, 0.0, 10.0], [2.0, 2.0, 2.0], -9.0, 20.0)
    [-1.0, 1.0, 10.0]
    """
    # with what lies before each taken off, "no overlap" is "not falling": blocks of equal ones, their mean
    before, ahead = 0.0, []
    for size in sizes:
        ahead.append(before + size / 2)
        before += size
    pools: list[tuple[float, int]] = []
    for at, offset in zip(wanted, ahead, strict=True):
        mean, count = at - offset, 1
        while pools and pools[-1][0] > mean:
            last, many = pools.pop()
            mean, count = (mean * count + last * many) / (count + many), count + many
        pools.append((mean, count))
    starts = [min(max(mean, low), max(high - before, low)) for mean, count in pools for _ in range(count)]
    return [start + offset for start, offset in zip(starts, ahead, strict=True)]


def fitting(places: Sequence[float], texts: Sequence[str], ranks: Sequence[Any], points: float) -> list[int]:
    """The labels that fit beside each other: the first in rank, then each next one that overlaps none before.

    Places are in points. Few of a crowd have to be measured: none whose middle another one covers.

    >>> fitting([0.0, 10.0, 20.0, 40.0], ["448"] * 4, [0, 2, 1, 3], 9.0)
    [0, 3]
    """
    taken: dict[int, float] = {}
    for index in sorted(range(len(places)), key=lambda i: (ranks[i], i)):
        gaps = [(abs(places[index] - places[other]), reach) for other, reach in taken.items()]
        if any(gap <= reach for gap, reach in gaps):
            continue
        own = text_size(texts[index], points)[0] / 2 + BESIDE / 2
        if all(gap >= reach + own for gap, reach in gaps):
            taken[index] = own
    return sorted(taken)


def placed(
    points: Sequence[tuple[float, float]], sizes: Sequence[tuple[float, float]], bounds: tuple[float, float]
) -> list[tuple[float, float]]:
    """Where names of points go: the centres of boxes that cover no other box and no point, near their own.

    All in the same unit, from 0 to the bounds. A box is to the right of its point if it can be, else around it, further
    and further out; if there is no room at all, to the right.

    >>> placed([(50.0, 50.0), (50.0, 60.0), (50.0, 52.0)], [(20.0, 8.0)] * 3, (100.0, 100.0))
    [(66.0, 50.0), (66.0, 60.0), (34.0, 52.0)]
    """
    taken: list[tuple[float, float, float, float]] = [(x, y, MARK, MARK) for x, y in points]
    # from the right, where names do not stand in the way of points yet to come
    order = sorted(range(len(points)), key=lambda i: (-points[i][0], points[i][1]))
    made: dict[int, tuple[float, float]] = {}
    for index in order:
        (x, y), (width, height) = points[index], sizes[index]
        centre = (x + MARK + width / 2, y)
        for distance, turn in product(DISTANCES, TURNS):
            right, up = math.cos(math.radians(turn)), math.sin(math.radians(turn))
            at = (
                x + right * distance + (width / 2 + MARK) * round(right),
                y + up * distance + (height / 2) * round(up),
            )
            inside = width / 2 <= at[0] <= bounds[0] - width / 2 and height / 2 <= at[1] <= bounds[1] - height / 2
            if inside and not any(
                abs(at[0] - a) < (width + w) / 2 and abs(at[1] - b) < (height + h) / 2
                for a, b, w, h in taken
                if (a, b) != (x, y) or (w, h) != (MARK, MARK)
            ):
                centre = at
                break
        taken.append((*centre, width, height))
        made[index] = centre
    return [made[index] for index in range(len(points))]
