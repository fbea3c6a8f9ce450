"""The recipes of docs/examples-of-use.md run as they stand on the page, and print what it says."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import stat
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "examples-of-use.md"
pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(not PAGE.exists(), reason="docs/ is not beside the tests: not a checkout"),
]
#: programs and modules that a section needs
NEEDS = {"cc": shutil.which, "iverilog": shutil.which, "torch": find_spec}


def sections():
    """(title, its code blocks as (language, text))."""
    if not PAGE.exists():
        return []
    found = []
    for part in PAGE.read_text().split("\n## ")[1:]:
        title, _, body = part.partition("\n")
        found.append((title, re.findall(r"^```(\w+)\n(.*?)^```$", body, re.S | re.M)))
    return found


def program(folder: Path, name: str, *arguments: str) -> None:
    """A command of that name, which runs this Python."""
    path = folder / name
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {" ".join(arguments)} "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_there_are_all():
    assert len(sections()) == 5
    text = PAGE.read_text()
    assert "\n```sh" in text


def cases():
    """Each section; those in nothing but Python need no compiler, and one of them torch, which takes long to import."""
    for title, blocks in sections():
        long = [pytest.mark.slow] if {language for language, _ in blocks} == {"python", "sh", "text"} else []
        yield pytest.param(title, blocks, id=title, marks=long)


@pytest.mark.parametrize(("title", "blocks"), list(cases()))
def test_recipe(title, blocks, tmp_path):
    commands = "".join(text for language, text in blocks if language == "sh")
    files = [text for language, text in blocks if language in ("c", "python", "verilog")]
    every = commands + "".join(files)
    for need, look in NEEDS.items():
        if re.search(rf"(^|import |&& ){need}\b", every, re.M) and not look(need):
            pytest.skip(f"{title}: {need} is not installed")
    for text in files:
        code = [line for line in text.splitlines()[1:] if line.strip()]
        assert len(code) <= 20, f"{title}: {len(code)} lines"
        (tmp_path / re.match(r"(?://|#) (\S+)", text).group(1)).write_text(text)
    programs = tmp_path / "bin"
    programs.mkdir()
    program(programs, "python")
    program(programs, "fpformats", "-m", "fpformats")
    done = subprocess.run(
        ["bash", "-c", commands],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    expected = next(text for language, text in blocks if language == "text")
    same = doctest.OutputChecker().check_output(expected, done.stdout, doctest.ELLIPSIS)
    assert same, f"{done.stdout[:3000]}\n{done.stderr[-2000:]}"
