"""Numbers and roundings of the block models: exact scalar arithmetic, one explicit rounding an operation.

A number is a Python float used as a container: it always holds a value of a narrower binary format exactly (float32,
bfloat16, an element format; float64 in one recipe), with its signed zeros, infinities and NaN. Two finite nonzero
numbers are never combined in float: they become ratios of integers, the result is exact, and `Format.nearest` rounds
it once. Only where an operand is 0, inf or NaN is the float operation used, because IEEE then has nothing to round.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple

INF = math.inf
NAN = math.nan


class Format(NamedTuple):
    """A binary format: explicit mantissa bits, least exponent, code of the largest finite magnitude, sign bit, NaN."""

    bits: int
    emin: int
    top: int
    sign: int
    nan: int

    @property
    def max(self) -> float:
        return self.value(self.top)

    @property
    def emax(self) -> int:
        return (self.top >> self.bits) - 1 + self.emin

    def value(self, code: int) -> float:
        """The value of a code, the sign bit included; NaN beyond the largest finite value."""
        magnitude = code & (self.sign - 1)
        if magnitude > self.top:
            return NAN
        steps = magnitude & ((1 << self.bits) - 1)
        if magnitude >> self.bits:
            steps += 1 << self.bits
        value = math.ldexp(steps, max((magnitude >> self.bits) - 1, 0) + self.emin - self.bits)
        return -value if code & self.sign else value

    def lattice(self, n: int, d: int, ties: str = "even") -> int:
        """The code of the magnitude nearest to n/d > 0, as if there were no largest. Ties: "even", "zero", "away"."""
        e = n.bit_length() - d.bit_length()
        if n << max(-e, 0) < d << max(e, 0):
            e -= 1  # now 2**e <= n/d < 2**(e + 1)
        e = max(e, self.emin)
        step = e - self.bits
        d <<= max(step, 0)
        q, r = divmod(n << max(-step, 0), d)
        tie = {"even": q & 1, "zero": 0, "away": 1}[ties]
        return q + (2 * r > d or (2 * r == d and tie)) + ((e - self.emin) << self.bits)

    def nearest(self, n: int, d: int) -> float:
        """n/d, d > 0, n != 0, rounded to nearest even; an infinity beyond the largest. (float32 and the like.)"""
        code = self.lattice(abs(n), d)
        value = INF if code > self.top else self.value(code)
        return -value if n < 0 else value

    def encode(self, y: float, ties: str = "even", inf: int | None = None) -> int:
        """The code of y as an element: -0 kept, NaN is `nan`, and overflow the largest unless `inf` is given."""
        sign = self.sign if math.copysign(1, y) < 0 else 0
        if math.isnan(y):
            return self.nan
        if y == 0:
            return sign
        code = self.top + 1 if math.isinf(y) else self.lattice(*abs(y).as_integer_ratio(), ties)
        return sign | (code if code <= self.top else self.top if inf is None else inf)


F64 = Format(52, -1022, 0x7FEFFFFFFFFFFFFF, 1 << 63, 0x7FF8000000000000)
F32 = Format(23, -126, 0x7F7FFFFF, 1 << 31, 0x7FC00000)
BF16 = Format(7, -126, 0x7F7F, 1 << 15, 0x7FC0)
F16 = Format(10, -14, 0x7BFF, 1 << 15, 0x7E00)
E4M3 = Format(3, -6, 0x7E, 0x80, 0x7F)
E5M2 = Format(2, -14, 0x7B, 0x80, 0x7F)
E2M3 = Format(3, 0, 0x1F, 0x20, 0x1F)
E3M2 = Format(2, -2, 0x1F, 0x20, 0x1F)
E2M1 = Format(1, 0, 0x7, 0x8, 0x7)
ELEMENTS = {"e4m3": E4M3, "e5m2": E5M2, "e2m3": E2M3, "e3m2": E3M2, "e2m1": E2M1}
FLT_MAX = F32.max


def special(a: float) -> bool:
    """Zero, an infinity or a NaN."""
    return a == 0 or not math.isfinite(a)


def rn(a: float, to: Format) -> float:
    """A number rounded to a narrower format."""
    return a if special(a) else to.nearest(*a.as_integer_ratio())


def _through(to: Format, n: int, d: int) -> float:
    """An operation's exact result; bfloat16 and float16 operations are float32 ones, rounded again."""
    return rn(F32.nearest(n, d), to) if to in (BF16, F16) else to.nearest(n, d)


def mul(a: float, b: float, to: Format = F32) -> float:
    if special(a) or special(b):
        return a * b
    (n, d), (p, q) = a.as_integer_ratio(), b.as_integer_ratio()
    return _through(to, n * p, d * q)


def div(a: float, b: float, to: Format = F32) -> float:
    if b == 0:
        return NAN if a == 0 or math.isnan(a) else math.copysign(INF, a) * math.copysign(1, b)
    if special(a) or special(b):
        return a / b
    (n, d), (p, q) = a.as_integer_ratio(), b.as_integer_ratio()
    return _through(to, n * q if p > 0 else -n * q, d * abs(p))


def rcp(a: float, to: Format = F32) -> float:
    return div(1.0, a, to)


def add(a: float, b: float, to: Format = F32) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a + b
    (n, d), (p, q) = a.as_integer_ratio(), b.as_integer_ratio()
    total = n * q + p * d
    return _through(to, total, d * q) if total else 0.0


def pow2(k: int) -> float:
    return math.ldexp(1.0, k)


def amax(xs: Iterable[float]) -> float:
    """The largest magnitude; a NaN makes it NaN."""
    return functools.reduce(lambda a, x: a if math.isnan(a) or abs(x) <= a else abs(x), xs, 0.0)


def amax_numbers(xs: Iterable[float]) -> float:
    """The largest magnitude of what is not NaN, as fmaxf does it."""
    return max((abs(x) for x in xs if not math.isnan(x)), default=0.0)


def bits32(a: float) -> int:
    """The bits of a float32 magnitude."""
    return int(struct.unpack("<I", struct.pack("<f", a))[0]) & 0x7FFFFFFF


def field(a: float) -> int:
    """The exponent field of a float32: 0 for zero and subnormals, 255 for inf and NaN."""
    return bits32(a) >> 23


@functools.cache
def log2f(v: float) -> float:
    """RN(log2 v) for a finite float32 v > 0.

    With v = 2**e * m, 1 <= m < 2, the result is exact for m = 1. Else log2 v is irrational, so there are no ties, and
    60 digits of it decide the rounding: the nearest that 2**31 numbers can be expected to come to a tie takes 25.
    """
    m, e = math.frexp(v)
    if m == 0.5:
        return float(e - 1)
    with localcontext() as context:
        context.prec = 60
        log = Fraction(e + Decimal(m).ln() / Decimal(2).ln())
    return F32.nearest(log.numerator, log.denominator)


def floor_log2f(v: float) -> int:
    """floor(RN(log2 v)): one more than the exponent just below a power of two.

    That needs a logarithm within half a unit, at most 2**-17, of the next integer, hence a number within 2**-16 of it.
    """
    m, e = math.frexp(v)
    return e - 1 if m < 1 - 2**-16 else math.floor(log2f(v))


def ceil_log2f(v: float) -> int:
    """ceil(RN(log2 v)): the exponent itself just above a power of two."""
    return math.ceil(log2f(v))


TABLE = [E2M1.value(code) for code in range(16)]


def nearest_of_table(y: float, d: float = 1.0) -> int:
    """The first index of 16 values k * d with the least RN(|k * d - y|): ties toward zero, -0 to 0."""
    if math.isnan(y):
        return 0
    errors = [abs(add(mul(k, d), -y)) for k in TABLE]
    return errors.index(min(errors))
