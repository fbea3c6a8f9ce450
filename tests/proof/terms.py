"""The bodies' vocabulary on z3's terms.

Every choice that a machine has is left open, so that a proof holds for all of them:

* the bits of a NaN that an operation returns are any NaN's: sign, payload and quiet bit are free;
* `x + e * c` may be one fused operation or two. Where e is a power of two and the product is a normal number or zero, it is
  exact and both agree (`test_lemmas` proves it), so one addition of the exact product is the meaning. Anywhere else the
  sum is *any* float, and a body is right only if its result does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from fpformats.kernels.bodies import Words

__all__ = ["Bits", "Float", "PlainTerms", "Terms", "exact_product"]


class Bits:
    """An unsigned integer of fixed width."""

    __hash__ = None

    def __init__(self, term: z3.BitVecRef) -> None:
        self.term = term

    def __add__(self, other: Bits) -> Bits:
        return Bits(self.term + other.term)

    def __sub__(self, other: Bits) -> Bits:
        return Bits(self.term - other.term)

    def __mul__(self, other: Bits) -> Bits:
        return Bits(self.term * other.term)

    def __and__(self, other: Bits) -> Bits:
        return Bits(self.term & other.term)

    def __or__(self, other: Bits) -> Bits:
        return Bits(self.term | other.term)

    def __xor__(self, other: Bits) -> Bits:
        return Bits(self.term ^ other.term)

    def __lshift__(self, other: Bits) -> Bits:
        return Bits(self.term << other.term)

    def __rshift__(self, other: Bits) -> Bits:
        return Bits(z3.LShR(self.term, other.term))

    def __lt__(self, other: Bits) -> z3.BoolRef:
        return z3.ULT(self.term, other.term)

    def __le__(self, other: Bits) -> z3.BoolRef:
        return z3.ULE(self.term, other.term)

    def __gt__(self, other: Bits) -> z3.BoolRef:
        return z3.UGT(self.term, other.term)

    def __eq__(self, other: Bits) -> z3.BoolRef:
        return self.term == other.term


class Float:
    """An IEEE number; `bits` are known where it is a cast of bits."""

    __hash__ = None

    def __init__(self, term: z3.FPRef, terms: Terms, bits: z3.BitVecRef | None = None) -> None:
        self.term, self.terms, self.bits = term, terms, bits

    def __add__(self, other: Float | Product) -> Float:
        if isinstance(other, Product):
            return self.terms.sum(self, other)
        return Float(z3.fpAdd(self.terms.nearest, self.term, other.term), self.terms)

    def __sub__(self, other: Float) -> Float:
        return Float(z3.fpSub(self.terms.nearest, self.term, other.term), self.terms)

    def __mul__(self, other: Float) -> Float | Product:
        return self.terms.product(self, other)

    def __lt__(self, other: Float) -> z3.BoolRef:
        return z3.fpLT(self.term, other.term)

    def __gt__(self, other: Float | Product) -> z3.BoolRef:
        return z3.fpGT(self.term, other.term)

    def __eq__(self, other: Float) -> z3.BoolRef:
        return z3.fpEQ(self.term, other.term)


class Product:
    """A product of two casts of bits, before anybody has said whether it is rounded."""

    def __init__(self, power: Float, factor: Float) -> None:
        self.terms = power.terms
        self.exact, self.value = exact_product(power.bits, factor.bits, self.terms)

    @property
    def term(self) -> z3.FPRef:
        """The product alone."""
        return z3.If(self.exact, self.value, self.terms.any_float())


def exact_product(power: z3.BitVecRef, factor: z3.BitVecRef, terms: Terms) -> tuple[z3.BoolRef, z3.FPRef]:
    """(whether power is 2^k and power * factor a normal number or zero, that product by adding exponents)."""
    m, e = terms.mantissa, terms.exponent
    bias, top = (1 << (e - 1)) - 1, (1 << e) - 1

    def field(bits: z3.BitVecRef) -> z3.BitVecRef:
        return z3.ZeroExt(2, z3.Extract(m + e - 1, m, bits))

    total = field(power) + field(factor) - bias
    zero = z3.Extract(m + e - 1, 0, factor) == 0
    normal = z3.And(field(factor) != 0, field(factor) != top, total > 0, total < top)
    exact = z3.And(z3.Extract(m - 1, 0, power) == 0, field(power) != 0, field(power) != top, z3.Or(zero, normal))
    sign = z3.Extract(m + e, m + e, power ^ factor)
    exponent = z3.If(zero, z3.BitVecVal(0, e), z3.Extract(e - 1, 0, total))
    return exact, z3.fpFP(sign, exponent, z3.Extract(m - 1, 0, factor))


class Terms:
    """The vocabulary at one width, and the free choices made so far."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.exponent, self.mantissa = (8, 23) if width == 32 else (11, 52)
        self.sort = z3.FPSort(self.exponent, self.mantissa + 1)
        self.nearest = z3.RNE()
        self._free = 0

    def const(self, value: int) -> Bits:
        return Bits(z3.BitVecVal(int(value), self.width))

    def row(self, row: Any) -> tuple[Bits, ...]:
        """A row as constants."""
        return tuple(self.const(value) for value in row)

    def fresh_start(self) -> None:
        """Free choices are named anew: what two runs of a body have in common is then the same term."""
        self._free = 0

    def any_bits(self) -> z3.BitVecRef:
        """Bits that nothing is known of."""
        self._free += 1
        return z3.BitVec(f"free{self._free}", self.width)

    def any_float(self) -> z3.FPRef:
        """A number that nothing is known of."""
        return z3.fpBVToFP(self.any_bits(), self.sort)

    def product(self, power: Float, factor: Float) -> Float | Product:
        return Product(power, factor)

    def sum(self, x: Float, product: Product) -> Float:
        """x + e * c, fused or not."""
        rounded_once = z3.fpAdd(self.nearest, x.term, product.value)
        return Float(z3.If(product.exact, rounded_once, self.any_float()), self)

    def to_float(self, x: Bits) -> Float:
        return Float(z3.fpBVToFP(x.term, self.sort), self, x.term)

    def to_bits(self, x: Float) -> Bits:
        if x.bits is not None:
            return Bits(x.bits)
        free = self.any_bits()
        quiet = z3.BitVecVal(((1 << (self.exponent + 1)) - 1) << (self.mantissa - 1), self.width)
        any_nan = z3.If(z3.fpIsNaN(z3.fpBVToFP(free, self.sort)), free, quiet)
        return Bits(z3.If(z3.fpIsNaN(x.term), any_nan, z3.fpToIEEEBV(x.term)))

    def to_int(self, x: Float) -> Bits:
        """Toward zero; any integer for what is beyond the width."""
        limit = z3.FPVal(1, self.width, self.sort)
        inside = z3.And(z3.fpGEQ(x.term, z3.FPVal(0, self.sort)), z3.fpLT(x.term, limit))
        return Bits(z3.If(inside, z3.fpToUBV(z3.RTZ(), x.term, z3.BitVecSort(self.width)), self.any_bits()))

    def from_int(self, x: Bits) -> Float:
        return Float(z3.fpUnsignedToFP(self.nearest, x.term, self.sort), self)

    def where(self, condition: z3.BoolRef, a: Any, b: Any) -> Any:
        chosen = z3.If(condition, a.term, b.term)
        if isinstance(a, Bits):
            return Bits(chosen)
        known = a.bits is not None and b.bits is not None
        return Float(chosen, self, z3.If(condition, a.bits, b.bits) if known else None)

    def minimum(self, a: Bits, b: Bits) -> Bits:
        return self.where(a < b, a, b)

    def maximum(self, a: Bits, b: Bits) -> Bits:
        return self.where(a > b, a, b)

    def words(self) -> Words:
        """The vocabulary."""

        def same(x: Any) -> Any:
            return x

        def function(body: Callable[..., Any]) -> Callable[..., Any]:
            return body

        return Words(
            mantissa=self.mantissa,
            exponent=self.exponent,
            uint=same,
            const=self.const,
            float=same,
            to_float=self.to_float,
            to_bits=self.to_bits,
            to_int=self.to_int,
            from_int=self.from_int,
            where=self.where,
            minimum=self.minimum,
            maximum=self.maximum,
            function=function,
        )


class PlainTerms(Terms):
    """The same with no choice of fusing: every product is rounded, as NumPy does it."""

    def product(self, power: Float, factor: Float) -> Float:
        return Float(z3.fpMul(self.nearest, power.term, factor.term), self)
