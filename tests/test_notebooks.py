"""The notebooks run, hold no output, and assert what they say.

`WORKED` lists the worked values that a notebook on mixed precision has to show, each as the assertion that shows it.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
NAMES = ["01-range-and-spacing", "02-rounding-ties-overflow", "03-block-scaling", "04-mixed-precision", "05-oracle"]
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="not in a checkout")

#: (what, the cells that assert it, the assertions)
WORKED: list[tuple[str, str, list[str]]] = [
    # the toy format: two fraction bits, exponents -2 ... 2, normal numbers only
    ("toy: its values", "range-04", ["values[values > 0].tolist() == positive"]),
    ("toy: 3 = (1.10)_2 2^1", "range-09", ["three.bits.kept == '1.10'", "three.bits.exponent == 1"]),
    ("toy: 2, 2.5, 3, 3.5", "range-11", ["values[(values >= 2) & (values < 4)].tolist() == [2, 2.5, 3, 3.5]"]),
    ("toy: neighbours of 3", "range-11", ["fp.next_down(3, toy) == 2.5", "fp.next_up(3, toy) == 3.5"]),
    ("toy: 3.1 is 3, and adding 0.1 to 3 changes nothing", "range-13", ["fp.quantize(3.1, toy) == 3", "total == 3"]),
    ("toy: largest 7, 8 out of range", "range-16", ["toy.max == 7", "fp.quantize(8, toy) == 7"]),
    (
        "a wider exponent admits 8 and does not refine the spacing",
        "range-18",
        ["fp.quantize(8, wider) == 8", "fp.spacing(3, wider) == fp.spacing(3, toy) == 0.5"],
    ),
    # small next to large
    (
        "bf16: resolution 2^-8, an update of 1e-4 to 1 is lost",
        "mixed-45",
        [
            "fp.spacing(1.0, 'bf16') / 2 == 2 ** (-8)",
            "fp.quantize(1 + 0.0001, 'bf16') == 1",
            "fp.quantize(1 - 0.0001, 'bf16') == 1",
        ],
    ),
    # loss scaling
    (
        "fp16's least subnormal, and a smaller gradient that vanishes",
        "mixed-09",
        ["f\"{smallest['fp16']:.2e}\" == '5.96e-08'", "fp.quantize(1e-08, 'fp16') == 0"],
    ),
    (
        "S rescues it, unscaled in float32 and not in fp16",
        "mixed-13 mixed-15",
        [
            "scaled > 0",
            "abs(unscaled - gradient) / gradient < 2 ** (-11)",
            "fp.quantize(scaled / S, 'fp16') == 0",
        ],
    ),
    ("an infinity poisons an update", "mixed-11", ["weight == -np.inf"]),
    (
        "dynamic: from 2^16, halved and skipped at an overflow, doubled after 2000 good steps in a row",
        "mixed-23 mixed-25",
        [
            "next_scale(2.0 ** 16, 5, finite=False) == (2.0 ** 15, 0)",
            "next_scale(2.0 ** 16, 1998, finite=True) == (2.0 ** 16, 1999)",
            "next_scale(2.0 ** 16, 1999, finite=True) == (2.0 ** 17, 0)",
            "skipped == [2000, 4001]",
        ],
    ),
    (
        "bf16 needs none: its range is float32's",
        "mixed-09 mixed-21",
        [
            "fp.get('bf16').smallest_normal == fp.get('fp32').smallest_normal",
            "np.mean(fp.quantize(many, 'bf16') > 0) == 1",
        ],
    ),
    (
        "two micro-batches: losses, gradients, halves, sum, update",
        "mixed-27 mixed-29",
        [
            "losses == [0.5, 4.5]",
            "gradients == [1, 9]",
            "(gradients[0] / 2, gradients[1] / 2) == (0.5, 4.5)",
            "total == 5",
            "w - 0.1 * total == 0.5",
        ],
    ),
    ("with S = 8", "mixed-31", ["parts == [4, 36]", "accumulated == 40", "accumulated / S == 5"]),
    (
        "S stays over the cycle, unscaled after the last: else 0.5 meets 36",
        "mixed-33 mixed-37",
        ["(parts[0] / S, parts[1]) == (0.5, 36)", "(parts[0] / S + parts[1]) / S != 5", "changed == 4.75 != 5"],
    ),
    ("unweighted: 10, a doubled update", "mixed-35", ["sum(gradients) == 10 == 2 * total"]),
    (
        "0.6 S overflows fp16 from 2^17 on",
        "mixed-25",
        ["np.isfinite(fp.quantize(0.6 * 2 ** 16, 'fp16'))", "fp.quantize(0.6 * 2 ** 17, 'fp16') == np.inf"],
    ),
    # valid tokens
    (
        "n_j / N, not 1 / (number of micro-batches)",
        "mixed-39",
        ["right == weighted == 2.5", "mean_of_means == 2.4 != right"],
    ),
    (
        "an empty micro-batch contributes zero",
        "mixed-41",
        ["weighted_mean([*batches, []]) == weighted_mean(batches) == 2.5"],
    ),
    ("80 useful tokens a second, 100 positions", "mixed-43", ["(3 + 5) / seconds == 80", "(5 + 5) / seconds == 100"]),
    # memory
    (
        "GPT-2 Large: 21 million each, 84 MB a layer, 3.0 GB, 96 GB",
        "mixed-64",
        [
            "n_hidden * T * d == n_score * H * T ** 2 == 20971520",
            "round(activation_bytes(2, B=1, layers=1) / 1000000.0) == 84",
            "round(activation_bytes(2, B=1) / 1000000000.0, 1) == 3.0",
            "96 < activation_bytes(2, B=32) / 1000000000.0 < 97",
        ],
    ),
    (
        "half the bits, half of that; master weight and moments stay",
        "mixed-66 mixed-68",
        [
            "activation_bytes(1, B=32) == activation_bytes(2, B=32) / 2",
            "bytes_per_parameter(copy=2, gradient=2) == 16",
            "bytes_per_parameter(copy=1, gradient=1) == 14",
        ],
    ),
]


def notebook(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.ipynb").read_text("utf-8"))


def sources(name: str, kind: str = "code") -> list[tuple[str, str]]:
    """(id, source) of its cells."""
    return [(cell["id"], "".join(cell["source"])) for cell in notebook(name)["cells"] if cell["cell_type"] == kind]


def assertions(name: str, cells: Iterable[str] | None = None) -> list[str]:
    """What is asserted in its cells (all or these), outside of functions that nobody might call."""
    trees = [ast.parse(source) for cell, source in sources(name) if cells is None or cell in cells]
    hidden = {
        id(inner)
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.If))
        for inner in ast.walk(node)
    }
    found = [
        node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Assert) and id(node) not in hidden
    ]
    return [ast.unparse(node.test) for node in found]


def run(source: str, name: str, namespace: dict[str, Any]) -> None:
    """One cell, and its last value shown as text."""
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), namespace)
    if last is not None:
        repr(eval(compile(ast.Expression(last.value), name, "eval"), namespace))


def test_these_are_all():
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_nothing_but_sources(name):
    """No outputs, no counts, no traces of an editor, ids that stay."""
    data = notebook(name)
    assert (data["nbformat"], data["nbformat_minor"]) == (4, 5)
    assert data["metadata"]["kernelspec"]["name"] == "python3"
    assert set(data["metadata"]) == {"kernelspec", "language_info"}
    ids = [cell["id"] for cell in data["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in data["cells"]:
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


@pytest.mark.parametrize("name", NAMES)
def test_no_claim_alone(name):
    """Many assertions; what to see in each picture; exercises with answers that are asserted."""
    assert len(assertions(name)) >= 30
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in notebook(name)["cells"]]
    for (kind, source), (_, after) in pairwise(cells):
        if kind == "code" and ("fp.plot." in source or "plt.subplots" in source):
            assert after.startswith("**See:**"), source
    start = next(
        i for i, (kind, source) in enumerate(cells) if kind == "markdown" and source.startswith("## Exercises")
    )
    tasks, answers = cells[start::2], cells[start + 1 :: 2]
    assert len(tasks) >= 3
    assert all(kind == "markdown" and f"**{n}.**" in source for n, (kind, source) in enumerate(tasks, 1))
    assert len(answers) == len(tasks)
    assert all(kind == "code" and "assert " in source for kind, source in answers)


@pytest.mark.parametrize(("cells", "expected"), [row[1:] for row in WORKED], ids=[row[0] for row in WORKED])
def test_worked_values_are_asserted(cells, expected):
    name = next(name for name in NAMES if name.split("-")[1] == cells.split("-")[0])
    found = assertions(name, cells.split())
    for text in expected:
        assert ast.unparse(ast.parse(text, mode="eval")) in found


@pytest.mark.parametrize("name", NAMES)
def test_it_runs(name, tmp_path, monkeypatch):
    """As plain Python, from any folder; a warning is an error here."""
    matplotlib = pytest.importorskip("matplotlib", reason="notebooks draw: the extra `plot`")
    matplotlib.use("agg")
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    try:
        for cell, source in sources(name):
            run(source, cell, namespace)
        drawn = sum("fp.plot." in source or "plt.subplots" in source for _, source in sources(name))
        assert len(pyplot.get_fignums()) == drawn
    finally:
        pyplot.close("all")


def test_without_anywidget(monkeypatch):
    """The bit explorer's cell says something else."""
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "fpformats.widget.bit_explorer", raising=False)
    (cell,) = [source for _, source in sources(NAMES[0]) if "BitExplorer" in source]
    namespace: dict[str, Any] = {}
    run("import fpformats as fp", "import", namespace)
    run(cell, "explorer", namespace)
    assert type(namespace["explorer"]).__name__ == "Explanation"


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_runs_in_jupyter(name, tmp_path):
    """In a kernel, where figures and HTML are shown, without a warning."""
    for package in ("nbclient", "ipykernel", "matplotlib"):
        pytest.importorskip(package, reason="the extra `notebooks`")
    script = (
        "import sys, nbformat, nbclient\n"
        "book = nbformat.read(sys.argv[1], 4)\n"
        "nbclient.NotebookClient(book, timeout=300, resources={'metadata': {'path': sys.argv[2]}}).execute()\n"
        "nbformat.write(book, sys.argv[3])\n"
    )
    done = tmp_path / "done.ipynb"
    subprocess.run([sys.executable, "-c", script, str(FOLDER / f"{name}.ipynb"), str(tmp_path), str(done)], check=True)
    outputs = [output for cell in json.loads(done.read_text("utf-8"))["cells"] for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    pictures = sum("image/png" in output.get("data", {}) for output in outputs)
    assert pictures == sum("fp.plot." in source or "plt.subplots" in source for _, source in sources(name))
