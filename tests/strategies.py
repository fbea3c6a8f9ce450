"""What the tests feed in: boundary inputs of a format, and the combinations worth trying."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fpformats as fp

DETERMINISTIC = (
    "nearest_even",
    "nearest_away",
    "nearest_zero",
    "toward_zero",
    "away_from_zero",
    "toward_positive",
    "toward_negative",
    "to_odd",
)
OVERFLOWS = (None, "saturate", "propagate", "nonfinite")
TOY = fp.Format("toy", exponent_bits=3, mantissa_bits=2, bias=3, emax=2, subnormals=False)
#: custom formats that reach corners no registered one has
CUSTOM = (
    TOY,
    fp.Format("e8m3", exponent_bits=8, mantissa_bits=3),
    fp.Format("e5m9b20", exponent_bits=5, mantissa_bits=9, bias=20, nan_codes=3, inf_codes=1),
    fp.Format("e6m5_flushed", exponent_bits=6, mantissa_bits=5, subnormals=False),
    fp.Format("ue6m0", exponent_bits=6, mantissa_bits=0, signed=False, has_zero=False, subnormals=False,
              nan_codes=1, inf_codes=0),
    fp.Format("e7m4_low", exponent_bits=7, mantissa_bits=4, bias=100),
    fp.Format("e8m23b125", exponent_bits=8, mantissa_bits=23, bias=125),
    fp.Format("e9m10", exponent_bits=9, mantissa_bits=10),
    fp.Format("one_nan", exponent_bits=4, mantissa_bits=3, nan_codes=1, inf_codes=0, negative_zero=False),
    fp.Format("int6", exponent_bits=0, mantissa_bits=5, bias=0, twos_complement=True),
)  # fmt: skip


def lines(fmt: fp.Format, most: int, seed: int = 0) -> list[int]:
    """Lines of a format: all of them, or both ends and a sample."""
    first, last = fmt.min_line, fmt.max_line
    if last - first <= most:
        return list(range(first, last + 1))
    rng = np.random.default_rng(seed)
    some = rng.integers(first, last, most // 3, dtype=np.int64, endpoint=True).tolist()
    normal = [max(first, (1 << fmt.mantissa_bits) + i) for i in range(-3, 4)]
    return sorted({*range(first, first + most // 3), *range(last - most // 3, last + 1), *some, *normal})


def boundary(fmt: fp.Format, dtype: Any, most: int = 120) -> NDArray[Any]:
    """Values, midpoints and their float neighbours, both signs, with zeros, subnormals, inf and NaN."""
    info = np.finfo(dtype)
    uint = np.dtype(f"u{np.dtype(dtype).itemsize}").type
    points: set[int] = {0, 1, 2, 3}
    for line in lines(fmt, most):
        low, high = fmt.value_of_line(line), fmt.value_of_line(line + 1)
        for value in (low, (low + high) / 2, high):
            if value < Fraction(float(info.max)):
                with np.errstate(all="ignore"):
                    bits = int(dtype(float(value)).view(uint))
                points.update(range(max(bits - 1, 0), bits + 2))
    specials = np.array([info.max, info.tiny, info.smallest_subnormal, np.inf, np.nan, 1.0, 3.1], dtype=dtype)
    bits = np.concatenate([np.array(sorted(points), dtype=uint), specials.view(uint)])
    sign = uint(1 << (8 * bits.itemsize - 1))
    out = np.concatenate([bits, bits | sign]).view(dtype)
    return out[~np.isnan(out) | (np.arange(out.size) == out.size // 2 - 3)]
