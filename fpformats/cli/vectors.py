"""`fpformats vectors` and `fpformats verify`: test vectors for suites that are not Python."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, Any

import click

from ..block_format import BlockFormat
from ..registry import get_element
from .app import _choice, _data_errors, _named, _options, _usage_errors, casting, cli

__all__: list[str] = []

SETS = ("boundary", "level2", "exhaustive", "random")
KINDS = ("hex", "csv", "memh", "json", "npz")  # tests hold both against the tables, which are imported by the command
#: what block formats are made of
BLOCK_SOURCES = ("fp32", "bf16", "fp16")

common = _options(
    click.option("--source", default="float32", show_default=True, help="Type of the inputs: float32, bf16, ...")
)


def _job(name: str, source: str, rules: dict[str, Any], **facts: Any) -> Any:
    """What the options ask for, as `testing.vectors` takes it."""
    from ..casts import recipe_rounding, rules_for
    from ..rounding import ROUNDINGS
    from ..testing.vectors import Job

    fmt, kind = _named(name), _named(source, get_element)
    made = None
    with _usage_errors():
        if kind.bits > 64 or kind.twos_complement:
            raise ValueError(f"--source {source}: a float format was expected")
        if isinstance(fmt, BlockFormat):
            if recipe_rounding(fmt, **rules)["rounding"] is not None:
                raise ValueError(f"--rounding {rules['rounding']}: {fmt.name} has its own, {fmt.rounding}")
            if kind.name not in BLOCK_SOURCES:
                raise ValueError(f"--source {source}: blocks are of {', '.join(BLOCK_SOURCES)}")
            if facts.get("which") == "exhaustive":
                raise ValueError(f"--set exhaustive: {fmt.name} has too many blocks; --set level2 tries some")
        else:
            made = rules_for(fmt, **rules)
            if ROUNDINGS[made.rounding].random_bits:
                raise ValueError(f"{made.rounding} has two outcomes for one input: there are no such vectors")
            if facts.get("which") == "exhaustive" and kind.bits > 32:
                raise ValueError(f"--set exhaustive: {kind.name} has 2^{kind.bits} inputs; --set level2 tries some")
        if facts.get("tensor_amax") is not None and not (isinstance(fmt, BlockFormat) and fmt.z):
            raise ValueError(f"--tensor-amax: {fmt.name} has no second level")
    return Job(fmt, kind, made, **facts)


@cli.command("vectors")
@click.argument("name", metavar="FORMAT")
@common
@casting
@_choice("set", SETS, default="boundary")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of --set random.")
@click.option("--count", type=click.IntRange(1), default=10_000, show_default=True, help="Of --set random.")
@click.option("--tensor-amax", type=float, help="Of the tensor that blocks are part of, for two-level block formats.")
@click.option("--to", "how", type=click.Choice(KINDS), help="By default what --out's suffix says, else hex.")
@click.option("--out", type=click.Path(path_type=Path), help="Write to this file instead of standard output.")
def vectors(
    name: str, source: str, set: str, seed: int, count: int, tensor_amax: float | None, how: str | None,
    out: Path | None, **rules: Any,
) -> None:  # fmt: skip
    """Write what a cast to FORMAT has to give: inputs and expected codes, in hexadecimal or as arrays.

    A vector of an element format is a number and its code. One of a block format is a block of numbers (with the amax
    of its tensor, where there is a second level), their codes, and the scale.
    """
    from ..testing.vectors import write_vectors
    from .files_out import write_with

    job = _job(name, source, rules, which=set, seed=seed, count=count, tensor_amax=tensor_amax)
    suffix = "" if out is None else out.suffix.lower().removeprefix(".")
    parts = write_vectors(job, how or (suffix if suffix in KINDS else "hex"))
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
@click.argument("file", type=click.File("rb"))
@common
@casting
@click.option("--nan-codes", type=click.Choice(("class", "exact")), default="class", show_default=True)
def verify(name: str, file: IO[bytes], source: str, nan_codes: str, **rules: Any) -> None:
    """Compare FILE, inputs and the codes that a cast to FORMAT gave for them; "-" reads a pipe.

    FILE is of any kind that `fpformats vectors` writes; its first bytes say which. Of text, a line holds two
    hexadecimal numbers apart by blanks, a comma or an underscore, or the fields of a block. The exit status is 1 where
    a code is wrong, and the report says what the mistakes look like.
    """
    from ..testing.asserts import rules_title
    from ..testing.vectors import verify_vectors

    job = _job(name, source, rules)
    what = job.fmt.name if job.rules is None else rules_title(job.fmt, job.rules, rules["profile"])
    with _data_errors():
        report = verify_vectors(file, file.name, job, title=f"{what}, from {job.source.name}", nan_codes=nan_codes)
    click.echo(str(report))
    if not report:
        click.get_current_context().exit(1)
