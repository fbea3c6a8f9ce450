"""The inputs of a check, chunk by chunk, and what the definition's kernels make of them.

Consecutive bit patterns of one sign are consecutive magnitudes, and every cast is monotone in the magnitude. So where a
stretch of them begins and ends with the same code, all of it has that code: a sweep over everything computes the ends
of short stretches, and the few stretches inside which the code changes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..format import Format
from ..plan import code_dtype
from ..rounding import Rules
from .inputs import boundary_bits
from .lines import is_nan
from .random_inputs import random_codes
from .source import Source

__all__ = ["Chunk", "chunks", "expected_codes", "leaves_nan_out"]

Array = NDArray[Any]
#: patterns in a stretch, and among how many only the low bits differ
STRETCH, LOW = 2048, 4096


@dataclass(frozen=True)
class Chunk:
    """Some inputs. ``make`` gives them anew each time: who is given them may write into them."""

    source: Format
    make: Callable[[], Array]
    consecutive: bool = False

    def without_nan(self) -> Chunk:
        """The same without its NaN."""
        bits = self.make()
        if not (self.consecutive and _plain_stretch(bits, self.source)) and is_nan(bits, self.source).any():
            return Chunk(self.source, lambda: bits[~is_nan(bits, self.source)])
        return self


def _plain_stretch(bits: Array, source: Format) -> bool:
    """Whether consecutive patterns are numbers of one sign."""
    first, last = int(bits[0]), int(bits[-1])
    if source.nan_at_sign or source.twos_complement or (first ^ last) & source.sign_bit:
        return False
    return (last & ~source.sign_bit) <= source.top_line - source.min_line - (source.nan_codes or 0)


def expected_codes(chunk: Chunk, bits: Array, fmt: Format, rules: Rules, room: Array | None = None) -> Array:
    """What these inputs become; in ``room``, where it is as large, which saves a sweep its fresh pages.

    Where all become one code it is that code, broadcast: nothing is filled.
    """
    numbers = Source(bits, chunk.source)
    count = bits.size // STRETCH
    if not chunk.consecutive or count < 4 or not _plain_stretch(bits, chunk.source):
        return numbers.encode(fmt, rules)
    starts = np.arange(0, count * STRETCH, STRETCH)
    ends = numbers.take(np.concatenate([starts, starts + STRETCH - 1])).encode(fmt, rules)
    first, last = ends[:count], ends[count:]
    if bits.size == count * STRETCH and (ends == ends[0]).all():
        return np.broadcast_to(ends[0], bits.shape)
    changes = np.flatnonzero(first != last)
    if changes.size > count // 4:
        return numbers.encode(fmt, rules)
    out = room if room is not None and room.size == bits.size else np.empty(bits.size, first.dtype)
    table = out[: count * STRETCH].reshape(count, STRETCH)
    starts = np.flatnonzero(np.concatenate([[True], first[1:] != first[:-1]]))
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), count], strict=True):
        table[start:stop] = first[start]  # runs are long: filling costs no more than copying
    if changes.size:
        inside = Source(bits[: count * STRETCH].reshape(count, STRETCH)[changes].ravel(), chunk.source)
        table[changes] = inside.encode(fmt, rules).reshape(-1, STRETCH)
    if bits.size > table.size:
        out[table.size :] = numbers.take(slice(table.size, None)).encode(fmt, rules)
    return out


def leaves_nan_out(fmt: Format, rules: Rules) -> bool:
    """Whether nobody says what a NaN becomes."""
    return not fmt.has_nan and rules.nan_codes is None and rules.nan == "raise"


def _sweep(source: Format, size: int) -> tuple[int, Iterator[Chunk]]:
    end, dtype = 1 << source.bits, code_dtype(source)
    size = min(size, end)
    starts, step = range(0, end, size), min(size, LOW)
    low, high = np.arange(step, dtype=dtype), np.arange(0, size, step, dtype=dtype)[:, None]
    room = [np.empty((high.size, step), dtype)]

    def inputs(start: int) -> Array:
        if sys.getrefcount(room[0]) > 2:  # who was given the last ones still has them, or a view of them
            room[0] = np.empty_like(room[0])
        # sums with a few numbers that stay in the cache: no second array of that size is read
        return np.add(high + np.array(start, dtype), low, out=room[0]).reshape(-1)[: min(size, end - start)]

    def at(start: int) -> Chunk:
        return Chunk(source, lambda: inputs(start), consecutive=True)

    return len(starts), (at(start) for start in starts)


def chunks(
    fmt: Format, source: Format, *, exhaustive: bool, level: int, x: Any, size: int, random: int = 0, seed: int = 0
) -> tuple[int, Iterator[Chunk]]:
    """(how many, the chunks): every input, random ones, those of `boundary_inputs`, or the caller's."""
    if exhaustive:
        if x is not None:
            raise ValueError("exhaustive=True tries every input; x cannot be given with it")
        if source.bits > 32:
            raise ValueError(
                f"exhaustive=True: {source.name} has 2^{source.bits} inputs; level=2 or x= tries some of them"
            )
        return _sweep(source, size)
    if random:
        return -(-random // size), (Chunk(source, bits.copy) for bits in random_codes(source, seed, random, size))
    if x is None:
        if level not in (1, 2):
            raise ValueError(f"level={level!r}: 1 or 2 was expected")
        bits = boundary_bits(fmt, source, level)
    else:
        numbers, _ = Source.of(x, fmt)
        if numbers.format != source:
            raise ValueError(f"x holds {numbers.format.name}, source is {source.name}")
        bits = numbers.bits
    starts = range(0, bits.size, size)
    return len(starts), (Chunk(source, bits[start : start + size].copy) for start in starts)
