"""The imports form layers; nothing imports upwards, and importing costs nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fpformats

PACKAGE = Path(fpformats.__file__).parent
#: a file may import from earlier layers and, where a layer names several files, from its left
LAYERS = (
    ("format", "block_format", "rounding", "recipes"),
    ("registry",),
    ("profiles", "reference", "kernels", "arrays", "scalars"),
    ("tables", "compile_row", "engine", "randomness"),
    ("plan",),
    ("execute", "short"),
    ("elements",),
    ("blocks",),
    ("casts",),
    ("explore",),
    ("plot", "widget"),
    ("testing",),
    ("cli",),
    ("__main__",),
)
RANK = {name: (i, j) for i, layer in enumerate(LAYERS) for j, name in enumerate(layer)}


def unit(path: Path) -> str:
    """The layer's name of a file: a folder counts as one."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Which of our files a file imports, functions included."""
    found = set()
    depth = len(path.relative_to(PACKAGE).parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            names = [node.module.partition(".")[0]] if node.module else [alias.name for alias in node.names]
            found.update(names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("fpformats"):
            found.update(node.module.split(".")[1:2] or [alias.name for alias in node.names])
    return found


def test_imports_go_down():
    files = [path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py" or path.parent != PACKAGE]
    assert len(files) >= 15
    for path in files:
        for other in imports(path):
            if other in RANK:
                assert RANK[other] < RANK[unit(path)], f"{path.name} imports {other}, which is not below it"
            else:
                assert other == "__version__", f"{path.name} imports {other}, which has no layer"


def test_architecture_names_the_layers():
    page = PACKAGE.parent / "docs" / "architecture.md"
    if not page.exists():
        pytest.skip("docs/ is not beside the tests: not a checkout")
    block = page.read_text("utf-8").split("```")[1].strip("\n").splitlines()
    assert [tuple(line.split()) for line in block if not line.startswith(" ")] == list(LAYERS)


def test_reference_and_kernels_share_only_rows():
    assert imports(PACKAGE / "reference.py") == {"format", "registry", "rounding"}
    for path in (PACKAGE / "kernels").glob("*.py"):
        assert not imports(path), f"{path.name} knows more than integers and floats"


def test_import_is_light():
    code = "import sys, fpformats; print([m for m in ('numba', 'torch', 'scipy', 'rich', 'llvmlite', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_pictures_say_what_they_need(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as if it were not installed
    with pytest.raises(ImportError, match=r"Matplotlib, which is not installed: pip install 'fpformats\[plot\]'"):
        fpformats.plot.number_line("e2m1")


def test_small_first_calls_do_without_numba():
    code = (
        "import sys, numpy as np, fpformats as fp; x = np.ones(1000, np.float32); "
        "fp.quantize(x, 'e4m3'); fp.encode(x, 'bf16'); fp.decode(fp.encode(x, 'e2m1'), 'e2m1'); fp.quantize(3.1, 'e5m2'); "
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_public_names():
    assert set(fpformats.__all__) <= set(dir(fpformats))
    for name in fpformats.__all__:
        assert getattr(fpformats, name).__doc__, name
    assert fpformats.E4M3 is fpformats.get("e4m3")
