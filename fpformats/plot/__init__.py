"""Pictures of formats and of what they do to data; drawn by Matplotlib, the extra `plot`.

Every function takes ``ax=``, a Matplotlib Axes to draw into (else a figure of its own is made), and returns the Axes.
Colours follow the background of the Axes, light or dark, and can be told apart with any kind of colour vision; lines
differ in their dashes too. Nothing is sampled: ends, steps and midpoints are the exact ones of the format.

>>> import fpformats as fp
>>> ax = fp.plot.range_bars(["fp16", "bf16", "e4m3"])
>>> [label.get_text() for label in ax.get_yticklabels()]
['fp16', 'bf16', 'e4m3']
"""

from __future__ import annotations

from .blocks import blocks
from .comparison import compare
from .error import error
from .histogram import histogram
from .number_line import number_line
from .ranges import range_bars
from .spacing import spacing
from .staircase import staircase

__all__ = ["blocks", "compare", "error", "histogram", "number_line", "range_bars", "spacing", "staircase"]
