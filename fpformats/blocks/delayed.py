"""Delayed scaling: a tensor's FP8 scale from the amaxes of the steps before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..registry import get_element
from .numbers import numbers, shown

__all__ = ["DelayedScaling"]

ALGORITHMS = ("max", "most_recent")
PATHS = ("fused", "python")
FLT_MAX = np.finfo(np.float32).max


class DelayedScaling:
    """Transformer Engine's delayed scaling of one tensor: an amax history and the scale that it gives.

    Parameters
    ----------
    element : str
        ``e4m3`` or ``e5m2``: whose largest number the amax is mapped to.
    length : int
        Of the history.
    algorithm : str
        ``max``: the largest of the history; ``most_recent``: the newest.
    margin : int
        The amax is mapped to the largest number times 2^-margin.
    path : str
        ``fused``: the kernel, one division, to which a NaN is nothing and an amax of 0 leaves the history as it is;
        ``python``: the framework's own path, which divides as torch divides a scalar by a tensor (two roundings).

    Attributes
    ----------
    scale : numpy.float32
        By which the next tensor is multiplied: ``encode_blocks(x, "fp8_e4m3_tensor_te", scale=d.scale)``.
    history : numpy.ndarray of float32

    Notes
    -----
    The scale is kept where the amax is 0, infinite or NaN; a scale that overflows is float32's largest number
    (transformer_engine/common/recipe/delayed_scaling.cu, pytorch/quantization.py, 2.20).

    Examples
    --------
    >>> import fpformats as fp, numpy as np
    >>> d = fp.DelayedScaling("e4m3", length=4)
    >>> for step in ([1.0, -7.0], [2.0, 3.0]):
    ...     q = fp.encode_blocks(step, "fp8_e4m3_tensor_te", scale=d.scale)
    ...     d.update(fp.tensor_amax(step, "fp8_e4m3_tensor_te"))
    >>> float(d.scale)
    64.0
    """

    def __init__(
        self,
        element: str = "e4m3",
        *,
        length: int = 1024,
        algorithm: str = "max",
        margin: int = 0,
        path: str = "fused",
    ) -> None:
        if algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm={algorithm!r}: one of {', '.join(ALGORITHMS)} was expected")
        if path not in PATHS:
            raise ValueError(f"path={path!r}: one of {', '.join(PATHS)} was expected")
        if not isinstance(length, (int, np.integer)) or length < 1:
            raise ValueError(f"length={length!r}: an int, 1 or more, was expected")
        if not isinstance(margin, (int, np.integer)) or not -126 <= margin <= 127:
            raise ValueError(f"margin={margin!r}: an int from -126 to 127 was expected")
        self._largest = np.float32(get_element(element).max)
        self._most_recent, self._fused = algorithm == "most_recent", path == "fused"
        self._margin = np.float32(2.0**margin)
        self.history: NDArray[np.float32] = np.zeros(length, np.float32)
        self.scale = np.float32(1)

    def update(self, amax: float | Sequence[float] | NDArray[Any]) -> None:
        """Take in a step's amax (or several, in order), and find the scale for the next step."""
        expected = "magnitudes were expected"
        found = numbers("amax", amax, expected).reshape(-1)
        if (found < 0).any():
            raise ValueError(f"amax={shown(amax)}: {expected}")
        for newest in found:
            self.history[0] = newest
            if self._most_recent:
                a = newest
            else:
                a = np.fmax.reduce(self.history) if self._fused else self.history.max()
            if 0 < a < np.inf:
                with np.errstate(all="ignore"):
                    if self._fused:
                        scale = np.float32(self._largest / self._margin) / a
                    else:
                        scale = (np.float32(1) / a * self._largest) / self._margin
                self.scale = np.float32(min(scale, FLT_MAX))
            if not self._fused or newest != 0:
                self.history = np.roll(self.history, -1)
                self.history[0] = 0
