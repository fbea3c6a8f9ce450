"""Where a run took place: processor, vector instructions, versions."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterable
from pathlib import Path

import numpy as np

__all__ = ["instruction_set", "machine"]

DISTRIBUTIONS = {"pychop (torch)": "pychop"}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = dict(line.split(":", 1) for line in reversed(lines) if ":" in line)
    named = {key.strip(): value.strip() for key, value in facts.items()}
    family = f", family {named['cpu family']} model {named['model']}" if "cpu family" in named else ""
    return f"{named.get('model name', platform.machine())}{family}"


def _features() -> set[str]:
    """What LLVM may use: the host's features, or those of the processor that NUMBA_CPU_NAME names."""
    try:
        from llvmlite import binding
    except ImportError:  # NumPy knows as well
        from numpy._core._multiarray_umath import __cpu_features__

        return {name.lower() for name, present in __cpu_features__.items() if present}
    return {name for name, present in binding.get_host_cpu_features().items() if present}


def instruction_set() -> str:
    """The widest vectors the kernels can use here.

    >>> instruction_set().split()[0] in ("AVX-512", "AVX2", "NEON", "baseline")
    True
    """
    if name := os.environ.get("NUMBA_CPU_NAME"):
        return f"NUMBA_CPU_NAME={name}"
    features = _features()
    if {"avx512f", "avx512bw", "avx512vl", "avx512dq"} <= features or "avx512_skx" in features:
        return "AVX-512 (zmm)"
    if "avx2" in features:
        return "AVX2 (ymm)"
    return "NEON" if {"neon", "asimd"} & features else "baseline vectors"


def machine(peers: Iterable[str], missing: Iterable[str], threads: int) -> dict[str, str]:
    """Facts a reader needs to compare two runs."""
    versions = {"Python": platform.python_version()}
    for name in ("fpformats", "numpy", "numba", "llvmlite", *peers):
        try:
            name = DISTRIBUTIONS.get(name, name)
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            if name == "fpformats":
                import fpformats

                versions[name] = fpformats.__version__
    versions.setdefault("numpy", np.__version__)
    absent = ", ".join(missing)
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "instruction set": instruction_set(),
        "system": f"{platform.system()} {platform.machine()}",
        "threads": f"{threads} ({'CPU' if threads == 1 else 'wall'} clock)",
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        **({"not installed": absent} if absent else {}),
    }
