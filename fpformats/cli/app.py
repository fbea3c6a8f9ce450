"""The command `fpformats`: the tables of the package, and what a format does to a file of numbers.

Rules of this file

1. Results go to standard output, everything else to standard error. An error is one line.
2. Exit status 0: done. 1: the data cannot be used. 2: the command line cannot.
3. Rich, NumPy's heavier parts and Numba are imported by the command that needs them, so that
   `formats`, `info` and `explain` answer at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from .. import __version__
from ..format import Format
from ..profiles import PROFILES
from ..recipes import BLOCK_ALIASES, BLOCK_FORMATS
from ..registry import ALIASES, FORMATS, P3109_BITS, formats, get, get_element
from ..rounding import NAN_RULES, OVERFLOWS, ROUNDINGS, SUBNORMALS
from .terminal import print_json, print_table, progress

__all__ = ["SAMPLE", "main"]

SAMPLE = Path(__file__).parents[1] / "data" / "minilm_attention_output.npy"


@contextmanager
def _data_errors() -> Iterator[None]:
    """What data can do wrong, as click's one-line error with exit status 1."""
    try:
        yield
    except BrokenPipeError:  # the reader has seen enough, which is no error
        raise
    except (ValueError, TypeError, OSError, MemoryError) as error:
        raise click.ClickException(str(error) or type(error).__name__) from error


@contextmanager
def _usage_errors() -> Iterator[None]:
    """Options that do not go together, whatever the data, with exit status 2."""
    try:
        yield
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _named(name: str, find: Callable[[str], Any] = get) -> Any:
    try:
        return find(name)
    except (ValueError, TypeError) as error:  # unknown, or a block format where there can be none
        raise click.BadParameter(str(error).replace("formats() lists", "`fpformats formats` lists")) from None


def _formats_of(_: click.Context, __: click.Parameter, given: Sequence[str]) -> list[str]:
    """`--to a,b --to c` as names that exist, each once; `all` is every row of the table of element formats."""
    names: dict[str, None] = {}
    for name in (part.strip() for item in given for part in item.split(",")):
        names |= dict.fromkeys(FORMATS if name == "all" else [_named(name).name])
    return list(names)


def _optional_format(_: click.Context, __: click.Parameter, given: str | None) -> str | None:
    return given and _named(given, get_element).name


def _options(*options: Callable[..., Any]) -> Callable[..., Any]:
    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _choice(name: str, table: Iterable[str], **details: Any) -> Callable[..., Any]:
    return click.option(f"--{name}", type=click.Choice(list(table)), show_default=True, **details)


to_option = click.option(
    "--to",
    "names",
    multiple=True,
    required=True,
    metavar="FORMAT",
    callback=_formats_of,
    help="Target format; repeat it or separate names by commas; 'all' is every named element format.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON; inf and nan are strings.")
casting = _options(
    _choice("rounding", ROUNDINGS, default="nearest_even"),
    _choice("overflow", OVERFLOWS, help="By default to infinity where there is one, else saturate."),
    _choice("nan", NAN_RULES, default="raise", help="What a NaN becomes in a format without one."),
    _choice("subnormals", SUBNORMALS, default="keep"),
    click.option("--via", metavar="FORMAT", callback=_optional_format, help="Round to this format first."),
    _choice(
        "profile",
        PROFILES,
        metavar="NAME",
        help=f"Cast as a known implementation does, which sets all of the above: {', '.join(PROFILES)}.",
    ),
)
source = _options(
    click.argument("file", required=False, type=click.Path(path_type=Path)),
    click.option("--sample", is_flag=True, help="Use the tensor that comes with fpformats instead of FILE."),
    click.option("--tensor", "tensors", multiple=True, metavar="NAME", help="Use only this tensor; may be repeated."),
    click.option("--rng", type=int, metavar="SEED", help="Seed of the stochastic roundings."),
    click.option(
        "--axis", type=int, default=-1, show_default=True, help="Axis along which blocks run, in block formats."
    ),
)


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fpformats")
@click.pass_context
def cli(context: click.Context) -> None:
    """Small floating-point formats, bit for bit."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@cli.command("formats")
@click.option("--all", "every", is_flag=True, help="List every member of the P3109 family too.")
@click.option("--blocks", is_flag=True, help="List the block formats instead.")
@json_option
def formats_command(every: bool, blocks: bool, as_json: bool) -> None:
    """The table of the named formats."""
    from ..explore.facts import facts
    from .describe import BLOCK_TITLES, TITLES, block_row, table_row

    if blocks:
        recipes = list(BLOCK_FORMATS.values())
        if as_json:
            print_json([asdict(row) for row in recipes])
        else:
            print_table([BLOCK_TITLES, *map(block_row, recipes)])
        return
    rows = [get_element(name) for name in (formats("element") if every else FORMATS)]
    if as_json:
        print_json([facts(row) for row in rows])
        return
    print_table([TITLES, *map(table_row, rows)])
    if not every:
        members = len(formats("element")) - len(FORMATS)
        click.echo(
            f"and binary{{K}}p{{P}}{{s|u}}{{e|f}}: the {members} formats of IEEE P3109, with K = {P3109_BITS[0]} to "
            f"{P3109_BITS[-1]} bits and precision P,\nsigned or unsigned, extended (with infinities) or finite; "
            "--all lists them"
        )
        click.echo(f"and {len(BLOCK_FORMATS)} block formats, such as mxfp8 and nvfp4; --blocks lists them")


@cli.command()
@click.argument("name")
@json_option
def info(name: str, as_json: bool) -> None:
    """All facts about one format; of a block format, each of its roundings."""
    from ..explore.facts import facts
    from .describe import description

    block = BLOCK_FORMATS.get(BLOCK_ALIASES.get(name, name))
    if block is not None:
        print_json(asdict(block)) if as_json else click.echo(block.explain())
        return
    row: Format = _named(name)
    if as_json:
        print_json(facts(row) | {"aliases": [alias for alias, target in ALIASES.items() if target == row.name]})
    else:
        click.echo(description(row))


@cli.command(context_settings={"ignore_unknown_options": True})  # so that -3.1 is a number
@click.argument("value")
@to_option
@casting
@click.option(
    "--random", type=int, nargs=2, metavar="R N", help="Random bits of the stochastic roundings: N bits of value R."
)
@json_option
def explain(value: str, names: list[str], as_json: bool, **options: Any) -> None:
    """How one number gets into a format, every step exact.

    VALUE is a decimal, read exactly, or a fraction (1/3), a hexadecimal float (0x1.8p3), inf or nan. For block formats
    it may be several with commas between them, the numbers of one block.
    """
    from ..explore.explain import explain as explained
    from ..explore.explain import scalar

    parts = value.split(",")
    one = len(parts) == 1
    if not one and (plain := [name for name in names if name not in BLOCK_FORMATS]):
        raise click.BadParameter(f"{plain[0]} takes one number; only block formats take several", param_hint="VALUE")
    try:
        for part in parts:
            scalar(part)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="VALUE") from None
    with _usage_errors():
        for name in names:
            explained(1, name, **options)
    with _data_errors():
        results = [explained(value if one else parts, name, **options) for name in names]
    if as_json:
        print_json({result.format.name: result.as_dict() for result in results})
    else:
        click.echo("\n\n".join(map(str, results)))


@cli.command()
@source
@to_option
@casting
@json_option
def compare(as_json: bool, **arguments: Any) -> None:
    """What each format does to the numbers in FILE (.npy, .npz, .safetensors or .csv).

    SQNR is in decibels, errors are relative, the rest are shares of all values; --json has counts. Bits of a block
    format include its scales.
    """
    _run(as_json, None, False, **arguments)


@cli.command()
@source
@to_option
@casting
@click.option(
    "--out", metavar="FILE", help="Write the result here. With several formats the name must hold '{format}'."
)
@click.option("--codes", is_flag=True, help="Write codes (unsigned integers) instead of values.")
@json_option
def quantize(as_json: bool, out: str | None, codes: bool, **arguments: Any) -> None:
    """Round the numbers in FILE to a format, write them, and report the loss.

    bfloat16 and float8 tensors of .safetensors files count as the float32 numbers they stand for. The codes of a block
    format are written with their scales, in the form that BlockArray.load reads.
    """
    if codes and out is None:
        raise click.UsageError("--codes needs --out")
    _run(as_json, out, codes, **arguments)


def _run(
    as_json: bool,
    out: str | None,
    codes: bool,
    file: Path | None,
    sample: bool,
    tensors: Sequence[str],
    names: list[str],
    rng: int | None,
    axis: int,
    **rules: Any,
) -> None:
    """Both commands that read a file."""
    from ..explore.compare import Comparison
    from .jobs import check, listed, measure, select, write_quantized

    if sample == (file is not None):
        raise click.UsageError(
            "give FILE, or --sample for the tensor that comes with fpformats" + (", not both" if sample else "")
        )
    path = SAMPLE if file is None else file
    targets = {name: Path((out or "").replace("{format}", name)) for name in names}
    if out is not None and len(set(targets.values())) < len(names):
        raise click.UsageError("--out must hold '{format}' when there are several formats, as in --out w-{format}.npy")
    options = {**rules, "rng": rng, "axis": axis}
    with _usage_errors():
        for name in names:
            check(name, options | {"axis": -1})  # which axes there are is the data's to say
    rows = [get(name) for name in names]
    with _data_errors():
        chosen, skipped = select(path, tensors)
        size = sum(tensor.size for tensor in chosen)
        if skipped:
            click.echo(f"note: integers are passed over unless --tensor names them: {listed(skipped)}", err=True)
        with progress(size * len(rows), "quantizing") as advance:
            if out is None:
                result = measure(chosen, rows, options, advance)
            else:
                result = Comparison(
                    tuple(write_quantized(chosen, row, options, targets[row.name], codes, advance) for row in rows)
                )
    what = "sample" if sample else str(path)
    if as_json:
        print_json(
            {"file": what, "tensors": [tensor.name for tensor in chosen], "values": size, "formats": result.as_dict()}
        )
        return
    shape = " x ".join(map(str, chosen[0].shape)) if len(chosen) == 1 else f"{len(chosen)} tensors"
    click.echo(f"{what}: {size} values ({shape})")
    print_table(result.cells())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status.

    Examples
    --------
    >>> main(["explain", "3.1", "--to", "nosuch"])
    2
    """
    try:
        # click's own mode would exit and print usage lines around every error
        return cli.main(arguments, prog_name="fpformats", standalone_mode=False) or 0
    except click.ClickException as error:
        hint = f" (see '{error.ctx.command_path} --help')" if isinstance(error, click.UsageError) and error.ctx else ""
        message = " ".join(error.format_message().split())
        click.echo(f"fpformats: error: {message}{hint}", err=True)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("fpformats: interrupted", err=True)
        return 130
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
