"""gfloat's IEEE P3109 formats as an oracle for every name binary{K}p{P}{s,u}{e,f}, such as binary8p4se.

gfloat has signed and unsigned, extended and finite formats, every K and P, and decodes and encodes them as the interim
report v4.0 says for K = 3 … 16. Its rounding, in 0.5.2 and seen against exact rationals, departs from P3109 here:

* A finite format that overflows without saturation becomes NaN; P3109's SatNone gives the largest finite value (so for
  infinities). `codes` refuses that combination.
* A negative number into an unsigned format is returned as it is, not as NaN or 0. `codes` refuses negative numbers.
* There is no ToOdd, and no SatPropagate: ``saturate`` is SatFinite, infinities included.
* StochasticA and B add in floating point: a discarded fraction within about 2**-53 of the threshold rounds up wrongly.
  Their names here are gfloat's StochasticFastest and StochasticFast; StochasticC is its Stochastic.
* The scalar `round_float` also rounds up the double just below a tie under TiesToAway. Only the array form is used here.
* Values are float64, hence biases up to 1024.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gfloat import FormatInfo

__all__ = ["ROUNDINGS", "available", "codes", "decode", "format_info", "round_to", "version"]

#: Our rounding modes and gfloat's.
ROUNDINGS = {
    "nearest_even": "TiesToEven",
    "nearest_away": "TiesToAway",
    "toward_zero": "TowardZero",
    "toward_positive": "TowardPositive",
    "toward_negative": "TowardNegative",
    "stochastic": "StochasticFastest",
    "stochastic_b": "StochasticFast",
    "stochastic_c": "Stochastic",
}

_NAME = re.compile(r"binary([1-9]\d?)p([1-9]\d?)([su])([ef])")


def available() -> str | None:
    """None when gfloat can be used, else the reason why not."""
    return None if importlib.util.find_spec("gfloat") else "gfloat is not installed"


def version() -> str:
    """gfloat's version."""
    return importlib.metadata.version("gfloat")


def format_info(name: str) -> FormatInfo:
    """gfloat's description of the format `name`; ValueError for what P3109 or float64 do not hold."""
    from gfloat import Domain, Signedness
    from gfloat.formats import format_info_p3109

    if (match := _NAME.fullmatch(name)) is None:
        raise ValueError(f"a name such as 'binary8p4se' was expected, got {name!r}")
    k, p, signed, extended = int(match[1]), int(match[2]), match[3] == "s", match[4] == "e"
    if not (3 <= k <= 16 and 1 <= p <= k - signed):
        raise ValueError(f"{name!r}: K in 3..16 and P in 1..K-1 (K when unsigned) were expected")
    if k - p - signed > 10:
        raise ValueError(f"{name!r}: its values do not fit float64")
    return format_info_p3109(
        k,
        p,
        Signedness.Signed if signed else Signedness.Unsigned,
        Domain.Extended if extended else Domain.Finite,
    )


def decode(name: str, codes: np.ndarray) -> np.ndarray:
    """float64 values of `codes`, an integer array of any shape."""
    from gfloat import decode_ndarray

    return decode_ndarray(format_info(name), np.asarray(codes).astype(np.int64))


def round_to(
    name: str,
    x: np.ndarray,
    rounding: str = "nearest_even",
    *,
    saturate: bool,
    bits: int = 0,
    random: np.ndarray | None = None,
) -> np.ndarray:
    """float64 values that gfloat rounds `x` to.

    Parameters
    ----------
    name : str
        The format.
    x : ndarray
        Numbers that float64 holds; not negative for unsigned formats.
    rounding : str
        A key of `ROUNDINGS`.
    saturate : bool
        P3109's SatFinite or SatNone; a finite format must saturate.
    bits, random : int and ndarray of int
        For the stochastic modes: the number of random bits, and one number below ``2**bits`` for each element.
    """
    from gfloat import Domain, RoundMode, round_ndarray

    info = format_info(name)
    x = np.asarray(x, np.float64)
    if not saturate and info.domain == Domain.Finite:
        raise ValueError(f"{name}: gfloat overflows a finite format to NaN, which P3109 does not")
    if not info.is_signed and (x < 0).any():
        raise ValueError(f"{name}: gfloat does not round negative numbers to unsigned formats")
    random = np.zeros(x.shape, np.int64) if random is None else random
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        return round_ndarray(info, x, RoundMode[ROUNDINGS[rounding]], saturate, random, bits)


def codes(
    name: str,
    x: np.ndarray,
    rounding: str = "nearest_even",
    *,
    saturate: bool,
    bits: int = 0,
    random: np.ndarray | None = None,
) -> np.ndarray:
    """Codes of `round_to`'s result, with the same parameters: uint8 up to K = 8, else uint16."""
    from gfloat import encode_ndarray

    info = format_info(name)
    rounded = round_to(name, x, rounding, saturate=saturate, bits=bits, random=random)
    with np.errstate(invalid="ignore"):
        encoded = encode_ndarray(info, rounded)
    return encoded.astype(np.uint8 if info.k <= 8 else np.uint16)
