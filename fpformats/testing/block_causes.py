"""THE table of what goes wrong in block quantizers. A new cause is a new row; the search knows none by name.

A row says what a wrong quantizer would have made, in one of the shapes of `block_case`. The other recipes of the same
blocks, their rules for scales, and the other roundings are rows by themselves: their tables say them. What goes wrong
with an element once it is scaled is in `causes.TABLE`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..block_format import BlockFormat
from ..elements import encode32
from ..recipes import BLOCK_FORMATS
from ..rounding import ROUNDINGS, Rules
from .block_case import (
    BlockCase,
    BlockCause,
    by_amaxes,
    by_codes,
    by_options,
    by_recipe,
    by_scales,
    by_stored,
)
from .wrong_codes import groups, pairs, shifted, transposed

__all__ = ["block_causes", "kin"]

Array = NDArray[Any]


def kin(fmt: BlockFormat) -> tuple[BlockFormat, ...]:
    """Recipes whose codes and scales have the same shapes and formats, the given one among them."""
    kind = (fmt.element, fmt.block, fmt.scale, bool(fmt.zero_point))
    return tuple(row for row in BLOCK_FORMATS.values()
                 if (row.element, row.block, row.scale, bool(row.zero_point)) == kind)  # fmt: skip


def _swapped(field: str, old: str, new: str) -> Callable[[BlockFormat], BlockFormat | None]:
    """A recipe with other words in one of its expressions."""

    def edit(fmt: BlockFormat) -> BlockFormat | None:
        text: str = getattr(fmt, field)
        return replace(fmt, **{field: text.replace(old, new)}) if old in text else None  # type: ignore[arg-type]

    return edit


def _stepped(by: int) -> Callable[..., Array | None]:
    """Scale codes some steps further, as a byte holds them."""

    def of(scales: Array, *_: Any) -> Array | None:
        return scales + np.uint8(by % 256) if scales.dtype.kind == "u" else None

    return of


def _power(by: int) -> Callable[..., Array | None]:
    """Scales of binary32, doubled or halved."""

    def of(scales: Array, *_: Any) -> Array | None:
        return scales * np.float32(2.0**by) if scales.dtype.kind == "f" else None

    return of


def _rounded(mode: str) -> Callable[[Array, Array, BlockFormat], Array | None]:
    """v by another rounding to the scale's format."""

    def of(scales: Array, v: Array, fmt: BlockFormat) -> Array | None:
        if fmt.rule != "rne":
            return None
        return encode32(np.ascontiguousarray(v), fmt.scale, Rules(mode, "saturate"))

    return of


def _of_columns(values: Array) -> Array:
    """Amaxes of square tiles' columns, where those of their rows are due."""
    size = values.shape[1]
    whole = len(values) // size * size
    turned = np.abs(values[:whole]).reshape(-1, size, size).max(axis=1).reshape(-1)
    return np.concatenate([turned, np.abs(values[whole:]).max(axis=1)])


def _one_level(case: BlockCase) -> dict[str, Any] | None:
    """The tensor's amax for which the second level is 1, or next to it."""
    return {"tensor_amax": np.float32(2688)} if case.fmt.z and case.fmt.second_of == "tensor" else None


def _signed_amax(case: BlockCase) -> dict[str, Any] | None:
    if not case.fmt.z or case.fmt.second_of != "tensor" or case.options.get("tensor_amax") is not None:
        return None
    blocks = case.prepared().blocks.view(np.float32)
    return {"tensor_amax": max(float(blocks.max(initial=0)), 0.0)}


def _reversed(scales: Array) -> Array | None:
    return scales.reshape(-1)[::-1] if scales.size > 1 else None


TABLE: tuple[BlockCause, ...] = (
    # codes and scales in other places
    by_codes("nibbles swapped: each pair of codes is exchanged", pairs),
    *(by_codes(f"order of each {size} codes reversed", groups(size)) for size in (4, 8)),
    by_codes("codes transposed", transposed),
    by_stored("scales transposed", transposed),
    *(by_stored(f"scales shifted by one block {way}", shifted(by)) for by, way in ((1, "forwards"), (-1, "backwards"))),
    by_stored("order of the scales reversed", _reversed),
    # amax
    by_amaxes("amax of signed numbers: the magnitude is not taken", lambda x: np.maximum(x.max(axis=1), 0)),
    by_amaxes("amax without the block's last number", lambda x: np.abs(x[:, :-1]).max(axis=1, initial=0)),
    by_amaxes("amax without the block's first number", lambda x: np.abs(x[:, 1:]).max(axis=1, initial=0)),
    by_amaxes("amax of the block's first half", lambda x: np.abs(x[:, : x.shape[1] // 2]).max(axis=1, initial=0)),
    by_amaxes("scales of transposed blocks: amaxes of columns, where those of rows are due", _of_columns),
    # scales
    *(by_scales(f"every scale is one code too {what}, and the elements follow it", _stepped(by))
      for by, what in ((1, "large"), (-1, "small"))),
    *(by_scales(f"every scale is {what}, and the elements follow it", _power(by))
      for by, what in ((1, "doubled"), (-1, "halved"))),
    *(by_stored(f"every scale's code is {abs(by)} too {'large' if by > 0 else 'small'}", _stepped(by))
      for by in (1, -1, 2, -2, 8, -8, 127, -127)),
    *(by_stored(f"every scale is {what} beside the right elements", _power(by))
      for by, what in ((1, "doubled"), (-1, "halved"))),
    *(by_scales(f"scales rounded by {mode!r}", _rounded(mode)) for mode in
      ("toward_zero", "away_from_zero", "nearest_away", "nearest_zero")),
    # the second level
    by_options("no second level: scales as if it were 1", _one_level),
    by_options("the tensor's amax is of signed numbers: the magnitude is not taken", _signed_amax),
    # arithmetic
    by_recipe("x times the scale's reciprocal, not over the scale", _swapped("y", "x / s", "x * (1 / s)")),
    by_recipe("x over the scale, not times its reciprocal", _swapped("y", "x * (1 / s)", "x / s")),
    by_recipe("x over the scale, not times its reciprocal",
              _swapped("y", "x * min(1 / (s * (1 / z)), MAX)", "x / (s * (1 / z))")),
    by_recipe("x over both scales, not times the product of their reciprocals",
              _swapped("y", "x * ((1 / z) / s)", "x / (s * z)")),
    by_recipe("x times the reciprocal of both scales, not over them",
              _swapped("y", "x / (s * z)", "x * (1 / (s * z))")),
    by_recipe("x times the reciprocal of both scales, not over them",
              _swapped("y", "x / (s / z)", "x * (1 / (s / z))")),
    *(by_recipe(f"amax times the reciprocal of {largest}, not over it",
                _swapped("v", f"a / {largest}", f"a * (1 / {largest})")) for largest in ("6", "448", "57344")),
    *(by_recipe(f"amax over {largest}, not times its reciprocal",
                _swapped("v", f"a * (1 / {largest})", f"a / {largest}")) for largest in ("6", "448", "57344")),
    by_recipe("amax over 6, not times its reciprocal", _swapped("v", "a * (z * (1 / 6))", "(a / 6) * z")),
    # elements
    by_recipe("saturation is missing: what is beyond the largest element becomes infinite or NaN",
              lambda fmt: replace(fmt, overflow="nonfinite")),
    by_recipe("signs of zeros are kept", lambda fmt: replace(fmt, zero="keep")),
    by_recipe("signs of zeros are dropped", lambda fmt: replace(fmt, zero="drop")),
)  # fmt: skip


def _as(other: BlockFormat) -> Callable[[BlockFormat], BlockFormat]:
    return lambda fmt: other


def _rounding(mode: str) -> Callable[[BlockCase], dict[str, Any] | None]:
    return lambda case: {"rounding": mode}


def _scale_of(other: BlockFormat) -> Callable[[BlockFormat], BlockFormat]:
    facts = {name: getattr(other, name) for name in ("v", "rule", "s", "z", "second", "special", "scale_at")}
    return lambda fmt: replace(fmt, **facts)


def _rule(rule: str) -> Callable[[BlockFormat], BlockFormat]:
    return lambda fmt: replace(fmt, rule=rule)


@lru_cache(maxsize=64)
def block_causes(fmt: BlockFormat) -> tuple[BlockCause, ...]:
    """The rows that may explain a wrong block, most telling first."""

    def rules() -> Iterator[BlockCause]:
        known = {fmt.rule}
        for other in kin(fmt):
            if other.v == fmt.v and other.rule not in known:
                known.add(other.rule)
                yield by_recipe(f"scale rule {other.rule!r} in place of {fmt.rule!r}", _rule(other.rule))

    def roundings() -> Iterator[BlockCause]:
        for mode, row in ROUNDINGS.items():
            if not row.random_bits and mode != fmt.rounding:
                yield by_options(f"elements rounded by {mode!r}", _rounding(mode))

    def recipes() -> Iterator[BlockCause]:
        others = [other for other in kin(fmt) if other.name != fmt.name]
        for other in others:
            yield by_recipe(f"what recipe {other.name!r} does", _as(other))
        ways = {(fmt.v, fmt.rule)}
        for other in others:
            if (other.v, other.rule) not in ways and not other.zero_point:
                ways.add((other.v, other.rule))
                yield by_recipe(f"scale made of {other.v!r} by {other.rule!r}, as in {other.name!r}", _scale_of(other))

    return (*rules(), *roundings(), *TABLE, *recipes())
