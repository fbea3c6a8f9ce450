"""The peers of the table of differences, each behind one function: numbers in, the peer's codes out.

``PEERS[name]`` has ``available()``, ``version()`` and ``codes(fmt, x)`` with the format's name in fpformats and x a
NumPy array of the source type. The codes are int64; `NO_CODE` where the peer raises, `NOT_A_CODE` for an integer that is no
code.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from . import cuda_host, ml_dtypes_cast, torch_cast

__all__ = ["NOT_A_CODE", "NO_CODE", "PEERS", "Live"]

NO_CODE, NOT_A_CODE = -1, -2
_ML_NAMES = {
    "fp16": "float16",
    "bf16": "bfloat16",
    "e3m4": "float8_e3m4",
    "e4m3_ieee": "float8_e4m3",
    "e4m3": "float8_e4m3fn",
    "e4m3b11fnuz": "float8_e4m3b11fnuz",
    "e4m3fnuz": "float8_e4m3fnuz",
    "e5m2": "float8_e5m2",
    "e5m2fnuz": "float8_e5m2fnuz",
    "e8m0": "float8_e8m0fnu",
    "e2m3": "float6_e2m3fn",
    "e3m2": "float6_e3m2fn",
    "e2m1": "float4_e2m1fn",
}


@dataclass(frozen=True)
class Live:
    """One peer."""

    package: str
    codes: Callable[[str, np.ndarray], np.ndarray]
    available: Callable[[], str | None]

    def version(self) -> str:
        """Of what is installed."""
        return cuda_host.version() if self.package == "cuda" else importlib.metadata.version(self.package)


def _installed(*packages: str) -> Callable[[], str | None]:
    def available() -> str | None:
        absent = [name for name in packages if importlib.util.find_spec(name) is None]
        return f"{absent[0]} is not installed" if absent else None

    return available


def _unsigned(x: np.ndarray) -> np.ndarray:
    return x.view(f"u{x.itemsize}")


def _torch(fmt: str, x: np.ndarray) -> np.ndarray:
    import torch

    # NumPy's bfloat16 is ml_dtypes', which torch does not know
    tensor = torch.from_numpy(_unsigned(x)).view(getattr(torch, x.dtype.name))
    cast = tensor.to(getattr(torch, _ML_NAMES[fmt]))
    return cast.view(torch.uint16 if cast.itemsize == 2 else torch.uint8).numpy()


def _ml_dtypes(fmt: str, x: np.ndarray) -> np.ndarray:
    return ml_dtypes_cast.codes(_ML_NAMES[fmt], x)


def _numpy(fmt: str, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return _unsigned(x.astype({"fp16": np.float16, "fp32": np.float32}[fmt]))


def _jax(fmt: str, x: np.ndarray) -> np.ndarray:
    import jax

    with jax.enable_x64(True):
        return _unsigned(np.asarray(jax.numpy.asarray(x).astype(_ML_NAMES[fmt])))


def _gfloat(saturate: bool) -> Callable[[str, np.ndarray], np.ndarray]:
    def codes(fmt: str, x: np.ndarray) -> np.ndarray:
        import gfloat
        from gfloat import formats

        name = {"fp16": "binary16", "bf16": "bfloat16"}.get(fmt, f"ocp_{fmt}")
        info = getattr(formats, f"format_info_{name}")
        with np.errstate(invalid="ignore"):  # signalling NaN
            wide = x.astype(np.float64)
        out = np.full(x.shape, NO_CODE, np.int64)
        some = np.ones(x.shape, bool)
        if not info.num_nans:
            some = ~np.isnan(wide)
            try:
                gfloat.encode_ndarray(info, wide[~some])
            except AssertionError:
                pass  # it has no words for a NaN
            else:
                raise RuntimeError(f"gfloat encodes NaN in {fmt} now")
        with np.errstate(all="ignore"):
            rounded = gfloat.round_ndarray(info, wide[some], gfloat.RoundMode.TiesToEven, saturate)
            found = np.asarray(gfloat.encode_ndarray(info, rounded)).astype(np.int64)
        out[some] = np.where((found < 0) | (found >> info.bits != 0), NOT_A_CODE, found)
        return out

    return codes


def _cuda(saturate: bool) -> Callable[[str, np.ndarray], np.ndarray]:
    def codes(fmt: str, x: np.ndarray) -> np.ndarray:
        wide = fmt in ("fp16", "bf16")  # without a choice; the table has them beside the saturating casts
        return cuda_host.codes(fmt, x, saturate=saturate and not wide, rounding="ru" if fmt == "e8m0" else "rn")

    return codes


@lru_cache(maxsize=64)
def _onnx_model(target: str, source: str, saturate: bool) -> object:
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    kinds = {name: getattr(TensorProto, name) for name in (target, source)}
    node = helper.make_node("Cast", ["x"], ["y"], to=kinds[target], saturate=int(saturate))
    x, y = (helper.make_tensor_value_info(name, kinds[kind], [None]) for name, kind in (("x", source), ("y", target)))
    graph = helper.make_graph([node], "cast", [x], [y])
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)]))


def _onnx(saturate: bool) -> Callable[[str, np.ndarray], np.ndarray]:
    targets = {
        "fp16": "FLOAT16",
        "bf16": "BFLOAT16",
        "e4m3": "FLOAT8E4M3FN",
        "e5m2": "FLOAT8E5M2",
        "e4m3fnuz": "FLOAT8E4M3FNUZ",
        "e5m2fnuz": "FLOAT8E5M2FNUZ",
        "e2m1": "FLOAT4E2M1",
        "e8m0": "FLOAT8E8M0",
    }
    sources = {"float16": "FLOAT16", "float32": "FLOAT", "float64": "DOUBLE", "bfloat16": "BFLOAT16"}

    def codes(fmt: str, x: np.ndarray) -> np.ndarray:
        model = _onnx_model(targets[fmt], sources[x.dtype.name], saturate)
        with np.errstate(all="ignore"):
            (cast,) = model.run(None, {"x": x})
        return _unsigned(cast)

    return codes


PEERS: dict[str, Live] = {
    "torch": Live("torch", _torch, torch_cast.available),
    "ml_dtypes": Live("ml_dtypes", _ml_dtypes, ml_dtypes_cast.available),
    "numpy": Live("numpy", _numpy, _installed()),
    "jax": Live("jax", _jax, _installed("jax")),
    "gfloat": Live("gfloat", _gfloat(False), _installed("gfloat")),
    "gfloat_sat": Live("gfloat", _gfloat(True), _installed("gfloat")),
    "cuda_satfinite": Live("cuda", _cuda(True), cuda_host.available),
    "cuda_nosat": Live("cuda", _cuda(False), cuda_host.available),
    "onnx": Live("onnx", _onnx(True), _installed("onnx", "ml_dtypes")),
    "onnx_nosaturate": Live("onnx", _onnx(False), _installed("onnx", "ml_dtypes")),
}
