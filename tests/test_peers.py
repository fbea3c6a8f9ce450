"""Profiles against the implementations that they are named after: what these answered once, and what they answer now.

NaN codes count wherever the peer has one answer. They are compared as "is a NaN" only where it has not (torch's float16
and bfloat16), or where the profile speaks of another source (CUDA's from double).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest
from oracles import cuda_host, ml_dtypes_cast, recorded, torch_cast
from same import same_codes

import fpformats as fp

Arguments = dict[str, object]
MODES = {"rn": "nearest_even", "rz": "toward_zero", "ru": "toward_positive", "rd": "toward_negative"}
#: (peer, saturate, rounding, format) -> profile; "*" is every other format. What is not here has `cuda_keywords`.
PROFILES = {
    ("torch", None, None, "*"): "torch",
    ("ml_dtypes", None, None, "*"): "ml_dtypes",
    ("numpy", None, None, "fp16"): "numpy",
    ("cuda", True, "rn", "*"): "cuda_satfinite",
    ("cuda", False, "rn", "*"): "cuda_nosat",
    ("cuda", True, "rn", "e8m0"): None,  # the profiles speak of the constructor, which rounds up
    ("cuda", False, "rn", "e8m0"): None,
    ("cuda", True, "ru", "e8m0"): "cuda_satfinite",
    ("cuda", False, "ru", "e8m0"): "cuda_nosat",
}


def cuda_keywords(fmt: str, saturate: bool, rounding: str) -> Arguments:
    """Explicit arguments for the roundings that no profile has."""
    mode = "nearest_away" if (fmt, rounding) == ("e8m0", "rn") else MODES[rounding]
    return {"rounding": mode, "overflow": "saturate" if saturate else "nonfinite", "nan": "max"}


def arguments(case: recorded.Case) -> Arguments:
    """How fpformats is asked for the same."""
    asked = case.peer, case.policy.get("saturate"), case.policy.get("rounding")
    profile = PROFILES.get((*asked, case.format), PROFILES.get((*asked, "*")))
    return {"profile": profile} if profile else cuda_keywords(case.format, *asked[1:])


@lru_cache(maxsize=64)
def nan_codes(fmt: str) -> np.ndarray:
    """Whether each code is a NaN."""
    bits = fp.get(fmt).bits
    return np.isnan(fp.decode(np.arange(1 << bits, dtype=np.uint16), fmt))


# --- recorded -----------------------------------------------------------------------------------
def title(case: recorded.Case) -> str:
    """The test's name."""
    return "-".join([case.peer, case.format, case.source, *(str(value) for value in case.policy.values())])


@pytest.mark.parametrize("case", recorded.load(), ids=title)
def test_recorded(case: recorded.Case) -> None:
    options, x = arguments(case), case.x
    if case.peer == "cuda" and "profile" not in options and not fp.get(case.format).signed:
        x = np.abs(x)  # the headers drop the sign of scale types first
    any_nan = case.policy.get("nan") == "any"
    if case.peer == "cuda":
        any_nan = case.source == "float64" or "profile" not in options
    got = fp.encode(x, case.format, **options)
    same_codes(f"{title(case)}, {options}", x, got, case.codes, nan=nan_codes(case.format) if any_nan else None)


def ask(case: recorded.Case) -> np.ndarray:
    """What the peer answers today."""
    if case.peer == "cuda":
        return cuda_host.codes(case.format, case.x, **case.policy)
    oracle = torch_cast if case.peer == "torch" else ml_dtypes_cast
    return oracle.codes(next(name for name in oracle.NAMES if fp.get(name).name == case.format), case.x)


@pytest.mark.parametrize("case", recorded.load(), ids=title)
def test_recorded_peer_still_answers_the_same(case: recorded.Case, need: Callable[..., None]) -> None:
    need({"torch": torch_cast, "cuda": cuda_host}.get(case.peer, ml_dtypes_cast))
    if case.peer == "cuda" and not cuda_host.supports(case.format, case.source, **case.policy):
        pytest.skip(f"CUDA {cuda_host.version()} headers do not have this conversion; {case.version} had it")
    any_nan = case.policy.get("nan") == "any"
    nan = nan_codes(case.format) if any_nan else None
    same_codes(f"{title(case)} now, and as of {case.version}", case.x, ask(case), case.codes, nan=nan)


def test_recorded_cases_are_all_there() -> None:
    """Nothing was lost from the files: every peer, format and source."""
    have = {(case.peer, case.format, case.source) for case in recorded.load()}
    count = {peer: len({fmt for p, fmt, _ in have if p == peer}) for peer, _, _ in have}
    assert count == {"torch": 7, "ml_dtypes": 12, "numpy": 1, "cuda": 9}
    assert {source for *_, source in have} == {"float32", "float64"}
    assert all(case.x.size == case.codes.size > 100 for case in recorded.load())


# --- live ---------------------------------------------------------------------------------------
def every_code(name: str) -> np.ndarray:
    """All codes of a format."""
    bits = fp.get(name).bits
    return np.arange(1 << bits, dtype=np.uint8 if bits <= 8 else np.uint16)


@pytest.mark.parametrize("source", torch_cast.NAMES)
def test_torch_from_every_code(source: str, need: Callable[..., None]) -> None:
    """float16, bfloat16 and fp8 tensors to every other torch format: arrays of codes, and the tensors themselves."""
    need(torch_cast)
    import torch

    codes = every_code(source)
    x = torch.from_numpy(codes).view(getattr(torch, source))
    for target in (name for name in torch_cast.NAMES if name != source):
        fmt = fp.get(target).name
        view = torch.uint16 if fp.get(fmt).bits == 16 else torch.uint8
        expected = x.to(getattr(torch, target)).view(view).numpy()
        # NaN to 16 bits depends on the path; a NaN without a sign has the one of torch's decoding
        nan = nan_codes(fmt) if fmt in ("fp16", "bf16") or fp.get(source).nan_at_sign else None
        what = f"torch from {source} to {fmt}"
        same_codes(what, codes, fp.convert(codes, source, fmt, profile="torch"), expected, nan=nan)
        got = fp.encode(x, fmt, profile="torch").view(view).numpy()
        same_codes(f"{what}, a tensor", codes, got, expected, nan=nan)


@pytest.mark.parametrize("source", ml_dtypes_cast.NAMES)
def test_ml_dtypes_from_every_code(source: str, need: Callable[..., None]) -> None:
    """Every ml_dtypes type (float16: NumPy's) to every other: arrays of codes, and the typed arrays themselves."""
    need(ml_dtypes_cast)
    import ml_dtypes

    codes = every_code(source)
    x = codes.view(getattr(ml_dtypes, source, np.float16))
    for target in ml_dtypes_cast.NAMES:
        pair = {source, target}
        if target == source or ("float8_e8m0fnu" in pair and not pair & {"float16", "bfloat16"}):
            continue  # ml_dtypes has no cast between e8m0 and the other small types
        fmt, profile = fp.get(target).name, "numpy" if target == "float16" else "ml_dtypes"
        expected = ml_dtypes_cast.codes(target, x)
        # NumPy's profile speaks of NumPy's sources; a NaN without a sign has the one of ml_dtypes' decoding
        nan = nan_codes(fmt) if target == "float16" or fp.get(source).nan_at_sign else None
        what = f"ml_dtypes from {source} to {fmt}"
        same_codes(what, codes, fp.convert(codes, source, fmt, profile=profile), expected, nan=nan)
        same_codes(f"{what}, typed", codes, fp.encode(x, fmt, profile=profile), expected, nan=nan)


@pytest.mark.parametrize("oracle", [torch_cast, ml_dtypes_cast], ids=["torch", "ml_dtypes"])
def test_decode(oracle: object, need: Callable[..., None]) -> None:
    """Every code of every format that the peer has; all NaN are one."""
    need(oracle)
    for name in oracle.NAMES:
        codes = every_code(name)
        expected, got = oracle.decode(name, codes), fp.decode(codes, name)
        equal = (got.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(got) & np.isnan(expected))
        i = int(equal.argmin())
        assert equal.all(), f"{name}: code 0x{codes[i]:x} is {got[i]!r} here and {expected[i]!r} there"
