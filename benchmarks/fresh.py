"""What only a fresh process can show: imports, first calls, the command line, peak memory."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import fpformats as fp

from .clock import paired
from .plan import Plan
from .results import Measurement, Results

__all__ = ["command_line", "imports", "memory"]

CACHE = "FPFORMATS_CACHE_DIR"
HOME = Path(fp.__file__).resolve().parents[1]

SMALL = "import numpy as np, fpformats as fp; fp.quantize(np.ones(1000, np.float32), 'e4m3')"
LARGE = """
import time, numpy as np, fpformats as fp
x = np.ones(1 << {log2_size}, np.float32)
start = time.perf_counter()
fp.quantize(x, 'e4m3')
print(time.perf_counter() - start)
"""
#: large enough for the compiled kernels to be worth loading
LARGE_SIZE = 22
#: getrusage's peak will not do on Linux: a child inherits its parent's
MEMORY = """
import re, resource, sys, numpy as np, fpformats as fp
def resident(name):
    try:
        return int(re.search(name + r":\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
fp.warmup()
x = np.zeros(1 << {log2_size}, np.{dtype})
out = np.empty(x.shape, fp.{verb}(x[:1], {fmt!r}).dtype)
before = resident("VmRSS")
x.fill(1)
fp.{verb}(x, {fmt!r}, out=out)
print((resident("VmHWM") - before) / (x.nbytes + out.nbytes))
"""


def _run(arguments: Sequence[str], environment: dict[str, str] | None = None) -> tuple[float, float, str]:
    """Wall seconds, CPU seconds and output of a fresh interpreter."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=HOME,
        env={**os.environ, **(environment or {})},
        check=True,
        capture_output=True,
        text=True,
    )
    wall = time.perf_counter() - start
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime, done.stdout


def _absolute(job: str, what: str, seconds: Sequence[float]) -> Measurement:
    middle = statistics.median(seconds)
    spread = (max(seconds) - min(seconds)) / middle
    return Measurement(job, what, "", middle, unit="s", spread=spread, seconds=middle)


def imports(plan: Plan, results: Results) -> None:
    """Import and first calls: ratios of CPU time to `import numpy`, wall seconds of the first large call."""
    with tempfile.TemporaryDirectory(prefix="fpformats-warm-") as warm:
        large = LARGE.format(log2_size=LARGE_SIZE)
        scripts = {
            "import numpy": "import numpy",
            "import fpformats": "import fpformats",
            "import and first small call": SMALL,
            "import and first large call, warm cache": large,
        }
        for script in scripts.values():  # byte code and the cache
            _run(["-c", script], {CACHE: warm})
        cpu: dict[str, list[float]] = {name: [] for name in scripts}
        inner: dict[str, list[float]] = {"warm": [], "cold": []}
        for i in range(plan.fresh_runs):
            plan.progress(f"fresh interpreters, round {i + 1} of {plan.fresh_runs}")
            for name, script in scripts.items():
                _, seconds, printed = _run(["-c", script], {CACHE: warm})
                cpu[name].append(seconds)
                inner["warm"] += [float(printed)] if printed else []
            with tempfile.TemporaryDirectory(prefix="fpformats-cold-") as cold:
                inner["cold"].append(float(_run(["-c", large], {CACHE: cold})[2]))
    base = cpu.pop("import numpy")
    for name, seconds in cpu.items():
        ratio = paired(seconds, base)
        middle = statistics.median(seconds)
        results.add([Measurement("import", name, "import numpy", ratio.value, spread=ratio.spread, seconds=middle)])
    for state, seconds in inner.items():
        results.add([_absolute("import", f"first large call, {state} cache", seconds)])


def command_line(plan: Plan, results: Results) -> None:
    """Wall seconds of the commands that need no compiled kernel."""
    commands = {
        "fpformats formats": ["formats"],
        "fpformats info e4m3": ["info", "e4m3"],
        "fpformats explain 3.1 --to e4m3": ["explain", "3.1", "--to", "e4m3"],
    }
    wall: dict[str, list[float]] = {name: [] for name in commands}
    for i in range(plan.fresh_runs + 1):
        plan.progress(f"command line, round {i} of {plan.fresh_runs}")
        for name, arguments in commands.items():
            seconds = _run(["-m", "fpformats", *arguments])[0]
            if i:  # the first round writes byte code
                wall[name].append(seconds)
    results.add([_absolute("cli", name, seconds) for name, seconds in wall.items()])


def memory(plan: Plan, results: Results) -> None:
    """Peak resident memory of a process that quantizes into out=, over input + output."""
    log2_size = 24 if plan.quick else 26
    for verb, dtype, fmt in (
        ("quantize", "float32", "e4m3"),
        ("quantize", "float64", "bf16"),
        ("encode", "float32", "e5m2"),
    ):
        plan.progress(f"memory of {verb} {dtype} to {fmt}")
        printed = _run(["-c", MEMORY.format(log2_size=log2_size, verb=verb, dtype=dtype, fmt=fmt)])[2]
        results.add([Measurement("memory", f"{verb} {dtype} to {fmt}", "input + output", float(printed))])
