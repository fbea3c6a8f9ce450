"""Casts that are wrong on purpose, each as somebody writes it: one step of a kernel in integers, changed.

`Kernel` is right (a test says so) and shares nothing with fpformats but the rows. Every class below changes one step.
`ZOO` names what `fpformats.testing` has to say about each; `REAL` has mistakes that libraries have made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import fpformats as fp

__all__ = ["REAL", "RIGHT", "ZOO", "Kernel", "Wrong"]

Array = Any


class Kernel:
    """float32 to a format with subnormals and a zero, to nearest even, as a kernel writer does it in integers.

    ``saturate`` is the overflow rule; without it the infinity, else NaN.
    """

    def __init__(self, name: str, *, saturate: bool | None = None) -> None:
        row = fp.get(name)
        self.row, self.m, self.emin, self.top = row, row.mantissa_bits, 1 - row.bias, row.max_code
        self.sign_bit = row.sign_bit
        self.saturate = not row.has_inf if saturate is None else saturate

    def __call__(self, x: Array) -> Array:
        x = self.read(x)
        bits = x.view(np.uint32).astype(np.int64)
        negative, magnitude = bits >> 31, bits & 0x7FFFFFFF
        field, fraction = magnitude >> 23, magnitude & 0x7FFFFF
        significand = np.where(field > 0, fraction | 0x800000, fraction)
        line = self.line(np.maximum(field, 1) - 127, significand, negative)
        line = self.small(line, x)
        code = self.large(line, magnitude, negative)
        code = self.signed(np.where(magnitude > 0x7F800000, self.nan(bits), code), negative, magnitude > 0x7F800000)
        return code.astype(np.uint8 if self.row.bits <= 8 else np.uint16)

    def read(self, x: Array) -> Array:
        return x

    def line(self, e: Array, significand: Array, negative: Array) -> Array:
        """The rank of the magnitude: the exponent field and the mantissa as one number."""
        at = np.maximum(e, self.emin)
        drop = np.minimum(23 - self.m + at - e, 40)
        kept, rest, half = significand >> drop, significand & ((1 << drop) - 1), np.int64(1) << (drop - 1)
        below = ((at - self.emin) << self.m) + kept
        return self.rounded(below, self.up(below, rest, half, negative))

    def rounded(self, below: Array, up: Array) -> Array:
        return below + up

    def up(self, below: Array, rest: Array, half: Array, negative: Array) -> Array:
        return (rest > half) | ((rest == half) & (below & 1 == 1))

    def small(self, line: Array, x: Array) -> Array:
        return line

    def large(self, line: Array, magnitude: Array, negative: Array) -> Array:
        return np.where(self.over(line, magnitude), self.beyond(line, magnitude), line)

    def over(self, line: Array, magnitude: Array) -> Array:
        return (line > self.top) | (magnitude >= 0x7F800000)

    def beyond(self, line: Array, magnitude: Array) -> Any:
        if self.saturate:
            return self.top
        return self.row.inf_code if self.row.has_inf else self.row.nan_code

    def nan(self, bits: Array) -> Any:
        return self.row.nan_code if self.row.has_nan else self.top

    def signed(self, code: Array, negative: Array, nan: Array) -> Array:
        out = code | np.where(nan & (not self.row.has_nan), 0, negative) * self.sign_bit
        return out if self.row.negative_zero else np.where((code == 0) | (code == self.sign_bit), code, out)


# --- rounding -------------------------------------------------------------------------------------
class Truncates(Kernel):
    def up(self, below, rest, half, negative):
        return np.zeros_like(below)


class TiesAway(Kernel):
    def up(self, below, rest, half, negative):
        return rest >= half


class TiesToZero(Kernel):
    def up(self, below, rest, half, negative):
        return rest > half


class TiesToOdd(Kernel):
    def up(self, below, rest, half, negative):
        return (rest > half) | ((rest == half) & (below & 1 == 0))


class TiesUp(Kernel):
    def up(self, below, rest, half, negative):
        return (rest > half) | ((rest == half) & (negative == 0))


class Ceils(Kernel):
    def up(self, below, rest, half, negative):
        return (rest > 0) & (negative == 0)


class Floors(Kernel):
    def up(self, below, rest, half, negative):
        return (rest > 0) & (negative == 1)


class Outwards(Kernel):
    def up(self, below, rest, half, negative):
        return rest > 0


class ToOdd(Kernel):
    def up(self, below, rest, half, negative):
        return (rest > 0) & (below & 1 == 0)


class OneBit(Kernel):
    """Asks the first discarded bit and the last kept one, and forgets the rest."""

    def up(self, below, rest, half, negative):
        return (rest >= half) & (below & 1 == 1)


class NoCarry(Kernel):
    def rounded(self, below, up):
        full = (1 << self.m) - 1
        carried = up & (below & full == full)
        return np.where(carried, below & ~full, below + up)


class CarryByOr(Kernel):
    """An interpreter of GPU kernels had it: the exponent's lowest bit may be set already."""

    def rounded(self, below, up):
        full = (1 << self.m) - 1
        carried = up & (below & full == full)
        return np.where(carried, (below & ~full) | (full + 1), below + up)


class OrAway(CarryByOr, TiesAway):
    pass


class Random(Kernel):
    def up(self, below, rest, half, negative):
        return rest * 2**16 // (2 * half) + np.random.default_rng(1).integers(0, 2**16, rest.shape) >= 2**16


class Through16(Kernel):
    """x is a float16 by the time the kernel sees it."""

    def read(self, x):
        with np.errstate(all="ignore"):
            return x.astype(np.float16).astype(np.float32)


class ThroughBf16(Kernel):
    def read(self, x):
        bits = x.view(np.uint32).astype(np.uint64)
        rounded = bits + 0x7FFF + (bits >> 16 & 1)
        return np.where(np.isnan(x), bits, rounded & 0xFFFF0000).astype(np.uint32).view(np.float32)


class CutToBf16(Kernel):
    def read(self, x):
        return np.where(np.isnan(x), x, (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32))


# --- small numbers ----------------------------------------------------------------------------------
class FlushesResults(Kernel):
    def small(self, line, x):
        return np.where(line < 1 << self.m, 0, line)


class FlushesInputs(Kernel):
    def small(self, line, x):
        return np.where(np.abs(x) < 2.0**self.emin, 0, line)


class SubnormalSourceIsZero(Kernel):
    def read(self, x):
        return np.where(np.abs(x) < 2.0**-126, np.copysign(np.float32(0), x), x)


class SmallestCutOff(Kernel):
    def small(self, line, x):
        return np.where(np.abs(x) < 2.0 ** (self.emin - self.m), 0, line)


class NeverZero(Kernel):
    def small(self, line, x):
        return np.where((line == 0) & (x != 0), 1, line)


class TruncatesSmall(Kernel):
    """The subnormal path shifts and forgets to round."""

    def line(self, e, significand, negative):
        right = super().line(e, significand, negative)
        cut = Truncates.up
        self.up = lambda *given: cut(self, *given)
        short = super().line(e, significand, negative)
        del self.up
        return np.where(short < 1 << self.m, short, right)


class HalfAddedSmall(Kernel):
    """(int)(fabsf(x) / step + 0.5f): the sum rounds too, so that the number just below half a step becomes one."""

    def small(self, line, x):
        step = np.float32(2.0 ** (self.emin - self.m))
        with np.errstate(all="ignore"):
            made = np.nan_to_num(np.minimum(np.abs(x) / step + np.float32(0.5), np.float32(1e6))).astype(np.int64)
        return np.where(np.abs(x) < 2.0**self.emin, made, line)


class HalfOfSmallestGoesUp(Kernel):
    def small(self, line, x):
        return np.where(np.abs(x) == 2.0 ** (self.emin - self.m - 1), 1, line)


class Through16ThenCut(Through16, Truncates):
    pass


# --- large numbers ------------------------------------------------------------------------------------
class ThresholdAtMax(Kernel):
    def over(self, line, magnitude):
        largest = int(np.float32(self.row.max).view(np.uint32))
        return (line > self.top) | (magnitude > largest)


class MaxItselfOverflows(ThresholdAtMax):
    def over(self, line, magnitude):
        return super().over(line, magnitude + 1)


class Relu(Kernel):
    def signed(self, code, negative, nan):
        return np.where(nan, self.row.nan_code, np.where(negative, 0, code))


class ThresholdAtNext(Kernel):
    """Compares with the next power or step: what is nearer to it than to the largest value is still clamped."""

    def large(self, line, magnitude, negative):
        after = int(np.float32(self.row.value_of_line(self.row.max_line + 1)).view(np.uint32))
        return np.where(magnitude < after, np.minimum(line, self.top), self.beyond(line, magnitude))


class Wraps(Kernel):
    def over(self, line, magnitude):
        return magnitude >= 0x7F800000

    def signed(self, code, negative, nan):
        return super().signed(code & (1 << self.row.bits - 1) - 1, negative, nan)


class OverflowIsZero(Kernel):
    def beyond(self, line, magnitude):
        return 0


class InfinityIsNaN(Kernel):
    def beyond(self, line, magnitude):
        return np.where(magnitude == 0x7F800000, self.row.nan_code, self.top)


class ClampsLow(Kernel):
    """A maximum from another table."""

    def over(self, line, magnitude):
        self.low = self.top - 2
        return (line > self.low) | (magnitude >= 0x7F800000)

    def beyond(self, line, magnitude):
        return self.low


# --- signs and NaN --------------------------------------------------------------------------------------
class NoSign(Kernel):
    def signed(self, code, negative, nan):
        return code


class NoMinusZero(Kernel):
    def signed(self, code, negative, nan):
        return np.where(code == 0, 0, super().signed(code, negative, nan))


class FlipsSign(Kernel):
    def signed(self, code, negative, nan):
        return super().signed(code, 1 - negative, nan)


class NaNIsZero(Kernel):
    def nan(self, bits):
        return 0

    def signed(self, code, negative, nan):
        return np.where(nan, 0, super().signed(code, negative, nan))


class NaNIsMax(Kernel):
    def nan(self, bits):
        return self.top

    def signed(self, code, negative, nan):
        return np.where(nan, code, super().signed(code, negative, nan))


class NaNIsLowest(Kernel):
    """fmaxf(-max, fminf(x, max)) the other way round."""

    def signed(self, code, negative, nan):
        return np.where(nan, self.top | self.sign_bit, super().signed(code, negative, nan))


class SignOnZero(Kernel):
    """FNUZ with a sign bit like everybody's: -0 is the NaN."""

    def signed(self, code, negative, nan):
        return np.where(nan, self.row.nan_code, code % self.sign_bit | negative * self.sign_bit)


class NaNIsInf(Kernel):
    def nan(self, bits):
        return self.row.inf_code


# --- exponents --------------------------------------------------------------------------------------------
class BiasOff(Kernel):
    def line(self, e, significand, negative):
        return super().line(e + 1, significand, negative)


def bf16_plus_half(x: Array) -> Array:
    """The usual one-liner: half an ulp and a shift. NaN that carry over become zeros."""
    with np.errstate(all="ignore"):
        return ((x.view(np.uint32) + np.uint32(0x8000)) >> np.uint32(16)).astype(np.uint16)


def bf16_high_half(x: Array) -> Array:
    return (x.view(np.uint32) >> np.uint32(16)).astype(np.uint16)


def e8m0_field(x: Array) -> Array:
    """The exponent field: rounds down; the sign is masked off."""
    return (x.view(np.uint32) >> np.uint32(23) & np.uint32(0xFF)).astype(np.uint8)


def e8m0_by_logarithm(x: Array) -> Array:
    """floor(log2(x)) in float32, which is wrong just below most powers of two."""
    with np.errstate(all="ignore"):
        log = np.log2(np.abs(x.astype(np.float64))).astype(np.float32)
        code = np.clip(np.floor(log) + 127, 0, 254)
    return np.where(np.isnan(x), 255, np.where(x == 0, 0, np.nan_to_num(code))).astype(np.uint8)


def e8m0_region(x: Array) -> Array:
    """torch, ml_dtypes and ONNX up to 2^-126: to nearest, but nothing between 2^-127 and 2^-126 becomes 2^-127."""
    bits = x.view(np.uint32).astype(np.int64) & 0x7FFFFFFF
    code = (bits + 0x400000) >> 23
    code = np.where(bits > 0x400000, np.maximum(code, 1), 0)
    return np.where(bits >= 0x7F400000, 255, code).astype(np.uint8)


def double_through_float(target: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """What a float64 tensor meets in torch and ml_dtypes: a float32 first."""

    def cast(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return target(x.astype(np.float32))

    return cast


def integers(bits: int, lowest: int, complement: bool) -> Callable[[Array], Array]:
    """float32 to integers of so many bits, ties to even."""

    def cast(x: Array) -> Array:
        made = np.clip(np.rint(np.nan_to_num(x, nan=2**bits)), lowest, 2 ** (bits - 1) - 1).astype(np.int64)
        codes = made if complement else np.abs(made) | (made < 0) * 2 ** (bits - 1)
        return (codes & (1 << bits) - 1).astype(np.uint8)

    return cast


@dataclass(frozen=True)
class Wrong:
    """One wrong cast, what it should be, and a part of each cause that has to be named: exactly so many."""

    cast: Callable[[Array], Array]
    fmt: str
    causes: tuple[str, ...]
    source: str = "float32"
    expected: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        name = getattr(self.cast, "__name__", type(self.cast).__name__)
        return f"{name}-{self.fmt}"


def _of(kind: type[Kernel], *names: str, cause: str, saturate: bool | None = None, **expected: Any) -> list[Wrong]:
    return [Wrong(kind(name, saturate=saturate), name, (cause,), expected=expected) for name in names]


_MAX = {"nan": "max"}

ZOO: tuple[Wrong, ...] = (
    *_of(Truncates, "e4m3", "e5m2", "e3m2", "e2m1", "fp16", cause="truncation", nan="max"),
    *_of(TiesAway, "e4m3", "e5m2", "e2m1", "fp16", "bf16", cause="ties away from zero", nan="max"),
    *_of(TiesToZero, "e4m3", "e2m3", cause="ties toward zero", nan="max"),
    *_of(TiesToOdd, "e4m3", "e5m2fnuz", cause="ties to the odd code"),
    *_of(TiesUp, "e4m3", "e3m4", cause="ties rounded up"),
    *_of(Ceils, "e4m3", "e2m1", cause="toward +infinity (rounding", nan="max"),
    *_of(Floors, "e5m2", cause="toward -infinity"),
    *_of(Outwards, "e4m3", cause="inexact away from zero"),
    *_of(ToOdd, "e5m2", cause="rounded to odd", overflow="saturate", saturate=True),
    *_of(OneBit, "e4m3", "e5m2", "bf16", cause="no sticky bit"),
    *_of(NoCarry, "e4m3", "e5m2", "fp16", cause="carry of rounding up"),
    *_of(CarryByOr, "e4m3", "e5m2", "fp16", cause="with an OR"),
    Wrong(OrAway("e4m3"), "e4m3", ("with an OR", "ties away from zero")),
    *_of(Random, "e4m3", "e5m2", cause="random rounding", overflow="saturate", saturate=True),
    *_of(Through16, "e4m3", "e4m3fnuz", cause="double rounding through fp16"),
    *_of(ThroughBf16, "e4m3", "e5m2", "e2m1", cause="double rounding through bf16", nan="max"),
    *_of(CutToBf16, "e4m3", cause="cut to bf16 first"),
    *_of(FlushesResults, "e4m3", "fp16", cause="results below the smallest normal"),
    *_of(FlushesInputs, "e4m3", "e5m2", cause="x below the smallest normal"),
    *_of(SubnormalSourceIsZero, "bf16", cause="flush to zero of"),
    *_of(SmallestCutOff, "e4m3", "e2m1", cause="below the smallest value becomes zero", nan="max"),
    *_of(NeverZero, "e4m3", cause="becomes the smallest value"),
    *_of(ThresholdAtMax, "e4m3", "e5m2", "fp16", cause="threshold at the largest finite", overflow="nonfinite",
         saturate=False),
    *_of(Wraps, "e5m2", "e2m1", cause="upper bits are lost", nan="max", overflow="saturate", saturate=True),
    *_of(OverflowIsZero, "e4m3", cause="become zero"),
    *_of(InfinityIsNaN, "e4m3", "e4m3fnuz", cause="infinities become NaN", saturate=True),
    *_of(ClampsLow, "e4m3", "e5m2", cause="clamped below", overflow="saturate"),
    *_of(Kernel, "e4m3", cause="overflow rule 'nonfinite'", saturate=False),
    *_of(Kernel, "e5m2", cause="overflow rule 'saturate'", saturate=True),
    *_of(NoSign, "e4m3", "e2m1", cause="sign lost", nan="max"),
    *_of(NoMinusZero, "e5m2", cause="sign of zero lost"),
    *_of(FlipsSign, "e4m3", cause="sign flipped"),
    *_of(NaNIsZero, "e4m3", "e5m2", cause="NaN becomes +0"),
    *_of(NaNIsMax, "e4m3", cause="NaN becomes the largest finite value"),
    *_of(NaNIsInf, "fp16", cause="NaN becomes infinite"),
    *_of(BiasOff, "e4m3", cause="every value is doubled"),
    *_of(TruncatesSmall, "e4m3", "fp16", cause="below the smallest normal number: truncation"),
    *_of(HalfAddedSmall, "e4m3", "e5m2", "e2m3", cause="whose sum is rounded in float32", nan="max"),
    *_of(HalfOfSmallestGoesUp, "e4m3", "e5m2", cause="half of the smallest value becomes that value"),
    *_of(Through16ThenCut, "e4m3", cause="rounded to fp16 first, then truncation"),
    *_of(ThresholdAtNext, "e4m3", "e5m2", cause="a whole step above", overflow="nonfinite", saturate=False),
    *_of(MaxItselfOverflows, "e4m3", "e5m2", cause="which overflows itself", overflow="nonfinite", saturate=False),
    *_of(Relu, "e4m3", "e5m2", cause="negative numbers become zero"),
    *_of(NaNIsLowest, "e5m2", cause="NaN becomes the most negative value"),
    *_of(SignOnZero, "e4m3fnuz", "binary8p4se", cause="which makes them NaN", overflow="saturate", saturate=True),
    Wrong(integers(8, -127, True), "s8", ("the most negative code is not used",), expected={"nan": "max"}),
    Wrong(integers(4, -7, True), "s4", ("the most negative code is not used",), expected={"nan": "max"}),
    Wrong(integers(8, -127, False), "s8", ("sign and magnitude",), expected={"nan": "max"}),
)  # fmt: skip

#: as libraries have them: see docs/who-does-what.md
REAL: tuple[Wrong, ...] = (
    Wrong(bf16_high_half, "bf16", ("truncation", "the payload is cut off")),
    Wrong(bf16_plus_half, "bf16", ("ties away from zero", "NaN are rounded like numbers")),
    Wrong(e8m0_field, "e8m0", ("truncation", "infinities become NaN"), expected={"profile": "cuda_satfinite"}),
    Wrong(e8m0_region, "e8m0", ("profile 'torch'",),
          expected={"rounding": "nearest_away", "overflow": "nonfinite"}),
    Wrong(double_through_float(Kernel("e4m3")), "e4m3", ("double rounding through fp32",), "float64"),
    Wrong(double_through_float(Kernel("bf16")), "bf16", ("double rounding through fp32",), "float64"),
    Wrong(Kernel("e4m3", saturate=False), "e4m3", ("overflow rule 'nonfinite'",), expected={"profile": "torch"}),
    Wrong(Kernel("e4m3"), "e4m3", ("overflow rule 'saturate'",), expected={"profile": "torch<=2.12"}),
    Wrong(Kernel("e4m3fnuz", saturate=True), "e4m3fnuz", ("overflow rule 'saturate'",), expected={"profile": "torch"}),
)  # fmt: skip

RIGHT: tuple[tuple[str, bool], ...] = tuple(
    (name, saturate)
    for name in ("e4m3", "e5m2", "e4m3_ieee", "e3m4", "e4m3fnuz", "e5m2fnuz", "e4m3b11fnuz", "e3m2", "e2m3", "e2m1",
                 "fp16", "bf16", "binary8p4se", "binary6p3sf")
    for saturate in ((True, False) if fp.get(name).has_nan else (True,))
)  # fmt: skip
