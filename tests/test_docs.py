"""The tables in docs/ are what the rows say, and links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [page for folder in ("", "docs", "docs/api", "notebooks", "benchmarks") for page in (ROOT / folder).glob("*.md")]
)
GENERATORS = ("make_docs.py", "make_drawings.py")


@pytest.mark.skipif(not (ROOT / "tools").is_dir(), reason="not in a checkout")
@pytest.mark.parametrize("name", GENERATORS)
def test_tables_and_drawings_are_what_the_code_says(name):
    done = subprocess.run([sys.executable, str(ROOT / "tools" / name), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
        else:  # that it answers is not checked: tests need no network
            assert re.fullmatch(r"https://([a-z0-9-]+\.)+[a-z]+(/[\w./~%?=&-]*)?", target), f"{page.name}: {target}"
