"""THE table of named implementations: who does what.

A profile says, for each format that an implementation can cast to, which `Rules` it follows. A new
implementation is a new entry of `PROFILES`; what it shares with another is shared as data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .format import Format
from .registry import FORMATS
from .registry import get_element as get
from .rounding import Rules

__all__ = ["PROFILES", "Profile", "profile_rules", "profiles"]


@dataclass(frozen=True)
class Profile:
    """One implementation's casts.

    ``rows`` maps canonical format names to rules; the key ``"p3109"`` stands for the whole family.
    """

    name: str
    what: str
    source: str
    rows: Mapping[str, Rules]

    def rules(self, fmt: Format) -> Rules:
        """The rules for one format; ValueError for a format the implementation does not have."""
        key = "p3109" if fmt.name.startswith("binary") and fmt.name not in FORMATS else fmt.name
        if key not in self.rows:
            raise ValueError(f"profile {self.name!r} says nothing of {fmt.name}; it covers {', '.join(self.rows)}")
        return self.rows[key]


SAT = Rules(overflow="saturate")
OVER = Rules(overflow="nonfinite")

# E8M0's unsound corner: torch, ml_dtypes and ONNX send all of (2^-127, 2^-126) to 2^-126
_REGION = (-127, -126, 1)
_E8M0_TIES_UP = Rules(rounding="nearest_away", overflow="nonfinite", negative="abs", quirk=_REGION)


def _through_fp32(rows: Mapping[str, Rules]) -> dict[str, Rules]:
    """Sources wider than binary32 are rounded to it first, as C does it, and so twice."""
    return {name: replace(rules, via="fp32", via_rounding="nearest_even") for name, rules in rows.items()}


def _canonical(rows: Mapping[str, Rules], codes: Mapping[str, int], *, signs: bool) -> dict[str, Rules]:
    """The same rules with these NaN codes."""
    out = dict(rows)
    for name, code in codes.items():
        out[name] = replace(rows[name], nan_codes=(code, code | FORMATS[name].sign_bit * signs))
    return out


_TORCH = _through_fp32(
    _canonical(
        {
            "fp16": replace(OVER, nan_payload_bits=10),
            "bf16": OVER,
            "e4m3": SAT,
            "e5m2": OVER,
            "e4m3fnuz": OVER,
            "e5m2fnuz": OVER,
            "e8m0": _E8M0_TIES_UP,
        },
        {"fp16": 0x7E00, "e5m2": 0x7F},
        signs=True,
    )
)
# the vectorised float32 -> bfloat16 path; tails and strided inputs give 0x7fc0
_TORCH = _canonical(_TORCH, {"bf16": 0xFFFF}, signs=True)

_TORCH_CUDA = _canonical(_TORCH, {"e4m3": 0x7F, "bf16": 0x7FFF}, signs=False)

_ML_DTYPES = _through_fp32(
    {
        "bf16": OVER,
        "e3m4": OVER,
        "e4m3_ieee": OVER,
        "e5m2": OVER,
        "e4m3": OVER,
        "e4m3b11fnuz": OVER,
        "e4m3fnuz": OVER,
        "e5m2fnuz": OVER,
        "e2m3": replace(SAT, nan_codes=(0x20, 0x00)),
        "e3m2": replace(SAT, nan_codes=(0x20, 0x00)),
        "e2m1": replace(SAT, nan_codes=(0x8, 0x0)),
        "e8m0": replace(_E8M0_TIES_UP, negative="nan", zero="nan"),
    }
)

_CUDA_NARROW = {
    "e2m3": replace(SAT, nan_codes=(0x1F, 0x1F)),
    "e3m2": replace(SAT, nan_codes=(0x1F, 0x1F)),
    "e2m1": replace(SAT, nan_codes=(0x7, 0x7)),
}
_CUDA_WIDE = _canonical({"fp16": OVER, "bf16": OVER}, {"fp16": 0x7FFF, "bf16": 0x7FFF}, signs=False)
_UP = Rules(rounding="toward_positive", negative="abs")


def _cuda(rules: Rules, e8m0: Rules) -> dict[str, Rules]:
    eight = _canonical({"e4m3": rules, "e5m2": rules}, {"e4m3": 0x7F, "e5m2": 0x7F}, signs=False)
    scales = {"e8m0": e8m0, "ue5m3": replace(rules, negative="abs")}
    return eight | _CUDA_NARROW | scales | _CUDA_WIDE


_CUDA_SAT = _cuda(SAT, replace(_UP, overflow="saturate"))
_CUDA_NOSAT = _cuda(OVER, replace(_UP, overflow="nonfinite"))

_NUMPY_FP16 = replace(OVER, nan_codes=(0x7C00, 0xFC00), nan_payload_bits=10)

# the reference evaluator casts by ml_dtypes, to float16 by NumPy
_ONNX_SAT = _through_fp32(
    {name: SAT for name in ("e4m3", "e4m3fnuz", "e5m2", "e5m2fnuz")}
    | {"e2m1": replace(SAT, nan_codes=(0x8, 0x0)), "bf16": OVER}
) | {"fp16": _NUMPY_FP16}

_PTX_TF32 = {"tf32": replace(OVER, rounding="nearest_away", nan_codes=(0x7FC00000 >> 13,) * 2)}

_PTX_RS = {
    name: replace(rules, rounding="stochastic", words="ptx_x4", random_bits=16)
    for name, rules in _CUDA_SAT.items()
    if name in ("e4m3", "e5m2", "e2m3", "e3m2")
}
_PTX_RS["e2m1"] = replace(_CUDA_SAT["e2m1"], rounding="stochastic", words="ptx_x4_bytes", random_bits=16)
_PTX_RS["fp16"] = replace(_CUDA_WIDE["fp16"], rounding="stochastic", words="ptx_x2", random_bits=13)
_PTX_RS["bf16"] = replace(_CUDA_WIDE["bf16"], rounding="stochastic", words="ptx_x2", random_bits=16)

_EVERY = (*FORMATS, "p3109")
_P3109_ONLY = ("p3109",)

PROFILES: dict[str, Profile] = {
    row.name: row
    for row in (
        Profile("torch", "PyTorch 2.13 and newer, CPU, eager casts (vector path)", "casts measured on 2.13.0; PR 178817", _TORCH),
        Profile(
            "torch<=2.12",
            "PyTorch up to 2.12: E4M3 overflows to NaN",
            "torch/headeronly/util/Float8_e4m3fn.h of 2.12.0",
            _TORCH | {"e4m3": replace(_TORCH["e4m3"], overflow="nonfinite")},
        ),
        Profile("torch_cuda", "PyTorch 2.13 and newer on sm_89 and newer", "aten/src/ATen/native/cuda/Copy.cu", _TORCH_CUDA),
        Profile(
            "torch_compile",
            "torch.compile / Triton 3.8: FP8 by cvt.rn.satfinite",
            "Triton's PTX output",
            {name: _CUDA_SAT[name] for name in ("e4m3", "e5m2")},
        ),
        Profile("ml_dtypes", "ml_dtypes 0.6: NumPy arrays of these types, TensorFlow (JAX rounds float64 once)", "casts measured on 0.6.0", _ML_DTYPES),
        Profile(
            "numpy",
            "NumPy 2.x float16: NaN payload kept, signalling NaN stays signalling",
            "numpy/_core/src/common/half.hpp; measured on 2.4.6",
            {"fp16": _NUMPY_FP16, "fp32": OVER, "fp64": OVER},
        ),
        Profile("cuda_satfinite", "CUDA 13.5 headers, __NV_SATFINITE, float source (e8m0: constructor, round up)", "cuda_fp8.h, cuda_fp6.h, cuda_fp4.h", _CUDA_SAT),
        Profile("cuda_nosat", "CUDA 13.5 headers, __NV_NOSAT, float source (e8m0: round up)", "cuda_fp8.h", _CUDA_NOSAT),
        Profile("ptx_satfinite", "PTX cvt.rn.satfinite on sm_89 / sm_100a (ue8m0: .rp)", "PTX ISA, cvt; B200 recordings", _CUDA_SAT),
        Profile("ptx_rna_tf32", "PTX cvt.rna.tf32.f32, CUTLASS tfloat32_t, WMMA __float_to_tf32", "PTX ISA, cvt; B200 recordings", _PTX_TF32),
        Profile("tf32_truncate", "What tensor cores read of a raw float32 operand", "MMA-Sim (bit-accurate mma, wgmma, tcgen05 models)", {"tf32": replace(OVER, rounding="toward_zero")}),
        Profile("ptx_rs", "PTX cvt.rs.satfinite (sm_100a): 16 random bits, 13 for fp16; pairs share a word", "PTX ISA 8.7, cvt.rs; B200 recordings", _PTX_RS),
        Profile("onnx", "ONNX Cast with saturate=1", "ONNX operator schema 28, Cast; reference evaluator of 1.23.2", _ONNX_SAT),
        Profile(
            "onnx_nosaturate",
            "ONNX Cast with saturate=0",
            "ONNX operator schema 28, Cast",
            {name: _ML_DTYPES[name] for name in ("e4m3", "e4m3fnuz", "e5m2", "e5m2fnuz")},
        ),
        Profile("ocp", "OFP8 saturating mode; MX elements and scales", "OCP OFP8 rev 1.0 table 2; OCP MX v1.0 section 5.3", {name: SAT for name in ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "int8", "e8m0")}),
        Profile("ocp_nonsaturating", "OFP8 non-saturating mode", "OCP OFP8 rev 1.0 table 2", {"e4m3": OVER, "e5m2": OVER}),
        Profile("amd_fnuz", "HIP FNUZ saturating casts: finite clamps, infinity becomes NaN", "amd_hip_fp8.h, SATFINITE", {name: replace(SAT, inf="nan") for name in ("e4m3fnuz", "e5m2fnuz")}),
        Profile("p3109_finite", "P3109 NearestTiesToEven, SatFinite", "P3109 interim report v4.0, 4.7.4", {name: SAT for name in _P3109_ONLY}),
        Profile("p3109_propagate", "P3109 NearestTiesToEven, SatPropagate", "P3109 interim report v4.0, 4.7.4", {name: Rules(overflow="propagate") for name in _P3109_ONLY}),
        Profile("p3109_none", "P3109 NearestTiesToEven, SatNone (OvfInf): a finite domain clamps", "P3109 interim report v4.0, 4.7.4", {name: Rules(negative="nan") for name in _P3109_ONLY}),
    )
}  # fmt: skip


def profiles() -> tuple[str, ...]:
    """Names of the implementations whose casts are known bit for bit.

    Returns
    -------
    tuple of str
        To be passed as ``profile=`` to `quantize`, `encode` and `convert`.

    Examples
    --------
    >>> "torch" in profiles(), "ml_dtypes" in profiles()
    (True, True)
    """
    return tuple(PROFILES)


def profile_rules(name: str, fmt: str | Format) -> Rules:
    """What the named implementation does when it casts to `fmt`."""
    try:
        row = PROFILES[name]
    except (KeyError, TypeError):
        raise ValueError(f"profile={name!r}: one of {', '.join(PROFILES)} was expected") from None
    return row.rules(get(fmt))
