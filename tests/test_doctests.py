"""Every example in the docstrings and in the README runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import fpformats

ROOT = Path(__file__).resolve().parent.parent
#: what a module needs besides the test extra
NEEDS = {"fpformats.widget.bit_explorer": "anywidget"}
README = ROOT / "README.md"
PAGES = [ROOT / "docs" / f"{name}.md" for name in ("index", "quickstart", "testing", "is-this-a-bug")]
PICTURES = ROOT / "docs" / "plot.md"
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(fpformats.__path__, "fpformats.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", ["fpformats", *MODULES])
def test_docstrings(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed")
    drawn = name.startswith("fpformats.plot")
    if drawn:
        pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install '.[plot]')").use("agg")
    failed, _ = doctest.testmod(importlib.import_module(name))
    if drawn:
        importlib.import_module("matplotlib.pyplot").close("all")
    assert failed == 0


@pytest.mark.parametrize("page", [page for page in PAGES if page.exists()], ids=lambda page: page.name)
def test_pages(page):
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8")
    assert (failed, tried > 1) == (0, True)


@pytest.mark.skipif(not PICTURES.exists(), reason="docs/plot.md is not beside the tests: not a checkout")
def test_plot_page():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install '.[plot]')").use("agg")
    failed, tried = doctest.testfile(str(PICTURES), module_relative=False)
    importlib.import_module("matplotlib.pyplot").close("all")
    assert (failed, tried > 5) == (0, True)


@pytest.mark.skipif(not README.exists(), reason="README.md is not beside the tests: not a checkout")
def test_readme():
    failed, tried = doctest.testfile(str(README), module_relative=False)
    assert (failed, tried > 5) == (0, True)
