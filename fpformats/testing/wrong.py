"""Wrong casts that no arguments of `encode` describe: functions of the right codes and of x, for `causes.TABLE`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..casts import quantize
from ..format import Format
from ..rounding import Rules
from .case import Case, openly
from .lines import is_nan, magnitudes
from .source import Source

__all__ = [
    "any_code",
    "beyond",
    "clamped_lower",
    "constant",
    "field_below_one",
    "finite",
    "flipped",
    "groups",
    "half_up",
    "lost",
    "nan_becomes",
    "neighbour",
    "no_carry",
    "no_gradual",
    "no_sticky",
    "other_side",
    "pairs",
    "payload_cut",
    "payload_rounded",
    "shifted",
    "sign",
    "step",
    "swapped_bytes",
    "tiny",
    "transposed",
    "wraps",
    "zero",
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


def no_carry(codes: Array, case: Case) -> Array | None:
    """Rounded up into the next binade, but in the old one's exponent field."""
    fmt = case.fmt
    wide = _wide(fmt)
    if wide is None or not fmt.mantissa_bits:
        return None
    assert case.source is not None
    cut, full = (magnitudes(case.source.encode(wide, Rules(mode, case.rules.overflow)), wide)[0]
                 for mode in ("toward_zero", case.rules.rounding))  # fmt: skip
    mantissa = np.uint64((1 << fmt.mantissa_bits) - 1)
    carried = (cut < full) & ((full & mantissa) == 0) & ((cut & ~mantissa) <= np.uint64(fmt.max_code))
    lost = (cut & ~mantissa).astype(codes.dtype) | (codes & codes.dtype.type(fmt.sign_bit))
    return np.where(carried & np.isfinite(case.source.wide()), lost, codes)


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
    wrong = (case.actual != codes) & ~is_nan(codes, fmt) & ~is_nan(case.actual, fmt) & (due <= fmt.max_code)
    if not wrong.any() or not (got[wrong] < due[wrong]).all():
        return None
    limit = got[wrong].max()
    kept = np.minimum(due, limit).astype(codes.dtype) | (codes & codes.dtype.type(fmt.sign_bit))
    return np.where(is_nan(codes, fmt), codes, kept)


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
        code = _named_code(case.fmt, to)
        if code is None or case.source is None:
            return None
        x = case.source.wide()
        where = _overflows(case) & np.where(np.isinf(x), infinite, finite)
        return np.where(where, _with_sign(code, codes, np.signbit(x), case.fmt), codes)

    return of


# --- special codes ----------------------------------------------------------------------------------
def _named_code(fmt: Format, name: str) -> int | None:
    return {"zero": 0, "max": fmt.max_code, "inf": fmt.inf_code, "nan": fmt.nan_code}[name]


def _with_sign(code: int, codes: Array, negative: Array, fmt: Format) -> Array:
    plus, minus = codes.dtype.type(code), codes.dtype.type(code | (0 if fmt.twos_complement else fmt.sign_bit))
    return np.where(negative, minus, plus)


def nan_becomes(name: str, *, sign: bool) -> Callable[[Array, Case], Array | None]:
    """Where x is NaN: a code."""

    def of(codes: Array, case: Case) -> Array | None:
        code = _named_code(case.fmt, name)
        if code is None:
            return None
        nan = is_nan(codes, case.fmt) if case.source is None else np.isnan(case.source.wide())
        negative = codes & codes.dtype.type(case.fmt.sign_bit) != 0
        if case.source is not None:
            negative = np.signbit(case.source.wide())
        return np.where(nan, _with_sign(code, codes, negative & sign, case.fmt), codes)

    return of


def payload_cut(codes: Array, case: Case) -> Array | None:
    """NaN keep the upper bits of their payloads; without any they are infinities."""
    assert case.source is not None
    own, fmt = case.source.format, case.fmt
    fewer = own.mantissa_bits - fmt.mantissa_bits
    if fmt.inf_code is None or not own.has_inf or fewer <= 0:
        return None
    kept = (case.source.bits.astype(np.uint64) & np.uint64((1 << own.mantissa_bits) - 1)) >> np.uint64(fewer)
    x = case.source.wide()
    return np.where(np.isnan(x) & (kept == 0), _with_sign(fmt.inf_code, codes, np.signbit(x), fmt), codes)


def payload_rounded(codes: Array, case: Case) -> Array | None:
    """Half a step is added to NaN too, and the upper bits of the sum are taken."""
    assert case.source is not None
    own, fmt = case.source.format, case.fmt
    fewer = own.mantissa_bits - fmt.mantissa_bits
    if not fmt.has_inf or not own.has_inf or own.exponent_bits != fmt.exponent_bits or fewer <= 0:
        return None
    bits = case.source.bits.astype(np.uint64)
    made = ((bits + np.uint64(1 << (fewer - 1))) & np.uint64((1 << own.bits) - 1)) >> np.uint64(fewer)
    return np.where(np.isnan(case.source.wide()), made.astype(codes.dtype), codes)


def sign(keep: Callable[[Array, Any], Array], only: Callable[[Array, Format], Array]) -> Any:
    """The sign bit changed where a rule says so, unless that makes a NaN of a zero."""

    def of(codes: Array, case: Case) -> Array | None:
        fmt = case.fmt
        if not fmt.signed or fmt.twos_complement:
            return None
        changed = keep(codes, codes.dtype.type(fmt.sign_bit))
        if fmt.nan_at_sign:
            changed = np.where(
                (codes == fmt.sign_bit) | ((codes & ~codes.dtype.type(fmt.sign_bit)) == 0), codes, changed
            )
        return np.where(only(codes, fmt), changed, codes)

    return of


def lost(codes: Array, bit: Any) -> Array:
    """Without the sign."""
    return codes & ~bit


def flipped(codes: Array, bit: Any) -> Array:
    """With the other sign."""
    return codes ^ bit


def any_code(codes: Array, fmt: Format) -> Array:
    """Everywhere."""
    return np.ones(codes.shape, bool)


def zero(codes: Array, fmt: Format) -> Array:
    """Where the code is a zero."""
    return (codes & ~codes.dtype.type(fmt.sign_bit)) == 0


def finite(codes: Array, fmt: Format) -> Array:
    """Where the code is no NaN."""
    return ~is_nan(codes, fmt)


def field_below_one(codes: Array, case: Case) -> Array | None:
    """Codes of subnormal numbers are those of zero."""
    fmt = case.fmt
    if not fmt.exponent_bits or not fmt.mantissa_bits or not fmt.has_zero:
        return None
    tiny = magnitudes(codes, fmt)[0] < np.uint64(1 << fmt.mantissa_bits)
    signs = codes & codes.dtype.type(fmt.sign_bit if fmt.has_negative_zero else 0)
    return np.where(tiny & ~is_nan(codes, fmt), signs, codes)


def step(by: int) -> Callable[[Array, Case], Array | None]:
    """Wherever it differs, one line further."""

    def of(codes: Array, case: Case) -> Array | None:
        if case.fmt.twos_complement:
            return None
        moved = (codes.astype(np.int64 if case.fmt.bits < 64 else np.uint64) + by).astype(codes.dtype)
        return np.where(case.actual != codes, moved, codes)

    return of


def constant(code: int) -> Callable[[Array, Case], Array | None]:
    """The same code everywhere."""

    def of(codes: Array, case: Case) -> Array | None:
        return np.full_like(codes, code) if np.unique(codes[:1000]).size > 1 else None

    return of


def neighbour(codes: Array, case: Case) -> Array | None:
    """Either neighbour of x, whichever came: what random rounding gives."""
    assert case.source is not None
    down, up = (case.source.encode(case.fmt, openly(case, replace(case.rules, rounding=mode)))
                for mode in ("toward_zero", "away_from_zero"))  # fmt: skip
    return np.where((case.actual == down) | (case.actual == up), case.actual, codes)


# --- codes elsewhere ----------------------------------------------------------------------------------
def pairs(codes: Array) -> Array | None:
    """Neighbours exchanged."""
    flat = codes.reshape(-1)
    return flat.reshape(-1, 2)[:, ::-1] if flat.size and flat.size % 2 == 0 else None


def groups(size: int) -> Callable[[Array], Array | None]:
    """The order within groups reversed."""

    def of(codes: Array) -> Array | None:
        flat = codes.reshape(-1)
        return flat.reshape(-1, size)[:, ::-1] if flat.size and flat.size % size == 0 else None

    return of


def swapped_bytes(codes: Array) -> Array | None:
    """Each code's bytes in the other order."""
    return codes.byteswap() if codes.itemsize > 1 else None


def transposed(codes: Array) -> Array | None:
    """Rows and columns exchanged."""
    return np.ascontiguousarray(codes.T) if codes.ndim == 2 and min(codes.shape) > 1 else None


def shifted(by: int) -> Callable[[Array], Array | None]:
    """Every code in the next place."""

    def of(codes: Array) -> Array | None:
        return np.roll(codes.reshape(-1), by) if codes.size > 2 else None

    return of
