"""Running somebody's function on numbers, and saying plainly what is wrong with what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from ..format import Format
from .block_answer import Answer, as_answer
from .block_case import BlockCase
from .chunks import Chunk
from .lines import as_codes
from .source import Source

__all__ = ["CastError", "Function", "call", "call_blocks"]

Array = NDArray[Any]
Function = Callable[[Array], Any]


class CastError(RuntimeError):
    """The function under test raised, or gave back what holds no codes."""


def _first_that_raises(function: Function, take: Callable[[int, int], Array], size: int) -> int | None:
    """The place of an input on which the function raises by itself; None where only many together make it raise."""
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        try:
            function(take(low, middle))
            low = middle
        except Exception:
            high = middle
    try:
        function(take(low, low + 1))
    except Exception:
        return low
    return None


def call(function: Function, chunk: Chunk, bits: Array, fmt: Format) -> Array:
    """The codes that the function gives for the numbers of a chunk; `bits` are theirs, and the function's from here on.

    Raises
    ------
    CastError
        It raises, or gives another length, type or range than codes of the format have.
    """
    size = bits.size
    try:
        made = function(Source(bits, chunk.source).array())
    except Exception as error:
        source = Source(chunk.make(), chunk.source)
        where = _first_that_raises(function, lambda low, high: source.take(slice(low, high)).array().copy(), size)
        first = "" if where is None else f"; by itself on x = {source.text(where)}"
        raise CastError(f"the function raised {type(error).__name__}: {error}; {_given(chunk)}{first}") from error
    if made is None:
        raise CastError(f"the function gave back None; codes or values of {fmt.name} were expected; {_given(chunk)}")
    try:
        codes = as_codes("the function's result", made, fmt)
    except (TypeError, ValueError) as error:
        raise CastError(f"{error}; {_given(chunk)}") from None
    if codes.shape != (size,):
        raise CastError(f"the function gave back shape {codes.shape}, ({size},) was expected; {_given(chunk)}")
    if codes.problem:
        raise CastError(f"{codes.problem}; {_given(chunk)}")
    return codes.flat


def call_blocks(function: Function, x: Array, case: BlockCase, height: int) -> Answer:
    """What the function gives for an array of whole blocks, which have so many rows.

    Raises
    ------
    CastError
        It raises, or gives what are no codes and scales, or values, of the format.
    """
    what = f"it was given an array of {x.shape[0] // height} blocks, shape {x.shape}"
    try:
        made = function(x.copy())
    except Exception as error:
        take = lambda low, high: x[low * height : high * height].copy()  # noqa: E731
        where = _first_that_raises(function, take, x.shape[0] // height)
        alone = "" if where is None else f"; by itself on block {where}"
        raise CastError(f"the function raised {type(error).__name__}: {error}; {what}{alone}") from error
    if made is None:
        raise CastError(
            f"the function gave back None; (codes, scales), a BlockArray or values of {case.fmt.name} were expected; "
            + what
        )
    try:
        return as_answer(made, case.fmt, case.due, "the function's result")
    except (TypeError, ValueError, AssertionError) as error:
        raise CastError(f"{error}; {what}") from None


def _given(chunk: Chunk) -> str:
    source = Source(chunk.make(), chunk.source)
    return f"it was given {source.bits.size} numbers of {source.format.name}, the first {source.text(0)}"
