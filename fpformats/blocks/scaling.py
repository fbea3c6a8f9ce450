"""A recipe with all that it takes from an array or its caller: scales, factors and element casts, for any blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import engine
from ..block_format import BlockFormat
from ..elements import decode32, quantize32
from ..format import Format
from ..kernels.rows import INDEX
from ..plan import encode_plan, quantize_plan
from ..registry import get_element
from ..rounding import Rules
from .expressions import Factor, evaluate, factor
from .scales import scale_codes

__all__ = ["Scaling", "decode_scales"]

Array = NDArray[Any]
_FP32 = get_element("fp32")


@dataclass(frozen=True)
class Scaling:
    """A recipe with all that it takes from an array or its caller.

    Attributes
    ----------
    fmt : BlockFormat
    source : Format
        The type the numbers came in.
    z, G : array or number
        The second level, one for all blocks or one each.
    amax : binary32, optional
        The amax of the one block that there is, where the caller knows better; or `BlockFormat.statistic`, one a block.
    amaxes : binary32, optional
        The blocks' own, where they are known already.
    given : binary32, optional
        The caller's scale, in place of what the amax says.
    rounding, random_bits, words, seed
        Of the elements, where the caller says so.
    """

    fmt: BlockFormat
    source: Format
    G: Any = 0
    z: Any = 0
    eps: float = 0.0
    given: Any = None
    amax: Any = None
    amaxes: Array | None = None
    rounding: str = ""
    random_bits: int | None = None
    words: Array | None = None
    seed: int = -1
    environment: dict[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        def again(value: Any) -> Any:
            if self.source.name in ("bf16", "fp16"):
                return quantize32(np.array(value, np.float32, order="C"), self.source, Rules(nan="max"))
            return np.asarray(value, np.float32)

        narrow = self.source.name in ("bf16", "fp16")
        largest = self.source.max if narrow else _FP32.max
        epsilon = self.source.eps if narrow else _FP32.eps
        self.environment.update(
            d=again,
            MAX=np.float32(_FP32.max),
            DMAX=np.float32(largest),
            DEPS=np.float32(epsilon),
            DROOT=np.float32(2.0 ** ((self.source if narrow else _FP32).emin // 2)),
            eps=np.float32(self.eps),
        )

    @cached_property
    def element(self) -> Format:
        return get_element(self.fmt.element)

    @cached_property
    def rules(self) -> Rules:
        return Rules(
            rounding=self.rounding or self.fmt.rounding,
            overflow=self.fmt.overflow,
            nan="max",
            random_bits=self.random_bits,
        )

    @cached_property
    def way(self) -> Factor:
        """How x becomes y."""
        way = factor(self.fmt.y)
        assert way is not None
        return way

    @cached_property
    def out_divides(self) -> bool:
        linear = factor(self.fmt.q)
        return linear is not None and linear.divide

    @cached_property
    def nan_code(self) -> int:
        """The element code of a NaN."""
        return self.element.max_code if self.fmt.nan_code is None else self.fmt.nan_code

    def level(self, value: Any, first: int, last: int) -> Any:
        """A second-level number for these blocks."""
        return value if np.ndim(value) == 0 else value[first:last]

    def block_environment(self, first: int, last: int, **more: Any) -> dict[str, Any]:
        return {**self.environment, "z": self.level(self.z, first, last), "G": self.level(self.G, first, last), **more}

    # --- scales ---------------------------------------------------------------------------------
    @cached_property
    def used(self) -> Array:
        """Every code's scale as `y` uses it."""
        s = scale_values(self.fmt.scale).copy()
        for code, value in self.fmt.scale_at:
            s[code] = value
        return s

    @cached_property
    def divides(self) -> bool:
        """Whether y is a quotient, and no product with a reciprocal."""
        if not self.way.divide or self.fmt.scale == "fp32" or self.fmt.s or self.way.expression != "s":
            return self.way.divide
        return not _has_inverse(np.array([*self.used, *(row[2] for row in self.fmt.special)], np.float32))

    @cached_property
    def factors(self) -> Array | None:
        """Every code's factor; None where more than the code decides it."""
        if self.fmt.scale == "fp32" or self.fmt.s:
            return None
        made = self._table(self.way.expression, s=self.used)
        return made if made is None else self._as_factor(made)

    def _as_factor(self, divisor: Array) -> Array:
        """What numbers are multiplied with, or divided by."""
        with np.errstate(all="ignore"):
            return divisor if self.divides or not self.way.divide else np.float32(1) / divisor

    @cached_property
    def values(self) -> Array | None:
        """Every code's factor on the way out; None where more than the code decides it."""
        linear = factor(self.fmt.q)
        if linear is None or self.fmt.scale == "fp32":
            return None
        s = scale_values(self.fmt.scale)
        return self._table(linear.expression, s=s, t=s)

    def _table(self, text: str, **scales: Array) -> Array | None:
        if np.ndim(self.z) or np.ndim(self.G):
            return None
        with np.errstate(all="ignore"):
            made = evaluate(text, {**self.environment, "z": np.float32(self.z), "G": np.float32(self.G), **scales})
        return np.array(np.broadcast_to(np.asarray(made, np.float32), (256,)))

    def scales(self, a: Array, most: int, first: int, v: str = "") -> tuple[Array, Array | None, Array]:
        """(stored, s, factors) of blocks from `first` on, of amaxes a with the largest one's bits `most`.

        s is None where the factors are a matter of the stored codes alone.
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
        if not special and self.factors is not None:
            # a few thousand codes: clipping, which never happens, is quicker than looking for a wrong one
            return made, None, self.factors.take(made, mode="clip")
        s = scale_codes(fmt.s, number, False) if fmt.s else self.used.take(made) if coded else made
        for where, code, value in special:
            s = np.where(where, np.float32(value), s)
            made = made if code is None else np.where(where, np.uint8(code), made)
        stored = made if coded else s
        if fmt.stored:
            stored = np.asarray(evaluate(fmt.stored, {**environment, "s": s}), np.float32)
        return stored, s, self._as_factor(_of_size(evaluate(self.way.expression, {**environment, "s": s}), a.size))

    def _possible(self, condition: str, a: Array, most: int) -> bool:
        """Whether it can hold for one of them."""
        if self.given is not None:
            return False
        return condition.startswith("zero") or most >= (0x7F000000 if condition == "carry" else 0x7F800000)

    def value_factors(self, stored: Array, first: int) -> Array | None:
        """By what elements of blocks go on their way out; None where `BlockFormat.q` is not linear."""
        if self.values is not None:
            return self.values.take(stored, mode="clip")
        linear, t = factor(self.fmt.q), decode_scales(self.fmt, stored)
        if linear is None:
            return None
        environment = self.block_environment(first, first + stored.size, s=t, t=t)
        return _of_size(evaluate(linear.expression, environment), stored.size)

    # --- elements -------------------------------------------------------------------------------
    @cached_property
    def _again(self) -> engine.Cast | None:
        """The second rounding of y, to the input's type."""
        if not self.way.again or self.source.name not in ("bf16", "fp16"):
            return None
        return engine.Cast(quantize_plan(_FP32, self.source, Rules(nan="max"), _FP32).stages)

    @cached_property
    def _encode(self) -> engine.Cast:
        return engine.Cast(encode_plan(_FP32, self.element, self.rules, self.seed >= 0).stages)

    @cached_property
    def _quantize(self) -> engine.Cast:
        return engine.Cast(quantize_plan(_FP32, self.element, self.rules, _FP32, self.seed >= 0).stages)

    @cached_property
    def in_one(self) -> bool:
        """Whether scaling and rounding to nearest are all there is between a number and its element."""
        fmt = self.fmt
        other = self._again is not None or fmt.symmetric or fmt.y_at or fmt.argmin
        return not other and fmt.zero in ("keep", "drop_exact")

    @cached_property
    def zero(self) -> np.uint32:
        """The bits that stand for a y of -0."""
        return np.uint32(0 if self.fmt.zero == "drop_exact" else 1 << 31)

    @cached_property
    def fused_codes(self) -> tuple[int, Array] | None:
        """(kind, row) of the kernel that scales and encodes in one loop; None where that is not all."""
        row = _in_block(self._encode, "encode8") if self.in_one else None
        return None if row is None else (6 + self.divides, _with_nan(row, self.nan_code))

    @cached_property
    def fused_values(self) -> tuple[int, Array] | None:
        """The same of the one that scales, rounds and scales back."""
        row = _in_block(self._quantize, "round32") if self.in_one else None
        if row is None or (self.divides and self.out_divides):
            return None
        value = decode32(np.array([self.nan_code], np.uint8), self.element).view(np.uint32)
        return 8 if self.out_divides else 4 + self.divides, _with_nan(row, int(value[0]))

    def scaled(self, kernel: Callable[..., int], bits: Array, buffer: Array, f: Array, k: int) -> None:
        """y: the numbers by their blocks' factors, rounded as the recipe says, before they are elements."""
        kernel(bits, buffer, f.view(np.uint32), 3 if self.divides else 2, k)
        if self._again is not None:
            self._again(buffer, buffer)
        values = buffer.view(np.float32)
        if self.fmt.zero == "drop_exact":
            np.add(values, np.float32(0), out=values)
        elif self.fmt.zero == "minus_exact":
            values[values == 0] = np.float32(-0.0)
        for old, new in self.fmt.y_at:
            at = np.abs(values) == np.float32(old)
            values[at] = np.copysign(np.float32(new), values[at])
        if self.fmt.symmetric:
            np.maximum(values, np.float32(-float(self.element.max)), out=values)

    def _words(self, index: int, size: int) -> Array | None:
        return None if self.words is None else self.words[index : index + size]

    def to_codes(self, buffer: Array, out: Array, index: int, odd: bool) -> None:
        """Elements' codes; `odd` says that a NaN may be among the numbers."""
        self._encode(buffer, out, self._words(index, buffer.size), self.seed, index)
        if odd:
            out[np.isnan(buffer.view(np.float32))] = self.nan_code
        if self.fmt.zero == "drop":
            out[out == self.element.sign_bit] = 0

    def to_values(self, buffer: Array, out: Array, index: int) -> None:
        """Elements' values, where there is no NaN."""
        self._quantize(buffer, out, self._words(index, buffer.size), self.seed, index)
        if self.fmt.zero == "drop":
            values = out.view(np.float32)
            np.add(values, np.float32(0), out=values)

    def to_nearest(self, bits: Array, s: Array, buffer: Array, out: Array) -> None:
        """`BlockFormat.argmin`, where it is not the rounding."""
        y = buffer.view(np.float32)
        far = ~(np.abs(y) <= np.float32(2.0**20))
        if self.fmt.argmin_of == "y":
            numbers, s = y, np.ones(1, np.float32)
        else:
            numbers = bits.view(np.float32)
            far |= np.repeat(s > np.float32(2.0**125), buffer.size // s.size)  # a product may overflow
        far &= ~np.isnan(numbers)
        if far.any():
            x, d = numbers[far], np.repeat(s, buffer.size // s.size)[far]
            table = decode32(np.arange(1 << self.element.bits, dtype=np.uint8), self.element)
            out[far] = np.argmin(np.abs(table * d[:, None] - x[:, None]), axis=1)


def _in_block(cast: engine.Cast, kernel: str) -> Array | None:
    """The row of a cast to nearest even, into a format with mirrored ends and -0; None of another one."""
    stage = cast.stages[0]
    return stage.row if len(cast.stages) == 1 and stage.what == kernel and stage.kind in (0, 2) else None


def _with_nan(row: Array, nan: int) -> Array:
    """The row with another result for NaN."""
    row = row.copy()
    row[INDEX["nan"]] = nan
    return row


def _has_inverse(values: Array) -> bool:
    """Whether a quotient by any of them is the product with the reciprocal: both are rounded from the same number."""
    with np.errstate(all="ignore"):
        significand, _ = np.frexp(values)
        power = (significand == 0.5) & np.isfinite(1 / values)
    return bool((power | (values == 0) | ~np.isfinite(values)).all())


def _of_size(value: Any, count: int) -> Array:
    """A number for each block."""
    value = np.asarray(value, np.float32)
    return value if value.shape == (count,) else np.full(count, value, np.float32)


def _holds(condition: str, a: Array, made: Array, scaling: Scaling) -> Array:
    condition, _, source = condition.partition(" ")
    if source not in ("", scaling.source.name):
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


@lru_cache(maxsize=8)
def scale_values(name: str) -> Array:
    """Every code's value of a scale format."""
    return decode32(np.arange(256, dtype=np.uint8), name)


def decode_scales(fmt: BlockFormat, codes: Array) -> Array:
    """Stored scales as binary32 numbers."""
    return np.asarray(codes, np.float32) if fmt.scale == "fp32" else scale_values(fmt.scale).take(codes)
