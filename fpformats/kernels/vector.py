"""The bodies on whole NumPy arrays: for small first calls, before Numba is worth importing.

The kernels have the names, arguments and results of those in `compiled`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import BLOCK_BODIES, BLOCK_LOOPS, SCALE_AT, VALUE_AT
from .bodies import Words, bodies
from .philox import philox

__all__ = ["kernels"]

_TYPES: dict[int, tuple[Any, Any]] = {32: (np.uint32, np.float32), 64: (np.uint64, np.float64)}


def words(width: int) -> Words:
    """The vocabulary over arrays of one width."""
    uint, flt = _TYPES[width]
    return Words(
        mantissa=23 if width == 32 else 52,
        exponent=8 if width == 32 else 11,
        uint=lambda x: x,
        const=uint,
        float=lambda x: x,
        to_float=lambda x: x.view(flt),
        to_bits=lambda x: x.view(uint),
        to_int=lambda x: x.astype(uint),
        from_int=lambda x: x.astype(flt),
        where=np.where,
        minimum=np.minimum,
        maximum=np.maximum,
        function=lambda body: body,
    )


def _kernel(steps: tuple[Callable[..., Any], ...], width: int) -> Callable[..., int]:
    uint = _TYPES[width][0]
    magnitude = uint((1 << (width - 1)) - 1)

    def kernel(x: Any, out: Any, row: Any, kind: int, *rest: Any) -> int:
        if not x.size:
            return 0
        x = x.astype(uint, copy=False)
        with np.errstate(all="ignore"):  # rows wrap and overflow on purpose
            y = steps[kind](x, *rest, tuple(row))
        largest = int(np.max(x & magnitude))
        np.copyto(out, y, casting="unsafe")
        return largest

    return kernel


def _random(steps: tuple[Callable[..., Any], ...], width: int) -> Callable[..., int]:
    inner, uint = _kernel(steps, width), _TYPES[width][0]

    def kernel(x: Any, out: Any, row: Any, kind: int, word: Any, seed: int, start: int) -> int:
        if seed >= 0:
            philox(word, seed, start)
        return inner(x, out, row, kind, word[: x.size].astype(uint, copy=False))

    return kernel


def _block(name: str, programs: tuple[Callable[..., Any], ...], single: bool) -> Callable[..., int]:
    """`block_loops.block_loops`."""
    what, ahead, behind = BLOCK_LOOPS[name]
    operations = {"times": np.multiply, "over": np.divide}
    body = programs[list(BLOCK_BODIES).index(what)] if what in BLOCK_BODIES else None

    def kernel(
        x: Any, out: Any, scale: Any, k: int, value: Any, row: Any, how: int, index: Any
    ) -> int:  # fmt: skip
        words = out.view(np.uint32) if behind or body is None else out
        # rows, or strips of rows whose numbers have each their own scale
        strips = (words if what.startswith("amax") else scale).size // k
        shape, per_row = ((strips, -1, k), (strips, 1, k)) if single else ((-1, k), (-1, 1))
        if what.startswith("amax"):
            magnitudes = (x & np.uint32(0x7FFFFFFF)).reshape(shape)
            if what != "amax":
                magnitudes = np.where(magnitudes > np.uint32(0x7F800000), np.uint32(0), magnitudes)
            np.max(magnitudes, axis=1, out=words.reshape(strips, k) if single else words, initial=0)
            return int(magnitudes.max(initial=0))
        factors = (scale[index] if how & SCALE_AT else scale).view(np.float32).reshape(per_row)
        values = (value[index] if how & VALUE_AT else value).view(np.float32).reshape(per_row)
        numbers = (x if ahead else x.view(np.uint8).astype(np.uint32)).reshape(shape)
        with np.errstate(all="ignore"):
            if ahead:
                numbers = operations[ahead.removesuffix("+0")](numbers.view(np.float32), factors)
                numbers = (numbers + np.float32(0) if ahead.endswith("+0") else numbers).view(np.uint32)
            else:
                values = factors
            if body:
                numbers = body(numbers, tuple(row))
            if behind:
                numbers = operations[behind](numbers.view(np.float32), values).view(np.uint32)
        np.copyto(words, numbers.reshape(-1), casting="unsafe")
        return 0

    return kernel


def kernels() -> SimpleNamespace:
    """Every kernel, by name."""
    out: dict[str, Callable[..., int]] = {}
    for width in (32, 64):
        programs = bodies(words(width))
        for name in ("round", "modes", "general"):
            out[f"{name}{width}"] = _kernel(programs[name], width)
        if width == 32:
            for code in (8, 16):
                out[f"encode{code}"] = _kernel(programs["encode"], width)
            for code in (8, 16, 32):
                out[f"decode{code}"] = _kernel(programs["decode"], width)
            out["random32"] = _random(programs["draw"], width)
        else:
            out["random64"] = _random(programs["random"], width)
    steps = bodies(words(32))["blocks"]
    for name in BLOCK_LOOPS:
        out[f"block {name}"], out[f"single {name}"] = (_block(name, steps, single) for single in (False, True))
    return SimpleNamespace(**out)
