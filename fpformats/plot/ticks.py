"""Ticks at powers of two, as far as float64 reaches; loaded when an axis needs them."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, Locator

from .labels import power_of_two

__all__ = ["Powers", "powers"]

#: from tick to tick, as exponents
STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
#: points that a label and its surroundings take
ROOM = {"x": 34.0, "y": 26.0}


class Powers(Locator):
    """As many powers of two as have room, their exponents multiples of one step.

    Matplotlib's own locator computes powers beyond the largest float64 when the axis ends there.

    >>> Powers("x", room=8).tick_values(0.3, 40.0).tolist()
    [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    """

    def __init__(self, which: str, room: int | None = None) -> None:
        self.which, self.room = which, room

    def __call__(self) -> Any:
        return self.tick_values(*self.axis.get_view_interval())  # type: ignore[union-attr]

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """The ticks between two positive numbers."""
        low, high = np.log2(max(min(vmin, vmax), 5e-324)), np.log2(max(vmin, vmax, 5e-324))
        most = self.room or self._room()
        step = next((step for step in STEPS if (high - low) / step <= most), STEPS[-1])
        return np.ldexp(1.0, np.arange(int(np.ceil(low / step)) * step, min(int(high), 1023) + 1, step))

    def _room(self) -> int:
        axes = self.axis.axes  # type: ignore[union-attr]
        box = axes.get_window_extent()
        length = (box.width if self.which == "x" else box.height) * 72 / axes.figure.dpi
        return max(int(length / ROOM[self.which]), 2)


def powers(axis: Axis, which: str) -> None:
    """Give an axis such ticks and their names."""
    axis.set_major_locator(Powers(which))
    axis.set_major_formatter(FuncFormatter(lambda value, _: power_of_two(value)))
