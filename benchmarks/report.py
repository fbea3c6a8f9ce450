"""The one table, for a terminal, as Markdown, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .results import Measurement, Results, Row

__all__ = ["show", "summary", "write_json"]

COLUMNS = ("job", "against", "what", "elements", "worst", "best", "worst case", "±", "goal", "met")
HOW_TO_READ = (
    "“of its time”: our time over theirs (less is better). “× as fast”: their time over ours (more is better). "
    "± is how far the rounds of the worst case disagree."
)
MARKS = {True: "yes", False: "NO", None: ""}


def _digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _value(m: Measurement) -> str:
    if m.unit != "×":
        return f"{_digits(m.value)} {m.unit}"
    if m.faster:
        return f"{_digits(m.value)}× as fast"
    return f"{m.value:.2f} of its time" if m.seconds is not None else f"{m.value:.2f} of it"


def _elements(size: int | None) -> str:
    return "" if size is None else "1" if size == 0 else f"2^{size}"


def _cells(row: Row) -> tuple[str, ...]:
    worst = row.worst
    goal = "" if row.limit is None else f"{'≥' if worst.faster else '≤'} {_digits(row.limit)}"
    where = f"{worst.what} {worst.data}".strip()
    several = len(row.measurements) > 1
    return (
        row.job,
        row.against,
        row.label,
        _elements(row.size),
        _value(worst),
        _digits(row.best.value) if several else "",
        where if several or not row.label.startswith(where) else "",
        f"{worst.spread:.0%}",
        goal,
        MARKS[row.met],
    )


def summary(rows: Iterable[Row]) -> str:
    """How many goals are met, and the noise floor.

    >>> summary([])
    'No goal was measured.'
    """
    rows = list(rows)
    verdicts = [row.met for row in rows if row.met is not None]
    noise = [f"{row.worst.value:.2f} ± {row.worst.spread:.0%} at 2^{row.size}" for row in rows if row.job == "noise"]
    met = f"{sum(verdicts)} of {len(verdicts)} goals met." if verdicts else "No goal was measured."
    return f"{met} Noise (copyto over copyto): {', '.join(noise)}." if noise else met


def show(results: Results, facts: Mapping[str, str], *, each: bool = False, markdown: bool = False) -> None:
    """Print facts, table and summary."""
    rows = results.rows(each)
    if markdown:
        print("\n".join(_markdown(rows, facts, results.notes)))
        return
    # a pipe or file gets whole lines; a terminal its own width
    console = Console() if Console().is_terminal else Console(width=190)
    for name, text in facts.items():
        console.print(f"[bold]{name}[/]: {text}", highlight=False)
    table = Table(caption=HOW_TO_READ)
    for column in COLUMNS:
        table.add_column(column, justify="right" if column in ("elements", "worst", "best", "±", "goal") else "left")
    for i, row in enumerate(rows):
        style = {True: "green", False: "bold red", None: None}[row.met]
        table.add_row(*_cells(row), style=style, end_section=i + 1 < len(rows) and rows[i + 1].job != row.job)
    console.print(table)
    console.print(summary(rows), highlight=False)
    for note in results.notes:
        console.print(f"note: {note}", highlight=False, markup=False)


def _markdown(rows: Iterable[Row], facts: Mapping[str, str], notes: Iterable[str]) -> Iterable[str]:
    rows = list(rows)
    yield from (f"- **{name}**: {text}" for name, text in facts.items())
    yield from ("", f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}")
    yield from (f"| {' | '.join(_cells(row))} |" for row in rows)
    yield from ("", HOW_TO_READ, "", summary(rows))
    yield from (f"- {note}" for note in notes)


def write_json(path: Path, results: Results, facts: Mapping[str, str], options: Mapping[str, object]) -> None:
    """Everything measured, rows of the table included."""
    content = {
        "machine": dict(facts),
        "options": dict(options),
        "rows": [row.as_dict() for row in results.rows()],
        "measurements": [asdict(m) for m in results.measurements],
        "notes": results.notes,
    }
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
