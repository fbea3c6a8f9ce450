"""What torch, ml_dtypes, NumPy and NVIDIA's headers answered on boundary inputs, for suites that have none of them.

The files in ``tests/data`` are written by ``tests/record.py``, which also says how the inputs are chosen. They hold one
list of cases; formats and sources share their inputs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["DIRECTORY", "SOURCES", "Case", "load", "save"]

DIRECTORY = Path(__file__).resolve().parent.parent / "data"

#: Source dtypes, one file each.
SOURCES = ("float32", "float64")


@dataclass(frozen=True)
class Case:
    """One peer's answers for one format, source dtype and policy.

    Attributes
    ----------
    peer, version : str
        "torch", "ml_dtypes", "numpy" or "cuda" and its version.
    format : str
        e4m3, e5m2, e4m3fnuz, e5m2fnuz, e4m3_ieee, e3m4, e4m3b11fnuz, e3m2, e2m3, e2m1, e8m0, ue5m3, fp16 or bf16.
    source : str
        "float32" or "float64".
    policy : dict
        What the peer was asked: ``saturate`` (bool) and ``rounding`` ("rn", "rz", "ru", "rd") of the CUDA headers,
        ``device`` of torch. ``via="float32"`` where the peer rounds through float32 first, and ``nan="any"`` where its
        NaN codes depend on the path taken, so that only being a NaN means something.
    x : ndarray of float32 or float64
        Inputs. NaN payloads count: look at the bits, do not compute.
    codes : ndarray of uint8 or uint16
        Answers, of the shape of `x`.
    """

    peer: str
    version: str
    format: str
    source: str
    policy: dict[str, object]
    x: np.ndarray
    codes: np.ndarray


def _path(source: str, directory: Path) -> Path:
    return directory / f"casts_{source}.npz"


def save(cases: list[Case], directory: Path = DIRECTORY) -> None:
    """Write one file for each source dtype; cases of the same source and format must have the same inputs."""
    directory.mkdir(parents=True, exist_ok=True)
    for source in SOURCES:
        unsigned = np.dtype(source).str.replace("f", "u")
        arrays: dict[str, np.ndarray] = {}
        rows: list[list[object]] = []
        for case in (case for case in cases if case.source == source):
            # Bit patterns, not floats: no reader can quieten a signalling NaN.
            bits = case.x.view(unsigned)
            if not np.array_equal(arrays.setdefault(f"x/{case.format}", bits), bits):
                raise ValueError(f"{case.peer} {case.format} {source}: these cases have different inputs")
            arrays[f"codes/{len(rows)}"] = case.codes
            rows.append([case.peer, case.version, case.format, case.policy])
        arrays["rows"] = np.frombuffer(json.dumps(rows).encode(), np.uint8)
        np.savez_compressed(_path(source, directory), allow_pickle=False, **arrays)


def load(directory: Path = DIRECTORY) -> list[Case]:
    """All recorded cases."""
    cases = []
    for source in SOURCES:
        with np.load(_path(source, directory), allow_pickle=False) as file:
            inputs = {name: file[name].view(source) for name in file.files if name.startswith("x/")}
            for index, (peer, version, fmt, policy) in enumerate(json.loads(file["rows"].tobytes())):
                cases.append(Case(peer, version, fmt, source, policy, inputs[f"x/{fmt}"], file[f"codes/{index}"]))
    return cases
