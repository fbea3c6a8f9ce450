"""Numbers on their way into a format, as a peer sees them: where each lies among the format's values.

Plain NumPy over the rows, without the kernels and without `encode`: what the table of differences says is held against
these from both sides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..format import Format
from .source import Source

__all__ = ["NO_CODE", "Numbers", "magnitudes"]

Array = NDArray[Any]
#: in an array of codes: there is no code, `encode` raises
NO_CODE = -1


@lru_cache(maxsize=32)
def magnitudes(fmt: Format) -> Array:
    """The magnitude of every finite code without sign, in order, and the one that would come next."""
    line = np.arange(fmt.min_line, fmt.max_line + 2, dtype=np.int64)
    m = fmt.mantissa_bits
    binade = np.maximum(line >> m, 1)
    sig = line - ((binade - 1) << m)
    out = np.ldexp(sig.astype(np.float64), binade - 1 + fmt.emin - m)
    out.setflags(write=False)
    return out


@dataclass(frozen=True)
class Numbers:
    """Numbers for one target format.

    ``through_fp32`` says that the peer looks at binary64 numbers only after rounding them to binary32.
    """

    source: Source
    fmt: Format
    through_fp32: bool = False

    @cached_property
    def x(self) -> Array:
        """As float64, exactly."""
        return self.source.wide()

    @cached_property
    def seen(self) -> Array:
        """What the peer rounds: x, or binary32's nearest to it."""
        if not self.through_fp32 or self.source.format.name != "fp64":
            return self.x
        with np.errstate(all="ignore"):
            return self.x.astype(np.float32).astype(np.float64)

    @cached_property
    def nan(self) -> Array:
        """Which are NaN."""
        return np.isnan(self.x)

    @cached_property
    def negative(self) -> Array:
        """Which have the sign set, zeros and NaN among them."""
        return (self.source.bits & self.source.bits.dtype.type(self.source.format.sign_bit)) != 0

    @cached_property
    def absolute(self) -> Numbers:
        """The same without their signs."""
        mask = self.source.bits.dtype.type(self.source.format.sign_bit - 1)
        return replace(self, source=Source(self.source.bits & mask, self.source.format))

    def payload(self, bits: int) -> Array:
        """The top `bits` bits of the fraction field, of NaN what they carry."""
        m = self.source.format.mantissa_bits
        field = self.source.bits.astype(np.uint64) & np.uint64((1 << m) - 1)
        shifted = field >> np.uint64(m - bits) if m >= bits else field << np.uint64(bits - m)
        return shifted.astype(np.int64)

    def below(self, v: Array) -> Array:
        """The code, without sign, of the largest magnitude up to |v|; 0 below all of them, `top` beyond."""
        index = np.searchsorted(magnitudes(self.fmt), np.abs(np.where(np.isnan(v), 0, v)), side="right") - 1
        return np.maximum(index, 0)

    def nearest(self, v: Array) -> Array:
        """The code, without sign, of the magnitude nearest to |v|, ties to the even code; `top` for what overflows."""
        if self.fmt.name in ("fp32", "fp64"):  # too many values to list; IEEE 754 says what the machine gives
            with np.errstate(all="ignore"):
                narrow = np.abs(v).astype(f"f{self.fmt.bits // 8}")
            return np.where(np.isnan(v), 0, narrow.view(f"i{narrow.itemsize}").astype(np.int64))
        grid, low = magnitudes(self.fmt), self.below(v)
        middle = self.middle_above(low)
        mag = np.abs(np.where(np.isnan(v), 0, v))
        up = (mag > middle) | ((mag == middle) & (low & 1 == 1))
        return np.minimum(low + up, grid.size - 1)

    @cached_property
    def nearest_x(self) -> Array:
        """`nearest` of x."""
        return self.nearest(self.x)

    @cached_property
    def nearest_seen(self) -> Array:
        """`nearest` of what is seen."""
        return self.nearest_x if self.seen is self.x else self.nearest(self.seen)

    @cached_property
    def below_seen(self) -> Array:
        """`below` of what is seen."""
        return self.below(self.seen)

    def middle_above(self, low: Array) -> Array:
        """The midpoint above the magnitude of each code; beyond the last, infinity."""
        grid = magnitudes(self.fmt)
        middles = np.append((grid[:-1] + grid[1:]) / 2, np.inf)
        return np.asarray(middles[low])

    @property
    def top(self) -> int:
        """One more than the code of the largest finite value: where overflow begins."""
        return self.fmt.max_code + 1

    def signed(self, code: Array | int) -> Array:
        """These codes with the numbers' signs: no -0 where the format has none, and no sign in an unsigned format."""
        code = np.broadcast_to(np.asarray(code, np.int64), self.x.shape)
        sign = self.negative & ((code != 0) | self.fmt.has_negative_zero)
        return np.where(sign, code | self.fmt.sign_bit, code)

    def quiet_nan(self) -> Array:
        """The format's NaN with the numbers' signs; `NO_CODE` without one."""
        if self.fmt.nan_code is None:
            return np.full(self.x.shape, NO_CODE)
        return self.signed(self.fmt.nan_code)

    @cached_property
    def default(self) -> Array:
        """What `encode` gives for them without further arguments."""
        return self.saturated(self.nearest_x)

    def saturated(self, nearest: Array) -> Array:
        """The code by default where `nearest` is the magnitude's."""
        code = self.signed(np.where(nearest >= self.top, self.end, nearest))
        if not self.fmt.signed:
            code = np.where(self.negative, 0, code)
        return np.where(self.nan, self.quiet_nan(), code)

    @property
    def end(self) -> int:
        """Where an overflow goes by default: the infinity's code, or the largest value's."""
        return self.fmt.max_code if self.fmt.inf_code is None else self.fmt.inf_code
