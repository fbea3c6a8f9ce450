"""``python -m benchmarks``: options in, one table out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console

__all__ = ["main"]

JOBS = (
    "quantize", "encode", "decode", "modes", "float64", "stochastic", "blocks", "threads", "calls", "import", "cli",
    "memory", "testing",
)  # fmt: skip


def _words(known: tuple[str, ...] | None = None) -> Callable[..., tuple[str, ...] | None]:
    """A callback that splits at commas and refuses unknown names."""

    def split(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[str, ...] | None:
        if text is None:
            return None
        names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
        for name in names:
            if known is not None and name not in known:
                raise click.BadParameter(f"{name!r} is none of {', '.join(known)}")
        return names

    return split


def _sizes(context: click.Context, parameter: click.Parameter, text: str) -> tuple[int, ...]:
    try:
        sizes = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise click.BadParameter("exponents of two were expected, such as 14,17,20,26") from None
    if not sizes or not 0 <= sizes[0] <= sizes[-1] <= 30:
        raise click.BadParameter("exponents of two from 0 to 30 were expected")
    return sizes


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--sizes", default="14,17,20,26", show_default=True, callback=_sizes, help="log2 of numbers of elements")
@click.option("--jobs", default=",".join(JOBS), show_default=True, callback=_words(JOBS), help="what to time")
@click.option("--formats", callback=_words(), help="formats of the array jobs  [default: all up to 32 bits]")
@click.option("--data", default="wide,plain", show_default=True, callback=_words(("wide", "plain")))
@click.option("--peers", callback=_words(), help="other libraries, or 'none'  [default: all that are installed]")
@click.option("--threads", default=1, show_default=True, type=click.IntRange(1), help="more than one: wall clock")
@click.option("--rounds", type=click.IntRange(2), help="rounds of a race  [default: 7; 5 from 2^22 on]")
@click.option("--quick", is_flag=True, help="few formats and rounds: whether it runs, not how fast")
@click.option("--each", is_flag=True, help="one row a measurement instead of one a goal and size")
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="also write all of it there")
@click.option("--markdown", is_flag=True, help="print Markdown")
def main(
    sizes: tuple[int, ...],
    jobs: tuple[str, ...],
    formats: tuple[str, ...] | None,
    data: tuple[str, ...],
    peers: tuple[str, ...] | None,
    threads: int,
    rounds: int | None,
    quick: bool,
    each: bool,
    json_file: Path | None,
    markdown: bool,
) -> None:
    """Time fpformats against numpy.copyto and other libraries: ratios of one interleaved run."""
    os.environ["FPFORMATS_NUM_THREADS"] = str(threads)
    warnings.simplefilter("ignore")  # peers warn about overflow in the data; the table has no place for it
    from .peers import PEERS, calm, installed
    from .plan import Plan

    calm(threads)
    names = None if peers is None else tuple(name for name in peers if name != "none")
    for name in names or ():
        if name not in PEERS:
            raise click.BadParameter(f"{name!r} is none of {', '.join(PEERS)}", param_hint="--peers")
    _check_formats(formats or ())
    from .machine import machine
    from .report import show, write_json
    from .run import run

    console = Console(stderr=True)
    with console.status("starting") as status:
        plan = Plan(sizes, data, jobs, formats or (), names, threads, quick, rounds, status.update)
        results = run(plan)
    missing = [name for name in names or PEERS if names != () and not installed(PEERS[name])]
    facts = machine((peer.name for peer in plan.peers), missing, threads)
    show(results, facts, each=each, markdown=markdown)
    if json_file:
        options = {"sizes": sizes, "jobs": jobs, "formats": plan.formats, "data": data}
        options |= {"quick": quick, "threads": threads}
        write_json(json_file, results, facts, options)


def _check_formats(names: tuple[str, ...]) -> None:
    import fpformats as fp

    for name in names:
        try:
            fp.get(name)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--formats") from None


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
