"""A wrong block quantizer as data: what came and what was due, and the shapes that a row of `block_causes` has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import engine
from ..arrays import Adapted, adapt
from ..block_format import BlockFormat
from ..blocks.array import BlockArray
from ..blocks.encode import Prepared
from ..blocks.expressions import evaluate
from ..blocks.given import Given
from ..blocks.run import amaxes_of
from ..registry import get_element
from .lines import is_nan, same
from .source import Source

__all__ = ["BlockCase", "BlockCause", "by_amaxes", "by_codes", "by_options", "by_recipe", "by_scales", "by_stored"]

Array = NDArray[Any]
_GIVEN = ("tensor_amax", "scale", "eps", "amax_history")


@dataclass(frozen=True)
class BlockCase:
    """Numbers, the recipe and its options, and the codes and scales that came.

    ``codes`` has the shape of `x`; ``scales`` that of a `BlockArray`'s, or None where nobody knows them; ``options``
    are those of `encode_blocks`.
    """

    fmt: BlockFormat
    x: Any
    options: dict[str, Any]
    codes: Array
    scales: Array | None = None

    @cached_property
    def adapted(self) -> Adapted:
        """The numbers' bits."""
        return adapt(self.x)

    def prepared(self, fmt: BlockFormat | None = None, **changes: Any) -> Prepared:
        """The recipe over the numbers, with other options than the case's."""
        options = {**self.options, **changes}
        given = Given(**{name: options.get(name) for name in _GIVEN})
        return Prepared(
            self.adapted, fmt or self.fmt, options.get("axis", -1), options.get("rounding"), options.get("rng"), given
        )

    def made(self, fmt: BlockFormat | None = None, **changes: Any) -> BlockArray:
        """What the recipe gives."""
        return finished(self.prepared(fmt, **changes))

    @cached_property
    def due(self) -> BlockArray:
        """What is right."""
        return self.made()

    def with_scales(self, scales: Array) -> BlockArray | None:
        """Elements as these scales, in the place of the right ones, make them; None where a recipe's scale is no code.

        Scales of a `stored` expression are not those that divide, and a zero point is made together with its scale.
        """
        ready = self.prepared()
        if self.fmt.s or self.fmt.stored or self.fmt.zero_point:
            return None
        return finished(replaced(ready, given=ready.tiling.cut_scales(scales)))

    def scaled(self, scales: Array) -> Source | None:
        """The numbers that are rounded to elements under these scales; None where that is not all there is to one."""
        fmt = self.fmt
        if fmt.s or fmt.stored or fmt.zero_point or fmt.argmin:
            return None
        ready = self.prepared()
        ready = replaced(ready, given=ready.tiling.cut_scales(scales))
        scaling, flat = ready.scaling, np.ascontiguousarray(ready.blocks).reshape(-1)
        y = np.empty(flat.size, np.uint32)
        a = amaxes_of(ready.blocks, fmt.amax_nan)
        with np.errstate(all="ignore"):
            stored, _, f = scaling.scales(a, 0, 0)
            f = scaling.factors_of(stored) if f is None else f
            scaling.recipe.scaled(engine.blocks_kernel(flat.size), flat, y, f, ready.blocks.shape[1])
        joined = ready.tiling.join(y.reshape(ready.blocks.shape))
        return Source(np.ascontiguousarray(joined).reshape(-1), get_element("fp32"))

    def equal_scales(self, made: BlockArray) -> NDArray[np.bool_]:
        """Which scales are those that came."""
        if self.scales is None:
            return np.ones(made.scales.shape, bool)
        a, b = self.scales, made.scales
        return (a == b) | (np.isnan(a) & np.isnan(b)) if a.dtype.kind == "f" else a == b

    def equal_codes(self, made: BlockArray, nan: str) -> NDArray[np.bool_]:
        """Which codes are those that came, in the shape of `x`.

        Under ``nan="class"`` codes count as equal where nothing says what they are: in a block whose scale is NaN, and
        of a NaN that the recipe's package leaves undefined.
        """
        element = get_element(self.fmt.element)
        equal = same(self.codes.reshape(-1), made.codes.reshape(-1), element, nan).reshape(made.shape)
        if nan == "class" and not equal.all():
            equal |= self._undefined(made)
        return equal

    def _undefined(self, made: BlockArray) -> NDArray[np.bool_]:
        tiles = made._tiling
        stored = tiles.cut_scales(made.scales)
        if self.fmt.scale == "fp32":
            broken = np.isnan(stored)
        else:
            broken = is_nan(stored, get_element(self.fmt.scale))
        found = tiles.join(np.broadcast_to(broken[:, None], (broken.size, tiles.size)))
        if self.fmt.nan_code is None:
            numbers = Source(
                np.ascontiguousarray(self.adapted.data).reshape(-1), get_element(self.adapted.format or "fp32")
            )
            found = found | (np.isnan(numbers.wide()).reshape(made.shape) & bool(self.adapted.format))
        return np.asarray(found)

    def agrees(self, made: BlockArray, nan: str = "class") -> bool:
        """Whether all that came is this."""
        return bool(self.equal_scales(made).all() and self.equal_codes(made, nan).all())

    def differing(self, made: BlockArray, nan: str) -> NDArray[np.bool_]:
        """Which blocks differ, in a scale or a code; one a block, in the order of `Tiling.cut`."""
        tiles = made._tiling
        codes = tiles.cut(~self.equal_codes(made, nan)).any(axis=1)
        return codes | tiles.cut_scales(~self.equal_scales(made))


def replaced(ready: Prepared, **changes: Any) -> Prepared:
    """The same with another `Scaling`."""
    ready.scaling = replace(ready.scaling, **changes)
    return ready


def finished(ready: Prepared) -> BlockArray:
    """Codes, scales and zero points as an array."""
    codes, tiles = ready.encode(), ready.tiling
    points = None if ready.zero_points is None else tiles.join_scales(ready.zero_points)
    stored = tiles.join_scales(ready.stored)
    return BlockArray._trusted(tiles.join(codes), stored, ready.fmt, ready.second, tiles, points)


@dataclass(frozen=True)
class BlockCause:
    """One way to be wrong: what a quantizer with this mistake makes of a case, or None where it does not apply."""

    name: str
    wrong: Callable[[BlockCase], BlockArray | None]


def by_recipe(name: str, edit: Callable[[BlockFormat], BlockFormat | None]) -> BlockCause:
    """Another recipe, or this one with a fact changed."""

    def wrong(case: BlockCase) -> BlockArray | None:
        row = edit(case.fmt)
        return None if row is None or row == case.fmt else case.made(row)

    return BlockCause(name, wrong)


def by_options(name: str, of: Callable[[BlockCase], dict[str, Any] | None]) -> BlockCause:
    """The same recipe with other arguments of `encode_blocks`."""

    def wrong(case: BlockCase) -> BlockArray | None:
        changes = of(case)
        return None if changes is None else case.made(**changes)

    return BlockCause(name, wrong)


def by_amaxes(name: str, of: Callable[[Array], Array]) -> BlockCause:
    """The blocks' amaxes by another rule: a function of the numbers, one block a row. The second level is right."""

    def wrong(case: BlockCase) -> BlockArray | None:
        if case.fmt.size is None or case.fmt.zero_point or case.fmt.statistic != "amax":
            return None
        ready = case.prepared()
        with np.errstate(all="ignore"):
            amaxes = np.ascontiguousarray(of(ready.blocks.view(np.float32)), np.float32)
        return finished(replaced(ready, amaxes=amaxes))

    return BlockCause(name, wrong)


def by_scales(name: str, of: Callable[[Array, Array, BlockFormat], Array | None]) -> BlockCause:
    """Other scales, and elements that follow them: a function of the right ones (flat), of v and of the recipe."""

    def wrong(case: BlockCase) -> BlockArray | None:
        fmt = case.fmt
        if fmt.zero_point or fmt.statistic != "amax" or fmt.amax_from != "block":
            return None
        ready = case.prepared()
        scaling, a = ready.scaling, amaxes_of(ready.blocks, fmt.amax_nan)
        with np.errstate(all="ignore"):
            v = np.asarray(evaluate(fmt.v, scaling.block_environment(0, a.size, a=a)), np.float32)
            scales = of(ready.tiling.cut_scales(case.due.scales), np.broadcast_to(v, a.shape), fmt)
        return None if scales is None else case.with_scales(ready.tiling.join_scales(scales))

    return BlockCause(name, wrong)


def by_stored(name: str, of: Callable[[Array], Array | None]) -> BlockCause:
    """Other scales beside the right elements: a function of the right ones, in their shape."""

    def wrong(case: BlockCase) -> BlockArray | None:
        due = case.due
        scales = of(due.scales)
        if scales is None or scales.size != due.scales.size:
            return None
        return _with(due, scales=np.ascontiguousarray(scales).reshape(due.scales.shape))

    return BlockCause(name, wrong)


def by_codes(name: str, of: Callable[[Array], Array | None]) -> BlockCause:
    """Other codes beside the right scales: a function of the right ones, in their shape."""

    def wrong(case: BlockCase) -> BlockArray | None:
        due = case.due
        codes = of(due.codes)
        if codes is None or codes.size != due.codes.size:
            return None
        return _with(due, codes=np.ascontiguousarray(codes).reshape(due.shape))

    return BlockCause(name, wrong)


def _with(due: BlockArray, **changes: Array) -> BlockArray:
    parts = {"codes": due.codes, "scales": due.scales, **changes}
    return BlockArray._trusted(
        parts["codes"], parts["scales"], due.format, due.tensor_scale, due._tiling, due.zero_points
    )
