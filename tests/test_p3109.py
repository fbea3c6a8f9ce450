"""P3109's family against gfloat: every code, and numbers at and around all values and middles in the modes it has."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from oracles import gfloat_p3109
from same import same_codes

import fpformats as fp

SMALL = [name for name in fp.formats("element") if name.startswith("binary") and fp.get(name).bits <= 8]
#: Those that gfloat's float64 values hold.
LARGER = [
    name
    for name in fp.formats("element")
    if name.startswith("binary") and 8 < fp.get(name).bits <= 12 and fp.get(name).exponent_bits <= 11
]
MODES = ("nearest_even", "nearest_away", "toward_zero", "toward_positive", "toward_negative")
STOCHASTIC = ("stochastic", "stochastic_b", "stochastic_c")


def every_code(name: str) -> np.ndarray:
    return np.arange(1 << fp.get(name).bits, dtype=np.uint16)


def magnitudes(name: str) -> np.ndarray:
    """The finite values from 0 on, as gfloat decodes them, and the next one in the same spacing."""
    values = gfloat_p3109.decode(name, every_code(name))
    values = np.unique(values[np.isfinite(values) & (values >= 0)])
    step = values[-1] - values[-2] if values.size > 1 else values[-1]
    if fp.get(name).mantissa_bits == 0 and values[-1] > 0:
        step = values[-1]  # one value a binade: the next one is twice as large
    return np.append(values, values[-1] + step)


def around(name: str) -> np.ndarray:
    """Every value, middle, and their float64 neighbours, both signs where the format has them, inf and NaN."""
    values = magnitudes(name)
    points = np.concatenate([values, (values[:-1] + values[1:]) / 2, [1.5 * values[-1], 3 * values[-1], 1e-300, 1e300]])
    points = np.concatenate(
        [points, np.nextafter(points, np.inf), np.nextafter(points[points > 0], 0), [np.inf, np.nan]]
    )
    return np.concatenate([points, -points]) if fp.get(name).signed else points


@pytest.mark.parametrize("name", SMALL + LARGER)
def test_decode(name: str, need: Callable[..., None]) -> None:
    need(gfloat_p3109)
    codes = every_code(name)
    expected, got = gfloat_p3109.decode(name, codes), fp.decode(codes, name, dtype=np.float64)
    equal = (got == expected) & (np.signbit(got) == np.signbit(expected)) | np.isnan(got) & np.isnan(expected)
    i = int(equal.argmin())
    assert equal.all(), f"{name}: code 0x{i:x} is {got[i]!r} here and {expected[i]!r} in gfloat"


@pytest.mark.parametrize("name", SMALL)
def test_encode(name: str, need: Callable[..., None]) -> None:
    """All five modes; saturating, and overflowing where there is an infinity (gfloat is wrong where there is none)."""
    need(gfloat_p3109)
    x = around(name)
    for rounding in MODES:
        for overflow in ("saturate", "nonfinite") if fp.get(name).has_inf else ("saturate",):
            expected = gfloat_p3109.codes(name, x, rounding, saturate=overflow == "saturate")
            got = fp.encode(x, name, rounding=rounding, overflow=overflow)
            same_codes(f"{name}, {rounding}, {overflow}", x, got, expected)


@pytest.mark.parametrize("name", SMALL)
def test_stochastic(name: str, need: Callable[..., None]) -> None:
    """Four random bits, all sixteen numbers, at every odd 32nd of every gap: there gfloat's sums are exact."""
    need(gfloat_p3109)
    bits, values = 4, magnitudes(name)
    parts = np.arange(1, 32, 2) / 32
    x = (values[:-1, None] + np.diff(values)[:, None] * parts).ravel()
    x = np.concatenate([x, values[:-1]])
    x = np.repeat(np.concatenate([x, -x]) if fp.get(name).signed else x, 1 << bits)
    random = np.tile(np.arange(1 << bits), x.size >> bits)
    for rounding in STOCHASTIC:
        expected = gfloat_p3109.codes(name, x, rounding, saturate=True, bits=bits, random=random)
        got = fp.encode(x, name, rounding=rounding, overflow="saturate", rng=(random.astype(np.uint32), bits))
        same_codes(f"{name}, {rounding}", x, got, expected)
