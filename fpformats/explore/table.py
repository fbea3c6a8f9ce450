"""`table`: facts of formats side by side; and the plain table that it and `compare` print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..block_format import BlockFormat
from ..format import Format
from ..registry import FORMATS, get, get_element
from .facts import binades, decibels, layout, per_binade, specials
from .html import cells_html
from .words import dyadic

__all__ = ["Table", "as_pandas", "as_text", "table"]


def as_text(cells: Sequence[Sequence[str]]) -> str:
    """Titles and rows in columns, all but the first to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def as_pandas(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A pandas DataFrame whose index is the first column."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("to_pandas needs pandas (pip install pandas); as_dict() gives the same without") from None
    frame = pd.DataFrame([dict(row) for row in rows])
    return frame.set_index(frame.columns[0]) if len(frame.columns) else frame


@dataclass(frozen=True, repr=False)
class Table:
    """Rows of facts. Prints as text, shows as HTML in a notebook, and is data: `as_dict`, `to_pandas`, iteration."""

    rows: tuple[Mapping[str, Any], ...]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        """The row of a format, by any of its names."""
        wanted = get(name).name
        for row in self.rows:
            if row["format"] == wanted:
                return row
        raise KeyError(f"{wanted} is not in the table; {', '.join(row['format'] for row in self.rows)} are")

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Plain data for JSON: format name to its facts."""
        return {row["format"]: {key: value for key, value in row.items() if key != "format"} for row in self.rows}

    def to_pandas(self) -> Any:
        """A pandas DataFrame, one row a format, its name the index; ImportError without pandas."""
        return as_pandas(self.rows)

    def cells(self) -> list[tuple[str, ...]]:
        """The titles, then one tuple of text a row."""
        titles = list(self.rows[0]) if self.rows else ["format"]
        return [tuple(titles), *(tuple(_cell(row[title]) for title in titles) for row in self.rows)]

    def __str__(self) -> str:
        return as_text(self.cells())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return cells_html(self.cells())


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.6g}"
    exact = dyadic(value) if value else "0"
    return exact if len(exact) < len(text) and exact.lstrip("-").startswith("2^") else text


def _plain(value: Any) -> float | int | str | None:
    """A fact as a float where that is exact; else as text, an integer times a power of two."""
    if value is None or isinstance(value, float):
        return value
    return dyadic(Fraction(value))


def _row(fmt: Format | BlockFormat, blocks: bool) -> dict[str, Any]:
    element = get_element(fmt.element) if isinstance(fmt, BlockFormat) else fmt
    bits = fmt.bits_per_value if isinstance(fmt, BlockFormat) else fmt.bits
    row: dict[str, Any] = {"format": fmt.name, "bits": bits}
    if blocks:
        is_block = isinstance(fmt, BlockFormat)
        row |= {
            "element": element.name if is_block else None,
            "block": fmt.block_text if isinstance(fmt, BlockFormat) else None,
            "scale": fmt.scale if isinstance(fmt, BlockFormat) else None,
        }
    return row | {
        "layout": layout(element),
        "max": _plain(element.max),
        "smallest normal": _plain(element.smallest_normal) if element.exponent_bits else None,
        "smallest": _plain(element.smallest_subnormal),
        "eps": _plain(element.eps),
        "per binade": per_binade(element),
        "binades": binades(element),
        "dB": round(decibels(element), 2),
        "specials": specials(element),
    }


def table(formats: Iterable[str | Format | BlockFormat] | str | Format | BlockFormat | None = None, /) -> Table:
    """Facts of formats side by side.

    Parameters
    ----------
    formats : iterable of str, Format or BlockFormat, optional
        Which ones, in this order; a single one is allowed. By default all named element formats.

    Returns
    -------
    Table
        Prints as text and shows as HTML in a notebook; `as_dict` and `to_pandas` give the facts as data. The columns:

        bits
            Of a code; of a block format bits a value, its share of the scale included.
        element, block, scale
            Only where a block format is in the table. The columns after them are then its elements', before they are
            scaled.
        layout
            Bits of sign, exponent and mantissa.
        max, smallest normal, smallest, eps
            The largest finite value; the smallest with a leading one; the smallest positive; the step at 1.
        per binade
            Values from one power of two up to the next, among normal numbers.
        binades, dB
            How many binades hold a positive value, and 20 log10(max / smallest).
        specials
            Infinity, NaN, -0, and what the format lacks.

    Examples
    --------
    >>> import fpformats as fp
    >>> fp.table(["fp16", "bf16", "e4m3"])
    format  bits     layout          max  smallest normal  smallest    eps  per binade  binades       dB      specials
    fp16      16  s1 e5 m10        65504            2^-14     2^-24  2^-10        1024       40   240.82  inf, NaN, -0
    bf16      16   s1 e8 m7  3.38953e+38           2^-126    2^-133   2^-7         128      261  1571.34  inf, NaN, -0
    e4m3       8   s1 e4 m3          448             2^-6      2^-9   2^-3           8       18   107.21       NaN, -0
    >>> fp.table(["mxfp4", "nvfp4"])["nvfp4"]["bits"]
    4.5
    """
    if formats is None:
        formats = FORMATS
    chosen = [formats] if isinstance(formats, (str, Format, BlockFormat)) else list(formats)
    rows = [get(fmt) for fmt in chosen]
    blocks = any(isinstance(fmt, BlockFormat) for fmt in rows)
    return Table(tuple(_row(fmt, blocks) for fmt in rows))
