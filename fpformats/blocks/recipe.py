"""What a recipe does with a number and its scale, whatever the array: made once for an input type and a rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import engine
from ..block_format import BlockFormat
from ..elements import decode32, quantize32
from ..format import Format
from ..kernels.rows import INDEX, PREFIX
from ..plan import Stage, decode_plan, encode_plan, quantize_plan
from ..registry import get_element
from ..rounding import Rules
from .expressions import Factor, evaluate, factor, names

__all__ = ["Recipe", "recipe", "scale_values", "table"]

Array = NDArray[Any]
_FP32 = get_element("fp32")
#: where a distance in binary32 no longer tells the values of an element apart, and a product may overflow
_FAR, _LARGE_SCALE = np.float32(2.0**20), np.float32(2.0**125)
#: where it is the same from all of them, over the largest of them
_ALIKE = np.float32(2.0**28)
#: the kernels whose rows say how far two's complement reaches
_TWOS_COMPLEMENT = [("encode8", 4), ("modes32", 10)]
#: casts as bodies of `kernels.BLOCK_BODIES`: to nearest even, of formats with mirrored ends and -0 and of integers
_IN_BLOCK = {
    ("encode8", 0): "code",
    ("encode8", 2): "code",
    ("round32", 0): "value",
    ("round32", 2): "value",
    ("encode8", 4): "integer_code",
    ("modes32", 10): "integer_value",
    ("decode8", 0): "decoded",
    ("decode8", 1): "decoded_with_inf",
    ("decode8", 3): "decoded_twos_complement",
}


@lru_cache(maxsize=512)
def recipe(
    fmt: BlockFormat, source: Format, rounding: str = "", random_bits: int | None = None, seeded: bool = False
) -> Recipe:
    """The recipe for numbers that came in this type, its elements rounded by the caller's mode if there is one."""
    return Recipe(fmt, source, rounding, random_bits, seeded)


@dataclass(frozen=True)
class Recipe:
    """See `recipe`."""

    fmt: BlockFormat
    source: Format
    rounding: str
    random_bits: int | None
    seeded: bool

    @cached_property
    def environment(self) -> dict[str, Any]:
        """What expressions may name beside the array's own numbers."""
        narrow = self.source.name in ("bf16", "fp16")

        def again(value: Any) -> Any:
            if narrow:
                return quantize32(np.array(value, np.float32, order="C"), self.source, Rules(nan="max"))
            return np.asarray(value, np.float32)

        return {
            "d": again,
            "MAX": np.float32(_FP32.max),
            "DMAX": np.float32((self.source if narrow else _FP32).max),
            "DEPS": np.float32((self.source if narrow else _FP32).eps),
            "DROOT": np.float32(2.0 ** ((self.source if narrow else _FP32).emin // 2)),
        }

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
    def nan_code(self) -> int:
        """The element code of a NaN."""
        return self.element.max_code if self.fmt.nan_code is None else self.fmt.nan_code

    # --- scales ---------------------------------------------------------------------------------
    @cached_property
    def way(self) -> Factor:
        """How x becomes y."""
        way = factor(self.fmt.y)
        assert way is not None
        return way

    @cached_property
    def out(self) -> Factor | None:
        """How an element becomes a value; None where `BlockFormat.q` is not linear."""
        return factor(self.fmt.q)

    @cached_property
    def out_divides(self) -> bool:
        return self.out is not None and self.out.divide

    @cached_property
    def used(self) -> Array:
        """Every code's scale as `y` uses it."""
        s = scale_values(self.fmt.scale).copy()
        for code, value in self.fmt.scale_at:
            s[code] = value
        return s

    def is_of_code(self, code: int | None, value: float) -> bool:
        """Whether that is the scale of the code anyway."""
        return code is not None and np.array_equal(self.used[code], np.float32(value), equal_nan=True)

    @cached_property
    def divides(self) -> bool:
        """Whether y is a quotient, and no product with a reciprocal."""
        if not self.way.divide or self.fmt.scale == "fp32" or self.fmt.s or self.way.expression != "s":
            return self.way.divide
        return not _has_inverse(np.array([*self.used, *(row[2] for row in self.fmt.special)], np.float32))

    @cached_property
    def factors(self) -> Array | None:
        """Every code's factor, where no second level has a say."""
        made = None if self.fmt.s else self._table(self.way.expression, self.used)
        return None if made is None else self.as_factor(made)

    @cached_property
    def values(self) -> Array | None:
        """Every code's factor on the way out, where no second level has a say."""
        return None if self.out is None else self._table(self.out.expression, scale_values(self.fmt.scale))

    def _table(self, text: str, scales: Array) -> Array | None:
        return None if names(text) & {"z", "G"} else table(text, {**self.environment, "s": scales, "t": scales})

    def as_factor(self, divisor: Array) -> Array:
        """What numbers are multiplied with, or divided by."""
        with np.errstate(all="ignore"):
            return divisor if self.divides or not self.way.divide else np.float32(1) / divisor

    # --- elements -------------------------------------------------------------------------------
    @cached_property
    def again(self) -> engine.Cast | None:
        """The second rounding of y, to the input's type."""
        if not self.way.again or self.source.name not in ("bf16", "fp16"):
            return None
        return engine.Cast(quantize_plan(_FP32, self.source, Rules(nan="max"), _FP32).stages)

    @cached_property
    def stages(self) -> tuple[tuple[Stage, ...], tuple[Stage, ...]]:
        """To codes and to values. The lowest number of two's complement is left out where the recipe says so."""
        made = (
            encode_plan(_FP32, self.element, self.rules, self.seeded).stages,
            quantize_plan(_FP32, self.element, self.rules, _FP32, self.seeded).stages,
        )
        if self.fmt.symmetric and [(stages[0].what, stages[0].kind) for stages in made] == _TWOS_COMPLEMENT:
            code, value = ((replace(first, row=_with(first.row, largest_more=0)), *rest) for first, *rest in made)
            return code, value
        return made

    @cached_property
    def clamps(self) -> bool:
        """Whether y itself has to be clamped, to leave that number out."""
        first = self.stages[0][0]
        return self.fmt.symmetric and (first.row is None or bool(first.row[INDEX["largest_more"]]))

    @cached_property
    def encode(self) -> engine.Cast:
        return engine.Cast(self.stages[0])

    @cached_property
    def quantize(self) -> engine.Cast:
        return engine.Cast(self.stages[1])

    @cached_property
    def in_one(self) -> bool:
        """Whether scaling and rounding to nearest are all there is between a number and its element.

        Where it `may_be_far`, they are not.
        """
        return self.again is None and not self.clamps and not self.fmt.y_at and self.fmt.overflow == "saturate"

    @cached_property
    def ahead(self) -> str:
        """The operation with the scale, in `kernels.OPERATIONS`."""
        drops = self.fmt.zero == "drop_exact" and self.element.has_negative_zero
        return _over(self.divides) + ("+0" if drops else "")

    @cached_property
    def fused_codes(self) -> tuple[str, Array] | None:
        """(name, row) of the loop that scales and encodes; None where that is not all."""
        body, row = ("", None) if not self.in_one else self._nearest_zero() or self._nearest(self.encode)
        return None if row is None else (f"{body} {self.ahead}", _with(row, nan=self.nan_code))

    def _nearest(self, cast: engine.Cast) -> tuple[str, Array | None]:
        return _in_block(cast) if self.fmt.zero in ("keep", "drop_exact") else ("", None)

    def _nearest_zero(self) -> tuple[str, Array] | None:
        """Ties towards zero are two stages elsewhere: to a value, and that to its code."""
        first, second = self.stages[0] if len(self.stages[0]) == 2 else (None, None)
        body, row = _in_block(engine.Cast([second])) if second else ("", None)
        if first is None or first.row is None or row is None or body != "code":
            return None
        if self.rules.rounding != "nearest_zero" or self.fmt.zero not in ("keep", "drop", "drop_exact"):
            return None
        sign = 0 if self.fmt.zero == "drop" else self.element.sign_bit
        longer = np.zeros(PREFIX["modes"], row.dtype)
        longer[: row.size] = row
        return "nearest_zero_code", _with(longer, tie=int(first.row[INDEX["tie"]]), zero_sign=sign)

    @cached_property
    def fused_values(self) -> tuple[str, Array] | None:
        """The same of the one that scales, rounds and scales back."""
        body, row = self._nearest(self.quantize) if self.in_one and self.out is not None else ("", None)
        if row is None:
            return None
        value = decode32(np.array([self.nan_code], np.uint8), self.element).view(np.uint32)
        return f"{body} {self.ahead} {_over(self.out_divides)}", _with(row, nan=int(value[0]))

    @cached_property
    def fused_decode(self) -> tuple[str, Array] | None:
        """The same of the one that decodes and scales."""
        body, row = _in_block(engine.Cast(decode_plan(self.element, _FP32).stages))
        return None if row is None or self.out is None else (f"{body} {_over(self.out_divides)}", row)

    def scaled(self, kernel: Callable[..., int], bits: Array, buffer: Array, f: Array, k: int) -> None:
        """y: the numbers by their blocks' factors, rounded as the recipe says, before they are elements."""
        kernel(bits, buffer, f.view(np.uint32), self.ahead if self.again is None else _over(self.divides), k)
        values = buffer.view(np.float32)
        if self.again is not None:
            self.again(buffer, buffer)
            if self.fmt.zero == "drop_exact":
                np.add(values, np.float32(0), out=values)
        if self.fmt.zero == "minus_exact":
            values[values == 0] = np.float32(-0.0)
        for old, new in self.fmt.y_at:
            at = np.abs(values) == np.float32(old)
            values[at] = np.copysign(np.float32(new), values[at])
        if self.clamps:
            np.maximum(values, np.float32(-float(self.element.max)), out=values)

    def may_be_far(self, a: Array, codes: Array, s: Array | None, f: Array) -> bool:
        """Whether a number of blocks with these amaxes, scales and factors may be one that `to_nearest` changes."""
        if not self.fmt.argmin:
            return False
        most = a / f if self.divides else a * f
        s = self.used.take(codes) if s is None else s
        if self.nan_code == 0 and self.fmt.zero == "drop":  # 0 / 0 and x / inf are code 0 anyhow
            most[a == 0] = 0
            s = np.where(np.isinf(s), np.float32(0), s)
        return not (most.max() <= _FAR / 2 and s.max() <= _LARGE_SCALE / 2)

    def to_nearest(self, bits: Array, s: Array, buffer: Array, out: Array) -> None:
        """`BlockFormat.argmin`, where it is not the rounding."""
        y = buffer.view(np.float32)
        size = np.abs(y)
        far, all_alike = ~(size <= _FAR), size >= _ALIKE * np.float32(self.element.max)
        if self.fmt.argmin_of == "y":
            numbers, s = y, np.ones(1, np.float32)
        else:
            numbers = bits.view(np.float32)
            every = buffer.size // s.size
            large = np.repeat(s > _LARGE_SCALE, every)  # a product may overflow
            far |= large
            all_alike = (all_alike & ~large) | (np.repeat((s == 0) | np.isinf(s), every) & ~np.isnan(numbers))
        out[all_alike] = 0  # the first of them
        far &= ~(all_alike | np.isnan(numbers))
        if far.any():
            x, d = numbers[far], np.repeat(s, buffer.size // s.size)[far]
            table = decode32(np.arange(1 << self.element.bits, dtype=np.uint8), self.element)
            out[far] = np.argmin(np.abs(table * d[:, None] - x[:, None]), axis=1)


def table(text: str, environment: dict[str, Any]) -> Array:
    """An expression for every code of a scale."""
    with np.errstate(all="ignore"):
        made = np.asarray(evaluate(text, environment), np.float32)
    return made if made.shape == (256,) else np.full(256, made)


@lru_cache(maxsize=8)
def scale_values(name: str) -> Array:
    """Every code's value of a scale format."""
    return decode32(np.arange(256, dtype=np.uint8), name)


def _in_block(cast: engine.Cast) -> tuple[str, Array | None]:
    """The body of `kernels.BLOCK_BODIES` that does what a cast does, and its row; no row where there is none."""
    stage = cast.stages[0]
    body = _IN_BLOCK.get((stage.what, stage.kind), "") if isinstance(stage.what, str) else ""
    return (body, stage.row) if body and len(cast.stages) == 1 else ("", None)


def _over(divides: bool) -> str:
    return "over" if divides else "times"


def _with(row: Any, **values: int) -> Array:
    """The row with other integers."""
    made: Array = row.copy()
    for name, value in values.items():
        made[INDEX[name]] = value
    return made


def _has_inverse(values: Array) -> bool:
    """Whether a quotient by any of them is the product with the reciprocal: both are rounded from the same number."""
    with np.errstate(all="ignore"):
        significand, _ = np.frexp(values)
        power = (significand == 0.5) & np.isfinite(1 / values)
    return bool((power | (values == 0) | ~np.isfinite(values)).all())
