"""HTML for notebooks: codes as coloured squares, tables, a format with its layout and facts.

Rules of this file

1. Styles are inline, so that nothing is changed outside, and a saved notebook looks the same.
2. Text has the page's own colour, and fills are half transparent: light and dark themes both read well. Colour never
   says anything that the text or the order does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ..block_format import BlockFormat
from ..format import Format
from ..registry import get_element
from .facts import binades, decibels, layout, number, per_binade, specials
from .words import dyadic, fields

__all__ = ["bits_html", "cells_html", "cut_html", "format_html", "rows_html"]

#: red, green and blue of a code's fields, and of the bits that a rounding looks at
COLOURS = {"sign": "214,69,65", "exponent": "46,150,90", "mantissa": "60,110,225"}
COLOURS |= {"guard": "235,150,20", "round": "190,90,200", "sticky": "140,140,140"}
CELL = "padding:.15em .7em .15em 0;text-align:left;vertical-align:top;border:0;background:none"


def _square(text: str, field: str) -> str:
    rgb = COLOURS[field]
    return (
        f'<span title="{field}" style="display:inline-block;min-width:1.1em;text-align:center;margin-right:1px;'
        f"font-family:monospace;background:rgba({rgb},.3);border:1px solid rgba({rgb},.9);color:inherit"
        f'">{escape(text)}</span>'
    )


def _names(fmt: Format) -> list[str]:
    """Of each bit of a code, from the highest, its field."""
    return ["sign"] * fmt.signed + ["exponent"] * fmt.exponent_bits + ["mantissa"] * fmt.mantissa_bits


def bits_html(code: int, fmt: Format) -> str:
    """A code's bits as squares in the colours of their fields.

    >>> import fpformats as fp
    >>> bits_html(0x44, fp.E4M3).count("<span")
    8
    """
    bits = fields(code, fmt).replace(" ", "")
    return "".join(map(_square, bits, _names(fmt)))


def cut_html(kept: str, dropped: str) -> str:
    """A significand and what is cut off: guard and round bit, the rest of them sticky."""
    names = ["guard", "round", *["sticky"] * len(dropped)]
    whole = "".join(_square(bit, "mantissa") if bit in "01" else escape(bit) for bit in kept)
    return f"{whole}|{''.join(map(_square, dropped, names))}"


def rows_html(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A heading over lines of a name and of something that is HTML already."""
    lines = "".join(
        f'<tr style="background:none"><td style="{CELL};opacity:.7;white-space:nowrap">{escape(name)}</td>'
        f'<td style="{CELL}">{shown}</td></tr>'
        for name, shown in rows
    )
    return f'<div><b>{escape(title)}</b><table style="border-collapse:collapse;color:inherit">{lines}</table></div>'


def cells_html(cells: Sequence[Sequence[str]], html_columns: Sequence[int] = ()) -> str:
    """Titles and rows as a table, all but the first column to the right; `html_columns` are not escaped."""
    line = "border:0;border-bottom:1px solid rgba(128,128,128,.6)"

    def row(tag: str, one: Sequence[str], style: str) -> str:
        shown = [
            f'<{tag} style="padding:.15em .7em;text-align:{"right" if i else "left"};{style}">'
            f"{cell if i in html_columns and tag == 'td' else escape(cell)}</{tag}>"
            for i, cell in enumerate(one)
        ]
        return f'<tr style="background:none">{"".join(shown)}</tr>'

    body = "".join(row("td", one, "border:0;white-space:nowrap") for one in cells[1:])
    return (
        '<table style="border-collapse:collapse;color:inherit">'
        f"<thead>{row('th', cells[0], line)}</thead><tbody>{body}</tbody></table>"
    )


def format_html(fmt: Format | BlockFormat) -> str:
    """A format in a notebook: the layout as squares, then its facts.

    >>> import fpformats as fp
    >>> "8 bits" in format_html(fp.E4M3), "1x16 blocks" in format_html(fp.get("nvfp4"))
    (True, True)
    """
    if isinstance(fmt, BlockFormat):
        return _block_html(fmt)
    letters = "".join(_square(field[0], field) for field in _names(fmt))

    def both(value: object) -> str:
        if value is None:
            return "none"
        short, exact = number(value), dyadic(value)  # type: ignore[arg-type]
        return escape(short if short == exact else f"{short} = {exact}")

    normal = both(fmt.smallest_normal) if fmt.exponent_bits else "none, no exponent field"
    code = "none" if fmt.nan_code is None else f"{fmt.nan_code:#x} = {bits_html(fmt.nan_code, fmt)}"
    rows = [
        ("layout", f"{letters} {escape(layout(fmt))}, bias {fmt.bias}"),
        ("largest", f"{both(fmt.max)} = {bits_html(fmt.max_code, fmt)}"),
        ("smallest normal", normal),
        ("smallest", both(fmt.smallest_subnormal)),
        ("step at 1", both(fmt.eps)),
        ("range", f"{binades(fmt)} binades, {decibels(fmt):.1f} dB"),
        ("values a binade", str(per_binade(fmt) or "-")),
        ("specials", escape(specials(fmt))),
        ("quiet NaN", code),
        ("source", escape(fmt.clause)),
    ]
    return rows_html(f"{fmt.name}: {fmt.bits} bits", rows)


def _block_html(fmt: BlockFormat) -> str:
    title, *lines = fmt.explain().split("\n")
    rows = [(line[2:11].strip(), escape(line[11:])) for line in lines if line.startswith("  ")]
    element = get_element(fmt.element)
    letters = "".join(_square(field[0], field) for field in _names(element))
    scale = get_element(fmt.scale)
    scales = "".join(_square(field[0], field) for field in _names(scale)) if scale.bits <= 16 else f"{scale.bits} bits"
    rows[:0] = [("element", f"{letters} {escape(layout(element))}"), ("scale", f"{scales} {escape(layout(scale))}")]
    return rows_html(title, rows)
