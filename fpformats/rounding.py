"""How a number gets into a format: the names, with one line of mathematics each.

Write |x| = (s + v) * q with q the spacing at x, s an integer and 0 <= v < 1. Rounding chooses
between s and s + 1; in the tie rules "odd" means that the *line* of s is odd. Overflow is decided
after rounding: the line is beyond `max_line`.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NAN_RULES", "OVERFLOWS", "ROUNDINGS", "SUBNORMALS", "Rounding", "rounding"]


@dataclass(frozen=True)
class Rounding:
    """One rounding mode.

    ``outward`` says, for positive and for negative x, whether an overflow goes outward (to the
    infinity) or inward (to the largest finite value) under ``overflow="nonfinite"``: IEEE 754-2019
    clause 7.4, P3109 SatNone. None: to the odd code of the two, as SoftFloat's round_odd and
    P3109's ToOdd do.
    """

    name: str
    rule: str
    standard: str
    outward: tuple[bool, bool] | None = (True, True)
    random_bits: bool = False

    def overflows_outward(self, negative: bool, largest_is_odd: bool) -> bool:
        """Whether an overflow leaves the finite numbers."""
        return not largest_is_odd if self.outward is None else self.outward[negative]


ROUNDINGS: dict[str, Rounding] = {
    row.name: row
    for row in (
        Rounding(
            "nearest_even", "v > 1/2, or v = 1/2 and s odd", "IEEE roundTiesToEven; P3109 NearestTiesToEven; PTX .rn"
        ),
        Rounding("nearest_away", "v >= 1/2", "IEEE roundTiesToAway; P3109 NearestTiesToAway; PTX .rna"),
        Rounding("nearest_zero", "v > 1/2", "ties toward zero"),
        Rounding("toward_zero", "never", "IEEE roundTowardZero; PTX .rz", (False, False)),
        Rounding("away_from_zero", "v > 0", "away from zero"),
        Rounding("toward_positive", "v > 0 and x > 0", "IEEE roundTowardPositive; PTX .rp", (True, False)),
        Rounding("toward_negative", "v > 0 and x < 0", "IEEE roundTowardNegative; PTX .rm", (False, True)),
        Rounding("to_odd", "v > 0 and s even", "P3109 ToOdd; SoftFloat round_odd", None),
        Rounding("stochastic", "floor(v 2^N) + R >= 2^N", "P3109 StochasticA", random_bits=True),
        Rounding("stochastic_b", "floor(v 2^(N+1)) + 2R + 1 >= 2^(N+1)", "P3109 StochasticB", random_bits=True),
        Rounding("stochastic_c", "nearest_even(v 2^N) + R >= 2^N", "P3109 StochasticC", random_bits=True),
    )
}

#: What becomes of a finite result beyond `max_line`, and of an infinity.
OVERFLOWS: dict[str, str] = {
    "saturate": "both become the largest finite value (P3109 SatFinite, OCP saturating)",
    "propagate": "finite results become the largest finite value, an infinity stays where there is one (P3109 SatPropagate)",
    "nonfinite": "both become the infinity, else NaN, else the largest finite value; directed modes on the "
    "inward side give the largest finite value (IEEE 754, P3109 SatNone, OCP non-saturating)",
}

#: What becomes of a NaN on its way into a format that has none.
NAN_RULES: dict[str, str] = {
    "raise": "ValueError that names the first index",
    "max": "the largest finite value, positive (PTX, CUDA)",
    "zero": "+0",
}

#: What becomes of small numbers. "Tiny" is below the format's smallest normal number.
SUBNORMALS: dict[str, str] = {
    "keep": "gradual underflow",
    "flush_inputs": "an x that is subnormal in its own source type counts as zero",
    "flush_before_rounding": "an x below the smallest normal number counts as zero",
    "flush_after_rounding": "a result below the smallest normal number becomes zero",
}


def rounding(name: str) -> Rounding:
    """The row of a rounding mode; ValueError for anything that is not exactly one of the names."""
    try:
        return ROUNDINGS[name]
    except (KeyError, TypeError):
        hint = " (plain 'nearest' means different things in different libraries)" if name == "nearest" else ""
        raise ValueError(f"rounding={name!r}{hint}: one of {', '.join(ROUNDINGS)} was expected") from None


@dataclass(frozen=True)
class Rules:
    """Everything that decides what becomes of a number, as data: the arguments or a profile row.

    Codes below are codes of the target format. ``None`` means the format's own default.
    """

    rounding: str = "nearest_even"
    overflow: str | None = None
    nan: str = "raise"
    subnormals: str = "keep"
    #: round to this format first (same mode; nearest_even when the mode is random)
    via: str | None = None
    #: the mode of that first rounding, where it is another
    via_rounding: str | None = None
    #: codes of +NaN and -NaN, where an implementation departs from the canonical one
    nan_codes: tuple[int, int] | None = None
    #: OR-ed into the NaN code: this many of the source's top payload bits, and the least code bit
    #: instead when those are all zero and `nan_codes` names the infinity (NumPy keeps NaN signalling)
    nan_payload_bits: int = 0
    #: "nan": an infinity becomes NaN although finite results saturate
    inf: str | None = None
    #: a negative number on its way into an unsigned format: "clamp", "nan" or "abs"
    negative: str | None = None
    #: the code of zero in a format without zero: "smallest" or "nan"
    zero: str = "smallest"
    #: the magnitudes strictly between two powers of two (exponents) that all become one code
    quirk: tuple[int, int, int] | None = None
    #: how random bits are taken from words: "plain" (one word a value) or "ptx_x4", "ptx_x4_bytes", "ptx_x2"
    words: str = "plain"
    #: number of random bits, where the implementation fixes it
    random_bits: int | None = None

    @property
    def first(self) -> Rules:
        """The rules of the rounding to `via`."""
        mode = "nearest_even" if ROUNDINGS[self.rounding].random_bits else self.rounding
        return Rules(rounding=self.via_rounding or mode)

    def overflow_of(self, has_inf: bool) -> str:
        """The overflow rule in force: a format with an infinity overflows to it, others saturate."""
        return self.overflow or ("nonfinite" if has_inf else "saturate")

    def negative_of(self, has_inf: bool) -> str:
        """The rule for numbers below an unsigned format: P3109 4.7.4 unless a profile says more."""
        return self.negative or ("nan" if self.overflow_of(has_inf) == "nonfinite" else "clamp")
