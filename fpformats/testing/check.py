"""check_cast: any function against the definition, over the inputs where casts go wrong or over all there are."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..block_format import BlockFormat
from ..casts import recipe_rounding, refuse_given, rules_for
from ..format import Format
from ..plan import code_dtype
from ..registry import get
from ..rounding import ROUNDINGS, Rules
from .asserts import check_nan, rules_title
from .call import CastError, Function, call
from .case import Case
from .chunks import chunks, expected_codes, leaves_nan_out
from .lines import same
from .message import describe
from .report import Report
from .search import of_each
from .source import Source, source_format

__all__ = ["CHUNK", "CastError", "Report", "Tally", "check_cast"]

Array = NDArray[Any]
#: inputs that are given to the function at a time
CHUNK = 1 << 19
#: differences, and equal elements, that are kept to tell the cause; of each chunk an equal share, but at least so many
KEPT, LEAST = 1 << 20, 16
FEW = 512
#: chunks above which a bar is worth its place
LONG = 32


@contextmanager
def _bar(total: int, what: str, wanted: bool) -> Iterator[Any]:
    """A bar on standard error for long work at a terminal; elsewhere nothing."""
    if not wanted or total < LONG or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def _identical(got: Array, due: Array) -> bool:
    """Whether all codes are equal, eight bytes at a time where that can be; `due` may be one code, broadcast."""
    if got.nbytes % 8 == 0 and got.flags.c_contiguous and got.dtype == due.dtype:
        if due.strides == (0,):
            got, due = got.view(np.uint64), np.full(8 // due.itemsize, due[0]).view(np.uint64)
        elif due.flags.c_contiguous:
            got, due = got.view(np.uint64), due.view(np.uint64)
    return bool((got == due).all())


class Tally:
    """Counts what differs, and keeps a bounded share of what was seen, from all over."""

    def __init__(self, parts: int, fmt: Format, source: Format, rules: Rules, nan_codes: str) -> None:
        self.fmt, self.source, self.rules, self.nan_codes = fmt, source, rules, nan_codes
        self.share = max(KEPT // max(parts, 1), LEAST)
        self.kept: list[tuple[Array, Array, Array, Array]] = []
        #: of many parts in which all is well only some are kept
        self.every = max(parts // FEW, 1)
        self.total = self.wrong = self.left_out = self.seen = 0
        self.first: int | None = None
        self.started = time.perf_counter()

    def add(self, make: Callable[[], Array], got: Array, due: Array) -> None:
        """Codes that came and were due; ``make`` gives the inputs, which nobody needs where all is well."""
        differ, self.seen = 0, self.seen + 1
        alike = _identical(got, due)
        if alike and self.seen % self.every:
            self.total += got.size
            return
        equal = np.ones(got.size, bool)
        if not alike:
            equal = same(got, due, self.fmt, self.nan_codes)
            differ = int(got.size - np.count_nonzero(equal))
        bits = make()
        if differ and self.first is None:
            self.first = int(bits[int(equal.argmin())])
        self.total, self.wrong = self.total + got.size, self.wrong + differ
        where = np.arange(0, got.size, max(got.size // self.share, 1))
        where = where[equal[where]]
        if differ:
            case = Case(self.fmt, got, due, self.rules, Source(bits, self.source))
            where = np.sort(np.concatenate([of_each(case, np.flatnonzero(~equal), self.share), where]))
        self.kept.append((bits[where], got[where], due[where], equal[where]))

    def report(self, title: str) -> Report:
        """All in words."""
        causes: tuple[str, ...] = ()
        text = f"{title}: all {self.total} codes as expected"
        if self.wrong:
            bits, got, due, equal = (np.concatenate(column) for column in zip(*self.kept, strict=True))
            case = Case(self.fmt, got, due, self.rules, Source(bits, self.source), got.shape)
            text, verdicts = describe(
                case, equal, self.nan_codes, title=title, total=self.total, wrong=self.wrong, places=False
            )
            causes = tuple(verdict.cause for verdict in verdicts)
        if self.left_out:
            choice = "nan='max' or nan='zero' would choose a value"
            text += f"\n  {self.left_out} NaN left out: {self.fmt.name} has none; {choice}"
        seconds = time.perf_counter() - self.started
        return Report(self.fmt, self.rules, self.source, self.total, self.wrong, self.left_out, causes, self.first,
                      seconds, text)  # fmt: skip


def check_cast(
    function: Function, fmt: str | Format | BlockFormat, /, *, source: Any = "float32", exhaustive: bool = False,
    level: int = 1, x: Any = None, random: int = 0, seed: int = 0, rounding: str = "nearest_even",
    overflow: str | None = None, nan: str = "raise", subnormals: str = "keep", via: str | Format | None = None,
    profile: str | None = None, tensor_amax: Any = None, scale: Any = None, eps: float | None = None,
    amax_history: Any = None, nan_codes: str = "class", chunk: int = CHUNK, progress: bool = True,
) -> Report:  # fmt: skip
    r"""Run any cast over the inputs where casts go wrong, or over all of them, and report what differs.

    Parameters
    ----------
    function : callable
        Takes a one-dimensional array of `source`'s type (its own copy) and gives back as many codes, values, or
        elements of the format's own dtype: a NumPy, torch or ctypes function, or one that runs a program. For a block
        format it takes an array of whole blocks, as `boundary_inputs` gives them, and gives back (codes, scales),
        (codes, scales, second level), a `BlockArray`, or values.
    fmt : str, Format or BlockFormat
        What it casts to.
    source : str or dtype
        Of the inputs: ``float32``, ``float64``, ``float16``, or a type of ml_dtypes.
    exhaustive : bool
        Every input there is: 2^32 for float32, in chunks. Memory does not grow with them.
    level : int
        Of `boundary_inputs`, otherwise.
    x : array_like, optional
        These inputs instead; for a block format an array in which blocks run along the last axis.
    random, seed : int
        So many random inputs instead: any bit patterns, or blocks.
    rounding, overflow, nan, subnormals, via, profile
        What is expected, as for `fpformats.encode`. Under ``nan="raise"`` NaN are left out where the format has none.
    tensor_amax, scale, eps, amax_history
        What the function takes into account, as for `fpformats.encode_blocks`.
    nan_codes : str
        ``class``: any two NaN are equal; ``exact``: bit for bit.
    chunk : int
        Inputs at a time.
    progress : bool
        Whether long work at a terminal shows a bar.

    Returns
    -------
    Report
        True where nothing differs; ``report.check()`` raises AssertionError.

    Raises
    ------
    CastError
        The function raises, or gives back another length, type or range; the message has the first input.
    ValueError, TypeError
        Unknown names; stochastic rounding, which no function of x alone follows.

    Examples
    --------
    >>> import numpy as np, fpformats as fp
    >>> from fpformats.testing import check_cast
    >>> bool(check_cast(lambda x: fp.encode(x, "e5m2"), "e5m2"))
    True
    >>> def truncates(x):
    ...     return (x.astype(np.float16).view(np.uint16) >> 8).astype(np.uint8)
    >>> print(*check_cast(truncates, "e5m2", source="float16").causes, sep="\n")
    truncation (rounding='toward_zero')
    NaN whose upper payload bits are 0 become infinite: the payload is cut off
    >>> check_cast(lambda x: fp.encode_blocks(x, "mxfp4_torchao_ceil"), "mxfp4").causes
    ("scale rule 'ceil 2' in place of 'floor 2'",)
    """
    row, kind = get(fmt), source_format(source)
    check_nan(nan_codes)
    if random < 0 or (random and (exhaustive or x is not None)):
        raise ValueError(f"random={random}: a number of inputs was expected, without exhaustive=True and x=")
    given = {"tensor_amax": tensor_amax, "scale": scale, "eps": eps, "amax_history": amax_history}
    if isinstance(row, BlockFormat):
        if exhaustive:
            raise ValueError(
                f"exhaustive=True: {row.name} has too many blocks; level=2, random= or x= tries some of them"
            )
        own = recipe_rounding(row, rounding=rounding, overflow=overflow, nan=nan, subnormals=subnormals, via=via,
                              profile=profile, **given)  # fmt: skip
        from .block_check import check_blocks

        return check_blocks(function, row, kind, nan_codes, level=level, x=x, random=random, seed=seed, options=own)
    refuse_given(row, given)
    rules = rules_for(row, rounding, overflow, nan, subnormals, via, profile)
    if ROUNDINGS[rules.rounding].random_bits:
        raise ValueError(f"rounding={rules.rounding!r} has two outcomes; assert_quantized compares it with rng=")
    if chunk < 1:
        raise ValueError(f"chunk={chunk}: at least 1 was expected")
    count, parts = chunks(row, kind, exhaustive=exhaustive, level=level, x=x, random=random, seed=seed, size=chunk)
    tally = Tally(count, row, kind, rules, nan_codes)
    room = np.empty(chunk if exhaustive else 0, code_dtype(row))
    with _bar(count, f"{row.name} from {kind.name}", progress) as advance:
        for part in parts:
            bits = part.make()
            if leaves_nan_out(row, rules):
                part = part.without_nan()
                before = bits.size
                bits = part.make()
                tally.left_out += before - bits.size
            if bits.size:
                due = expected_codes(part, bits, row, rules, room)
                got = call(function, part, bits, row)
                tally.add(part.make, got, due)
                del got, due
            del bits  # before the next chunk is made: then it gets the same memory, and no fresh pages
            advance()
    return tally.report(f"{rules_title(row, rules, profile)}, from {kind.name}")
