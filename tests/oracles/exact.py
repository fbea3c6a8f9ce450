"""Rounding by looking: all values of a format in a sorted list, the two around x, and the distances to them.

There is no bit arithmetic here, no exponent of x, no rounding of a significand: only a list, a bisection and exact
comparisons. That is slow and needs formats that can be listed (16 bits are 32,768 magnitudes), and shares no idea with
an implementation that could be wrong in the same way. A format is given by plain integers:

* value(line) for line = 0, 1, 2 … is ``line * 2**(emin - M)`` below ``2**M`` and ``(2**M + f) * 2**(e - M)`` above, where
  f counts through a binade and e from emin on;
* the finite magnitudes are the lines `min_line` … `max_line`, and the code of a line is ``line - min_line``. "Odd" is said
  of the code;
* one more value follows in the same spacing. It is not in the format: what is rounded to it, or lies beyond, overflows.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from typing import Literal, NamedTuple

__all__ = ["Grid", "Rounded"]


class Rounded(NamedTuple):
    """A result: ``code`` is the magnitude's, without a sign bit, and None for inf and NaN."""

    kind: Literal["finite", "inf", "nan"]
    negative: bool
    code: int | None = None
    value: Fraction | None = None


class Grid:
    """The values of a format, and rounding to them.

    Parameters
    ----------
    mantissa_bits, emin, max_line : int
        Explicit mantissa bits M, exponent of the smallest normal number, and the line of the largest finite value.
    min_line : int
        The line of code 0: 0, or 2**M for a format without zero (E8M0). Everything below becomes code 0.
    subnormals : bool
        Whether the lines 1 … 2**M - 1 are values.
    signed : bool
        Without a sign, a negative result is 0, or NaN where overflow is "nonfinite" and it is not a zero (P3109).
    negative_zero : bool
        Whether -0 keeps its sign.
    has_inf, has_nan : bool
        What "nonfinite" can use. P3109's finite formats have a NaN but do not overflow to it: pass False for them.

    Examples
    --------
    >>> e2m1 = Grid(mantissa_bits=1, emin=0, max_line=7)
    >>> [float(v) for v in e2m1.values]
    [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    >>> e2m1.round(5.0, "nearest_even").code, e2m1.round(2.5, "nearest_even").code
    (6, 4)
    """

    def __init__(
        self,
        *,
        mantissa_bits: int,
        emin: int,
        max_line: int,
        min_line: int = 0,
        subnormals: bool = True,
        signed: bool = True,
        negative_zero: bool = True,
        has_inf: bool = False,
        has_nan: bool = False,
    ) -> None:
        binade = 2**mantissa_bits
        self.signed, self.negative_zero = signed, negative_zero
        self.has_inf, self.has_nan = has_inf, has_nan
        values, codes = [], []
        significand, step = min_line, Fraction(2) ** (emin - mantissa_bits)
        for line in range(min_line, max_line + 2):
            if line in (0, max_line + 1) or subnormals or line >= binade:
                values.append(significand * step)
                codes.append(line - min_line)
            significand += 1
            if significand == 2 * binade:  # the next binade: half as many steps, twice as long
                significand, step = binade, 2 * step
        #: All finite magnitudes and the codes of them, in order.
        self.values, self.codes = values[:-1], codes[:-1]
        self._beyond = values[-1]

    def round(
        self, x: Fraction | float, rounding: str, overflow: str | None = None, *, bits: int = 0, random: int = 0
    ) -> Rounded:
        """The result of rounding `x`, a number or an infinity or NaN, once.

        Parameters
        ----------
        x : Fraction, int or float
            Taken exactly.
        rounding : str
            nearest_even, nearest_away, nearest_zero, toward_zero, away_from_zero, toward_positive, toward_negative,
            to_odd, or stochastic, stochastic_b, stochastic_c (P3109 A, B, C) with `bits` and `random`.
        overflow : {"saturate", "propagate", "nonfinite"}, optional
            By default "nonfinite" for a format with infinities and "saturate" for one without.
        bits, random : int
            The number N of random bits, and the number 0 <= R < 2**N that they are.
        """
        exact = isinstance(x, (int, Fraction))
        infinite = not exact and math.isinf(x)
        if not exact and math.isnan(x):
            return Rounded("nan", False)
        overflow = overflow or ("nonfinite" if self.has_inf else "saturate")
        negative = x < 0 if exact else math.copysign(1, x) < 0
        index = len(self.values)
        if not infinite:
            magnitude = abs(Fraction(x if exact else float(x)))
            index = self._nearby(magnitude, rounding, negative, bits, random)
        beyond = index == len(self.values)
        if negative and not self.signed and (beyond or self.values[index] != 0):
            return Rounded("nan", False) if overflow == "nonfinite" else self._finite(False, 0)
        if not beyond:
            return self._finite(negative, index)
        if overflow == "nonfinite":
            kept = infinite or self._outward(rounding, negative)
        else:
            kept = infinite and overflow == "propagate"
        if kept and self.has_inf:
            return Rounded("inf", negative)
        if kept and self.has_nan and overflow == "nonfinite":
            return Rounded("nan", negative)
        return self._finite(negative, len(self.values) - 1)

    def _finite(self, negative: bool, index: int) -> Rounded:
        value = self.values[index]
        signed_zero = self.negative_zero or value != 0
        return Rounded("finite", negative and signed_zero, self.codes[index], -value if negative else value)

    def _nearby(self, magnitude: Fraction, rounding: str, negative: bool, bits: int, random: int) -> int:
        """The index in `values` to which a magnitude is rounded; ``len(values)`` stands for what is beyond."""
        last = len(self.values)
        if magnitude >= self._beyond:
            return last
        index = bisect_right(self.values, magnitude) - 1
        if index < 0:
            return 0
        lower = self.values[index]
        upper = self.values[index + 1] if index + 1 < last else self._beyond
        if magnitude == lower:
            return index
        below, above = magnitude - lower, upper - magnitude
        odd = self.codes[index] % 2 == 1
        part, whole = below / (upper - lower), 2**bits
        if rounding == "nearest_even":
            away = below > above or (below == above and odd)
        elif rounding == "nearest_away":
            away = below >= above
        elif rounding == "nearest_zero":
            away = below > above
        elif rounding == "toward_zero":
            away = False
        elif rounding == "away_from_zero":
            away = True
        elif rounding == "toward_positive":
            away = not negative
        elif rounding == "toward_negative":
            away = negative
        elif rounding == "to_odd":
            away = not odd
        elif rounding == "stochastic":
            away = math.floor(part * whole) + random >= whole
        elif rounding == "stochastic_b":
            away = math.floor(part * whole * 2) + 2 * random + 1 >= whole * 2
        elif rounding == "stochastic_c":
            away = round(part * whole) + random >= whole  # Python rounds a Fraction's tie to even
        else:
            raise ValueError(f"unknown rounding {rounding!r}")
        return index + away

    def _outward(self, rounding: str, negative: bool) -> bool:
        """Whether a finite number that overflows goes to the infinity, and not to the largest finite value."""
        if rounding == "to_odd":  # of the two, the one with the odd code
            return self.codes[-1] % 2 == 0
        return not (
            rounding == "toward_zero"
            or (rounding == "toward_positive" and negative)
            or (rounding == "toward_negative" and not negative)
        )
