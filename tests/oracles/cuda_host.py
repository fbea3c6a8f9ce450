"""NVIDIA's conversion headers as an oracle: compiled by g++ when first used, for the host, without a GPU.

The headers come with the packages nvidia-cuda-runtime, nvidia-cuda-crt and nvidia-cuda-cccl. Their licence does not let
us ship them, so they are read where they are installed, and the library that is made of them is not kept.

float64 sources are rounded once, which torch and ml_dtypes do not do. Known particulars, all deliberate:

* NaN becomes the code 0x7f of e4m3 and e5m2 (from float64: sign kept, and e5m2 keeps payload bits), 0x7fff of fp16 and
  bf16, 0xff of e8m0 and ue5m3, the largest positive value of fp6 and fp4.
* "sat" also clamps infinities. "nosat" overflows to the infinity, or to NaN without one (e4m3, e8m0, ue5m3); modes that
  round inward give the largest finite value.
* e8m0 and ue5m3 drop the sign first, so that "ru" of a negative number goes away from zero; e8m0 gives 2**-127 (code 0)
  for everything up to that, zero included, and its "rn" takes a tie up.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

__all__ = ["available", "codes", "supports", "version"]

_SOURCE = Path(__file__).with_name("cuda_host.cpp")
_SOURCES = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}
_NEEDED = ("cuda_fp4.h", "cuda_fp6.h", "cuda_fp8.h", "cuda_runtime_api.h", "crt/host_defines.h", "nv/target")


class _Unavailable(Exception):
    """Why there is no library."""


def _include_directories() -> list[Path]:
    """Include directories of the installed nvidia packages: one for CUDA 13, one a package before it."""
    spec = importlib.util.find_spec("nvidia")
    roots = [Path(root) for root in (spec.submodule_search_locations or [])] if spec else []
    found = sorted(directory for root in roots for directory in root.glob("*/include"))
    newest = [d for d in found if (d / "cuda_fp8.h").exists() and re.fullmatch(r"cu\d+", d.parent.name)]
    return newest[-1:] or found


@functools.cache
def _library() -> tuple[ctypes.CDLL | None, str | None]:
    """The compiled library, or the reason why there is none."""
    try:
        return _compile(), None
    except _Unavailable as reason:
        return None, str(reason)


def _compile() -> ctypes.CDLL:
    compiler = shutil.which("g++")
    if compiler is None:
        raise _Unavailable("g++ was not found")
    directories = _include_directories()
    missing = [name for name in _NEEDED if not any((d / name).exists() for d in directories)]
    if missing:
        raise _Unavailable(
            f"CUDA header {missing[0]} was not found: "
            "pip install nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl (13.x)"
        )
    # -O3 -march=native halves the time of a sweep. Contraction into fused operations is the one liberty that it would
    # give the compiler with floating-point code.
    flags = ["-O3", "-march=native", "-ffp-contract=off", "-std=c++17", "-shared", "-fPIC"]
    includes = [f"-I{directory}" for directory in directories]
    with tempfile.TemporaryDirectory(prefix="cuda-host-") as place:
        output = Path(place) / "cuda_host.so"
        command = [compiler, *flags, *includes, str(_SOURCE), "-o", str(output)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise _Unavailable(f"g++ could not compile the CUDA headers: {run.stderr.strip()[:2000]}")
        return ctypes.CDLL(str(output))  # once loaded, the file is not needed


def available() -> str | None:
    """None when the headers are there and compile, else the reason why not.

    The first call compiles (about a second); its result is kept.
    """
    return _library()[1]


def _require() -> ctypes.CDLL:
    library, reason = _library()
    if library is None:
        raise RuntimeError(f"the CUDA headers cannot be used: {reason}")
    return library


def version() -> str:
    """The headers' CUDA version, such as "13.5"."""
    number = _require().cuda_version()
    return f"{number // 1000}.{number % 1000 // 10}"


def _symbol(name: str, dtype: np.dtype, saturate: bool, rounding: str) -> str:
    return f"{name}_{'sat' if saturate else 'nosat'}_{rounding}_{_SOURCES.get(dtype, dtype.name)}"


def supports(name: str, dtype: np.typing.DTypeLike = np.float32, *, saturate: bool, rounding: str = "rn") -> bool:
    """Whether `codes` can be asked this: the installed headers decide."""
    return hasattr(_require(), _symbol(name, np.dtype(dtype), saturate, rounding))


def codes(
    name: str, x: np.ndarray, *, saturate: bool, rounding: str = "rn", out: np.ndarray | None = None
) -> np.ndarray:
    """Codes that NVIDIA's headers give for `x`.

    Parameters
    ----------
    name : str
        e4m3, e5m2, e3m2, e2m3, e2m1, e8m0, ue5m3, fp16 or bf16.
    x : ndarray of float32 or float64
        Any shape. Copied only if it is not contiguous.
    saturate : bool
        __NV_SATFINITE or __NV_NOSAT. fp6 and fp4 have the first only, fp16 and bf16 the second.
    rounding : {"rn", "rz", "ru", "rd"}
        To nearest even (e8m0: ties up), toward zero, toward positive, toward negative.
    out : ndarray, optional
        Contiguous, of the shape and dtype of the result.

    Returns
    -------
    ndarray of uint8, or of uint16 for fp16 and bf16
        One code a value. The interpreter lock is released meanwhile, so that threads help.

    Raises
    ------
    ValueError
        For what these headers do not offer.
    """
    symbol = _symbol(name, x.dtype, saturate, rounding)
    function = getattr(_require(), symbol, None)
    if function is None:
        raise ValueError(f"CUDA {version()} headers have no {symbol}")
    x = np.ascontiguousarray(x).reshape(x.shape)
    dtype = np.uint16 if name in ("fp16", "bf16") else np.uint8
    if out is None:
        out = np.empty(x.shape, dtype)
    elif out.dtype != dtype or out.shape != x.shape or not out.flags.c_contiguous:
        raise ValueError(f"out must be a contiguous {np.dtype(dtype).name} array of shape {x.shape}")
    function(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(out.ctypes.data), ctypes.c_size_t(x.size))
    return out
