"""What every block oracle returns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["BlockResult"]


class BlockResult(NamedTuple):
    """A quantized matrix, as the package that owns the recipe stores it.

    Attributes
    ----------
    codes
        One element code a byte, in the shape of the input.
    scales
        One scale a block, in the shape of the grid of blocks: raw codes (uint8) or float32.
    second
        The second level as stored (amax, decode or encode scale), or None; of integers with zero points, these, in the
        shape of `scales`.
    undefined
        True where the package leaves the element code undefined (NaN blocks of some), or None.
    """

    codes: NDArray[np.uint8]
    scales: NDArray[np.uint8] | NDArray[np.float32]
    second: NDArray[np.float32] | None = None
    undefined: NDArray[np.bool_] | None = None
