"""The words of the table of differences, as functions: which inputs, and what becomes of them.

``INPUTS[name](numbers)`` says which of them a row speaks of; ``OUTCOMES[name](numbers)`` gives codes. "Seen" is x, or
what binary32 keeps of it where the peer goes through that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .seen import NO_CODE, Numbers, magnitudes

__all__ = ["AS_MAGNITUDE", "INPUTS", "NOT_A_CODE", "OUTCOMES", "SOME_NAN"]

Array = NDArray[Any]
#: in an array of codes: the peer gives an integer that is none
NOT_A_CODE = -2
#: numbers from here on are normal in float32 after rounding to 24 bits: what a processor calls not tiny
_NOT_TINY = 2.0**-126 - 2.0**-151


# --- which inputs -------------------------------------------------------------------------------
def _overflows(n: Numbers) -> Array:
    """The rounded magnitude is beyond the largest value; of an unsigned format's inputs the positive ones."""
    return ~n.nan & (n.nearest_seen >= n.top) & (n.fmt.signed | ~n.negative)


def _second_rounding(n: Numbers) -> Array:
    """Rounding x and rounding what binary32 keeps of it give two results."""
    return ~n.nan & (n.nearest_x != n.nearest_seen) & (n.default != n.saturated(n.nearest_seen))


def _normal(n: Numbers) -> Array:
    return np.abs(n.x) >= _NOT_TINY


def _odd_tie(n: Numbers) -> Array:
    """What is seen is a midpoint, and x goes to the value below it."""
    low = n.below_seen
    middle = np.abs(n.seen) == n.middle_above(low)
    return middle & (n.nearest_x == low) & (low < n.fmt.max_code) & (n.fmt.signed | ~n.negative)


def _inexact_down(n: Numbers) -> Array:
    """Not a value, and x goes to the value below it."""
    low, mag = n.below_seen, np.abs(n.seen)
    inside = (mag > n.fmt.smallest_subnormal) & (mag < n.fmt.max)
    between = mag != magnitudes(n.fmt)[np.minimum(low, n.top)]
    return inside & between & (n.nearest_x == low) & (n.fmt.signed | ~n.negative)


def _inexact_up(n: Numbers) -> Array:
    """x goes to the value above it, or beyond all of them from below infinity."""
    return ~n.nan & np.isfinite(n.x) & (n.nearest_x > n.below(n.x))


def _below_min(n: Numbers) -> Array:
    return ~n.nan & (n.seen < -float(n.fmt.smallest_subnormal))


INPUTS: dict[str, Callable[[Numbers], Array]] = {
    "NaN": lambda n: n.nan,
    "+NaN": lambda n: n.nan & ~n.negative,
    "-NaN": lambda n: n.nan & n.negative,
    "NaN whose top payload bits are not those of the quiet NaN": lambda n: n.nan & (_payload(n) != n.quiet_nan()),
    "signalling or extended NaN": lambda n: n.nan & (_quieted(n) != n.quiet_nan()),
    "overflow, infinities included": _overflows,
    "overflow in one rounding, infinities included": lambda n: _overflows(n) & (n.nearest_x >= n.top),
    "infinities": lambda n: np.isinf(n.seen) & (n.fmt.signed | ~n.negative),
    "float64 that float32 takes to a midpoint, from the other side": _second_rounding,
    "float64 that float32 takes to a midpoint, from the other side, from 2^-126 up": lambda n: _second_rounding(n) & _normal(n),
    "float64 that float32 takes to a midpoint, from the other side, below overflow": lambda n: _second_rounding(n) & ~_overflows(n),
    "float64 that are subnormal in float32": lambda n: ~n.nan & ~_normal(n) & (n.nearest_x != 0),
    "ties, where even is down": _odd_tie,
    "values between two, nearer to the lower": _inexact_down,
    "values between two, nearer to the upper": _inexact_up,
    "2^-127 < x < 1.5 * 2^-127": lambda n: (n.seen > 2.0**-127) & (n.seen < 1.5 * 2.0**-127),
    "0 < x < 2^-127": lambda n: (n.seen > 0) & (n.seen < 2.0**-127),
    "0 < x <= 2^-127": lambda n: (n.seen > 0) & (n.seen <= 2.0**-127),
    "x > 2^127, infinity included": lambda n: n.seen > 2.0**127,
    "x >= 1.5 * 2^127, infinity included": lambda n: n.seen >= 1.5 * 2.0**127,
    "0 < x < 1.5 * 2^-128": lambda n: (n.seen > 0) & (n.seen < 1.5 * 2.0**-128),
    "zeros": lambda n: n.seen == 0,
    "negative numbers": lambda n: n.seen < 0,
    "negative numbers below minus the smallest value": _below_min,
    "negative numbers that do not round to zero": lambda n: (n.seen < 0) & (n.nearest_seen > 0),
}  # fmt: skip


# --- what becomes of them -----------------------------------------------------------------------
def _payload(n: Numbers) -> Array:
    """The infinity's code and the top payload bits as they are; the least bit where these are all zero."""
    payload = n.payload(n.fmt.mantissa_bits)
    infinity = (n.fmt.max_code + 1) if n.fmt.inf_code is None else n.fmt.inf_code
    return n.signed(infinity | np.where(payload == 0, 1, payload))


def _quieted(n: Numbers) -> Array:
    """The quiet NaN and the top payload bits."""
    return n.signed((n.fmt.nan_code or 0) | n.payload(n.fmt.mantissa_bits))


def _everywhere(code: int) -> Callable[[Numbers], Array]:
    return lambda n: np.full(n.x.shape, code, np.int64)


SOME_NAN = "some NaN"
AS_MAGNITUDE = "what |x| gives"

#: `SOME_NAN` and `AS_MAGNITUDE` are not here: the first is no single code, the second depends on the peer's other rows.
OUTCOMES: dict[str, Callable[[Numbers], Array]] = {
    "nearest value": lambda n: n.default,
    "nearest value to float32(x)": lambda n: n.saturated(n.nearest_seen),
    "largest value": lambda n: n.signed(n.fmt.max_code),
    "+largest value": lambda n: np.full(n.x.shape, n.fmt.max_code),
    "infinity": lambda n: n.signed(n.end),
    "quiet NaN": lambda n: n.quiet_nan(),
    "NaN with its top payload bits, quieted": _quieted,
    "NaN with its top payload bits": _payload,
    "value below": lambda n: n.signed(np.where(np.isinf(n.seen), n.end, np.minimum(n.below_seen, n.fmt.max_code))),
    "value above": lambda n: n.signed(n.below_seen + 1),
    "zero": lambda n: n.signed(0),
    "code 0": _everywhere(0),
    "code 1": _everywhere(1),
    "ValueError": _everywhere(NO_CODE),
    "an integer that is no code": _everywhere(NOT_A_CODE),
}  # fmt: skip
