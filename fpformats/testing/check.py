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
from ..plan import code_dtype
from ..registry import get_element
from ..rounding import ROUNDINGS, Rules
from .asserts import check_nan, rules_title
from .call import CastError, Function, call
from .case import Case
from .inputs import boundary_bits
from .lines import is_nan, same
from .message import describe
from .search import of_each, spread
from .source import Source, source_format

__all__ = ["CHUNK", "CastError", "Report", "check_cast", "inputs_of"]

Array = NDArray[Any]
#: inputs that are given to the function at a time
CHUNK = 1 << 20
#: differences, and equal elements, that are kept to tell the cause; of each chunk an equal share, but at least so many
KEPT, LEAST = 1 << 20, 16
#: chunks above which a bar is worth its place
LONG = 16


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


def inputs_of(
    fmt: Format, source: Format, *, exhaustive: bool, level: int, x: Any, chunk: int
) -> tuple[int, Iterator[Array]]:
    """(number of chunks, chunks of the source's codes)."""
    if exhaustive:
        if x is not None:
            raise ValueError("exhaustive=True tries every input; x cannot be given with it")
        if source.bits > 32:
            raise ValueError(
                f"exhaustive=True: {source.name} has 2^{source.bits} inputs; level=2 or x= tries some of them"
            )
        size, dtype = min(chunk, 1 << source.bits), code_dtype(source)
        base, end = np.arange(size, dtype=dtype), 1 << source.bits
        starts = range(0, end, size)
        return len(starts), (base[: end - start] + np.array(start, dtype) for start in starts)
    if x is None:
        if level not in (1, 2):
            raise ValueError(f"level={level!r}: 1 or 2 was expected")
        bits = boundary_bits(fmt, source, level)
    else:
        numbers, _ = Source.of(x, fmt)
        if numbers.format != source:
            raise ValueError(f"x holds {numbers.format.name}, source is {source.name}")
        bits = numbers.bits
    starts = range(0, bits.size, chunk)
    return len(starts), (bits[start : start + chunk] for start in starts)


class _Kept:
    """A bounded share of what was seen, from all over."""

    def __init__(self, chunks: int, fmt: Format, source: Format) -> None:
        self.fmt, self.source = fmt, source
        self.share = max(KEPT // max(chunks, 1), LEAST)
        self.parts: list[tuple[Array, Array, Array, Array]] = []

    def add(self, bits: Array, got: Array, due: Array, equal: NDArray[np.bool_]) -> None:
        case = Case(self.fmt, got, due, Rules(), Source(bits, self.source))
        few = [of_each(case, np.flatnonzero(~equal), self.share), spread(np.flatnonzero(equal), self.share)]
        where = np.sort(np.concatenate(few))
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
    without_nan = not row.has_nan and rules.nan_codes is None and rules.nan == "raise"
    started = time.perf_counter()
    count, chunks = inputs_of(row, kind, exhaustive=exhaustive, level=level, x=x, chunk=chunk)
    kept, total, wrong, left_out, first = _Kept(count, row, kind), 0, 0, 0, None
    with _bar(count, f"{row.name} from {kind.name}", progress) as advance:
        for bits in chunks:
            if without_nan and (nans := is_nan(bits, kind)).any():
                bits, left_out = bits[~nans], left_out + int(nans.sum())
            if bits.size:
                numbers = Source(bits, kind)
                got = call(function, numbers, row)
                due = numbers.encode(row, rules)
                total += bits.size
                equal = got == due
                if not equal.all():
                    equal = same(got, due, row, nan_codes)
                differ = int(bits.size - np.count_nonzero(equal))
                if differ and first is None:
                    first = int(bits[int(equal.argmin())])
                wrong += differ
                kept.add(bits, got, due, equal)
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
