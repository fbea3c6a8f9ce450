"""The mean of an array's magnitudes, exact until its one rounding: no order of additions has a say in it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import reference
from ..registry import get_element
from ..rounding import Rules
from .run import CHUNK

__all__ = ["mean_of"]

_FP32 = get_element("fp32")


def mean_of(bits: NDArray[Any]) -> np.float32:
    """The mean magnitude of binary32 bits, rounded to nearest even; NaN and infinities as in a sum, 0 of nothing."""
    flat = bits.reshape(-1)
    sums = np.zeros(256, np.int64)  # of significands, for each exponent field
    for start in range(0, flat.size, CHUNK):
        magnitude = flat[start : start + CHUNK] & np.uint32(0x7FFFFFFF)
        field = magnitude >> np.uint32(23)
        significand = (magnitude & np.uint32(0x7FFFFF)) | (field > 0).astype(np.uint32) << np.uint32(23)
        if int(magnitude.max()) >= 0x7F800000:
            return np.float32(np.nan if int(magnitude.max()) > 0x7F800000 or _has_nan(flat[start:]) else np.inf)
        # sums of integers below 2^24, so float64 adds them exactly
        sums += np.bincount(field, significand.astype(np.float64), 256).astype(np.int64)
    total = sum(int(each) << max(field - 1, 0) for field, each in enumerate(sums))
    mean = Fraction(total, max(flat.size, 1) << 149)
    return np.float32(float(reference.decode(reference.encode(mean, _FP32, Rules()), _FP32)))


def _has_nan(flat: NDArray[Any]) -> bool:
    return bool(np.isnan(flat.view(np.float32)).any())
