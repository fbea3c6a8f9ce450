"""Every line of the README's "At the terminal" runs, on small files of the names that it uses."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from fpformats.blocks.array import BlockArray
from fpformats.cli import main

README = Path(__file__).resolve().parent.parent / "README.md"
if not README.exists():
    pytest.skip("README.md is not beside the tests: not a checkout", allow_module_level=True)
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
TERMINAL = TEXT.partition("## At the terminal")[2].partition("```sh\n")[2].partition("```")[0].splitlines()
#: what runs the other blocks of commands, by how they begin
ELSEWHERE = {
    "python -m venv .venv && .venv/bin/pip install . &&": "test_the_sample_in_every_format, and test_first_command",
    "python -m venv .venv && .venv/bin/pip install '.[test]' &&": ".ci/run, to the letter",
    "pip install '.[test,peers,proof]'": ".ci/run; its last two lines by hand, since they take long",
    "fpformats formats ": "test_terminal",
}


def safetensors(path: str, name: str, values: np.ndarray) -> None:
    """One float32 tensor, by the letter of the file's specification."""
    data = values.astype("<f4").tobytes()
    shape = list(values.shape)
    header = f'{{"{name}":{{"dtype":"F32","shape":{shape},"data_offsets":[0,{len(data)}]}}}}'.encode()
    Path(path).write_bytes(len(header).to_bytes(8, "little") + header + data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that the commands read."""
    here = tmp_path_factory.mktemp("readme")
    weights = np.random.default_rng(7).normal(size=(4, 256)).astype(np.float32)
    np.save(here / "weights.npy", weights)
    safetensors(str(here / "model.safetensors"), "layer.weight", weights)
    pairs = [(0x3F800000, 0x38), (0x40466666, 0x44), (0xC0466666, 0xC4)]  # 1, 3.1, -3.1 into E4M3
    (here / "results.txt").write_text("".join(f"{x:08x} {code:02x}\n" for x, code in pairs))
    return here


def test_no_block_is_forgotten():
    assert {kind for kind, _ in BLOCKS} == {"sh", "text", "python"}  # python: test_doctests; text: below
    for kind, block in BLOCKS:
        if kind == "sh":
            assert any(block.startswith(begin) for begin in ELSEWHERE), block
    assert len(TERMINAL) > 10


@pytest.mark.parametrize("line", TERMINAL)
def test_terminal(line, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    program, *arguments = shlex.split(line, comments=True)
    assert program == "fpformats"
    status = main(arguments)
    captured = capsys.readouterr()
    assert (status, captured.err) == (0, "")
    if "--out" not in arguments:
        assert captured.out
        return
    out = Path(arguments[arguments.index("--out") + 1])
    weights = np.load("weights.npy")
    if out.suffix == ".memh":
        assert re.fullmatch(r"(//.*\n)*([0-9a-f]{8}_[0-9a-f]{2}\n)+", out.read_text())
    elif out.suffix == ".json":
        assert json.loads(out.read_text())["format"]["name"] == "nvfp4_te"
    elif out.suffix == ".npz":
        assert BlockArray.load(out).shape == weights.shape
    else:
        made = np.load(out)
        assert (made.shape, made.dtype) == (weights.shape, np.float32)
        assert np.abs(made - weights).max() <= 0.125  # half of E4M3's step between 2 and 4


def test_first_command(capsys):
    """The rows that the README shows are rows that the command prints."""
    shown = next(block for kind, block in BLOCKS if kind == "text").splitlines()
    assert main(["compare", "--sample", "--to", "all"]) == 0
    printed = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for row in shown:
        assert " ".join(row.split()) in printed or set(row.strip()) <= {"─"}, row
