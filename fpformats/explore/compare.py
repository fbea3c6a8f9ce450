"""How much a tensor loses in each format: one pass, one small report. `measure` defines its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..arrays import adapt
from ..block_format import BlockFormat
from ..blocks.array import BlockArray
from ..blocks.encode import encode_blocks
from ..casts import decode, quantize, recipe_rounding
from ..format import Format
from ..registry import get
from .html import cells_html
from .measure import CHUNK, Accumulator, Row
from .table import as_pandas, as_text

__all__ = ["Accumulator", "Comparison", "Row", "block_array", "compare"]

AnyFormat = str | Format | BlockFormat

#: The table's columns: title, and how a row fills it.
COLUMNS: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("format", lambda row: row.format),
    ("bits", lambda row: f"{row.bits:.4g}"),
    ("SQNR dB", lambda row: f"{row.sqnr_db:.2f}"),
    ("max rel", lambda row: f"{row.max_rel_error:.3g}"),
    ("mean rel", lambda row: f"{row.mean_rel_error:.3g}"),
    ("saturated", lambda row: _share(row.saturated, row.count)),
    ("flushed", lambda row: _share(row.flushed, row.count)),
    ("subnormal", lambda row: _share(row.subnormal, row.count)),
    ("inf", lambda row: _share(row.inf, row.count)),
    ("nan", lambda row: _share(row.nan, row.count)),
)


def _share(part: int, whole: int) -> str:
    """A count as a share; none at all is a plain zero, so that the eye finds the rest."""
    return f"{100 * part / whole:.3g}%" if part else "0"


@dataclass(frozen=True, repr=False)
class Comparison:
    """The rows of a comparison, in the order the formats were given. Prints as a table."""

    rows: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Row:
        """The row of a format, by any of its names."""
        wanted = get(name).name
        for row in self.rows:
            if row.format == wanted:
                return row
        raise KeyError(f"{wanted} was not compared; {', '.join(row.format for row in self.rows)} were")

    def as_dict(self) -> dict[str, dict[str, object]]:
        """Plain data: format name to its fields."""
        return {row.format: asdict(row) for row in self.rows}

    def cells(self) -> list[tuple[str, ...]]:
        """The table as text: the titles, then one tuple a row. Shares are of all inputs.

        The columns for infinities and NaN are left out where no result is either.
        """
        empty = {title for title in ("inf", "nan") if not any(getattr(row, title) for row in self.rows)}
        shown = [(title, fill) for title, fill in COLUMNS if title not in empty]
        return [tuple(title for title, _ in shown), *(tuple(fill(row) for _, fill in shown) for row in self.rows)]

    def __str__(self) -> str:
        return as_text(self.cells())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return cells_html(self.cells())

    def to_pandas(self) -> Any:
        """A pandas DataFrame, one row a format, its name the index; ImportError without pandas."""
        return as_pandas([asdict(row) for row in self.rows])


def compare(x: object, formats: Iterable[AnyFormat] | AnyFormat, /, **options: Any) -> Comparison:
    """What becomes of `x` in each of several formats.

    Parameters
    ----------
    x : array_like
        Anything that `quantize` takes.
    formats : iterable of str, Format or BlockFormat
        The formats to compare, block formats among them; a single one is allowed.
    **options
        `quantize`'s keywords (``rounding``, ``overflow``, ``nan``, ``subnormals``, ``profile``, ...),
        the same for every format; a block format takes ``rounding``, ``rng``, ``axis`` and what `encode_blocks` does.

    Returns
    -------
    Comparison
        One `Row` a format, where each number is defined. It prints as a table.

    Examples
    --------
    >>> import fpformats as fp
    >>> print(fp.compare([0.1, 1.0, 500.0, 0.001], ["e4m3", "fp16"]))
    format  bits  SQNR dB   max rel  mean rel  saturated  flushed  subnormal
    e4m3       8    19.66     0.953     0.268        25%        0        25%
    fp16      16   146.23  0.000404  0.000162          0        0          0
    >>> fp.compare([0.1, 1.0], ["e2m1"])["e2m1"].flushed
    1
    >>> print(fp.compare([0.1, 1.0, 7.5, 0.001] * 8, ["mxfp4", "nvfp4_direct"]))
    format        bits  SQNR dB  max rel  mean rel  saturated  flushed  subnormal
    mxfp4         4.25    14.04        1      0.55        25%      50%          0
    nvfp4_direct   4.5    28.98        1     0.562          0      50%          0
    """
    names = [formats] if isinstance(formats, (str, Format, BlockFormat)) else list(formats)
    if np.isscalar(x):
        x = [x]
    return Comparison(tuple(_row(x, get(fmt), options) for fmt in names))


def block_array(x: Any, fmt: BlockFormat, options: Mapping[str, Any]) -> BlockArray:
    """`encode_blocks` with `quantize`'s options."""
    return encode_blocks(x, fmt, **recipe_rounding(fmt, **options))


def _row(x: Any, fmt: Format | BlockFormat, options: dict[str, Any]) -> Row:
    part = Accumulator(fmt)
    if isinstance(fmt, BlockFormat):
        part.update_blocks(np.concatenate([np.zeros(0), *_chunks(x)]), block_array(x, fmt, options))
        return part.result()
    result = quantize(x, fmt, **options)
    for chunk, rounded in zip(_chunks(x), _chunks(result), strict=True):
        part.update(chunk, rounded)
    return part.result()


def _chunks(array: Any) -> Iterator[np.ndarray]:
    """Any array's values as float64, a chunk at a time."""
    adapted = adapt(array)
    flat = adapted.data.reshape(-1)
    for start in range(0, flat.size, CHUNK):
        chunk = flat[start : start + CHUNK]
        yield chunk.astype(np.float64) if adapted.format is None else decode(chunk, adapted.format, dtype=np.float64)
