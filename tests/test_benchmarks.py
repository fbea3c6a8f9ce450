"""The benchmark harness runs and prints every job. Nothing here depends on a time."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = ("block encode", "block quantize", "block decode")
JOBS = (
    "quantize",
    "encode",
    "decode",
    "modes",
    "float64",
    "stochastic",
    "threads",
    "calls",
    "import",
    "cli",
    "memory",
    "testing",
)

pytestmark = pytest.mark.skipif(
    not (ROOT / "benchmarks").is_dir(), reason="benchmarks/ is part of the repository, not of the package"
)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_quick_run_prints_every_job(tmp_path: Path) -> None:
    done = run("--quick", "--sizes", "10", "--peers", "ml_dtypes", "--json", str(tmp_path / "all.json"))
    assert done.returncode == 0, done.stderr
    assert "instruction set" in done.stdout
    for job in (*JOBS, *BLOCKS):
        assert f" {job} " in done.stdout
    written = json.loads((tmp_path / "all.json").read_text())
    assert {m["job"] for m in written["measurements"]} == {"noise", *JOBS, *BLOCKS}
    assert all(math.isfinite(m["value"]) for m in written["measurements"])
    # each job with a goal that does not ask for a size beyond this run was judged
    assert {"calls", "import", "cli", "memory", "threads"} <= {
        row["job"] for row in written["rows"] if row["goal"] is not None
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--jobs", "quantise"), "none of quantize"),
        (("--formats", "e4m33"), "did you mean"),
        (("--sizes", "1e6"), "exponents of two"),
        (("--peers", "numpi"), "none of ml_dtypes"),
    ],
)
def test_unknown_options_are_refused(arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())
