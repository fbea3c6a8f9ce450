"""The site builds without a warning, documents every public name, and each page is whole in a browser."""

from __future__ import annotations

import contextlib
import functools
import html.parser
import http.server
import os
import shutil
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fpformats as fp

ROOT = Path(__file__).resolve().parent.parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-quic"]
#: a telephone and a desk, the one dark, the other light
VIEWS = [(400, "dark"), (1400, "light")]
#: what a page says of itself: its heading, its broken pictures, and what sticks out of the window without being in a box
#: that scrolls (the page's own width says nothing: the theme cuts it)
LOOK = """() => {
    const main = document.querySelector("article[role=main]") ?? document.body;
    const scrolls = e => e !== main && (["auto", "scroll"].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
    const out = [...main.querySelectorAll("*")].filter(e =>
        !e.parentElement.closest("math, svg") && e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e.parentElement));
    return {
        broken: [...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src),
        wide: out.map(e => e.outerHTML.slice(0, 100)),
        title: document.querySelector("h1")?.textContent ?? "",
    };
}"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (ROOT / "docs" / "conf.py").is_file(), reason="docs/ is not beside the tests: not a checkout"
    ),
]


def build(made: Path) -> Path:
    """The pages, where building them says nothing."""
    for package in ("sphinx", "furo", "myst_nb", "numpydoc", "sphinx_design"):
        pytest.importorskip(package, reason="the site is built with the extra `docs`")
    command = ["-m", "sphinx", "-q", "-W", "--keep-going", "-j", "2", "-c", "docs", "-d", str(made / "doctrees"), "."]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *command, str(made / "html")], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return made / "html"


def undocumented(site: Path) -> set[str]:
    """The public names of which docs/api/ says nothing."""
    from sphinx.util.inventory import InventoryFile

    found = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="").data
    known = {name for kind, names in found.items() if kind.startswith("py:") for name in names}
    modules = [fp, *(getattr(fp, name) for name in fp._MODULES)]
    public = {f"{module.__name__}.{name}" for module in modules for name in module.__all__}
    return public - known - {f"fpformats.{name}" for name in fp._MODULES}


class Ends(html.parser.HTMLParser):
    """Where a page's links lead, and where links to it may."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.links: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.targets.add(given.get("id") or "")
        if tag == "a" and "://" not in (link := given.get("href") or ""):
            self.links.add(link)


def dangling(site: Path, pages: list[str]) -> list[str]:
    """Links within the site that lead nowhere; those to the outside are `test_docs`' business."""
    ends = {page: Ends(site / page) for page in pages}
    wrong = []
    for page in pages:
        for link in ends[page].links:
            path, _, anchor = urllib.parse.unquote(link).partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if not (site / target).is_file() or (target in ends and anchor not in ends[target].targets):
                wrong.append(f"{page}: {link}")
    return wrong


@contextlib.contextmanager
def served(site: Path) -> Iterator[str]:
    """Its address while it is served."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def complaints(browser: Any, address: str, pages: list[str], width: int, scheme: str) -> list[str]:
    """What is wrong with the pages in a window of that width."""
    wrong: list[str] = []
    view = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)

    def say(what: object) -> None:
        wrong.append(f"{view.url.removeprefix(address)} at {width}: {what}")

    view.on("console", lambda message: say(message.text) if message.type in ("error", "warning") else None)
    view.on("pageerror", say)
    # the browser itself aborts what it no longer needs when the next page is asked for
    view.on("requestfailed", lambda lost: None if lost.failure == "net::ERR_ABORTED" else say(f"{lost.url} failed"))
    view.on("response", lambda response: say(f"{response.url}: {response.status}") if response.status >= 400 else None)
    view.on("request", lambda asked: None if asked.url.startswith((address, "data:")) else say(f"asks {asked.url}"))
    for page in pages:
        view.goto(address + page)
        seen = view.evaluate(LOOK)
        if seen["broken"] or seen["wide"] or not seen["title"]:
            say(seen)
    view.goto(address + "search.html?q=subnormal")
    view.wait_for_selector("#search-results li")
    view.goto(address)  # leads to the front page
    view.wait_for_url("**/docs/index.html")
    view.close()
    return wrong


def test_site(tmp_path):
    """One test, so that the site is built once wherever tests run in several processes."""
    site = build(tmp_path)
    assert not undocumented(site)
    found = (path.relative_to(site) for path in site.rglob("*/*.html"))
    pages = sorted(path.as_posix() for path in found if not path.parts[0].startswith("_"))
    assert {"docs/index.html", "docs/recipes.html", "docs/api/fpformats.html", "notebooks/README.html"} <= set(pages)
    assert not dangling(site, pages)
    playwright = pytest.importorskip("playwright.sync_api", reason="built, not looked at: no playwright")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"built, not looked at: none of {', '.join(BROWSERS)} is installed")
    with served(site) as address, playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=OPTIONS)
        wrong = [line for view in VIEWS for line in complaints(browser, address, pages, *view)]
        browser.close()
    assert not wrong, "\n".join(wrong)
