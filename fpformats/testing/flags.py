"""What is special about a test vector, in words: facts of the number and the format, whatever the rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..format import Format
from ..rounding import Rules
from .source import Source

__all__ = ["FLAGS", "Facts", "Flag", "flag_bits", "flag_names"]

Array = NDArray[Any]


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


@dataclass(frozen=True)
class Facts:
    """Numbers and the format that they are cast to."""

    source: Source
    fmt: Format

    @cached_property
    def x(self) -> Array:
        """As float64."""
        return self.source.wide()

    @cached_property
    def size(self) -> Array:
        """Their magnitudes."""
        return np.abs(self.x)

    def codes(self, rounding: str, overflow: str) -> Array:
        """Their codes under other rules."""
        return self.source.encode(self.fmt, Rules(rounding, overflow, "max"))

    @cached_property
    def exact(self) -> Array:
        """Which finite ones the format holds."""
        cut = Source(self.codes("toward_zero", "saturate"), self.fmt).wide()
        return (cut == self.x) & np.isfinite(self.x)


@dataclass(frozen=True)
class Flag:
    """One fact of x, or, with ``cast``, of x and the format; then of blocks it speaks of x over its scale.

    Of a block it holds where it does for one of its numbers, or, with ``every``, for all.
    """

    name: str
    what: str
    of: Callable[[Facts], Array]
    cast: bool = False
    every: bool = False


FLAGS: tuple[Flag, ...] = (
    Flag("NaN", "x is a NaN", lambda f: np.isnan(f.x)),
    Flag("Infinity", "x is infinite", lambda f: np.isinf(f.x)),
    Flag("Zero", "x is a zero; every number of a block is", lambda f: f.x == 0, every=True),
    Flag("SubnormalInput", "x is a subnormal number of its own type",
         lambda f: (f.size > 0) & (f.size < _float(f.source.format.smallest_normal))),
    Flag("Exact", "x is finite and a value of the format; every number of a block, over its scale, is",
         lambda f: f.exact, cast=True, every=True),
    Flag("Tie", "x lies halfway between two neighbouring values of the format, or at the midpoint above the largest",
         lambda f: f.codes("nearest_zero", "nonfinite") != f.codes("nearest_away", "nonfinite"), cast=True),
    Flag("Subnormal", "x is not zero and its magnitude is below the format's smallest normal number",
         lambda f: (f.size > 0) & (f.size < _float(f.fmt.smallest_normal)) & (f.fmt.exponent_bits > 0), cast=True),
    Flag("Tiny", "x is not zero and its magnitude is below the format's smallest positive value",
         lambda f: (f.size > 0) & (f.size < _float(f.fmt.value_of_line(f.fmt.min_line or 1))), cast=True),
    Flag("Overflow", "x is finite and its magnitude is above the format's largest value",
         lambda f: np.isfinite(f.x) & (f.size > _float(f.fmt.max)), cast=True),
)  # fmt: skip


def flag_bits(numbers: Facts, cast: Facts | None, shape: tuple[int, ...]) -> Array:
    """The flags of each vector, the first flag in the lowest bit; `shape` is (vectors, numbers in one).

    ``cast`` has what is rounded: x itself, or x over its scale; None where nobody can say what that is.
    """
    bits = np.zeros(shape[0], np.uint16)
    for i, flag in enumerate(FLAGS):
        facts = cast if flag.cast else numbers
        if facts is not None:
            holds = np.asarray(flag.of(facts)).reshape(shape)
            bits |= (holds.all(axis=1) if flag.every else holds.any(axis=1)).astype(np.uint16) << np.uint16(i)
    return bits


def flag_names(bits: int) -> list[str]:
    """The flags that are set."""
    return [flag.name for i, flag in enumerate(FLAGS) if bits >> i & 1]
