"""What callers give, as binary32 numbers."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Adapted, adapt
from ..elements import decode32
from ..format import Format
from ..registry import get_element
from ..scalars import exact_integers

__all__ = ["binary32", "numbers", "shown"]

Array = NDArray[Any]
_FP32 = get_element("fp32")


def binary32(adapted: Adapted) -> tuple[Array, Format]:
    """The numbers as binary32 bits, and the type that a recipe sees."""
    if adapted.format is None:
        bits = exact_integers(adapted.data, _FP32)
        assert bits is not None
        with np.errstate(all="ignore"):
            return bits.view(np.float64).astype(np.float32).view(np.uint32), _FP32
    source = get_element(adapted.format)
    if source is _FP32:
        return adapted.data, source
    if source.name == "fp64":
        with np.errstate(all="ignore"):
            return adapted.data.view(np.float64).astype(np.float32).view(np.uint32), _FP32
    return decode32(adapted.data, source).view(np.uint32), source


def shown(value: Any) -> str:
    """An argument in an error's one line."""
    return " ".join(reprlib.repr(value).split())


def numbers(name: str, value: Any, expected: str) -> Array:
    """An argument as binary32 numbers.

    Raises
    ------
    ValueError
        ``name=value: expected``, for what is no number, no array of numbers, or a NumPy bool.
    """
    try:
        adapted = adapt(value if hasattr(value, "dtype") and not isinstance(value, np.generic) else np.asarray(value))
    except (TypeError, ValueError):
        adapted = None
    if adapted is None or (adapted.format is None and adapted.data.dtype.kind == "b"):
        raise ValueError(f"{name}={shown(value)}: {expected}")
    bits, _ = binary32(adapted)
    return np.ascontiguousarray(bits).view(np.float32).reshape(bits.shape)
