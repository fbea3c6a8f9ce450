"""THE table of expected differences: how each peer's casts differ from `encode` without further arguments.

A new difference is a new row of `ROWS`; a new peer an entry of `PEERS`, and for a live one a way to ask it in
``tests/oracles/live.py``. What several peers do for one reason is said once.
"""

from __future__ import annotations

from ..profiles import PROFILES
from .difference import Difference, Peer
from .words import AS_MAGNITUDE, SOME_NAN

__all__ = ["PEERS", "ROWS"]

_ALL = ("float16", "float32", "float64", "bfloat16")
_WIDE = ("float32", "float64")
_FP8 = "e4m3 e5m2 e4m3fnuz e5m2fnuz"
_TORCH = f"fp16 bf16 {_FP8} e8m0"
_ML = f"bf16 e3m4 e4m3_ieee {_FP8} e4m3b11fnuz e2m3 e3m2 e2m1 e8m0"
_CUDA = "e4m3 e5m2 e2m3 e3m2 e2m1 e8m0 ue5m3 fp16 bf16"
_SAME_TYPE = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32"}


def _casts(formats: str, sources: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Each format from each of the sources but itself."""
    return {fmt: tuple(s for s in sources if s != _SAME_TYPE.get(fmt)) for fmt in formats.split()}


def _but(formats: str, without: str) -> tuple[str, ...]:
    return tuple(fmt for fmt in formats.split() if fmt not in without.split())


PEERS: dict[str, Peer] = {
    row.name: row
    for row in (
        Peer("torch", "`x.to(dtype)` on an x86-64 CPU", "2.13.0", _casts(_TORCH, _ALL), tuple(_TORCH.split()), "torch"),
        Peer("ml_dtypes", "`x.astype(dtype)`", "0.6.0", _casts(_ML, _ALL) | {"fp16": ("bfloat16",)}, tuple(_ML.split()), "ml_dtypes"),
        Peer("numpy", "`x.astype(dtype)` on x86-64", "2.4.6", {"fp16": _WIDE, "fp32": ("float16", "float64")}, (), "numpy"),
        Peer("jax", "`x.astype(dtype)` on a CPU, by XLA, with 64-bit types enabled", "0.10.2", _casts(f"fp16 bf16 e3m4 e4m3_ieee {_FP8} e4m3b11fnuz e2m1 e8m0", _ALL), ("fp16", "bf16")),
        Peer("gfloat", "`round_ndarray(..., sat=False)` and `encode_ndarray`", "0.5.2", _casts("fp16 bf16 e4m3 e5m2 e8m0", _WIDE)),
        Peer("gfloat_sat", "`round_ndarray(..., sat=True)` and `encode_ndarray`", "0.5.2", _casts("fp16 bf16 e4m3 e5m2 e2m3 e3m2 e2m1 e8m0", _WIDE)),
        Peer("cuda_satfinite", "CUDA's headers on the host: `__NV_SATFINITE`, e8m0 as its constructor (round up)", "13.5", _casts(_CUDA, _WIDE), (), "cuda_satfinite", (("e4m3", "float64"), ("e5m2", "float64"))),
        Peer("cuda_nosat", "CUDA's headers on the host: `__NV_NOSAT`, e8m0 rounded up", "13.5", _casts("e4m3 e5m2 e8m0 ue5m3", _WIDE), (), "cuda_nosat", (("e4m3", "float64"), ("e5m2", "float64"))),
        Peer("onnx", "Cast in the reference evaluator, `saturate=1`", "1.23.2", _casts(f"fp16 bf16 {_FP8} e2m1 e8m0", _ALL), ("bf16", *_FP8.split(), "e2m1", "e8m0"), "onnx", (("fp16", "bfloat16"),)),
        Peer("onnx_nosaturate", "Cast in the reference evaluator, `saturate=0`", "1.23.2", _casts(f"{_FP8} e8m0", _ALL), (*_FP8.split(), "e8m0"), "onnx_nosaturate"),
        Peer("torch<=2.12", "`x.to(dtype)` on a CPU", "2.10 to 2.12", _casts(_TORCH, _ALL), tuple(_TORCH.split()), "torch<=2.12", live=False),
        Peer("torch_cuda", "`x.to(dtype)` on sm_89 and newer", "2.13", _casts(_TORCH, _ALL), tuple(_TORCH.split()), "torch_cuda", live=False),
        Peer("torch_compile", "`torch.compile`, through Triton's PTX", "Triton 3.8", _casts("e4m3 e5m2", ("float32",)), (), "torch_compile", live=False),
        Peer("tensorflow", "`tf.cast`: the classes of ml_dtypes", "with ml_dtypes 0.6", _casts("bf16 e4m3 e5m2", _ALL), ("bf16", "e4m3", "e5m2"), "ml_dtypes", live=False),
        Peer("ptx_satfinite", "`cvt.rn.satfinite` (ue8m0: `.rp`)", "sm_89, sm_100a", _casts(_CUDA, ("float32",)), (), "ptx_satfinite", live=False),
        Peer("ptx_rna_tf32", "`cvt.rna.tf32.f32`", "sm_80 and newer", _casts("tf32", ("float32",)), (), "ptx_rna_tf32", live=False),
        Peer("tf32_truncate", "a float32 operand as a tensor core reads it", "sm_80 and newer", _casts("tf32", ("float32",)), (), "tf32_truncate", live=False),
        Peer("amd_fnuz", "HIP's casts to FNUZ, saturating", "HIP 6.2", _casts("e4m3fnuz e5m2fnuz", ("float32",)), (), "amd_fnuz", live=False),
        Peer("ocp", "the standards: OFP8's saturating mode, MX", "OFP8 rev 1.0, MX v1.0", _casts("e4m3 e5m2 e3m2 e2m3 e2m1 e8m0", _WIDE), (), "ocp", live=False),
        Peer("ocp_nonsaturating", "the standard: OFP8's other mode", "OFP8 rev 1.0", _casts("e4m3 e5m2", _WIDE), (), "ocp_nonsaturating", live=False),
    )
}  # fmt: skip

# --- inputs, outcomes and reasons that rows share -----------------------------------------------
_OVERFLOW, _TWICE = "overflow, infinities included", "float64 that float32 takes to a midpoint, from the other side"
_GAP, _TIES, _DOWN = "2^-127 < x < 1.5 * 2^-127", "ties, where even is down", "values between two, nearer to the lower"
_NEGATIVE, _BELOW = "negative numbers", "negative numbers below minus the smallest value"
_LARGEST, _NEAREST, _QUIET = "largest value", "nearest value", "quiet NaN"

_DOUBLE = "float64 becomes float32 first: rounded twice"
_TO_NAN = "an overflow becomes NaN; here a format without an infinity saturates by default (OFP8 has both modes)"
_SATURATES = "saturates; here a format with an infinity overflows to it by default (OFP8 has both modes)"
_NAN_CODE = "another NaN code; the standards leave it open"
_NO_NAN = (
    "the format has no NaN; what becomes of one is implementation-defined (MX v1.0 5.3), and an error here by default"
)
_UP_TIES = "ties go up: half a step is added to the bits"
_SUBNORMAL = "the bits of a subnormal float32 are rounded as if they had a leading one (a bug: 2^-127 is nearer)"
_NO_INF = "no saturation in scales: the one NaN stands for overflow"
_SIGN = "the sign is dropped; here a negative number saturates to the smallest value"
_ROUND_UP = "scales are rounded up, so that no element overflows (CUDA's constructor, PTX .rp, ONNX's default)"


def _rows(
    peers: str, formats: str | tuple[str, ...], inputs: str, theirs: str | tuple[int, int], ours: str | tuple[int, int],
    reason: str, source: str, sources: tuple[str, ...] = (), *, profile: bool = True,
) -> tuple[Difference, ...]:  # fmt: skip
    """One row a peer, for those of the formats that it has."""
    wanted = formats.split() if isinstance(formats, str) else formats
    found = []
    for name in peers.split():
        peer = PEERS[name]
        have = tuple(fmt for fmt in wanted if fmt in peer.casts)
        known = peer.profile is not None and all(fmt in PROFILES[peer.profile].rows for fmt in have)
        found.append(Difference(peer, have, inputs, theirs, ours, reason, source, sources, profile and known))
    return tuple(found)


ROWS: tuple[Difference, ...] = tuple(sorted((
    # float64 rounded twice
    *_rows("torch torch<=2.12 torch_cuda", _but(_TORCH, "e8m0"), _TWICE, "nearest value to float32(x)", _NEAREST, _DOUBLE, "torch/headeronly/util: constructors take float", ("float64",)),
    *_rows("ml_dtypes onnx_nosaturate tensorflow", _but(_ML, "e8m0"), _TWICE, "nearest value to float32(x)", _NEAREST, _DOUBLE, "ml_dtypes/include/float8.h: constructors take float", ("float64",)),
    *_rows("onnx", _but(_ML, "e8m0 e5m2"), _TWICE, "nearest value to float32(x)", _NEAREST, _DOUBLE, "ml_dtypes/include/float8.h: constructors take float", ("float64",)),
    *_rows("onnx", "e5m2", f"{_TWICE}, below overflow", "nearest value to float32(x)", _NEAREST, _DOUBLE, "ml_dtypes/include/float8.h: constructors take float", ("float64",)),
    *_rows("jax", "fp16", _TWICE, "nearest value to float32(x)", _NEAREST, _DOUBLE, "measured; XLA rounds float64 to 8 bits and fewer once", ("float64",)),
    *_rows("jax", "bf16", f"{_TWICE}, from 2^-126 up", "nearest value to float32(x)", _NEAREST, _DOUBLE, "measured", ("float64",)),
    *_rows("jax", "bf16", "float64 that are subnormal in float32", "zero", _NEAREST, "subnormal float32 results are flushed to zero on XLA's CPU threads", "measured", ("float64",)),
    # overflow and infinities
    *_rows("ml_dtypes jax cuda_nosat onnx_nosaturate torch<=2.12 tensorflow ocp_nonsaturating", "e4m3", _OVERFLOW, _QUIET, _LARGEST, _TO_NAN, "OFP8 table 2, non-saturating"),
    *_rows("gfloat", "e4m3", _OVERFLOW, (0xFF, 0xFF), _LARGEST, _TO_NAN, "measured; one NaN, the last code"),
    *_rows("torch ml_dtypes jax onnx_nosaturate torch<=2.12 torch_cuda", "e4m3fnuz e5m2fnuz e4m3b11fnuz", _OVERFLOW, _QUIET, _LARGEST, _TO_NAN, "arXiv:2206.02915"),
    *_rows("amd_fnuz", "e4m3fnuz e5m2fnuz", "infinities", _QUIET, _LARGEST, "saturates finite numbers only", "amd_hip_fp8.h"),
    *_rows("cuda_satfinite onnx torch_compile ptx_satfinite ocp", "e5m2", "overflow in one rounding, infinities included", _LARGEST, "infinity", _SATURATES, "OFP8 table 2, saturating; PTX ISA, cvt.satfinite"),
    *_rows("gfloat_sat", "fp16 bf16 e5m2", "overflow in one rounding, infinities included", _LARGEST, "infinity", "asked to saturate", "measured"),
    *_rows("cuda_nosat", "ue5m3", _OVERFLOW, _QUIET, _LARGEST, _NO_INF, "cuda_fp8.h"),
    # codes of NaN
    *_rows("torch torch<=2.12 torch_cuda", "e5m2", "NaN", (0x7F, 0xFF), _QUIET, _NAN_CODE, "torch/headeronly/util/Float8_e5m2.h"),
    *_rows("torch torch<=2.12", "fp16 bf16", "NaN", SOME_NAN, _QUIET, "the code depends on the place in the tensor, the payload and the instruction set", "measured: 0x7fc0, 0xffff; F16C keeps payload bits", profile=False),
    *_rows("torch_cuda", "fp16", "signalling or extended NaN", "NaN with its top payload bits, quieted", _QUIET, "payload bits are kept", "not measured: what the CPU does"),
    *_rows("torch_cuda", "bf16", "NaN", (0x7FFF, 0x7FFF), _QUIET, _NAN_CODE, "cuda_bf16.h: __float2bfloat16"),
    *_rows("torch_cuda", "e4m3", "-NaN", (0x7F, 0x7F), _QUIET, "the sign of NaN is dropped by the instruction", "ATen/native/cuda/Copy.cu; SASS F2FP.SATFINITE.E4M3"),
    *_rows("numpy", "fp16", "NaN whose top payload bits are not those of the quiet NaN", "NaN with its top payload bits", _QUIET, "payload bits are kept, signalling ones too", "numpy/_core/src/common/half.hpp"),
    *_rows("onnx", "fp16", "NaN whose top payload bits are not those of the quiet NaN", "NaN with its top payload bits", _QUIET, "NumPy's cast: payload bits are kept", "measured", _WIDE),
    *_rows("numpy", "fp32", "NaN whose top payload bits are not those of the quiet NaN", "NaN with its top payload bits", _QUIET, "payload bits are kept, signalling ones too", "numpy/_core/src/common/half.hpp", ("float16",), profile=False),
    *_rows("numpy", "fp32", "signalling or extended NaN", "NaN with its top payload bits, quieted", _QUIET, "payload bits are kept by the instruction, the quiet bit is set (IEEE 754 6.2.3)", "measured", _WIDE, profile=False),
    *_rows("jax", "fp16", "signalling or extended NaN", "NaN with its top payload bits, quieted", _QUIET, "payload bits are kept by the instruction (F16C)", "measured", ("float32", "bfloat16")),
    *_rows("jax", "e5m2", "NaN", (0x7F, 0x7F), _QUIET, "XLA goes another way for 16-bit sources, which drops the sign", "measured", ("float16", "bfloat16")),
    *_rows("gfloat gfloat_sat", "e4m3", "+NaN", (0xFF, 0xFF), _QUIET, "one NaN, the last code", "measured"),
    *_rows("gfloat gfloat_sat", "e5m2", "NaN", (0xFF, 0xFF), _QUIET, "one NaN, the last code", "measured"),
    *_rows("gfloat gfloat_sat", "fp16 bf16", "NaN", (0xFFFF, 0xFFFF), _QUIET, "one NaN, the last code", "measured"),
    *_rows("cuda_satfinite cuda_nosat torch_compile ptx_satfinite", "e4m3", "-NaN", (0x7F, 0x7F), _QUIET, "the sign of NaN is dropped", "cuda_fp8.h; PTX ISA, cvt: canonical NaN", ("float32",)),
    *_rows("cuda_satfinite cuda_nosat torch_compile ptx_satfinite", "e5m2", "NaN", (0x7F, 0x7F), _QUIET, _NAN_CODE, "cuda_fp8.h; PTX ISA, cvt: canonical NaN", ("float32",)),
    *_rows("cuda_satfinite cuda_nosat", "e5m2", "signalling or extended NaN", "NaN with its top payload bits, quieted", _QUIET, "sign and payload bits are kept, from double only", "cuda_fp8.h: __nv_cvt_double_to_fp8", ("float64",), profile=False),
    *_rows("cuda_satfinite ptx_satfinite", "fp16 bf16", "NaN", (0x7FFF, 0x7FFF), _QUIET, _NAN_CODE, "cuda_fp16.h, cuda_bf16.h"),
    # formats without NaN
    *_rows("ml_dtypes", "e2m3 e3m2", "NaN", (0x20, 0x00), "ValueError", _NO_NAN, "ml_dtypes/include/mxfloat.h: -0 for +NaN, 0 for -NaN"),
    *_rows("ml_dtypes onnx", "e2m1", "NaN", (0x8, 0x0), "ValueError", _NO_NAN, "ml_dtypes/include/mxfloat.h: -0 for +NaN, 0 for -NaN"),
    *_rows("jax", "e2m1", "NaN", (0x8, 0x8), "ValueError", _NO_NAN, "measured: -0 for either sign"),
    *_rows("cuda_satfinite ptx_satfinite", "e2m3 e3m2 e2m1", "NaN", "+largest value", "ValueError", _NO_NAN, "PTX ISA, cvt.satfinite"),
    # scales
    *_rows("torch ml_dtypes jax torch<=2.12 torch_cuda", "e8m0", _TIES, "value above", "value below", _UP_TIES, "the headers of torch and ml_dtypes; measured on the CPU"),
    *_rows("torch ml_dtypes jax torch<=2.12 torch_cuda", "e8m0", _GAP, "code 1", "code 0", _SUBNORMAL, "the headers of torch and ml_dtypes; measured on the CPU"),
    *_rows("torch ml_dtypes jax torch<=2.12 torch_cuda", "e8m0", "x >= 1.5 * 2^127, infinity included", _QUIET, _LARGEST, _NO_INF, "measured on the CPU"),
    *_rows("gfloat", "e8m0", _OVERFLOW, _QUIET, _LARGEST, _NO_INF, "measured"),
    *_rows("torch torch<=2.12 torch_cuda", "e8m0", _BELOW, AS_MAGNITUDE, "code 0", _SIGN, "measured on the CPU"),
    *_rows("ml_dtypes jax", "e8m0", _NEGATIVE, (0xFF, 0xFF), "code 0", "a negative number is no scale: NaN", "measured"),
    *_rows("ml_dtypes jax", "e8m0", "zeros", (0xFF, 0xFF), "code 0", "zero is no scale: NaN", "measured"),
    *_rows("jax", "e8m0", "0 < x < 2^-127", (0xFF, 0xFF), "code 0", "numbers below the smallest scale become NaN, from float64 only", "measured", ("float64",)),
    *_rows("gfloat gfloat_sat", "e8m0", _NEGATIVE, "an integer that is no code", "code 0", "encode_ndarray does not look at the sign", "measured"),
    *_rows("gfloat gfloat_sat", "e8m0", "0 < x < 1.5 * 2^-128", "an integer that is no code", "code 0", "encode_ndarray does not look at the smallest value", "measured"),
    *_rows("cuda_satfinite cuda_nosat onnx onnx_nosaturate ptx_satfinite", "e8m0", _DOWN, "value above", "value below", _ROUND_UP, "cuda_fp8.h; PTX ISA, cvt.rp; ONNX Cast, round_mode"),
    *_rows("cuda_satfinite cuda_nosat ptx_satfinite", "e8m0", _BELOW, AS_MAGNITUDE, "code 0", _SIGN, "cuda_fp8.h"),
    *_rows("onnx onnx_nosaturate", "e8m0", _NEGATIVE, AS_MAGNITUDE, "code 0", _SIGN, "measured", profile=False),
    *_rows("onnx onnx_nosaturate", "e8m0", "0 < x <= 2^-127", "code 1", "code 0", "every subnormal float32 is taken to 2^-126, 2^-127 too (a bug)", "onnx/numpy_helper.py: to_float8e8m0", profile=False),
    *_rows("onnx", "e8m0", "infinities", _QUIET, _LARGEST, "infinities become NaN although finite numbers saturate", "onnx/numpy_helper.py: to_float8e8m0", profile=False),
    *_rows("cuda_nosat onnx_nosaturate", "e8m0", "x > 2^127, infinity included", _QUIET, _LARGEST, _NO_INF, "cuda_fp8.h; ONNX Cast, saturate"),
    *_rows("cuda_satfinite cuda_nosat ptx_satfinite", "ue5m3", "negative numbers that do not round to zero", AS_MAGNITUDE, "code 0", _SIGN, "cuda_fp8.h"),
    # TF32
    *_rows("ptx_rna_tf32", "tf32", _TIES, "value above", "value below", "ties away from zero", "PTX ISA, cvt.rna.tf32"),
    *_rows("ptx_rna_tf32", "tf32", "-NaN", (0x3FE00, 0x3FE00), _QUIET, _NAN_CODE, "B200 recordings"),
    *_rows("tf32_truncate", "tf32", "values between two, nearer to the upper", "value below", _NEAREST, "the low bits are not read: rounded toward zero", "MMA-Sim"),
), key=lambda row: list(PEERS).index(row.peer.name)))  # fmt: skip
