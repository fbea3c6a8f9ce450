"""What a caller gives a recipe in place of what the array says: checked, and as the recipe takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..block_format import BlockFormat
from .numbers import numbers, shown
from .scaling import Scaling
from .tiles import Tiling

__all__ = ["Given"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Given:
    """The arguments of `encode_blocks` of those names; None where there is none."""

    tensor_amax: Any = None
    scale: Any = None
    eps: Any = None
    amax_history: Any = None

    def check(self, fmt: BlockFormat, blocks: int) -> None:
        """Whether the recipe takes them.

        Raises
        ------
        ValueError
            It does not.
        """
        amax, history = self.tensor_amax, self.amax_history
        if amax is not None and fmt.amax_from == "history":
            raise ValueError(
                f"tensor_amax={shown(amax)}: {fmt.name} takes amax_history=, the amaxes of the steps before"
            )
        if amax is not None and fmt.zero_point:
            raise ValueError(
                f"tensor_amax={shown(amax)}: {fmt.name} takes the least and the largest number; it takes scale="
            )
        if amax is not None and fmt.statistic == "mean":
            raise ValueError(f"tensor_amax={shown(amax)}: {fmt.name} takes the mean of the magnitudes; it takes scale=")
        if amax is not None and not fmt.z and blocks > 1:
            raise ValueError(f"tensor_amax={shown(amax)}: {fmt.name} has no second level")
        if history is not None and fmt.amax_from != "history":
            raise ValueError(f"amax_history: {fmt.name} has none; only recipes with delayed scaling take one")
        if self.scale is not None:
            spare = {"tensor_amax": amax if not fmt.z else None, "eps": self.eps}
            for name, value in spare.items():
                if value is not None:
                    raise ValueError(f"{name}={shown(value)}: scale is given, so that {fmt.name} takes no amax")
        if self.scale is not None and fmt.scale != "fp32":
            raise ValueError(
                f"scale={shown(self.scale)}: {fmt.name} finds its own scales; only recipes with float32 scales take one"
            )

    def least(self, fmt: BlockFormat) -> float:
        """eps as a number, 0 where there is none."""
        if self.eps is None:
            return 0.0
        expected = "a finite number >= 0 was expected"
        found = numbers("eps", self.eps, expected)
        if found.size != 1 or not np.isfinite(found).all() or float(found.reshape(())) < 0:
            raise ValueError(f"eps={shown(self.eps)}: {expected}")
        if found.any() and "eps" not in fmt.v:
            raise ValueError(f"eps={shown(self.eps)}: {fmt.name} has none")
        return float(np.asarray(self.eps, np.float64).reshape(()))

    def one_amax(self) -> np.float32:
        """tensor_amax of one block or tensor."""
        found = numbers("tensor_amax", self.tensor_amax, "one number was expected")
        if found.size != 1:
            raise ValueError(f"tensor_amax={shown(self.tensor_amax)}: one number was expected")
        number = np.float32(found.reshape(()))
        if number < 0:
            raise ValueError(f"tensor_amax={shown(self.tensor_amax)}: a magnitude was expected")
        return number

    def row_amaxes(self, rows: int) -> Array:
        """tensor_amax, one a row."""
        found = numbers("tensor_amax", self.tensor_amax, f"one number for each of {rows} rows was expected")
        if found.size != rows:
            raise ValueError(f"tensor_amax has {found.size} numbers; one for each of {rows} rows was expected")
        if sum(size != 1 for size in found.shape) > 1:
            raise ValueError(f"tensor_amax has shape {found.shape}; one for each of {rows} rows was expected")
        if (found < 0).any():
            raise ValueError("tensor_amax: magnitudes were expected")
        return found.reshape(-1)

    def scales(self, fmt: BlockFormat, tiles: Tiling, plain: Scaling) -> Any:
        """What `format.y` calls s: one number, or one a block; None where it is made of amaxes."""
        value = None
        if self.scale is not None:
            value = numbers("scale", self.scale, "finite positive numbers were expected")
            if value.size not in (1, tiles.count):
                raise ValueError(f"scale has {value.size} numbers; 1 or {tiles.count} were expected")
            if value.size != 1 and value.shape not in (tiles.grid, (tiles.count,)):
                expected = " or ".join(str(shape) for shape in dict.fromkeys((tiles.grid, (tiles.count,))))
                raise ValueError(f"scale has shape {value.shape}; one number or shape {expected} was expected")
            if not (np.isfinite(value) & (value > 0)).all():
                raise ValueError("scale: finite positive numbers were expected")
            value = value.reshape(()) if value.size == 1 else tiles.cut_scales(value.reshape(tiles.grid))
        return self._of_history(fmt, plain, value) if fmt.amax_from == "history" else value

    def _of_history(self, fmt: BlockFormat, plain: Scaling, kept: Any) -> Any:
        """The scale that the amaxes of the steps before give; `kept`, or the recipe's, where they give none."""
        if self.amax_history is None:
            found = np.zeros(1, np.float32)
        else:
            expected = "magnitudes of the steps before were expected"
            found = numbers("amax_history", self.amax_history, expected).reshape(-1)
            if (found < 0).any():
                raise ValueError(f"amax_history={shown(self.amax_history)}: {expected}")
        largest = np.fmax if fmt.amax_nan == "ignore" else np.maximum
        a = np.array([largest.reduce(found, initial=np.float32(0))], np.float32)
        if kept is not None and not 0 < a[0] < np.inf:
            return kept
        with np.errstate(all="ignore"):
            _, s, _ = plain.scales(a, int(a.view(np.uint32)[0]), 0)
        assert s is not None
        return s.reshape(())
