"""All 2^32 float32 bit patterns, chunk by chunk, and the first one for which two answers differ.

A check is called with the first bit pattern of a chunk and the chunk's patterns, and says where it disagrees. Each
thread makes its own check, so that it may keep buffers. The steps below release the interpreter lock; so do the peers,
ml_dtypes excepted, and fpformats' compiled kernels.

Consecutive patterns are consecutive numbers of one sign, and so their codes come in long runs. What is expected is kept
as runs, and written out by slices: that costs no more than copying.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

__all__ = ["CHUNK", "INF", "SIGN", "Check", "Difference", "Scratch", "fill", "numbers", "sweep"]

#: Patterns in a chunk: its buffers stay in cache, and it lies in one sign and at most one binade.
CHUNK = 1 << 20
SIGN = 0x80000000
INF = 0x7F800000


@dataclass(frozen=True, order=True)
class Difference:
    """One input, as float32 bits, and the two answers."""

    x: int
    what: str
    expected: int
    got: int

    def __str__(self) -> str:
        return f"{self.what}: x = 0x{self.x:08x} gives 0x{self.got:x}; 0x{self.expected:x} was expected"


Check = Callable[[int, np.ndarray], Difference | None]


class Scratch:
    """The comparison's buffer; one for each thread."""

    def __init__(self, size: int = CHUNK) -> None:
        self._equal = np.empty(size, bool)

    def starts(self, codes: np.ndarray) -> np.ndarray:
        """Where `codes`, one-dimensional, begins to differ from the element before; the first place is 0."""
        if not codes.size:
            return np.zeros(0, np.intp)
        differs = self._equal[: codes.size]
        differs[0] = True
        np.not_equal(codes[1:], codes[:-1], out=differs[1:])
        return np.flatnonzero(differs)

    def compare(
        self, what: str, x: np.ndarray, expected: np.ndarray, got: np.ndarray, *, as_float: bool = False
    ) -> Difference | None:
        """The first difference between two arrays of bits, for the inputs `x`.

        As bits of float32, any two NaN are equal.
        """
        equal = self._equal[: expected.size]
        np.equal(expected, got, out=equal)
        if equal.all():
            return None
        if as_float:
            equal |= np.isnan(expected.view(np.float32)) & np.isnan(got.view(np.float32))
            if equal.all():
                return None
        i = int(equal.argmin())
        return Difference(int(x[i]), what, int(expected[i]), int(got[i]))


def fill(out: np.ndarray, starts: Sequence[int], codes: Iterable[int]) -> None:
    """Write runs: ``codes[i]`` from ``starts[i]`` up to the next start; the last one up to the end."""
    stops = [*starts[1:], out.size]
    for start, stop, code in zip(starts, stops, codes, strict=True):
        out[start:stop] = code


def numbers(start: int, size: int) -> int:
    """How many of `size` patterns from `start` on, all of one sign, are not NaN."""
    return min(max(INF + 1 - (start & ~SIGN), 0), size)


def sweep(
    make_check: Callable[[], Check], starts: Iterable[int] = range(0, 1 << 32, CHUNK), *, threads: int | None = None
) -> Difference | None:
    """The difference with the least bit pattern, or None.

    Parameters
    ----------
    make_check : callable
        Makes a check; called once in each thread.
    starts : iterable of int, optional
        First patterns of the chunks, in order; all of them by default.
    threads : int, optional
        By default one for each processor.
    """
    chunks, lock, found = iter(starts), threading.Lock(), []

    def following() -> Iterator[int]:
        while True:
            with lock:
                start = None if found else next(chunks, None)
            if start is None:
                return
            yield start

    def work() -> None:
        check = make_check()
        base = np.arange(CHUNK, dtype=np.uint32)
        x = np.empty_like(base)
        for start in following():
            np.add(base, np.uint32(start), out=x)
            if difference := check(start, x):
                found.append(difference)

    count = threads or os.cpu_count() or 1
    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(work) for _ in range(count)]:
            future.result()
    return min(found, default=None)
