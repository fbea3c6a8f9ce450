"""The jobs on block formats: each recipe against `copyto`, plain data, and torchao."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import fpformats as fp

from . import data
from .arrays import copyto
from .clock import Runner
from .peers import torch_module
from .plan import LARGE, Plan
from .results import Measurement, Results

__all__ = ["blocks"]

Array = np.ndarray[Any, Any]

#: one recipe of each way through the code, and one along another axis
RECIPES = (
    "mxfp8_e4m3",
    "mxfp4",
    "mxfp8_e4m3_te",
    "nvfp4_te",
    "nvfp4_torchao",
    "nvfp4_modelopt",
    "nvfp4_te_16x16",
    "fp8_e4m3_tensor_te",
    "fp8_e4m3_1x128_te",
    "fp8_e4m3_128x128_te",
    "mxfp8_e4m3 axis 0",
    "mxfp8_e4m3_te_32x1",
    "mxint8",
    "int8_1x128_absmax",
    "nvfp4_te_rowscaled",
    "nvfp4_compressed_tensors",
    "mxfp4_ggml",
    "nvfp4_ggml",
    "int8_1x128_compressed_tensors_asymmetric",
)
#: what a first-tier recipe is held against: the one with a scale for 16 numbers, or the other one
BASES = {True: "nvfp4_te", False: "mxfp8_e4m3"}
QUICK = ("mxfp8_e4m3", "nvfp4_te")
COLUMNS = 1 << 10


def _matrix(kind: str, size: int) -> Array:
    """Plain numbers; or among them blocks of zeros, NaN, subnormal and huge numbers, one in eight each."""
    x = data.values("plain", size, "float32", nan=True).reshape(-1, min(COLUMNS, 1 << size))
    if kind == "plain":
        return x
    x = x.copy()
    x[:, 0:64] = 0
    x[:, 128:192] *= np.float32(1e-41)
    x[:, 256:320] *= np.float32(1e30)
    x[::64, 400] = np.nan
    return x


def _way(what: str) -> tuple[str, int]:
    """A recipe's name and axis."""
    name, _, axis = what.partition(" axis ")
    return name, int(axis or -1)


def _calls(what: str, x: Array) -> dict[str, Callable[[], object]]:
    """With `out`, as `copyto` has one: large results of fresh memory cost more than what is done to them."""
    out = data.memory("result", x.size, "float32").reshape(x.shape)
    codes = data.memory("codes", x.size, "uint8").reshape(x.shape)
    name, axis = _way(what)
    coded = fp.encode_blocks(x, name, axis=axis)
    return {
        "block encode": partial(fp.encode_blocks, x, name, axis=axis, out=codes),
        "block quantize": partial(fp.quantize, x, name, axis=axis, out=out),
        "block decode": partial(coded.decode, out=out),
    }


def _torchao(name: str, x: Array) -> dict[str, Callable[[], object]]:
    """torchao's own functions for its own recipe."""
    try:
        from torchao.prototype.mx_formats.mx_tensor import MXTensor
        from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale
    except ImportError:
        return {}
    torch = torch_module()
    tensor = torch.from_numpy(x)
    if name == "mxfp8_e4m3":

        def encode() -> Any:
            return MXTensor.to_mx(tensor, torch.float8_e4m3fn, 32)
    elif name == "nvfp4_torchao":

        def encode() -> Any:
            return NVFP4Tensor.to_nvfp4(tensor, 16, per_tensor_amax_to_scale(tensor.abs().max()))
    else:
        return {}
    return {"block encode": encode, "block quantize": lambda: encode().dequantize(torch.float32)}


def blocks(plan: Plan, size: int, results: Results) -> None:
    """Every recipe at one size."""
    names = plan.chosen_formats or (QUICK if plan.quick else RECIPES)
    for name in names:
        fmt = fp.get(_way(name)[0])
        if not isinstance(fmt, fp.BlockFormat):
            continue
        plan.progress(f"2^{size} blocks {name}")
        plain, wide = (_calls(name, _matrix(kind, size)) for kind in ("plain", "wide"))
        wanted = plan.peer_names is None or "torch" in plan.peer_names
        peer = _torchao(name, _matrix("plain", size)) if wanted and size < LARGE else {}
        x = _matrix("plain", size)
        base = BASES[bool(fmt.z) or fmt.size == 16]
        bases = _calls(base, x) if name != base and fmt.tier == 1 else {}
        fresh = {
            "block encode": partial(fp.encode_blocks, x, _way(name)[0]),
            "block quantize": partial(fp.quantize, x, _way(name)[0]),
        }  # results of their own, as torchao's
        for job, call in plain.items():
            moved = _bytes(name, size, job)
            runners = [Runner(("plain",), call), Runner(("wide",), wide[job]), Runner(("copyto",), copyto(moved))]
            if job in peer:
                runners += [Runner(("torchao",), peer[job]), Runner(("fresh",), fresh[job])]
            if bases:
                runners.append(Runner(("base",), bases[job]))
            times = plan.watch.race(runners, plan.rounds(size))
            compare = plan.compare(size)
            ours = min(times["plain",])
            pairs = [("copyto", "plain", "copyto"), ("plain data", "wide", "plain"), (base, "plain", "base")]
            for against, over, under in pairs if bases else pairs[:2]:
                ratio = compare(times[over,], times[under,])
                results.add(
                    [Measurement(job, name, against, ratio.value, size, over, spread=ratio.spread, seconds=ours)]
                )
            if job in peer:
                ratio = compare(times["torchao",], times["fresh",])
                results.add([
                    Measurement(
                        job, name, "torchao", ratio.value, size, "plain", faster=True, spread=ratio.spread, seconds=ours
                    )
                ])  # fmt: skip
        data.forget()


def _bytes(name: str, size: int, job: str) -> int:
    """Bytes that a job reads and writes; a second level reads the numbers twice."""
    fmt = fp.get(_way(name)[0])
    floats = 4 << size
    if job == "block quantize":
        moved = 2 * floats
    else:
        moved = floats + (1 << size) + (1 << size) // (fmt.size or 1 << size)
    return moved + (floats if fmt.z and job != "block decode" else 0)
