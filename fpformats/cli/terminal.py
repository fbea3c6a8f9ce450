"""What the command line prints: JSON, tables, and a bar for long work. Rich is imported on first use."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

__all__ = ["print_json", "print_table", "progress"]

#: Values times formats above which a progress bar is worth its place.
LONG_WORK = 1 << 24


def print_json(data: Any) -> None:
    """Plain data as JSON that any parser reads."""

    def standard(item: Any) -> Any:  # JSON has no infinities and no NaN: they become text
        if isinstance(item, float) and not math.isfinite(item):
            return str(item)
        if isinstance(item, dict):
            return {key: standard(value) for key, value in item.items()}
        return [standard(value) for value in item] if isinstance(item, (list, tuple)) else item

    click.echo(json.dumps(standard(data), indent=2))


def print_table(cells: Sequence[Sequence[str]]) -> None:
    """Titles and rows as a table; never cut, so that pipes and narrow terminals lose nothing."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for index, title in enumerate(cells[0]):
        table.add_column(title, justify="right" if index else "left", no_wrap=True, style=None if index else "cyan")
    for row in cells[1:]:
        table.add_row(*row)
    Console(width=1000, markup=False, highlight=False).print(table)


@contextmanager
def progress(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """A bar on standard error for long work at a terminal; a function that does nothing elsewhere."""
    if total < LONG_WORK or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda step: bar.advance(task, step)
