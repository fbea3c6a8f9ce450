"""What is shipped: a wheel that is whole and works without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import fpformats as fp

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling", reason="hatchling is not installed (pip install '.[dev]')")
    if not (ROOT / "pyproject.toml").exists():
        pytest.skip("pyproject.toml is not beside the tests: not a checkout")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return next(folder.glob("*.whl"))


def test_wheel_is_whole(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = Parser().parsestr(archive.read(f"fpformats-{fp.__version__}.dist-info/METADATA").decode())
    package = ROOT / "fpformats"
    sources = {f"fpformats/{path.relative_to(package).as_posix()}" for path in package.rglob("*.py")}
    assert sources <= names
    assert {f"fpformats/widget/{name}" for name in ("formats.js", "explorer.js", "explorer.css")} <= names
    assert {"fpformats/py.typed", "fpformats/data/minilm_attention_output.npy", "fpformats/data/README.md"} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests", "benchmarks")) for name in names)
    assert metadata["Version"] == fp.__version__
    assert metadata["License-Expression"] == "Apache-2.0"


def test_wheel_works_elsewhere(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    command = [sys.executable, "-c", "import fpformats; print(fpformats.__file__)"]
    elsewhere = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(tmp_path / "site")}}
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, **elsewhere)
    assert Path(done.stdout.strip()).is_relative_to(tmp_path)
    command = [sys.executable, "-m", "fpformats", "compare", "--sample", "--to", "e4m3"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120, **elsewhere)
    assert done.stdout.startswith("sample: 147456 values")
