"""`fpformats vectors` and `fpformats verify`: test vectors for suites that are not Python."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, Any

import click

from ..registry import get_element
from .app import _choice, _data_errors, _named, _options, _usage_errors, casting, cli

__all__: list[str] = []

SETS = ("boundary", "level2", "exhaustive", "random")
TEXTS = ("hex", "csv", "memh")  # tests hold both against the tables, which are imported by the command

common = _options(
    click.option("--source", default="float32", show_default=True, help="Type of the inputs: float32, bf16, ...")
)


def _rules(name: str, source: str, rules: dict[str, Any]) -> tuple[Any, Any, Any]:
    """(format, source, rules) of the options."""
    from ..casts import rules_for
    from ..rounding import ROUNDINGS

    fmt, kind = _named(name, get_element), _named(source, get_element)
    with _usage_errors():
        made = rules_for(fmt, **rules)
        if ROUNDINGS[made.rounding].random_bits:
            raise ValueError(f"{made.rounding} has two outcomes for one input: there are no such vectors")
        if kind.bits > 64 or kind.twos_complement:
            raise ValueError(f"--source {source}: a float format was expected")
    return fmt, kind, made


@cli.command("vectors")
@click.argument("name", metavar="FORMAT")
@common
@casting
@_choice("set", SETS, default="boundary")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of --set random.")
@click.option("--count", type=click.IntRange(1), default=10_000, show_default=True, help="Of --set random.")
@click.option("--to", "how", type=click.Choice(TEXTS), default="hex", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="Write to this file instead of standard output.")
def vectors(name: str, source: str, set: str, seed: int, count: int, how: str, out: Path | None, **rules: Any) -> None:
    """Write pairs of input and expected code of a cast to FORMAT, one a line, in hexadecimal."""
    from ..testing.vectors import write_vectors
    from .files_out import write_with

    fmt, kind, made = _rules(name, source, rules)
    if set == "exhaustive" and kind.bits > 32:
        raise click.UsageError(f"--set exhaustive: {kind.name} has 2^{kind.bits} inputs; --set level2 tries some")
    parts = write_vectors(fmt, kind, made, how, which=set, seed=seed, count=count)
    with _data_errors():
        if out is None:
            stdout = sys.stdout.buffer
            for part in parts:
                stdout.write(part)
            stdout.flush()
            return

        def write_all(temporary: Path) -> None:
            with open(temporary, "wb") as file:
                file.writelines(parts)

        write_with(out, write_all)


@cli.command("verify")
@click.argument("name", metavar="FORMAT")
@click.argument("file", type=click.File(encoding="utf-8", errors="replace"))
@common
@casting
@click.option("--nan-codes", type=click.Choice(("class", "exact")), default="class", show_default=True)
def verify(name: str, file: IO[str], source: str, nan_codes: str, **rules: Any) -> None:
    """Compare FILE, pairs of input and code that a cast to FORMAT gave; "-" reads a pipe.

    A line holds two hexadecimal numbers apart by blanks, a comma or an underscore. The exit status is 1 where a code is
    wrong, and the report says what the mistakes look like.
    """
    from ..testing.asserts import rules_title
    from ..testing.vectors import verify_vectors

    fmt, kind, made = _rules(name, source, rules)
    title = f"{rules_title(fmt, made, rules['profile'])}, from {kind.name}"
    with _data_errors():
        report = verify_vectors(file, file.name, fmt, kind, made, title=title, nan_codes=nan_codes)
    click.echo(str(report))
    if not report:
        click.get_current_context().exit(1)
