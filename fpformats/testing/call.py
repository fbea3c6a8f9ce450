"""Running somebody's function on numbers, and saying plainly what is wrong with what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from ..format import Format
from .chunks import Chunk
from .lines import as_codes
from .source import Source

__all__ = ["CastError", "Function", "call"]

Array = NDArray[Any]
Function = Callable[[Array], Any]


class CastError(RuntimeError):
    """The function under test raised, or gave back what holds no codes."""


def _first_that_raises(function: Function, source: Source) -> int | None:
    """The place of a number on which the function raises by itself; None where only many together make it raise."""
    low, high = 0, source.bits.size
    while high - low > 1:
        middle = (low + high) // 2
        try:
            function(source.take(slice(low, middle)).array().copy())
            low = middle
        except Exception:
            high = middle
    try:
        function(source.take(slice(low, low + 1)).array().copy())
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
        where = _first_that_raises(function, source)
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


def _given(chunk: Chunk) -> str:
    source = Source(chunk.make(), chunk.source)
    return f"it was given {source.bits.size} numbers of {source.format.name}, the first {source.text(0)}"
