"""Machine code between processes: never stale, never swapped, never in the way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fpformats as fp

PACKAGE = Path(fp.__file__).parent
CODE = (
    "import numpy as np, fpformats as fp; from fpformats import engine; engine._load(); "
    "x = np.linspace(-500, 700, 5000, dtype=np.float32); "
    "print(int(fp.encode(x, 'e4m3').astype(np.int64).sum()), float(fp.quantize(x, 'e5m2').sum(dtype=np.float64)))"
)


def environment(folder, package=PACKAGE.parent):
    # Python's own byte code goes by time and size, which these tests forge
    return {
        **os.environ,
        "FPFORMATS_CACHE_DIR": str(folder),
        "PYTHONPATH": str(package),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def start(folder, code=CODE, package=PACKAGE.parent):
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(folder, package), cwd=folder if Path(folder).is_dir() else None,
    )  # fmt: skip


def finish(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out


@pytest.fixture(scope="module")
def expected():
    x = np.linspace(-500, 700, 5000, dtype=np.float32)
    return f"{int(fp.encode(x, 'e4m3').astype(np.int64).sum())} {float(fp.quantize(x, 'e5m2').sum(dtype=np.float64))}\n"


def test_many_processes_at_once(tmp_path, expected):
    """Three start on an empty cache, three more find what they left."""
    for _ in range(2):
        running = [start(tmp_path) for _ in range(3)]
        assert {finish(process) for process in running} == {expected}
    assert list(tmp_path.rglob("*.nbc"))


def test_a_changed_source_is_never_answered_from_the_cache(tmp_path, expected):
    """A copy of the package with one constant changed, same times and sizes, beside the same cache."""
    cache = tmp_path / "cache"
    cache.mkdir()
    copy = tmp_path / "copy"
    shutil.copytree(PACKAGE, copy / "fpformats", ignore=shutil.ignore_patterns("__pycache__"))
    assert finish(start(cache, package=copy)) == expected
    bodies = copy / "fpformats" / "kernels" / "bodies.py"
    text, times = bodies.read_text(), bodies.stat()
    changed = text.replace("u(x & ABS) > r[R.LAST], r[R.OVER]", "u(x & ABS) < r[R.LAST], r[R.OVER]")
    assert changed != text
    bodies.write_text(changed)
    os.utime(bodies, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert finish(start(cache, package=copy)) != expected


def test_a_place_that_cannot_be_written(tmp_path, expected):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert finish(start(blocked)) == expected


def test_without_a_cache(expected):
    process = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=environment("")
    )
    assert process.stdout == expected


def test_broken_files_are_replaced(tmp_path, expected):
    assert finish(start(tmp_path)) == expected
    for file in tmp_path.rglob("*.nbc"):
        file.write_bytes(b"")
    assert finish(start(tmp_path)) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_after_fork(tmp_path):
    """Kernels and threads work in a child of a process that used both."""
    code = (
        "import os, sys, warnings, numpy as np, fpformats as fp; from fpformats import engine; warnings.simplefilter('ignore')\n"
        "x = np.ones((1 << 22) + 1, np.float32); a = fp.encode(x, 'e4m3'); assert engine._executor is not None; pid = os.fork()\n"
        "if pid == 0:\n"
        "    b = fp.encode(x, 'e4m3'); c = fp.encode(x[:10], 'e2m1'); os._exit(0 if (a == b).all() and (c == 2).all() else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**environment(tmp_path), "FPFORMATS_NUM_THREADS": "2"}, timeout=300
    )
    assert done.returncode == 0


def test_many_threads_start_together():
    """The first calls of eight threads race to load the kernels."""
    code = (
        "import threading, numpy as np, fpformats as fp; x = np.linspace(-9, 9, 1 << 21, dtype=np.float32); out = [None] * 8\n"
        "def run(i): out[i] = fp.encode(x, ('e4m3', 'e5m2')[i % 2]).astype(np.int64).sum()\n"
        "ts = [threading.Thread(target=run, args=(i,)) for i in range(8)]; [t.start() for t in ts]; [t.join() for t in ts]\n"
        "print(len(set(out)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "2\n"
