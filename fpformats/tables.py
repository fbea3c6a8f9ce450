"""Value tables of formats with up to 16 bits, straight from the rows."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import reference
from .format import Format

__all__ = ["decode_table", "valid_codes"]


@lru_cache(maxsize=64)
def decode_table(fmt: Format) -> NDArray[Any]:
    """The value of every code as float64 (NaN for codes that stand for nothing)."""
    out = np.full(1 << fmt.bits, np.nan)
    for code in range(1 << fmt.bits):
        try:
            value = reference.decode(code, fmt)
        except ValueError:
            continue
        try:
            out[code] = float(value)
        except OverflowError:  # beyond binary64
            out[code] = np.inf if value > 0 else -np.inf
    # NaN with its sign, where the format has one
    if fmt.has_nan and not fmt.nan_at_sign and fmt.signed:
        half = 1 << (fmt.bits - 1)
        negative = np.isnan(out[half:])
        out[half:][negative] = -np.nan
    out.setflags(write=False)
    return out


@lru_cache(maxsize=64)
def valid_codes(fmt: Format) -> NDArray[np.bool_] | None:
    """Which codes stand for something; None when all do."""
    if fmt.emax is None:
        return None
    out = np.ones(1 << fmt.bits, dtype=bool)
    for code in range(1 << fmt.bits):
        try:
            reference.decode(code, fmt)
        except ValueError:
            out[code] = False
    return out
