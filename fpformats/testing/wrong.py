"""Wrong roundings and ranges that no arguments of `encode` describe: functions of x and the right codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..casts import quantize
from ..format import Format
from ..registry import get_element
from ..rounding import Rules
from .case import Case, openly
from .lines import is_nan, magnitudes
from .source import Source
from .wrong_codes import named_code, with_sign

__all__ = [
    "at_half_of_smallest",
    "beyond",
    "clamped_lower",
    "clamped_up_to_next",
    "first_to",
    "half_added",
    "half_up",
    "no_carry",
    "no_gradual",
    "no_sticky",
    "other_side",
    "tiny",
    "tiny_by",
    "wraps",
]

Array = NDArray[Any]


# --- rounding -------------------------------------------------------------------------------------
def other_side(codes: Array, case: Case) -> Array:
    """The other neighbour at each tie."""
    assert case.source is not None
    sides = [case.source.encode(case.fmt, openly(case, replace(case.rules, rounding=mode)))
             for mode in ("nearest_zero", "nearest_away")]  # fmt: skip
    return np.where(codes == sides[0], sides[1], np.where(codes == sides[1], sides[0], codes))


def half_up(codes: Array, case: Case) -> Array:
    """Ties go up, not away from zero."""
    assert case.source is not None
    up, down = (case.source.encode(case.fmt, openly(case, replace(case.rules, rounding=mode)))
                for mode in ("nearest_away", "nearest_zero"))  # fmt: skip
    return np.where(np.signbit(case.source.wide()), down, up)


def _wide(fmt: Format) -> Format | None:
    """The format with exponents up to 1000 and more; None where its codes are not fields like that."""
    if not 0 < fmt.exponent_bits < 10 or not fmt.has_zero or not fmt.subnormals or fmt.mantissa_bits > 40:
        return None
    return Format("wide", exponent_bits=10, mantissa_bits=fmt.mantissa_bits, bias=fmt.bias)


def _cut(case: Case, more: int) -> Format:
    """The format with so many more mantissa bits, and exponents beyond its largest."""
    fmt = case.fmt
    return Format("cut", exponent_bits=fmt.exponent_bits + 1, mantissa_bits=fmt.mantissa_bits + more, bias=fmt.bias)


def no_sticky(x: Array, case: Case) -> Array | None:
    """x cut after the first discarded bit."""
    if not case.fmt.exponent_bits or case.fmt.mantissa_bits > 50 or not case.fmt.has_zero:
        return None
    return np.asarray(quantize(x, _cut(case, 1), rounding="toward_zero", overflow="propagate"))


def no_carry(*, odd: bool) -> Callable[[Array, Case], Array | None]:
    """Rounded up into the next binade, but in the old one's exponent field; or only where that field is odd."""

    def of(codes: Array, case: Case) -> Array | None:
        fmt = case.fmt
        wide = _wide(fmt)
        if wide is None or not fmt.mantissa_bits:
            return None
        assert case.source is not None
        cut, full = (magnitudes(case.source.encode(wide, Rules(mode, case.rules.overflow)), wide)[0]
                     for mode in ("toward_zero", case.rules.rounding))  # fmt: skip
        mantissa = np.uint64((1 << fmt.mantissa_bits) - 1)
        carried = (cut < full) & ((full & mantissa) == 0) & ((cut & ~mantissa) <= np.uint64(fmt.max_code))
        if odd:
            carried &= (cut & (mantissa + np.uint64(1))) != 0
        lost = (cut & ~mantissa).astype(codes.dtype) | (codes & codes.dtype.type(fmt.sign_bit))
        return np.where(carried & np.isfinite(case.source.wide()), lost, codes)

    return of


# --- small and large numbers ------------------------------------------------------------------------
def tiny(fmt: Format) -> float:
    """The smallest positive value."""
    return float(fmt.value_of_line(1 if fmt.has_zero and fmt.subnormals else 1 << fmt.mantissa_bits))


def no_gradual(codes: Array, case: Case) -> Array | None:
    """Below the smallest normal number: exponent field 0 with the fraction that a normal number would have."""
    fmt = case.fmt
    if not fmt.exponent_bits or not fmt.mantissa_bits or fmt.mantissa_bits > 40 or not fmt.subnormals:
        return None
    assert case.source is not None
    wide = Format("wide", exponent_bits=11, mantissa_bits=fmt.mantissa_bits)
    x = case.source.wide()
    made = Source.of_doubles(x).encode(wide, Rules(case.rules.rounding)) & ((1 << fmt.mantissa_bits) - 1)
    made = made.astype(codes.dtype) | (codes & codes.dtype.type(fmt.sign_bit))
    return np.where((np.abs(x) < float(fmt.smallest_normal)) & (x != 0), made, codes)


def wraps(codes: Array, case: Case) -> Array | None:
    """No look at the range of finite numbers: the exponent's upper bits are lost."""
    fmt = case.fmt
    wide = _wide(fmt)
    if wide is None:
        return None
    assert case.source is not None
    x = case.source.wide()
    made = case.source.encode(wide, Rules(case.rules.rounding, "nonfinite")) & ((1 << (fmt.bits - fmt.signed)) - 1)
    kept = made.astype(codes.dtype) | np.where(np.signbit(x), codes.dtype.type(fmt.sign_bit), codes.dtype.type(0))
    return np.where((np.abs(x) > float(fmt.max)) & np.isfinite(x), kept, codes)


def clamped_lower(codes: Array, case: Case) -> Array | None:
    """Clamped, but below the largest value: at the largest magnitude that was seen where more was due."""
    fmt = case.fmt
    if fmt.twos_complement:
        return None
    got, due = magnitudes(case.actual, fmt)[0], magnitudes(codes, fmt)[0]
    numbers = ~is_nan(codes, fmt) & ~is_nan(case.actual, fmt) & (due <= fmt.max_code)
    wrong = (case.actual != codes) & numbers
    if not wrong.any() or not (got[wrong] < due[wrong]).all():
        return None
    limit = got[numbers].max()
    kept = np.minimum(due, limit).astype(codes.dtype) | (codes & codes.dtype.type(fmt.sign_bit))
    return np.where(is_nan(codes, fmt), codes, kept)


def half_added(codes: Array, case: Case) -> Array | None:
    """Below the smallest normal number: half is added to |x| over the step in float32, and what is whole is taken."""
    fmt = case.fmt
    if not fmt.exponent_bits or not fmt.subnormals or not fmt.has_zero:
        return None
    assert case.source is not None
    x = case.source.wide()
    size = np.abs(x)
    lines = np.floor(
        (np.where(size < float(fmt.smallest_normal), size, 0) / tiny(fmt)).astype(np.float32) + np.float32(0.5)
    )
    made = with_sign(0, codes, np.signbit(x), fmt) | lines.astype(codes.dtype)
    return np.where(size < float(fmt.smallest_normal), made, codes)


def _overflows(case: Case) -> NDArray[np.bool_]:
    """Which numbers are infinite, or are rounded beyond the largest finite value."""
    assert case.source is not None
    x = np.abs(case.source.wide())
    wide = _wide(case.fmt)
    if wide is None:
        return x > float(case.fmt.max)
    line = magnitudes(case.source.encode(wide, Rules(case.rules.rounding, "nonfinite")), wide)[0]
    return (line > np.uint64(case.fmt.max_code)) & ~np.isnan(x)


def beyond(to: str, *, finite: bool = True, infinite: bool = True) -> Callable[[Array, Case], Array | None]:
    """Where x overflows, or is infinite: a code."""

    def of(codes: Array, case: Case) -> Array | None:
        code = named_code(case.fmt, to)
        if code is None or case.source is None:
            return None
        x = case.source.wide()
        where = _overflows(case) & np.where(np.isinf(x), infinite, finite)
        return np.where(where, with_sign(code, codes, np.signbit(x), case.fmt), codes)

    return of


def tiny_by(mode: str) -> Callable[[Array, Case], Array | None]:
    """Below the smallest normal number another rounding."""

    def of(codes: Array, case: Case) -> Array | None:
        fmt = case.fmt
        if not fmt.exponent_bits or not fmt.subnormals:
            return None
        assert case.source is not None
        made = case.source.encode(fmt, openly(case, replace(case.rules, rounding=mode)))
        return np.where(np.abs(case.source.wide()) < float(fmt.smallest_normal), made, codes)

    return of


def at_half_of_smallest(up: bool) -> Callable[[Array, Case], Array | None]:
    """The one tie between 0 and the smallest value."""

    def of(x: Array, case: Case) -> Array | None:
        if not case.fmt.has_zero:
            return None
        tie = np.abs(x) == tiny(case.fmt) / 2
        return np.where(tie, np.copysign(tiny(case.fmt) if up else 0.0, x), x)

    return of


def clamped_up_to_next(x: Array, case: Case) -> Array | None:
    """Up to where the next value would be, x counts as the largest value."""
    largest, after = float(case.fmt.max), float(case.fmt.value_of_line(case.fmt.max_line + 1))
    return np.where((np.abs(x) > largest) & (np.abs(x) < after), np.copysign(largest, x), x)


def first_to(via: str, mode: str) -> Callable[[Array, Case], Array | None]:
    """Rounded to another format, to nearest even, and then by another rounding."""

    def of(codes: Array, case: Case) -> Array | None:
        assert case.source is not None
        middle_bits = get_element(via).mantissa_bits
        if not case.fmt.mantissa_bits < middle_bits < case.source.format.mantissa_bits:
            return None
        with np.errstate(all="ignore"):
            middle = np.asarray(quantize(case.source.wide(), via))
        return Source.of_doubles(middle).encode(case.fmt, openly(case, replace(case.rules, rounding=mode, via=None)))

    return of
