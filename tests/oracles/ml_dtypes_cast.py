"""ml_dtypes' casts as an oracle, and NumPy's own for float16.

Not to be trusted where `fpformats/testing/difference_rows.py` says so: float64 sources, NaN, float8_e8m0fnu, and
overflow, which is NaN in float8_e4m3fn.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util

import numpy as np

__all__ = ["NAMES", "available", "codes", "decode", "version"]

#: The targets, by ml_dtypes' names. float16 is NumPy's.
NAMES = (
    "float16",
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
)


def available() -> str | None:
    """None when ml_dtypes can be used, else the reason why not."""
    if importlib.util.find_spec("ml_dtypes") is None:
        return "ml_dtypes is not installed"
    import ml_dtypes

    if absent := [name for name in NAMES[1:] if not hasattr(ml_dtypes, name)]:
        return f"ml_dtypes {version()} has no {absent[0]}"
    return None


def version(name: str = "bfloat16") -> str:
    """The version of what casts to `name`: NumPy's for float16, else ml_dtypes'."""
    return np.__version__ if name == "float16" else importlib.metadata.version("ml_dtypes")


def _dtype(name: str) -> np.dtype:
    if name not in NAMES:
        raise ValueError(f"one of {', '.join(NAMES)} was expected, got {name!r}")
    import ml_dtypes

    return np.dtype(np.float16 if name == "float16" else getattr(ml_dtypes, name))


def codes(name: str, x: np.ndarray) -> np.ndarray:
    """Codes that ``x.astype(dtype)`` gives.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    x : ndarray
        Of any dtype that ml_dtypes converts, of any shape.

    Returns
    -------
    ndarray of uint8 or uint16, of the shape of `x`
        Formats narrower than a byte have one code a byte.
    """
    dtype = _dtype(name)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        cast = x.astype(dtype, order="C")
    return cast.view(np.uint16 if dtype.itemsize == 2 else np.uint8)


def decode(name: str, codes: np.ndarray) -> np.ndarray:
    """The float32 values that ml_dtypes sees in `codes` (uint8 or uint16)."""
    dtype = _dtype(name)
    unsigned = np.ascontiguousarray(codes, np.uint16 if dtype.itemsize == 2 else np.uint8).reshape(np.shape(codes))
    with np.errstate(invalid="ignore"):
        return unsigned.view(dtype).astype(np.float32)
