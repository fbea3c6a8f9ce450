"""The other libraries, as one table: what each can do, in which layout, and up to which size.

A peer's `make` gets a `Task` and returns the call to time, or None where the library has no such
format or job. Layouts: "new" returns a fresh array, "out" writes into memory it is given. Our own
call uses the same layout as the peer it is compared with. A new peer is a new row of `PEERS`.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

import fpformats as fp

from . import cpfloat
from .jax_peer import jax_call

__all__ = ["PEERS", "Peer", "Task", "calm", "installed", "torch_module"]

Call = Callable[[], object]


@dataclass(frozen=True)
class Task:
    """One job for a peer: `x` holds floats, or codes when decoding (unsigned, as `encode` returns)."""

    job: str
    fmt: str
    x: np.ndarray[Any, Any]
    layout: str = "new"

    @property
    def out(self) -> bool:
        return self.layout == "out"


@dataclass(frozen=True)
class Peer:
    """One library."""

    name: str
    #: must be importable (or, for a function, return True)
    needs: str | Callable[[], bool]
    make: Callable[[Task], Call | None]
    jobs: tuple[str, ...] = ("quantize", "encode", "decode")
    layouts: tuple[str, ...] = ("new",)
    #: log2 of the largest array it is asked to work on
    largest: int = 20


def _of(names: str, values: str) -> dict[str, str]:
    return dict(zip(names.split(), values.split(), strict=True))


# --- ml_dtypes and NumPy's own float16 ----------------------------------------------------------------
ML_DTYPES = _of(
    "bf16 e4m3 e5m2 e4m3_ieee e3m4 e4m3fnuz e5m2fnuz e4m3b11fnuz e3m2 e2m3 e2m1 e8m0",
    "bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3 float8_e3m4 float8_e4m3fnuz float8_e5m2fnuz float8_e4m3b11fnuz "
    "float6_e3m2fn float6_e2m3fn float4_e2m1fn float8_e8m0fnu",
)


def _astype(dtype: Any, task: Task) -> Call:
    x = task.x
    if task.job == "decode":
        stored = x.view(dtype)
        result = np.zeros(x.shape, np.float32)
        return partial(np.copyto, result, stored) if task.out else partial(stored.astype, np.float32)
    codes, result = np.zeros(x.shape, dtype), np.zeros(x.shape, x.dtype)
    if task.job == "encode":
        return partial(np.copyto, codes, x, casting="unsafe") if task.out else partial(x.astype, dtype)

    def through() -> None:
        np.copyto(codes, x, casting="unsafe")
        np.copyto(result, codes, casting="unsafe")

    return through if task.out else lambda: x.astype(dtype).astype(x.dtype)


def _ml_dtypes(task: Task) -> Call | None:
    import ml_dtypes

    name = ML_DTYPES.get(task.fmt)
    return _astype(getattr(ml_dtypes, name), task) if name else None


def _numpy(task: Task) -> Call | None:
    return _astype(np.float16, task) if task.fmt == "fp16" else None


# --- torch --------------------------------------------------------------------------------------------
TORCH = _of(
    "fp16 bf16 e4m3 e5m2 e4m3fnuz e5m2fnuz",
    "float16 bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz",
)


@lru_cache(maxsize=1)
def torch_module() -> Any:
    """Torch, held to the threads that `calm` chose."""
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    return torch


def _torch(task: Task) -> Call | None:
    if task.fmt not in TORCH:
        return None
    torch = torch_module()
    dtype = getattr(torch, TORCH[task.fmt])
    if task.job == "decode":
        signed = task.x.view(f"i{task.x.itemsize}")
        x, single = torch.from_numpy(signed).view(dtype), torch.float32
        result = torch.zeros(x.shape, dtype=single)
        return partial(result.copy_, x) if task.out else partial(x.to, single)
    x = torch.from_numpy(task.x)
    codes, result = torch.zeros(x.shape, dtype=dtype), torch.zeros_like(x)
    if task.job == "encode":
        return partial(codes.copy_, x) if task.out else partial(x.to, dtype)

    def through() -> None:
        codes.copy_(x)
        result.copy_(codes)

    return through if task.out else lambda: x.to(dtype).to(x.dtype)


# --- emulators ----------------------------------------------------------------------------------------
GFLOAT = _of(
    "bf16 fp16 e4m3 e5m2 e3m2 e2m3 e2m1",
    "bfloat16 binary16 ocp_e4m3 ocp_e5m2 ocp_e3m2 ocp_e2m3 ocp_e2m1",
)
#: for libraries that know widths only, not where finite values end
BY_WIDTH = ("tf32", "bf16", "fp16", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1")


def _gfloat(task: Task) -> Call | None:
    import gfloat
    import gfloat.formats

    if task.fmt not in GFLOAT:
        return None
    info = getattr(gfloat.formats, f"format_info_{GFLOAT[task.fmt]}")
    finite, x = not fp.get(task.fmt).has_inf, task.x
    rounded = partial(gfloat.round_ndarray, info, x, sat=finite)
    if task.job == "decode":
        return partial(gfloat.decode_ndarray, info, x)
    return rounded if task.job == "quantize" else lambda: gfloat.encode_ndarray(info, rounded())


def _widths(task: Task) -> tuple[int, int] | None:
    fmt = fp.get(task.fmt)
    return (fmt.exponent_bits, fmt.mantissa_bits) if task.fmt in BY_WIDTH else None


def _pychop(task: Task) -> Call | None:
    widths = _widths(task)
    if not widths:
        return None
    import pychop

    pychop.backend("torch")
    return partial(pychop.Chop(*widths, rmode=1), torch_module().from_numpy(task.x))


def _qtorch(task: Task) -> Call | None:
    widths = _widths(task)
    if not widths:
        return None
    from qtorch.quant import float_quantize  # builds its C++ the first time

    return partial(float_quantize, torch_module().from_numpy(task.x), exp=widths[0], man=widths[1], rounding="nearest")


def _apytypes(task: Task) -> Call | None:
    widths = _widths(task)
    if not widths:
        return None
    from apytypes import APyFloatArray

    x = task.x
    if task.job == "decode":
        return lambda: APyFloatArray.from_bits(x, *widths).to_numpy()
    if task.job == "encode":
        return lambda: APyFloatArray.from_array(x, *widths).to_bits(numpy=True)
    return lambda: APyFloatArray.from_array(x, *widths).to_numpy()


def _cpfloat(task: Task) -> Call | None:
    if task.fmt not in BY_WIDTH:
        return None
    fmt = fp.get(task.fmt)
    return cpfloat.round_call(task.x, fmt.mantissa_bits + 1, fmt.emin, fmt.maxexp - 1, fmt.has_inf)


# --- the table ----------------------------------------------------------------------------------------
EVERY, ROUND = ("quantize", "encode", "decode", "float64"), ("quantize",)
BOTH = ("new", "out")

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer("ml_dtypes", "ml_dtypes", _ml_dtypes, EVERY, BOTH, 26),
        Peer("numpy float16", "numpy", _numpy, EVERY, BOTH, 26),
        Peer("torch", "torch", _torch, EVERY, BOTH, 26),
        Peer("gfloat", "gfloat", _gfloat),
        Peer("pychop (torch)", "pychop", _pychop, ROUND),
        Peer("qtorch", "qtorch", _qtorch, ROUND),
        Peer("apytypes", "apytypes", _apytypes),
        Peer("CPFloat", cpfloat.available, _cpfloat, ROUND, ("out",), 26),
        Peer("jax", "jax", jax_call),
    )
}


def installed(peer: Peer) -> bool:
    """Whether the peer can be imported (or built) here; nothing is imported to find out."""
    return peer.needs() if callable(peer.needs) else importlib.util.find_spec(peer.needs) is not None


def calm(threads: int) -> None:
    """Hold every peer to that many threads; call it before any of them is imported."""
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC"):
        os.environ[variable] = str(threads)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    if threads == 1:
        os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
