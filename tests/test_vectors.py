"""The vectors that other projects and people recorded, reproduced bit for bit where the folder with them is at hand.

They lie in ``../shared/vectors/casts`` beside the repository, or where FPFORMATS_VECTORS points.
"""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from same import same_codes

import fpformats as fp

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "vectors" / "casts"
FOLDER = Path(os.environ.get("FPFORMATS_VECTORS") or SHARED)


def file(name: str) -> Path:
    """The path of a vector file; the test is skipped where there is none."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"there is no {name} in FPFORMATS_VECTORS or ../shared/vectors/casts")
    return path


# --- boundary.json ------------------------------------------------------------------------------
#: column -> how fpformats is asked for the same
COLUMNS = {
    "exact_rne": {"nan": "max"},
    "torch_cpu": {"profile": "torch"},
    "ml_dtypes": {"profile": "ml_dtypes"},
    "numpy": {"profile": "numpy"},
    "cuda_rn": {"profile": "cuda_satfinite"},
    "cuda_satfinite": {"profile": "cuda_satfinite"},
    "cuda_nosat": {"profile": "cuda_nosat"},
    "cuda_rz": {"rounding": "toward_zero", "nan": "max"},
}
#: Where the column has more NaN codes than one for an input's sign and payload, or is of another source.
ANY_NAN = {
    ("torch_cpu", "float16"),
    ("torch_cpu", "bfloat16"),
    ("cuda_satfinite", "f64"),
    ("cuda_nosat", "f64"),
    ("cuda_rn", "f64"),
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_boundary(column: str, source: str) -> None:
    formats = json.loads(file("boundary.json").read_text())["formats"]
    found = 0
    for fmt, rows in formats.items():
        if column not in rows[source]:
            continue
        found += 1
        bits = np.array([int(word, 16) for word in rows[source]["in"]], f"u{int(source[1:]) // 8}")
        expected = np.array([int(code, 16) for code in rows[source][column]], np.uint32)
        x = bits.view(source.replace("f", "float"))
        options = COLUMNS[column]
        if column == "exact_rne":  # it overflows as torch does: e4m3 saturates, fnuz becomes NaN
            options = options | {"overflow": "nonfinite" if fmt.endswith("fnuz") else None}
        got = fp.encode(x, fmt, **options).astype(np.uint32)
        if {(column, fmt), (column, source)} & ANY_NAN and fp.get(fmt).has_nan:
            nan = np.isnan(x)
            assert np.isnan(fp.decode(got[nan], fmt)).all(), f"{column} {fmt}: NaN became a number"
            bits, got, expected = bits[~nan], got[~nan], expected[~nan]
        same_codes(f"{column} {source} to {fmt}, {options}", bits, got, expected)
    assert found or (column, source) == ("exact_rne", "f32"), f"boundary.json has no column {column} for {source}"


# --- reports.csv --------------------------------------------------------------------------------
ROUNDING = {"rne": "nearest_even", "rna": "nearest_away", "rtz": "toward_zero", "odd": "to_odd"}
OVERFLOW = {"any": ("saturate", "propagate", "nonfinite"), "overflow": ("nonfinite",), "saturate": ("saturate",)}


def test_reports() -> None:
    """Inputs from bug reports and questions: code and value, of an array and of a single number."""
    with file("reports.csv").open() as lines:
        rows = [SimpleNamespace(**row) for row in csv.DictReader(lines)]
    assert len(rows) > 100
    for row in rows:
        source = np.dtype(row.source.replace("f", "float"))
        x = np.array([float.fromhex(row.input)], source)
        value, code = float.fromhex(row.expected_value), int(row.expected_code, 16)
        for overflow in OVERFLOW[row.overflow_policy]:
            options = {"rounding": ROUNDING[row.mode], "overflow": overflow}
            what = f"{row.log_id}: {row.input} ({row.source}) to {row.target}, {options}"
            got = int(fp.encode(x, row.target, **options)[0])
            assert got == code, f"{what}: 0x{got:x}, 0x{code:x} was expected"
            assert fp.encode(float(x[0]), row.target, **options) == code, f"{what}, as a single number"
            for answer in (fp.quantize(x, row.target, **options)[0], fp.decode(np.array([code]), row.target)[0]):
                np.testing.assert_equal(float(answer), value, err_msg=what)


# --- b200_cvt.npz -------------------------------------------------------------------------------
def fours(x: np.ndarray) -> np.ndarray:
    """Elements k … k + 3 of a ring for every k, flat."""
    return np.stack([np.roll(x, -i) for i in range(4)], axis=1).ravel()


def unpacked(packs: np.ndarray, bits: int, count: int) -> np.ndarray:
    """Fields of `bits` bits of each pack, the top one first, flat."""
    shifts = bits * np.arange(count - 1, -1, -1)
    return ((packs[:, None].astype(np.uint32) >> shifts.astype(np.uint32)) & np.uint32((1 << bits) - 1)).ravel()


@pytest.mark.parametrize(
    ("key", "fmt", "bits"), [("RS_E4M3", "e4m3", 8), ("RS_E5M2", "e5m2", 8), ("RS_E2M1_RELU", "e2m1", 4)]
)
def test_b200_stochastic(key: str, fmt: str, bits: int) -> None:
    """cvt.rs: one word for four elements, by the profile that shares it as the hardware does."""
    data = np.load(file("b200_cvt.npz"))
    words = fours(data["F32"])
    x = words.view(np.float32)
    if key.endswith("RELU"):
        x = np.where(np.signbit(x) & ~np.isnan(x), np.float32(0), x)
    got = fp.encode(x, fmt, profile="ptx_rs", rng=data["RB"])
    same_codes(f"{key}, cvt.rs.satfinite", words, got, unpacked(data[key], bits, 4))


@pytest.mark.parametrize(
    ("key", "fmt", "profile", "bits"),
    [("RN_E2M1", "e2m1", "ptx_satfinite", 4), ("UE8_RP", "e8m0", "cuda_nosat", 8)],
)
def test_b200_nearest_and_up(key: str, fmt: str, profile: str, bits: int) -> None:
    """cvt.rn.satfinite to e2m1, and cvt.rp to ue8m0 without it, two elements a pack: i, then i + 1."""
    data = np.load(file("b200_cvt.npz"))
    words = data["F32"]
    x = np.stack([words, np.roll(words, -1)], axis=1).ravel()
    got = fp.encode(x.view(np.float32), fmt, profile=profile)
    same_codes(f"{key}, {profile}", x, got, unpacked(data[key], bits, 2))
