"""The bit explorer as HTML that needs nothing but a browser: no network, no server, no build."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..format import Format
from ..registry import formats as names
from ..registry import get_element
from .facts import default_code, exact, exact_value, html_table, row_data, wire

__all__ = ["FORMATS", "fragment", "module", "page", "style"]

HERE = Path(__file__).parent
#: What is compared where nobody says anything else.
FORMATS = ("e4m3", "e5m2", "e2m1", "fp16", "bf16")

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>fpformats: bit explorer</title>
<style>:root { color-scheme: light dark } body { margin: 0; background: light-dark(#fff, #16181d) }
main { max-width: 75rem; margin: 0 auto; padding: 0.75rem }</style>
</head>
<body>
<main>
%s</main>
</body>
</html>
"""


def module() -> str:
    """formats.js and explorer.js as one ES module."""
    arithmetic, view = ((HERE / name).read_text("utf-8") for name in ("formats.js", "explorer.js"))
    start, end = view.index("import {"), view.index('from "./formats.js";\n') + len('from "./formats.js";\n')
    return arithmetic + "\n" + view[:start] + view[end:]


def style() -> str:
    """The style sheet; all of it lies below the class ``fx``."""
    return (HERE / "explorer.css").read_text("utf-8")


def _json(value: Any) -> str:
    """JSON that a script element can hold."""
    text = json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
    return text.replace("],[", "],\n[")


def outside(code: int, fmt: Format) -> str:
    """What is wrong with a code."""
    return f"code={code:#x}: {fmt.name} has {fmt.bits} bits; 0 .. {(1 << fmt.bits) - 1:#x} was expected"


def fragment(
    format: str | Format = "e4m3",
    *,
    value: Any = "3.1",
    code: int | None = None,
    formats: Iterable[str | Format] = FORMATS,
    choices: Iterable[str | Format] | None = None,
) -> str:
    """The explorer as a piece of HTML, to put into a page of one's own; once a page.

    Parameters
    ----------
    format : str or Format
        The format whose bits are shown.
    value : number or str
        The number to look at, taken exactly: ``"0.1"`` is one tenth, ``0.1`` is not.
    code : int, optional
        In place of `value`: the number that this code stands for.
    formats : iterable of str or Format
        What `format` is compared with.
    choices : iterable of str or Format, optional
        Formats the reader can choose from; by default all registered ones.

    Returns
    -------
    str
        A ``<div>`` with a table that says the same without JavaScript, a ``<style>`` and a ``<script>``. Nothing is
        loaded from anywhere. The page's address is read and kept: ``#format=e4m3&code=7e``.

    Raises
    ------
    ValueError
        A name that no format has; a code outside the format's; NaN as `value` where the format has none.
    TypeError
        A block format.

    Examples
    --------
    >>> from fpformats.widget import fragment
    >>> html = fragment("e2m1", value=5, formats=["e3m2"], choices=["e2m1", "e3m2", "e2m3"])
    >>> "a tie: to the even line" in html, "http" in html
    (True, False)
    """
    row = get_element(format)
    compared = [get_element(fmt) for fmt in formats]
    rows = [get_element(fmt) for fmt in (names("element") if choices is None else choices)]
    known = {fmt.name: fmt for fmt in (*rows, *compared, row)}
    if code is None:
        x = exact(value)
        code = default_code(x, row)
        if code is None:
            raise ValueError(f"value={value!r}: {row.name} has no NaN")
    else:
        if not 0 <= code < 1 << row.bits:
            raise ValueError(outside(code, row))
        x = exact_value(code, row)
    state = {"format": row.name, "code": hex(code), "value": wire(x), "formats": [fmt.name for fmt in compared]}
    table = html_table(x, [row, *(fmt for fmt in compared if fmt != row)], code)
    call = f'mountPage(document.getElementById("fp-explorer"), {_json(row_data(known.values()))}, {_json(state)});'
    return (
        f'<div id="fp-explorer" class="fx">\n{table}\n</div>\n<style>\n{style()}</style>\n'
        f'<script type="module">\n{module()}\n{call}\n</script>\n'
    )


def page(format: str | Format = "e4m3", **options: Any) -> str:
    """The explorer as a whole HTML page: one file that can be opened, sent or put on a site.

    Parameters
    ----------
    format, **options
        As for `fragment`.

    Returns
    -------
    str

    Examples
    --------
    >>> from fpformats.widget import page
    >>> page("bf16", code=0x3F80, choices=["fp16"]).startswith("<!doctype html>")
    True
    """
    return _PAGE % fragment(format, **options)
