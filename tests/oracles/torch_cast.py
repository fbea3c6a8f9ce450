"""torch's casts as an oracle, on the CPU or on a CUDA device.

Not to be trusted where `fpformats/testing/difference_rows.py` says so: float64 sources, NaN codes, float8_e8m0fnu, and
overflow, which depends on the version.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch

__all__ = ["NAMES", "available", "codes", "decode", "version"]

#: The targets, by torch's names.
NAMES = (
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
)


def available(device: str = "cpu") -> str | None:
    """None when torch can be used on `device` ("cpu" or "cuda"), else the reason why not."""
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed"
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        return f"torch {torch.__version__} sees no CUDA device"
    if absent := [name for name in NAMES if not hasattr(torch, name)]:
        return f"torch {torch.__version__} has no {absent[0]}"
    return None


def version() -> str:
    """torch's version, local part included: "2.13.0+cpu"."""
    return importlib.metadata.version("torch")


def _code_dtype(name: str) -> type[np.unsignedinteger]:
    if name not in NAMES:
        raise ValueError(f"one of {', '.join(NAMES)} was expected, got {name!r}")
    return np.uint16 if name in ("float16", "bfloat16") else np.uint8


def _tensor(x: np.ndarray, device: str) -> torch.Tensor:
    import torch

    # torch shares memory with contiguous, writable arrays only, and warns about the others.
    x = np.require(x, requirements=["C", "W"])
    return torch.from_numpy(x).to(device)


def codes(name: str, x: np.ndarray, *, device: str = "cpu") -> np.ndarray:
    """Codes that ``x.to(dtype)`` gives on `device`.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    x : ndarray of float16, float32 or float64
        Any shape. Not copied if it is contiguous and writable and stays on the CPU.
    device : {"cpu", "cuda"}
        Where the cast runs.

    Returns
    -------
    ndarray of uint8 or uint16, of the shape of `x`
    """
    import torch

    dtype = _code_dtype(name)
    cast = _tensor(x, device).to(getattr(torch, name))
    # 0-dimensional tensors cannot be viewed under another dtype on every version.
    same_bits = cast.reshape(-1).view(torch.uint16 if dtype is np.uint16 else torch.uint8)
    return same_bits.cpu().numpy().reshape(x.shape)


def decode(name: str, codes: np.ndarray, *, device: str = "cpu") -> np.ndarray:
    """The float32 values that torch sees in `codes` (uint8 or uint16); its NaN codes are not canonical."""
    import torch

    tensor = _tensor(np.asarray(codes, _code_dtype(name)).reshape(-1), device)
    return tensor.view(getattr(torch, name)).to(torch.float32).cpu().numpy().reshape(np.shape(codes))
