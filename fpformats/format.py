"""What a format *is*: a frozen row of integers, and the facts that follow from it.

Rules of this file

1. A `Format` is a set of values and their codes. How a number gets in (rounding, overflow) is
   never part of it.
2. Everything is exact: integers and `fractions.Fraction`, no logarithm, no float arithmetic.
3. Nothing of ours is imported here.

The line
--------
Forget the sign. The remaining code, read as an integer, is the *line*: the rank of the magnitude.
With M mantissa bits and emin the exponent of the smallest normal number,

    value(line) = line * 2^(emin - M)                                    for line < 2^M
    value(line) = (2^M + line mod 2^M) * 2^(line div 2^M - 1 + emin - M)   above

so subnormals, normals and the carry from one binade into the next are one sequence. Where finite
values end (`max_line`) and what stands above them (infinities, NaN) is all that tells OCP's, AMD's,
IEEE's and P3109's formats apart. A format without a zero (E8M0) uses the same line from its first
normal number on: its code 0 is line 2^M.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

__all__ = ["Format", "pow2"]


def pow2(exponent: int) -> Fraction:
    """2**exponent, exact for any integer exponent."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def _plain(value: Fraction) -> int | float | Fraction:
    """The friendliest exact Python number: float where exact, else int, else Fraction."""
    try:
        as_float = float(value)
    except OverflowError:
        return int(value) if value.denominator == 1 else value
    return as_float if Fraction(as_float) == value else value


if TYPE_CHECKING:
    _fact = cached_property
else:

    class _fact(cached_property):
        """Without the lock that it has up to Python 3.11: two threads may both find the same fact."""

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value


@dataclass(frozen=True, kw_only=True)
class Format:
    """One element format: the set of values and the code of each.

    Parameters
    ----------
    name : str
        What results and error messages call it. The only positional argument.
    exponent_bits, mantissa_bits : int
        Widths of the two fields; the leading 1 is not counted.
    bias : int, optional
        Exponent bias; IEEE 754's 2**(exponent_bits - 1) - 1 by default.
    signed : bool
        Whether there is a sign bit.
    nan_codes, inf_codes : int, optional
        How many codes at the top of each half-line are NaN, and how many (0 or 1) just below them
        are infinite. By default as IEEE 754: the whole top exponent, ``2**mantissa_bits - 1`` and 1;
        with `emax` given or no exponent bits, none.
    negative_zero : bool
        Whether the sign-only code is -0. Where it is not (FNUZ, P3109), that code is the NaN.
    has_zero : bool
        False only for pure scale formats such as E8M0.
    subnormals : bool
        False for formats whose smallest positive value is the smallest normal number.
    emax : int, optional
        Largest exponent of a finite value, when it is less than the field allows.
    twos_complement : bool
        Codes below zero are two's complement, and the sign-only code is the most negative number
        (MXINT8's element).
    clause : str
        Where the facts come from.

    Examples
    --------
    >>> from fpformats import Format
    >>> toy = Format("toy", exponent_bits=3, mantissa_bits=2, bias=3, emax=2, subnormals=False)
    >>> toy.max, toy.smallest_normal, toy.eps
    (7.0, 0.25, 0.25)
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int | None = None
    signed: bool = True
    nan_codes: int | None = None
    inf_codes: int | None = None
    negative_zero: bool = True
    has_zero: bool = True
    subnormals: bool = True
    emax: int | None = None
    twos_complement: bool = False
    clause: str = "user-defined"

    def __init__(self, name: str, **fields: object) -> None:
        own = type(self).__dataclass_fields__
        if unknown := [key for key in fields if key not in own]:
            raise TypeError(f"Format({name!r}) has no field {unknown[0]!r}; it has {', '.join(own)}")
        if missing := [key for key in ("exponent_bits", "mantissa_bits") if key not in fields]:
            raise TypeError(f"Format({name!r}) needs {missing[0]}=")
        object.__setattr__(self, "name", name)
        for key, spec in own.items():
            if key != "name":
                object.__setattr__(self, key, fields.get(key, spec.default))
        self._complete()

    def _complete(self) -> None:
        for key in ("exponent_bits", "mantissa_bits", "bias", "nan_codes", "inf_codes", "emax"):
            value = getattr(self, key)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise TypeError(f"Format({self.name!r}): {key} must be an int, got {value!r}")
        e, m = self.exponent_bits, self.mantissa_bits
        if not (0 <= e <= 16 and 0 <= m <= 52 and 1 <= e + m and self.signed + e + m <= 64):
            raise ValueError(
                f"Format({self.name!r}): exponent_bits in 0..16 and mantissa_bits in 0..52 with at "
                f"least one bit in all were expected, got {e} and {m}"
            )
        ieee = self.emax is None and e > 0
        if self.bias is None:
            object.__setattr__(self, "bias", (1 << (e - 1)) - 1 if e else 0)
        if self.nan_codes is None:
            object.__setattr__(self, "nan_codes", (1 << m) - 1 if ieee else 0)
        if self.inf_codes is None:
            object.__setattr__(self, "inf_codes", 1 if ieee else 0)
        first = 1 if self.subnormals and self.has_zero else 1 << m  # the line of the least value above zero
        if (self.nan_codes or 0) < 0 or self.inf_codes not in (0, 1) or self.max_line < first:
            raise ValueError(
                f"Format({self.name!r}): nan_codes={self.nan_codes}, inf_codes={self.inf_codes}, "
                f"emax={self.emax}, subnormals={self.subnormals} leave no finite value above zero"
            )
        if not self.has_zero and (self.signed or (self.subnormals and m)):
            raise ValueError(f"Format({self.name!r}): a format without zero is unsigned and has no subnormals")
        if not self.subnormals and not e:
            raise ValueError(f"Format({self.name!r}): without exponent bits every value is subnormal")
        if self.twos_complement and not (self.signed and not self.nan_codes and not self.inf_codes):
            raise ValueError(f"Format({self.name!r}): two's complement codes are signed and all finite")

    def __getstate__(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in type(self).__dataclass_fields__}  # no hash: it is this process's

    def __hash__(self) -> int:
        return self._hash

    @_fact
    def _hash(self) -> int:
        return hash(tuple(getattr(self, name) for name in type(self).__dataclass_fields__))

    def __str__(self) -> str:
        fields = (("s", int(self.signed)), ("e", self.exponent_bits), ("m", self.mantissa_bits))
        largest = f"{self.max:g}" if isinstance(self.max, float) else f"below 2^{self.maxexp}"
        return (
            f"{self.name}: {self.bits} bits, {' '.join(f'{field}{width}' for field, width in fields if width)}, "
            f"bias {self.bias}, max {largest}, {'inf' if self.has_inf else 'no inf'}, "
            f"{'NaN' if self.has_nan else 'no NaN'}"
        )

    def __repr__(self) -> str:
        return f"<Format {self}>"

    # --- the code space -----------------------------------------------------------------------
    @_fact
    def bits(self) -> int:
        """Width of a code in bits."""
        return int(self.signed) + self.exponent_bits + self.mantissa_bits

    @property
    def nexp(self) -> int:
        """Exponent bits (NumPy's finfo name)."""
        return self.exponent_bits

    @property
    def nmant(self) -> int:
        """Mantissa bits without the leading one (NumPy's finfo name)."""
        return self.mantissa_bits

    @_fact
    def sign_bit(self) -> int:
        """The sign's place in a code; 0 for an unsigned format."""
        return 1 << (self.bits - 1) if self.signed else 0

    @_fact
    def emin(self) -> int:
        """Exponent of the smallest normal number: 1 - bias, or -bias where code 0 is not a zero."""
        return (1 if self.has_zero else 0) - self.bias  # type: ignore[operator]

    @property
    def minexp(self) -> int:
        """NumPy's name for `emin`."""
        return self.emin

    @_fact
    def min_line(self) -> int:
        """The line of code 0."""
        return 0 if self.has_zero else 1 << self.mantissa_bits

    @_fact
    def max_line(self) -> int:
        """The line of the largest finite value."""
        top = self.top_line - self.nan_codes - self.inf_codes  # type: ignore[operator]
        if self.emax is not None:
            limit = ((self.emax - self.emin + 2) << self.mantissa_bits) - 1
            if limit > top:
                raise ValueError(
                    f"Format({self.name!r}): emax={self.emax} needs more than {self.exponent_bits} exponent bits"
                )
            return limit
        return top

    @_fact
    def top_line(self) -> int:
        """The last line that a code can name."""
        return (1 << (self.exponent_bits + self.mantissa_bits)) - 1 + self.min_line

    @_fact
    def max_code(self) -> int:
        """The code of the largest finite value."""
        return self.max_line - self.min_line

    @_fact
    def has_inf(self) -> bool:
        """Whether there are infinities."""
        return self.inf_codes == 1

    @_fact
    def has_negative_zero(self) -> bool:
        """Whether -0 has a code of its own."""
        return self.signed and self.has_zero and self.negative_zero and not self.twos_complement

    @_fact
    def nan_at_sign(self) -> bool:
        """Whether the sign-only code is the one NaN (FNUZ, signed P3109)."""
        return self.signed and not self.negative_zero and not self.twos_complement

    @_fact
    def has_nan(self) -> bool:
        """Whether there is a NaN."""
        return bool(self.nan_codes) or self.nan_at_sign

    @_fact
    def inf_code(self) -> int | None:
        """The code of +inf, or None."""
        return self.top_line - self.min_line - self.nan_codes if self.inf_codes else None  # type: ignore[operator]

    @_fact
    def nan_code(self) -> int | None:
        """The canonical quiet NaN, positive where NaN has a sign; None without NaN.

        IEEE formats: the top mantissa bit set. Otherwise the first (and usually only) NaN.
        """
        if self.nan_at_sign:
            return self.sign_bit
        if not self.nan_codes:
            return None
        first = self.top_line - self.min_line - self.nan_codes + 1
        ieee = self.inf_codes and self.nan_codes == (1 << self.mantissa_bits) - 1
        return first - 1 + (1 << (self.mantissa_bits - 1)) if ieee else first

    # --- values -------------------------------------------------------------------------------
    def value_of_line(self, line: int) -> Fraction:
        """The exact magnitude that stands at `line`."""
        m = self.mantissa_bits
        if line < 1 << m:
            return Fraction(line) * pow2(self.emin - m)
        return Fraction((1 << m) + (line & ((1 << m) - 1))) * pow2((line >> m) - 1 + self.emin - m)

    @_fact
    def max(self) -> int | float | Fraction:
        """The largest finite value."""
        return _plain(self.value_of_line(self.max_line))

    @_fact
    def min(self) -> int | float | Fraction:
        """The most negative finite value; the smallest one of an unsigned format."""
        if not self.signed:
            return _plain(self.value_of_line(self.min_line))
        return _plain(-self.value_of_line(self.max_line + self.twos_complement))

    @_fact
    def smallest_normal(self) -> int | float | Fraction:
        """The smallest positive value with a leading one: 2**emin."""
        return _plain(pow2(self.emin))

    @_fact
    def smallest_subnormal(self) -> int | float | Fraction:
        """The smallest positive value."""
        first = 1 if self.has_zero and self.subnormals else 1 << self.mantissa_bits
        return _plain(self.value_of_line(first))

    @_fact
    def maxexp(self) -> int:
        """The smallest power of two that is beyond every finite value, as an exponent."""
        m = self.mantissa_bits
        if self.max_line < 1 << m:  # nothing but subnormals
            return self.max_line.bit_length() + self.emin - m
        return (self.max_line >> m) + self.emin

    @_fact
    def eps(self) -> int | float | Fraction | None:
        """The next value above 1.0, minus 1.0; None where 1.0 is not a value."""
        line = self._line_of_one
        if line is None or line >= self.max_line:
            return None
        return _plain(self.value_of_line(line + 1) - 1)

    @_fact
    def epsneg(self) -> int | float | Fraction | None:
        """1.0 minus the next value below it; None where 1.0 is not a value."""
        line = self._line_of_one
        if line is None or line == self.min_line:
            return None
        below = line - 1
        if not self.subnormals and below < 1 << self.mantissa_bits:
            below = 0
        return _plain(1 - self.value_of_line(below))

    @_fact
    def _line_of_one(self) -> int | None:
        m, e = self.mantissa_bits, -self.emin
        line = (e + 1) << m if e >= 0 else (1 << (m + e) if m + e >= 0 else -1)
        if not self.subnormals and line < 1 << m:
            return None
        return line if self.min_line <= line <= self.max_line else None
