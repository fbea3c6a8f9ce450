"""Any array in, the same kind of array out.

Nothing is imported that the caller has not imported: a library is recognised by the module of the
array's type. Each adapter says what the elements are (a format and raw bits) and how to go back.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Adapted", "adapt", "element_format", "to_dtype"]

#: NumPy's own float types, and ml_dtypes' by name
_NATIVE = {"float16": "fp16", "float32": "fp32", "float64": "fp64"}
_ML_DTYPES = {
    "bfloat16": "bf16",
    "float8_e3m4": "e3m4",
    "float8_e4m3": "e4m3_ieee",
    "float8_e4m3fn": "e4m3",
    "float8_e4m3b11fnuz": "e4m3b11fnuz",
    "float8_e4m3fnuz": "e4m3fnuz",
    "float8_e5m2": "e5m2",
    "float8_e5m2fnuz": "e5m2fnuz",
    "float8_e8m0fnu": "e8m0",
    "float6_e2m3fn": "e2m3",
    "float6_e3m2fn": "e3m2",
    "float4_e2m1fn": "e2m1",
}
_TORCH = {
    "float16": "fp16",
    "float32": "fp32",
    "float64": "fp64",
    "bfloat16": "bf16",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "float8_e4m3fnuz": "e4m3fnuz",
    "float8_e5m2fnuz": "e5m2fnuz",
    "float8_e8m0fnu": "e8m0",
}
WANTED = "floats of any width, integers, bools, or a low-precision dtype of ml_dtypes or torch"


@dataclass(frozen=True)
class Adapted:
    """An array as NumPy sees it.

    ``data`` holds raw bits (`format` is a float format), or integers and bools (`format` is None).
    ``wrap`` takes result bits or codes and a format name (None: integers) back to the caller's
    library and device.
    """

    data: NDArray[Any]
    format: str | None
    wrap: Callable[[NDArray[Any], str | None], Any]


@lru_cache(maxsize=64)
def element_format(dtype: np.dtype[Any]) -> str | None:
    """The float format of a NumPy dtype; None for integers and bools; TypeError for the rest."""
    name = dtype.name
    if name in _NATIVE:
        return _NATIVE[name]
    if dtype.kind in "iub":
        return None
    if name in _ML_DTYPES and dtype.type.__module__.startswith("ml_dtypes"):
        return _ML_DTYPES[name]
    raise TypeError(f"x has dtype {dtype}; {WANTED} were expected")


def to_dtype(format_name: str, like: np.dtype[Any] | None = None) -> np.dtype[Any]:
    """The NumPy dtype whose elements are of that format."""
    for name, fmt in _NATIVE.items():
        if fmt == format_name:
            return np.dtype(name)
    if like is not None:
        return like
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, next(name for name, fmt in _ML_DTYPES.items() if fmt == format_name)))


def _raw(x: NDArray[Any]) -> tuple[NDArray[Any], str | None]:
    """Bits and format of a NumPy array, in native byte order."""
    if not x.dtype.isnative:
        x = x.astype(x.dtype.newbyteorder("="))
    name = element_format(x.dtype)
    if name is None:
        return x, None
    if not x.flags.c_contiguous:
        x = np.ascontiguousarray(x).reshape(x.shape)
    return x.view(f"u{x.dtype.itemsize}"), name


def _numpy(x: NDArray[Any]) -> Adapted:
    dtype = x.dtype.newbyteorder("=")
    data, name = _raw(x)

    def wrap(bits: NDArray[Any], format_name: str | None) -> Any:
        if format_name is None:
            return bits
        return bits.view(dtype if format_name == name else to_dtype(format_name))

    return Adapted(data, name, wrap)


def _torch(x: Any) -> Adapted:
    torch = sys.modules["torch"]
    kind = str(x.dtype).removeprefix("torch.")
    name = _TORCH.get(kind)
    if name is None and (x.dtype.is_floating_point or x.dtype.is_complex):
        raise TypeError(f"x has dtype {x.dtype}; {WANTED} were expected")
    host = x.detach().cpu().contiguous()
    if name is None:
        data = host.numpy()
    else:
        bits = {1: torch.uint8, 2: torch.uint16, 4: torch.uint32, 8: torch.uint64}[host.element_size()]
        data = host.reshape(-1).view(bits).numpy().reshape(tuple(x.shape))

    def wrap(bits: NDArray[Any], format_name: str | None) -> Any:
        flat = torch.from_numpy(np.ascontiguousarray(bits).reshape(-1))
        if format_name is not None:
            dtype = x.dtype if format_name == name else {v: k for k, v in _TORCH.items()}[format_name]
            flat = flat.view(dtype if format_name == name else getattr(torch, dtype))
        return flat.reshape(bits.shape).to(x.device)

    return Adapted(data, name, wrap)


def _array_api(x: Any) -> Adapted:
    """jax, cupy, array-api-strict and other libraries with the standard's namespace."""
    inner = _numpy(np.asarray(x.get() if type(x).__module__.startswith("cupy") else x))
    namespace = x.__array_namespace__()

    def wrap(bits: NDArray[Any], format_name: str | None) -> Any:
        host = inner.wrap(bits, format_name)
        try:
            return namespace.asarray(host, device=x.device)
        except (AttributeError, TypeError, ValueError):
            return namespace.asarray(host)

    return Adapted(inner.data, inner.format, wrap)


def adapt(x: Any) -> Adapted:
    """See an array of any library as NumPy bits; what is seen already stays as it is.

    Raises
    ------
    TypeError
        For objects, complex numbers, strings and what is no array at all.
    """
    if isinstance(x, np.ndarray):
        return _numpy(np.asarray(x))  # a subclass may have shapes of its own
    if isinstance(x, Adapted):
        return x
    module = type(x).__module__.partition(".")[0]
    if module == "torch" and "torch" in sys.modules and isinstance(x, sys.modules["torch"].Tensor):
        return _torch(x)
    if hasattr(x, "__array_namespace__"):
        return _array_api(x)
    if hasattr(x, "__array__") or isinstance(x, (list, tuple, range, memoryview, bytearray)):
        try:
            return _numpy(np.asarray(x))
        except ValueError:
            raise ValueError("x is a list of lists that differ in length; an array was expected") from None
    raise TypeError(f"x is a {type(x).__name__}; an array, a list or a number was expected")
