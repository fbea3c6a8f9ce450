"""Wrong codes: NaN, signs and zeros, and right codes in wrong places; for `causes.TABLE`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..format import Format
from .case import Case, openly
from .lines import is_nan, magnitudes

__all__ = [
    "any_code",
    "constant",
    "field_below_one",
    "finite",
    "flipped",
    "groups",
    "lost",
    "named_code",
    "nan_becomes",
    "neighbour",
    "pairs",
    "payload_cut",
    "payload_rounded",
    "shifted",
    "sign",
    "sign_and_magnitude",
    "signed_zero_is_nan",
    "step",
    "swapped_bytes",
    "symmetric",
    "transposed",
    "with_sign",
    "zero",
]

Array = NDArray[Any]


def named_code(fmt: Format, name: str) -> int | None:
    """The code of zero, max, inf, nan or lowest; None where the format has none."""
    lowest = fmt.sign_bit | (0 if fmt.twos_complement else fmt.max_code)
    return {"zero": 0, "max": fmt.max_code, "inf": fmt.inf_code, "nan": fmt.nan_code, "lowest": lowest}[name]


def with_sign(code: int, codes: Array, negative: Array, fmt: Format) -> Array:
    """A code, with the sign where a mask says so."""
    plus, minus = codes.dtype.type(code), codes.dtype.type(code | (0 if fmt.twos_complement else fmt.sign_bit))
    return np.where(negative, minus, plus)


def nan_becomes(name: str, *, sign: bool) -> Callable[[Array, Case], Array | None]:
    """Where x is NaN: a code."""

    def of(codes: Array, case: Case) -> Array | None:
        code = named_code(case.fmt, name)
        if code is None:
            return None
        nan = is_nan(codes, case.fmt) if case.source is None else np.isnan(case.source.wide())
        negative = codes & codes.dtype.type(case.fmt.sign_bit) != 0
        if case.source is not None:
            negative = np.signbit(case.source.wide())
        return np.where(nan, with_sign(code, codes, negative & sign, case.fmt), codes)

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
    return np.where(np.isnan(x) & (kept == 0), with_sign(fmt.inf_code, codes, np.signbit(x), fmt), codes)


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


def signed_zero_is_nan(codes: Array, case: Case) -> Array | None:
    """Formats whose sign-only code is the NaN: the sign is put on zeros too."""
    assert case.source is not None
    if not case.fmt.nan_at_sign:
        return None
    minus = np.signbit(case.source.wide()) & (codes == 0)
    return np.where(minus, codes.dtype.type(case.fmt.sign_bit), codes)


def symmetric(codes: Array, case: Case) -> Array | None:
    """Two's complement without its most negative code."""
    lowest = codes.dtype.type(case.fmt.sign_bit)
    return np.where(codes == lowest, lowest + codes.dtype.type(1), codes) if case.fmt.twos_complement else None


def sign_and_magnitude(codes: Array, case: Case) -> Array | None:
    """A sign bit and the magnitude, where two's complement is due."""
    if not case.fmt.twos_complement:
        return None
    line, negative = magnitudes(codes, case.fmt)
    line = np.minimum(line, np.uint64(case.fmt.max_code)).astype(codes.dtype)
    return np.where(negative, line | codes.dtype.type(case.fmt.sign_bit), codes)


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
