"""check_cast: any function against the definition, over the inputs where casts go wrong or over all there are."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..casts import rules_for
from ..format import Format
from ..registry import get_element
from ..rounding import ROUNDINGS, Rules
from .asserts import check_nan, rules_title
from .call import CastError, Function, call
from .case import Case
from .chunks import chunks, expected_codes
from .lines import same
from .message import describe
from .search import of_each
from .source import Source, source_format

__all__ = ["CHUNK", "CastError", "Report", "check_cast"]

Array = NDArray[Any]
#: inputs that are given to the function at a time
CHUNK = 1 << 19
#: differences, and equal elements, that are kept to tell the cause; of each chunk an equal share, but at least so many
KEPT, LEAST = 1 << 20, 16
#: chunks above which a bar is worth its place
LONG = 32


@dataclass(frozen=True)
class Report:
    """What `check_cast` found. True where nothing differs; prints as text.

    Attributes
    ----------
    format : Format
    rules : Rules
        Rounding, overflow and the rest that were expected.
    source : Format
        Of the inputs.
    inputs : int
        How many were tried.
    wrong : int
        How many differ.
    left_out : int
        NaN that were not tried, because the format has none and ``nan="raise"``.
    causes : tuple of str
        The likely cause, or several that explain all differences together.
    first : int or None
        The bits of the first input that differs.
    seconds : float
    text : str
    """

    format: Format
    rules: Rules
    source: Format
    inputs: int
    wrong: int
    left_out: int
    causes: tuple[str, ...]
    first: int | None
    seconds: float
    text: str = field(repr=False)

    def __bool__(self) -> bool:
        return not self.wrong

    def __str__(self) -> str:
        return self.text

    def check(self) -> None:
        """Raise AssertionError with the report where anything differs.

        Examples
        --------
        >>> import fpformats as fp
        >>> from fpformats.testing import check_cast
        >>> check_cast(lambda x: fp.encode(x, "e4m3"), "e4m3").check()
        """
        if self.wrong:
            raise AssertionError(self.text)


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


class _Kept:
    """A bounded share of what was seen, from all over."""

    def __init__(self, chunks: int, fmt: Format, source: Format) -> None:
        self.fmt, self.source = fmt, source
        self.share = max(KEPT // max(chunks, 1), LEAST)
        self.parts: list[tuple[Array, Array, Array, Array]] = []

    def add(self, bits: Array, got: Array, due: Array, equal: NDArray[np.bool_], differ: int) -> None:
        where = np.arange(0, bits.size, max(bits.size // self.share, 1))
        where = where[equal[where]]
        if differ:
            case = Case(self.fmt, got, due, Rules(), Source(bits, self.source))
            where = np.sort(np.concatenate([of_each(case, np.flatnonzero(~equal), self.share), where]))
        self.parts.append((bits[where], got[where], due[where], equal[where]))

    def all(self) -> list[Array]:
        return [np.concatenate(column) for column in zip(*self.parts, strict=True)]


def check_cast(
    function: Function, fmt: str | Format, /, *, source: Any = "float32", exhaustive: bool = False, level: int = 1,
    x: Any = None, rounding: str = "nearest_even", overflow: str | None = None, nan: str = "raise",
    subnormals: str = "keep", via: str | Format | None = None, profile: str | None = None, nan_codes: str = "class",
    chunk: int = CHUNK, progress: bool = True,
) -> Report:  # fmt: skip
    r"""Run any cast over the inputs where casts go wrong, or over all of them, and report what differs.

    Parameters
    ----------
    function : callable
        Takes a one-dimensional array of `source`'s type (its own copy) and gives back as many codes, values, or
        elements of the format's own dtype: a NumPy, torch or ctypes function, or one that runs a program.
    fmt : str or Format
        The element format it casts to.
    source : str or dtype
        Of the inputs: ``float32``, ``float64``, ``float16``, or a type of ml_dtypes.
    exhaustive : bool
        Every input there is: 2^32 for float32, in chunks. Memory does not grow with them.
    level : int
        Of `boundary_inputs`, otherwise.
    x : array_like, optional
        These inputs instead.
    rounding, overflow, nan, subnormals, via, profile
        What is expected, as for `fpformats.encode`. Under ``nan="raise"`` NaN are left out where the format has none.
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
    """
    row, kind = get_element(fmt), source_format(source)
    check_nan(nan_codes)
    rules = rules_for(row, rounding, overflow, nan, subnormals, via, profile)
    if ROUNDINGS[rules.rounding].random_bits:
        raise ValueError(f"rounding={rules.rounding!r} has two outcomes; assert_quantized compares it with rng=")
    if chunk < 1:
        raise ValueError(f"chunk={chunk}: at least 1 was expected")
    leave_nan_out = not row.has_nan and rules.nan_codes is None and rules.nan == "raise"
    started = time.perf_counter()
    count, parts = chunks(row, kind, exhaustive=exhaustive, level=level, x=x, size=chunk)
    kept, total, wrong, left_out, first = _Kept(count, row, kind), 0, 0, 0, None
    with _bar(count, f"{row.name} from {kind.name}", progress) as advance:
        for part in parts:
            bits = part.make()
            if leave_nan_out:
                part = part.without_nan()
                fewer = part.make()
                left_out += bits.size - fewer.size
                bits = fewer
            if bits.size:
                due = expected_codes(part, bits, row, rules)
                got = call(function, part, bits, row)
                total += bits.size
                equal = got == due
                differ = 0
                if not equal.all():
                    bits = part.make()  # as they were before the function had them
                    equal = same(got, due, row, nan_codes)
                    differ = int(bits.size - np.count_nonzero(equal))
                if differ and first is None:
                    first = int(bits[int(equal.argmin())])
                wrong += differ
                kept.add(bits, got, due, equal, differ)
            advance()
    title = f"{rules_title(row, rules, profile)}, from {kind.name}"
    causes: tuple[str, ...] = ()
    text = f"{title}: all {total} codes as expected"
    if wrong:
        causes, text = _explained(kept, row, kind, rules, nan_codes, title, total, wrong)
    if left_out:
        text += f"\n  {left_out} NaN left out: {row.name} has none; nan='max' or nan='zero' would choose a value"
    seconds = time.perf_counter() - started
    return Report(row, rules, kind, total, wrong, left_out, causes, first, seconds, text)


def _explained(kept: _Kept, fmt: Format, source: Format, rules: Rules, nan: str, title: str, total: int,
               wrong: int) -> tuple[tuple[str, ...], str]:  # fmt: skip
    bits, got, due, equal = kept.all()
    case = Case(fmt, got, due, rules, Source(bits, source), got.shape)
    text, verdicts = describe(case, equal, nan, title=title, total=total, wrong=wrong, places=False)
    return tuple(verdict.cause for verdict in verdicts), text
