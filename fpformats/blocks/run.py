"""A recipe over an array, block by block: amax, second level, scale, elements.

    x -> blocks -> [amax] -> v -> scale's code -> s -> y = x * f(s) -> element's code (or value * what it decodes with)

Chunks of blocks stay in cache: three light passes over numbers (`engine.blocks_kernel` twice, the element's own cast
once) and NumPy over the scales between them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import engine
from ..elements import decode32
from ..plan import decode_plan
from ..registry import get_element
from .expressions import evaluate
from .scaling import Scaling, decode_scales

__all__ = ["CHUNK", "amax_of", "run_decode", "run_encode", "run_quantize"]

Array = NDArray[Any]
#: numbers a chunk: what it reads and writes stays in the second-level cache
CHUNK = 1 << 17
_FP32 = get_element("fp32")
_NONE = np.zeros(1, np.uint32)


def amax_of(bits: Array, nan: str) -> np.float32:
    """The largest magnitude of binary32 bits; a NaN counts (``propagate``) or not (``ignore``)."""
    flat = bits.reshape(-1)
    kernel = engine.blocks_kernel(flat.size)
    found = np.zeros(1, np.uint32)
    most = np.uint32(0)
    for start in range(0, flat.size, CHUNK):
        part = flat[start : start + CHUNK]
        part = part if part.flags.writeable else part.copy()
        if kernel(part, found, _NONE, 0, part.size) > 0x7F800000 and nan == "ignore":
            kernel(part, found, _NONE, 1, part.size)
        most = max(most, found[0])
    return np.uint32(most).view(np.float32)


def _parts(blocks: int, k: int) -> list[tuple[int, int, int, int]]:
    """(first block, blocks, first number in the block, numbers): whole blocks, or parts of one that is too large."""
    if k <= CHUNK:
        step = max(4 * (CHUNK // (4 * k)), 1)
        return [(b, min(step, blocks - b), 0, k) for b in range(0, blocks, step)]
    return [(b, 1, i, min(CHUNK, k - i)) for b in range(blocks) for i in range(0, k, CHUNK)]


def _run(scaling: Scaling, x: Array, stored: Array, finish: Callable[..., None]) -> None:
    """The loop that all jobs share: `finish(y, x, first, count, slice, stored, s, f, odd, length)` does the rest."""
    blocks, k = x.shape
    flat = x.reshape(-1)
    kernel = engine.blocks_kernel(flat.size)
    ignore = scaling.fmt.amax_nan == "ignore"
    parts = _parts(blocks, k)
    amaxes, all_counts = None, not ignore and scaling.amax is None
    if scaling.amax is not None:
        amaxes = np.full(blocks, scaling.amax, np.float32)
    elif k > CHUNK:
        amaxes = np.array([amax_of(row, scaling.fmt.amax_nan) for row in x], np.float32)

    def run(lo: int, hi: int) -> None:
        size = max(count * length for _, count, _, length in parts)
        y, room = np.empty(size, np.uint32), np.empty(max(count for _, count, _, _ in parts), np.uint32)
        entry = None if x.flags.writeable else np.empty(size, np.uint32)
        with np.errstate(all="ignore"):
            for first, count, inside, length in parts[lo:hi]:
                start = first * k + inside
                at = slice(start, start + count * length)
                bits = flat[at]
                if entry is not None:
                    np.copyto(entry[: bits.size], bits)
                    bits = entry[: bits.size]
                if amaxes is None:
                    most = int(kernel(bits, room[:count], _NONE, 0, k))
                    if ignore and most > 0x7F800000:
                        kernel(bits, room[:count], _NONE, 1, k)
                    a, odd = room[:count].view(np.float32), most >= 0x7F800000
                else:
                    a = amaxes[first : first + count]
                    most = int(a.view(np.uint32).max())
                    odd = most >= 0x7F800000 or not all_counts
                codes, s, f = scaling.scales(a, most, first)
                stored[first : first + count] = codes
                # a NaN comes from one, from an infinity, or from a factor of zero or infinity
                odd = odd or scaling.fmt.argmin or not (f.min() > 0 and f.max() < np.inf)
                finish(y[: bits.size], bits, first, count, at, codes, s, f, odd, length)

    if parts:
        engine.spread(run, len(parts), flat.size)


def run_encode(scaling: Scaling, x: Array, codes: Array, stored: Array) -> None:
    """Codes of numbers (binary32 bits, one block a row) and stored scales."""
    if scaling.fmt.select:
        from .four_over_six import run_select

        run_select(scaling, x, codes, stored)
        return
    target = codes.reshape(-1)
    kernel = engine.blocks_kernel(x.size)

    def finish(
        y: Array, bits: Array, first: int, count: int, at: slice, stored: Array,
        s: Array | None, f: Array, odd: bool, length: int,
    ) -> None:  # fmt: skip
        scaling.scaled(kernel, bits, y, f, length)
        scaling.to_codes(y, target[at], at.start, odd)
        if scaling.fmt.argmin:
            scaling.to_nearest(bits, scaling.used.take(stored) if s is None else s, y, target[at])

    _run(scaling, x, stored, finish)


def run_quantize(scaling: Scaling, x: Array, out: Array, stored: Array) -> None:
    """Values (binary32 bits) that the codes decode to, without the codes."""
    if scaling.fmt.select:
        codes = np.empty(x.shape, np.uint8)
        run_encode(scaling, x, codes, stored)
        run_decode(scaling, codes, stored, out)
        return
    target = out.reshape(-1)
    kernel, fused = engine.blocks_kernel(x.size), scaling.fused

    def finish(
        y: Array, bits: Array, first: int, count: int, at: slice, stored: Array,
        s: Array | None, f: Array, odd: bool, length: int,
    ) -> None:  # fmt: skip
        if not odd and fused is not None and (value := scaling.value_factors(stored, first)) is not None:
            kind, row, zero = fused
            kernel(bits, target[at], f.view(np.uint32), kind, length, value.view(np.uint32), row, zero)
            return
        scaling.scaled(kernel, bits, y, f, length)
        if odd:
            made = np.empty(y.size, np.uint8)
            scaling.to_codes(y, made, at.start, True)
            if scaling.fmt.argmin:
                scaling.to_nearest(bits, scaling.used.take(stored) if s is None else s, y, made)
            q = decode32(made, scaling.element).view(np.uint32)
        else:
            q = np.empty_like(y)
            scaling.to_values(y, q, at.start)
        _give_value(scaling, kernel, q, target[at], stored, first, count, length)

    _run(scaling, x, stored, finish)


def run_decode(scaling: Scaling, codes: Array, stored: Array, out: Array) -> None:
    """Values of codes."""
    blocks, k = codes.shape
    flat, target = codes.reshape(-1), out.reshape(-1)
    kernel = engine.blocks_kernel(flat.size)
    parts = _parts(blocks, k)
    cast = engine.Cast(decode_plan(scaling.element, _FP32).stages)

    def run(lo: int, hi: int) -> None:
        q = np.empty(max(count * length for _, count, _, length in parts), np.uint32)
        entry = None if codes.flags.writeable else np.empty(q.size, np.uint8)
        with np.errstate(all="ignore"):
            for first, count, inside, length in parts[lo:hi]:
                start = first * k + inside
                at = slice(start, start + count * length)
                part, values = flat[at], q[: count * length]
                if entry is not None:
                    np.copyto(entry[: part.size], part)
                    part = entry[: part.size]
                cast(part, values)
                _give_value(scaling, kernel, values, target[at], stored[first : first + count], first, count, length)

    if parts:
        engine.spread(run, len(parts), flat.size)


def _give_value(
    scaling: Scaling,
    kernel: Callable[..., int],
    q: Array,
    out: Array,
    stored: Array,
    first: int,
    count: int,
    length: int,
) -> None:
    """q by what it decodes with."""
    f = scaling.value_factors(stored, first)
    if f is not None:
        kernel(q, out, f.view(np.uint32), 3 if scaling.out_divides else 2, length)
        return
    t = decode_scales(scaling.fmt, stored)[:, None]
    level = {name: _column(scaling.level(getattr(scaling, name), first, first + count)) for name in ("z", "G")}
    q = q.view(np.float32).reshape(count, length)
    made = evaluate(scaling.fmt.q, {**scaling.environment, **level, "q": q, "s": t, "t": t})
    np.copyto(out.view(np.float32), np.asarray(made, np.float32).reshape(-1))


def _column(value: Any) -> Any:
    return value if np.ndim(value) == 0 else np.reshape(value, (-1, 1))
