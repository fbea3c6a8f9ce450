"""THE table of what goes wrong in casts. A new cause is a new row; the search knows none by name.

A row says what a wrong cast would have produced. Four kinds of row, one shape:

* `by_rules`: the same cast under other `Rules` (the arguments of `encode`);
* `by_inputs`: the same cast of other numbers, a function of x as float64;
* `by_codes`: a function of the codes that are right;
* `by_places`: a function of all the right codes in their order, for answers that are right elsewhere.

The first two need x.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..casts import quantize
from ..format import Format
from ..profiles import PROFILES
from ..registry import FORMATS, get_element
from ..rounding import OVERFLOWS, Rules
from .case import (
    Case,
    Cause,
    by_codes,
    by_inputs,
    by_places,
    by_rounding,
    by_rules,
    reading_actual,
    two_mistakes,
    vague,
    with_x,
)
from .wrong import (
    at_half_of_smallest,
    beyond,
    clamped_lower,
    clamped_up_to_next,
    first_to,
    half_added,
    half_up,
    no_carry,
    no_gradual,
    no_sticky,
    other_side,
    tiny,
    tiny_by,
    wraps,
)
from .wrong_codes import (
    any_code,
    constant,
    field_below_one,
    finite,
    flipped,
    groups,
    lost,
    nan_becomes,
    neighbour,
    pairs,
    payload_cut,
    payload_rounded,
    shifted,
    sign,
    sign_and_magnitude,
    signed_zero_is_nan,
    step,
    swapped_bytes,
    symmetric,
    transposed,
    zero,
)

__all__ = ["LAST", "TABLE", "causes"]

Array = NDArray[Any]
_MAX = "the largest finite value"

_ROUNDED = (
    ("truncation (rounding='toward_zero')", "toward_zero"),
    ("ties away from zero (rounding='nearest_away')", "nearest_away"),
    ("ties to even (rounding='nearest_even')", "nearest_even"),
    ("ties toward zero (rounding='nearest_zero')", "nearest_zero"),
    ("everything inexact away from zero (rounding='away_from_zero')", "away_from_zero"),
    ("rounded toward -infinity (rounding='toward_negative')", "toward_negative"),
    ("rounded toward +infinity (rounding='toward_positive')", "toward_positive"),
    ("rounded to odd (rounding='to_odd')", "to_odd"),
)
_THROUGH = ("fp16", "bf16", "fp32", "tf32")


def _double(fmt: str) -> Cause:
    return by_rules(f"double rounding through {fmt} (via='{fmt}')", via=fmt)


def _double_cut(fmt: str) -> Cause:
    def cut(x: Array, case: Case) -> Array | None:
        if get_element(fmt).mantissa_bits <= case.fmt.mantissa_bits:
            return None
        return np.asarray(quantize(x, fmt, rounding="toward_zero"))

    return by_inputs(f"x cut to {fmt} first (toward zero), then rounded", cut)


TABLE: tuple[Cause, ...] = (
    by_codes("the output was never written: every code is 0", constant(0)),
    # rounding
    *(by_rules(name, rounding=mode) for name, mode in _ROUNDED),
    *(by_rounding(name, mode) for name, mode in _ROUNDED),
    by_inputs("only one discarded bit is looked at, no sticky bit", no_sticky),
    with_x(by_codes("ties rounded up, toward +infinity (floor(x + 1/2))", half_up)),
    with_x(by_codes("ties to the odd code", other_side)),
    with_x(by_codes("the carry of rounding up into the next binade is lost", no_carry(odd=False))),
    with_x(by_codes("the carry of rounding up goes into the exponent with an OR: it is lost where that is odd",
                    no_carry(odd=True))),
    *(_double(fmt) for fmt in _THROUGH),
    by_rules("rounded once, not through the profile's intermediate format (via=None)", via=None),
    *(_double_cut(fmt) for fmt in _THROUGH),
    *(two_mistakes(with_x(by_codes(f"rounded to {fmt} first, then {name}", first_to(fmt, mode))))
      for fmt in _THROUGH for name, mode in _ROUNDED[:2]),
    *(with_x(by_codes(f"below the smallest normal number: {name}", tiny_by(mode))) for name, mode in _ROUNDED),
    by_inputs("half of the smallest value becomes that value", at_half_of_smallest(True)),
    by_inputs("half of the smallest value becomes zero", at_half_of_smallest(False)),
    # small numbers
    by_rules("flush to zero of x below the smallest normal number (subnormals='flush_before_rounding')",
           subnormals="flush_before_rounding"),
    by_rules("flush to zero of results below the smallest normal number (subnormals='flush_after_rounding')",
           subnormals="flush_after_rounding"),
    by_rules("flush to zero of subnormal x (subnormals='flush_inputs')", subnormals="flush_inputs"),
    by_rules("subnormal numbers kept (subnormals='keep')", subnormals="keep"),
    by_codes("flush to zero of subnormal results", field_below_one),
    by_inputs("x below the smallest value becomes zero without rounding",
            lambda x, case: np.where(np.abs(x) < tiny(case.fmt), np.copysign(0.0, x), x)),
    by_inputs("x below the smallest value becomes the smallest value",
            lambda x, case: np.where((np.abs(x) < tiny(case.fmt)) & (x != 0), np.copysign(tiny(case.fmt), x), x)),
    with_x(by_codes("below the smallest normal number: floor(x / step + 1/2), whose sum is rounded in float32",
                    half_added)),
    with_x(by_codes("below the smallest normal number: exponent field 0 with a normal number's fraction", no_gradual)),
    # large numbers
    by_inputs(f"overflow threshold at {_MAX} instead of the midpoint above it",
            lambda x, case: np.where(np.abs(x) > float(case.fmt.max), np.copysign(np.inf, x), x)),
    by_inputs(f"overflow threshold at {_MAX}, which overflows itself",
              lambda x, case: np.where(np.abs(x) >= float(case.fmt.max), np.copysign(np.inf, x), x)),
    by_inputs(f"overflow threshold a whole step above {_MAX} instead of at the midpoint", clamped_up_to_next),
    *(by_rules(f"overflow rule {rule!r} (overflow='{rule}')", overflow=rule) for rule in OVERFLOWS),
    by_rules("infinities become NaN while finite numbers saturate", inf="nan", overflow="saturate"),
    with_x(by_codes("finite x that overflow become NaN", beyond("nan", infinite=False))),
    with_x(by_codes("finite x that overflow become infinite", beyond("inf", infinite=False))),
    with_x(by_codes("infinities become NaN", beyond("nan", finite=False))),
    with_x(by_codes(f"infinities become {_MAX}", beyond("max", finite=False))),
    with_x(by_codes("x that overflow become zero", beyond("zero"))),
    with_x(by_codes("infinities become zero", beyond("zero", finite=False))),
    with_x(by_codes("overflow is not looked at: the exponent's upper bits are lost", wraps)),
    reading_actual(with_x(by_codes(f"clamped below {_MAX}", clamped_lower))),
    # signs, zeros and negative numbers
    by_inputs("negative numbers become zero", lambda x, case: np.where(np.signbit(x) & ~np.isnan(x), 0.0, x)),
    by_codes("sign lost", sign(lost, any_code)),
    by_codes("sign of zero lost: -0 becomes +0", sign(lost, zero)),
    by_codes("sign flipped", sign(flipped, any_code)),
    by_codes("sign lost of all but NaN", sign(lost, finite)),
    with_x(by_codes("the sign is put on zeros, which makes them NaN", signed_zero_is_nan)),
    by_codes("the most negative code is not used", symmetric),
    by_codes("sign and magnitude in place of two's complement", sign_and_magnitude),
    *(by_rules(f"negative numbers into an unsigned format: {rule}", negative=rule) for rule in ("clamp", "nan", "abs")),
    *(by_rules(f"zero into a format without zero: {rule}", zero=rule) for rule in ("smallest", "nan")),
    # NaN
    by_codes("NaN becomes +0", nan_becomes("zero", sign=False)),
    by_codes("NaN becomes a zero with its sign", nan_becomes("zero", sign=True)),
    by_codes(f"NaN becomes {_MAX}", nan_becomes("max", sign=False)),
    by_codes(f"NaN becomes {_MAX} with its sign", nan_becomes("max", sign=True)),
    by_codes("NaN becomes the most negative value", nan_becomes("lowest", sign=False)),
    by_codes("NaN becomes infinite", nan_becomes("inf", sign=True)),
    by_codes("NaN becomes +infinity", nan_becomes("inf", sign=False)),
    by_codes("NaN sign lost", nan_becomes("nan", sign=False)),
    with_x(by_codes("NaN whose upper payload bits are 0 become infinite: the payload is cut off", payload_cut)),
    with_x(by_codes("NaN are rounded like numbers: payloads carry into the sign", payload_rounded)),
    # scales and exponents
    by_inputs("exponent one too large: every value is doubled", lambda x, case: 2 * x),
    by_inputs("exponent one too small: every value is halved", lambda x, case: x / 2),
    # codes elsewhere
    by_places("nibbles swapped: each pair of codes is exchanged", pairs),
    *(by_places(f"order of each {size} codes reversed", groups(size)) for size in (4, 8)),
    by_places("bytes of each code swapped", swapped_bytes),
    by_places("transposed", transposed),
    *(by_places(f"shifted by one element {way}", shifted(by)) for by, way in ((1, "forwards"), (-1, "backwards"))),
)  # fmt: skip

#: after all others, as they say least
LAST: tuple[Cause, ...] = (
    vague(
        with_x(by_codes("always one of the two neighbours of x: random rounding, or misplaced thresholds", neighbour))
    ),
    vague(by_codes("wherever it differs, one step toward zero", step(-1))),
    vague(by_codes("wherever it differs, one step away from zero", step(1))),
)


def _as_profile(name: str, rules: Rules) -> Cause:
    def wrong(case: Case) -> Array | None:
        assert case.source is not None
        return case.source.encode(case.fmt, rules)

    return Cause(f"what profile {name!r} does", wrong, needs_x=True)


def _as_format(other: Format) -> Cause:
    def wrong(case: Case) -> Array | None:
        assert case.source is not None
        if other.mantissa_bits > 50:
            return None
        return case.source.encode(other, Rules(case.rules.rounding, case.rules.overflow, "max")).astype(
            case.expected.dtype
        )

    return Cause(f"these are codes of {other.name}", wrong, needs_x=True)


@lru_cache(maxsize=64)
def causes(fmt: Format) -> tuple[Cause, ...]:
    """The rows that may explain a wrong code of the format, most telling first.

    Profiles and formats of the same width are rows too: their tables say them.
    """

    def more() -> Iterator[Cause]:
        quirks = set()
        for profile in PROFILES.values():
            try:
                rules = profile.rules(fmt)
            except ValueError:
                continue
            if rules.quirk is not None and rules.quirk not in quirks:
                quirks.add(rules.quirk)
                low, high, code = rules.quirk
                yield by_rules(f"every x between 2^{low} and 2^{high} becomes code {code:#x}", quirk=rules.quirk)
            if rules.words == "plain" and rules.random_bits is None:
                yield _as_profile(profile.name, rules)
        for other in FORMATS.values():
            if other.bits == fmt.bits and other.name != fmt.name:
                yield _as_format(other)

    return (*TABLE, *more(), *LAST)
