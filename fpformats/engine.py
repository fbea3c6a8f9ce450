"""Which instantiation of the kernels runs, and the loop over chunks and threads.

Small first calls take the NumPy instantiation; Numba is imported once the work is worth it, or by
`warmup`. Either gives the same bits. Threads are used from 2^22 elements on, each on its own slice.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CHUNK", "WORTH_THREADS", "Cast", "blocks_kernel", "compiled", "run_stages", "spread", "warmup"]

#: elements a chunk: buffers of a few stages stay in the second-level cache
CHUNK = 1 << 15

#: importing Numba and loading a kernel costs about as much as the NumPy kernels take for this many elements
WORTH_COMPILING = 1 << 20
#: what a call costs in the NumPy instantiation, in elements
CALL = 1 << 12
#: elements below which threads cost more than they give
WORTH_THREADS = 1 << 22

_lock = threading.Lock()
_spent = 0
_vector: Any = None
_compiled: Any = None


def _kernels(elements: int) -> Any:
    """The instantiation for a call with that much work."""
    global _spent
    if _compiled is not None:
        return _compiled
    _spent += elements + CALL
    if _spent >= WORTH_COMPILING:
        return _load()
    return _numpy()


def compiled() -> Any:
    """The compiled kernels, if they are loaded."""
    return _compiled


def _numpy() -> Any:
    global _vector
    if _vector is None:
        from .kernels import vector

        _vector = vector.kernels()
    return _vector


def _load() -> Any:
    global _compiled
    with _lock:
        if _compiled is None:
            from .kernels import compiled

            _compiled = compiled.kernels()
    return _compiled


def warmup() -> None:
    """Import Numba and load (or compile) the kernels now rather than on first use.

    Notes
    -----
    All kernels of element formats, and the loops over blocks that most recipes use. Others, as for blocks along another
    axis than the last, are compiled when they are first used: half a second each, once for a version.

    Examples
    --------
    >>> warmup()
    """
    kernels = _load()
    from .kernels import USUAL
    from .kernels.compiled import SIGNATURES

    for name in (*(name for name in SIGNATURES if " " not in name), *(f"block {name}" for name in USUAL)):
        getattr(kernels, name)


def run_stages(
    stages: Sequence[Any],
    x: NDArray[Any],
    out: NDArray[Any],
    *,
    words: NDArray[Any] | None = None,
    seed: int = -1,
    offset: int = 0,
    vector: bool = False,
) -> bool:
    """Run stages over flat contiguous bits; whether a watched loop saw a NaN.

    Parameters
    ----------
    stages
        `plan.Stage` rows.
    x, out
        One-dimensional contiguous unsigned integers of the first stage's and last stage's types.
    words, seed
        Random words, one an element, or the seed of counter-based ones (-1: neither).
    offset : int
        Index of the first element, a multiple of 4, for counter-based words.
    vector : bool
        Force the NumPy instantiation.
    """
    n = x.size
    kernels = _numpy() if vector else _kernels(n)
    threads = _threads(n, stages)
    if threads == 1:
        return _slice(kernels, stages, x, out, words, seed, offset, 0, n)
    step = -(-n // threads // CHUNK) * CHUNK
    bounds = [(lo, min(lo + step, n)) for lo in range(0, n, step)]
    for stage in stages:  # load them before the threads do
        if isinstance(stage.what, str):
            getattr(kernels, stage.what)
    pool = _pool(threads)
    rest = [pool.submit(_slice, kernels, stages, x, out, words, seed, offset, lo, hi) for lo, hi in bounds[1:]]
    seen = _slice(kernels, stages, x, out, words, seed, offset, *bounds[0])
    return any([seen, *(future.result() for future in rest)])


def _slice(
    kernels: Any, stages: Sequence[Any], x: NDArray[Any], out: NDArray[Any],
    words: NDArray[Any] | None, seed: int, offset: int, lo: int, hi: int,
) -> bool:  # fmt: skip
    steps = [_bind(kernels, stage) for stage in stages]
    random = [isinstance(stage.what, str) and stage.what.startswith("random") for stage in stages]
    direct = x.flags.writeable and x.flags.aligned
    if len(steps) == 1 and not random[0] and direct:
        return _beyond_inf(steps[0](x[lo:hi], out[lo:hi]), x)
    size = min(CHUNK, max(hi - lo, 1))
    buffers = [np.empty(size, dtype=stage.out) for stage in stages[:-1]]
    entry = None if direct else np.empty(size, dtype=x.dtype)
    drawn = np.empty(-(-size // 4) * 4, dtype=np.uint32) if any(random) and words is None else None
    seen = False
    for start in range(lo, hi, CHUNK):
        stop = min(start + CHUNK, hi)
        chunk = x[start:stop]
        if entry is not None:  # compiled kernels take writeable arrays only
            np.copyto(entry[: stop - start], chunk)
            chunk = entry[: stop - start]
        for i, step in enumerate(steps):
            target = out[start:stop] if i == len(steps) - 1 else buffers[i][: stop - start]
            if random[i]:
                word = drawn if words is None else words[start:stop]
                largest = step(chunk, target, word, seed if words is None else -1, start + offset)
            else:
                largest = step(chunk, target)
            seen = seen or _beyond_inf(largest, chunk)
            chunk = target
    return seen


def _beyond_inf(largest: int | None, x: NDArray[Any]) -> bool:
    """Whether the largest magnitude a kernel saw is a NaN's."""
    return largest is not None and int(largest) > (0x7F800000 if x.dtype.itemsize == 4 else 0x7FF0000000000000)


def _bind(kernels: Any, stage: Any) -> Callable[..., Any]:
    if isinstance(stage.what, str):
        kernel, row, kind = getattr(kernels, stage.what), stage.row, stage.kind
        return lambda x, out, *rest: kernel(x, out, row, kind, *rest)
    return stage.what


_NONE, _NO_CODES = np.zeros(64, np.uint32), np.zeros(1, np.uint8)


def blocks_kernel(elements: int, single: bool = False) -> Callable[..., int]:
    """Loops over numbers that share a scale, by name, compiled or NumPy's: (x, out, scale, name, k), for casts more.

    See `kernels.block_loops`.
    """
    kernels, kind = _kernels(elements), "single" if single else "block"

    def run(
        x: Any, out: Any, scale: Any, name: str, k: int,
        value: Any = None, row: Any = _NONE, how: int = 0, index: Any = _NO_CODES,
    ) -> int:  # fmt: skip
        kernel: Callable[..., int] = getattr(kernels, f"{kind} {name}")
        return kernel(x, out.view(np.uint8), scale, k, scale if value is None else value, row, how, index)

    return run


class Cast:
    """Stages over small flat arrays, called many times: the one kernel that most have is called directly."""

    def __init__(self, stages: Sequence[Any]) -> None:
        self.stages = stages
        self._direct: Callable[..., Any] | None = None
        plain = len(stages) == 1 and isinstance(stages[0].what, str) and not stages[0].what.startswith("random")
        self._name: str = stages[0].what if plain else ""

    def __call__(
        self, x: NDArray[Any], out: NDArray[Any], words: NDArray[Any] | None = None, seed: int = -1, offset: int = 0
    ) -> None:
        """x and out are contiguous and writeable."""
        if self._direct is None and self._name and _compiled is not None:
            self._direct = getattr(_compiled, self._name)
        if self._direct is not None:
            self._direct(x, out, self.stages[0].row, self.stages[0].kind)
        else:
            run_stages(self.stages, x, out, words=words, seed=seed, offset=offset)


def spread(run: Callable[[int, int], None], count: int, elements: int) -> None:
    """``run(first, last)`` over slices of so many things, that have so many elements, on as many threads as pay."""
    threads = min(_threads(elements, ()), count)
    if threads == 1:
        run(0, count)
        return
    step = -(-count // threads)
    pool = _pool(threads)
    rest = [pool.submit(run, lo, min(lo + step, count)) for lo in range(step, count, step)]
    run(0, step)
    for future in rest:
        future.result()


# --- threads --------------------------------------------------------------------------------------
_executor: tuple[int, int, Any] | None = None


#: kernels that one core runs at the speed of memory: a second one only adds traffic
_AT_MEMORY_SPEED = ("round32", "round64", "decode8", "decode16")


def _threads(n: int, stages: Sequence[Any]) -> int:
    if n < WORTH_THREADS or (len(stages) == 1 and stages[0].what in _AT_MEMORY_SPEED):
        return 1
    wanted = os.environ.get("FPFORMATS_NUM_THREADS")
    count = int(wanted) if wanted and wanted.isdigit() else min(os.cpu_count() or 1, 8)
    return max(1, min(count, n // (WORTH_THREADS // 2)))


def _pool(threads: int) -> Any:
    """A pool that belongs to this process: a forked child makes its own."""
    global _executor
    with _lock:
        if _executor is None or _executor[0] != os.getpid() or _executor[1] < threads:
            from concurrent.futures import ThreadPoolExecutor

            _executor = (os.getpid(), threads, ThreadPoolExecutor(threads, thread_name_prefix="fpformats"))
    return _executor[2]
