"""A recipe with all that it takes from an array or its caller: scales and factors, for any blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..block_format import BlockFormat
from ..format import Format
from .expressions import evaluate
from .recipe import Recipe, scale_values, table
from .scales import scale_codes

__all__ = ["Scaling", "decode_scales"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Scaling:
    """A recipe with all that it takes from an array or its caller.

    Attributes
    ----------
    recipe : Recipe
    z, G : array or number
        The second level, one for all blocks or one each.
    eps : float
        The least amax.
    amax : binary32, optional
        The amax of the one block that there is, where the caller knows better; or `BlockFormat.statistic`, one a block.
    amaxes : binary32, optional
        The blocks' own, where they are known already.
    given : binary32, optional
        The caller's scale, in place of what the amax says.
    words, seed
        Random bits of the elements: one a number, or what they are made of.
    """

    recipe: Recipe
    G: Any = 0
    z: Any = 0
    eps: float = 0.0
    given: Any = None
    amax: Any = None
    amaxes: Array | None = None
    words: Array | None = None
    seed: int = -1

    @property
    def fmt(self) -> BlockFormat:
        return self.recipe.fmt

    @property
    def element(self) -> Format:
        return self.recipe.element

    @cached_property
    def environment(self) -> dict[str, Any]:
        """What expressions may name beside the blocks' own numbers."""
        return {**self.recipe.environment, "eps": np.float32(self.eps)}

    def level(self, value: Any, first: int, last: int) -> Any:
        """A second-level number for these blocks."""
        return value if np.ndim(value) == 0 else value[first:last]

    def block_environment(self, first: int, last: int, **more: Any) -> dict[str, Any]:
        if self._one_level:
            return {**self.environment, "z": self.z, "G": self.G, **more}
        return {**self.environment, "z": self.level(self.z, first, last), "G": self.level(self.G, first, last), **more}

    @cached_property
    def _one_level(self) -> bool:
        """Whether the second level is the same for all blocks."""
        return not np.ndim(self.z) and not np.ndim(self.G)

    # --- scales ---------------------------------------------------------------------------------
    @cached_property
    def factors(self) -> Array | None:
        """Every code's factor; None where more than the code decides it."""
        if self.fmt.scale == "fp32" or self.fmt.s:
            return None
        if self.recipe.factors is not None:
            return self.recipe.factors
        made = self._table(self.recipe.way.expression, self.recipe.used)
        return made if made is None else self.recipe.as_factor(made)

    @cached_property
    def values(self) -> Array | None:
        """Every code's factor on the way out; None where more than the code decides it."""
        if self.recipe.out is None or self.fmt.scale == "fp32":
            return None
        if self.recipe.values is not None:
            return self.recipe.values
        return self._table(self.recipe.out.expression, scale_values(self.fmt.scale))

    def _table(self, text: str, scales: Array) -> Array | None:
        return None if not self._one_level else table(text, self.block_environment(0, 0, s=scales, t=scales))

    def scales(self, a: Array, most: int, first: int, v: str = "") -> tuple[Array, Array | None, Array | None]:
        """(stored, s, factors) of blocks from `first` on, of amaxes a with the largest one's bits `most`.

        s and the factors are None where they are a matter of the stored codes alone: `factors_of` knows them.
        """
        fmt = self.fmt
        environment = self.block_environment(first, first + a.size, a=a)
        coded = fmt.scale != "fp32"
        if self.given is None:
            number = _of_size(evaluate(v or fmt.v, environment), a.size)
            made = scale_codes(fmt.rule, number, coded)
        else:
            made = np.array(np.broadcast_to(self.level(self.given, first, first + a.size), a.shape))
        for old, new in fmt.code_at:
            made = np.where(made == old, np.uint8(new), made)
        special = [(_holds(row[0], a, made, self), *row[1:]) for row in fmt.special if self._possible(row[0], a, most)]
        special = [row for row in special if row[0].any()]
        if self.factors is not None and all(self.recipe.is_of_code(code, value) for _, code, value in special):
            for where, code, _ in special:
                made[where] = code
            return made, None, None
        s = scale_codes(fmt.s, number, False) if fmt.s else self.recipe.used.take(made) if coded else made
        for where, code, value in special:
            s = np.where(where, np.float32(value), s)
            made = made if code is None else np.where(where, np.uint8(code), made)
        stored = made if coded else s
        if fmt.stored:
            stored = np.asarray(evaluate(fmt.stored, {**environment, "s": s}), np.float32)
        return (
            stored,
            s,
            self.recipe.as_factor(_of_size(evaluate(self.recipe.way.expression, {**environment, "s": s}), a.size)),
        )

    def factors_of(self, stored: Array) -> Array:
        """The factors that stored codes alone decide."""
        assert self.factors is not None
        # clipping, which never happens, is quicker than looking for a wrong code
        return self.factors.take(stored, mode="clip")

    def _possible(self, condition: str, a: Array, most: int) -> bool:
        """Whether it can hold for one of them."""
        if self.given is not None:
            return False
        return condition.startswith("zero") or most >= (0x7F000000 if condition == "carry" else 0x7F800000)

    def value_factors(self, stored: Array, first: int) -> Array | None:
        """By what elements of blocks go on their way out; None where `BlockFormat.q` is not linear."""
        if self.values is not None:
            return self.values.take(stored, mode="clip")
        linear, t = self.recipe.out, decode_scales(self.fmt, stored)
        if linear is None:
            return None
        environment = self.block_environment(first, first + stored.size, s=t, t=t)
        return _of_size(evaluate(linear.expression, environment), stored.size)

    # --- elements -------------------------------------------------------------------------------
    def _words(self, index: int, size: int) -> Array | None:
        return None if self.words is None else self.words[index : index + size]

    def to_codes(self, buffer: Array, out: Array, index: int, odd: bool) -> None:
        """Elements' codes; `odd` says that a NaN may be among the numbers."""
        self.recipe.encode(buffer, out, self._words(index, buffer.size), self.seed, index)
        if odd:
            out[np.isnan(buffer.view(np.float32))] = self.recipe.nan_code
        if self.fmt.zero == "drop" and self.element.has_negative_zero:
            np.multiply(out, out != self.element.sign_bit, out=out)

    def to_values(self, buffer: Array, out: Array, index: int) -> None:
        """Elements' values, where there is no NaN."""
        self.recipe.quantize(buffer, out, self._words(index, buffer.size), self.seed, index)
        if self.fmt.zero == "drop":
            values = out.view(np.float32)
            np.add(values, np.float32(0), out=values)


def _of_size(value: Any, count: int) -> Array:
    """A number for each block."""
    value = np.asarray(value, np.float32)
    return value if value.shape == (count,) else np.full(count, value, np.float32)


def _holds(condition: str, a: Array, made: Array, scaling: Scaling) -> Array:
    condition, _, source = condition.partition(" ")
    if source not in ("", scaling.recipe.source.name):
        return np.zeros(a.shape, bool)
    if condition == "zero":
        return np.maximum(a, np.float32(scaling.eps)) == 0
    if condition == "inf":
        return np.isinf(a)
    if condition == "nan":
        return np.isnan(a)
    if condition == "nonfinite":
        return ~np.isfinite(a)
    if condition == "carry":  # the exponent's field is that of an infinity
        return made == 255 - int(scaling.fmt.rule.split()[-1])
    raise ValueError(f"{scaling.fmt.name}: unknown condition {condition!r}")


def decode_scales(fmt: BlockFormat, codes: Array) -> Array:
    """Stored scales as binary32 numbers."""
    return np.asarray(codes, np.float32) if fmt.scale == "fp32" else scale_values(fmt.scale).take(codes)
