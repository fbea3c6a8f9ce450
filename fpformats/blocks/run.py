"""A recipe over an array, block by block: amax, second level, scale, elements.

    x -> blocks -> [amax] -> v -> scale's code -> s -> y = x * f(s) -> element's code (or value * what it decodes with)

Chunks of blocks stay in cache: two passes over numbers (`engine.blocks_kernel`: amaxes, then scaling and rounding in
one loop) and NumPy over the scales between them. Where one loop cannot do it, scaling, the element's own cast and
scaling back are a pass each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import engine
from ..elements import decode32
from ..kernels import AHEAD, LARGE, PAST, SCALE_AT, VALUE_AT
from ..plan import decode_plan
from ..registry import get_element
from .expressions import evaluate
from .scaling import Scaling, decode_scales

__all__ = ["CHUNK", "amax_of", "amaxes_of", "run_decode", "run_encode", "run_quantize"]

Array = NDArray[Any]
#: numbers a chunk: what it reads stays in the last cache, and NumPy's calls for the scales are few
CHUNK = 1 << 20
#: the same where scales cost little: what lies between two kernels stays in the second-level cache
DECODED = 1 << 16
_FP32 = get_element("fp32")
_NONE, _NO_CODES = np.zeros(1, np.uint32), np.zeros(1, np.uint8)


def amax_of(bits: Array, nan: str) -> np.float32:
    """The largest magnitude of binary32 bits; a NaN counts (``propagate``) or not (``ignore``)."""
    flat = bits.reshape(-1)
    kernel = engine.blocks_kernel(flat.size)
    found, most = np.zeros(1, np.uint32), np.uint32(0)
    for start in range(0, flat.size, CHUNK):
        part = _writeable(flat[start : start + CHUNK])
        _amaxes(kernel, part, found, part.size, nan)
        most = max(most, found[0])
    return np.uint32(most).view(np.float32)


def _parts(blocks: int, k: int, chunk: int) -> list[tuple[int, int, int, int]]:
    """(first block, blocks, first number in the block, numbers): whole blocks, or parts of one that is too large."""
    if k <= chunk:
        step = max(4 * (chunk // (4 * k)), 1)
        return [(b, min(step, blocks - b), 0, k) for b in range(0, blocks, step)]
    return [(b, 1, i, min(chunk, k - i)) for b in range(blocks) for i in range(0, k, chunk)]


def amaxes_of(x: Array, nan: str) -> Array:
    """Each block's largest magnitude; blocks are rows."""
    blocks, k = x.shape
    if k > CHUNK:
        return np.array([amax_of(row, nan) for row in x], np.float32)
    flat, out = x.reshape(-1), np.empty(blocks, np.uint32)
    kernel, parts = engine.blocks_kernel(x.size), _parts(blocks, k, CHUNK)

    def run(lo: int, hi: int) -> None:
        for first, count, _, _ in parts[lo:hi]:
            _amaxes(kernel, _writeable(flat[first * k : (first + count) * k]), out[first : first + count], k, nan)

    if parts:
        engine.spread(run, len(parts), x.size)
    return out.view(np.float32)


def _amaxes(kernel: Callable[..., int], bits: Array, out: Array, k: int, nan: str) -> int:
    """Amaxes of blocks, as bits; the largest one, which is a NaN's if there is one."""
    most = int(kernel(bits, out, _NONE, 0, k))
    if most > 0x7F800000 and nan == "ignore":
        kernel(bits, out, _NONE, 1, k)
    return most


def _writeable(bits: Array) -> Array:
    """Compiled kernels take no others."""
    return bits if bits.flags.writeable else bits.copy()


def _run(scaling: Scaling, x: Array, stored: Array, finish: Callable[..., None], fused: bool) -> None:
    """The loop that all jobs share: `finish(y, x, first, count, slice, stored, s, f, odd, length)` does the rest."""
    blocks, k = x.shape
    flat = x.reshape(-1)
    kernel = engine.blocks_kernel(flat.size)
    nan = scaling.fmt.amax_nan
    parts = _parts(blocks, k, CHUNK)
    amaxes, all_counts = scaling.amaxes, nan != "ignore" and scaling.amax is None
    if scaling.amax is not None:
        amaxes = np.full(blocks, scaling.amax, np.float32)
    elif amaxes is None and k > CHUNK:
        amaxes = amaxes_of(x, nan)

    def run(lo: int, hi: int) -> None:
        size = max(count * length for _, count, _, length in parts)
        y = np.empty(0 if fused and k % 16 == 0 else size, np.uint32)
        room = np.empty(max(count for _, count, _, _ in parts), np.uint32)
        with np.errstate(all="ignore"):
            for first, count, inside, length in parts[lo:hi]:
                start = first * k + inside
                at = slice(start, start + count * length)
                bits = _writeable(flat[at])
                if amaxes is None:
                    most = _amaxes(kernel, bits, room[:count], k, nan)
                    a, odd = room[:count].view(np.float32), most >= 0x7F800000
                else:
                    a = amaxes[first : first + count]
                    most = int(a.view(np.uint32).max())
                    odd = most >= 0x7F800000 or not all_counts
                codes, s, f = scaling.scales(a, most, first)
                stored[first : first + count] = codes
                if not (fused and length % 16 == 0):
                    f = scaling.factors_of(codes) if f is None else f
                    # a NaN comes from one, from an infinity, or from a factor of zero or infinity
                    odd = odd or not (f.min() > 0 and f.max() < np.inf) or scaling.recipe.may_be_far(a, codes, s, f)
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
    kernel, fused, way = engine.blocks_kernel(x.size), scaling.recipe.fused_codes, _way(x, codes)

    def finish(
        y: Array, bits: Array, first: int, count: int, at: slice, stored: Array,
        s: Array | None, f: Array | None, odd: bool, length: int,
    ) -> None:  # fmt: skip
        if fused is not None and length % 16 == 0:
            (kind, row), (f, how) = fused, _table_or(scaling.factors, f, SCALE_AT)
            kernel(bits, target[at], f, kind, length, None, row, scaling.recipe.zero, way | how, _index(stored, how))
            return
        assert f is not None
        scaling.recipe.scaled(kernel, bits, y, f, length)
        scaling.to_codes(y, target[at], at.start, odd)
        if odd and scaling.fmt.argmin:
            scaling.recipe.to_nearest(bits, scaling.recipe.used.take(stored) if s is None else s, y, target[at])

    _run(scaling, x, stored, finish, fused is not None)


def run_quantize(scaling: Scaling, x: Array, out: Array, stored: Array) -> None:
    """Values (binary32 bits) that the codes decode to, without the codes."""
    if scaling.fmt.select:
        codes = np.empty(x.shape, np.uint8)
        run_encode(scaling, x, codes, stored)
        run_decode(scaling, codes, stored, out)
        return
    target = out.reshape(-1)
    kernel, way = engine.blocks_kernel(x.size), _way(x, out)
    fused = scaling.recipe.fused_values

    def finish(
        y: Array, bits: Array, first: int, count: int, at: slice, stored: Array,
        s: Array | None, f: Array | None, odd: bool, length: int,
    ) -> None:  # fmt: skip
        if fused is not None and length % 16 == 0:
            (kind, row), (f, how) = fused, _table_or(scaling.factors, f, SCALE_AT)
            own = None if scaling.values is not None else scaling.value_factors(stored, first)
            value, more = _table_or(scaling.values, own, VALUE_AT)
            how |= more
            kernel(bits, target[at], f, kind, length, value, row, scaling.recipe.zero, way | how, _index(stored, how))
            return
        assert f is not None
        scaling.recipe.scaled(kernel, bits, y, f, length)
        if odd:
            made = np.empty(y.size, np.uint8)
            scaling.to_codes(y, made, at.start, True)
            if scaling.fmt.argmin:
                scaling.recipe.to_nearest(bits, scaling.recipe.used.take(stored) if s is None else s, y, made)
            q = decode32(made, scaling.element).view(np.uint32)
        else:
            q = np.empty_like(y)
            scaling.to_values(y, q, at.start)
        _give_value(scaling, kernel, q, target[at], stored, first, count, length)

    _run(scaling, x, stored, finish, fused is not None)


def _table_or(table: Array | None, own: Array | None, flag: int) -> tuple[Array, int]:
    """Blocks' own numbers, or where there are none the table that their codes look into, as bits; the kernel's flag."""
    if own is not None:
        return own.view(np.uint32), 0
    assert table is not None
    return table.view(np.uint32), flag


def _index(stored: Array, how: int) -> Array:
    """What looks into tables, if there are any."""
    return stored if how else _NO_CODES


def _way(x: Array, out: Array) -> int:
    """Whether results go past the caches, and whether numbers come into them before the next amaxes are taken."""
    past = out.nbytes >= LARGE and not np.may_share_memory(x, out)
    return (PAST if past else 0) | (AHEAD if x.itemsize == 4 and x.nbytes >= LARGE else 0)


def run_decode(scaling: Scaling, codes: Array, stored: Array, out: Array) -> None:
    """Values of codes."""
    blocks, k = codes.shape
    flat, target = codes.reshape(-1), out.reshape(-1)
    kernel = engine.blocks_kernel(flat.size)
    way = _way(codes, out)
    fused = scaling.recipe.fused_decode if k % 16 == 0 else None
    parts = _parts(blocks, k, DECODED if fused is None else CHUNK)
    cast = engine.Cast(decode_plan(scaling.element, _FP32).stages)

    def run(lo: int, hi: int) -> None:
        q = np.empty(max(count * length for _, count, _, length in parts) if fused is None else 0, np.uint32)
        with np.errstate(all="ignore"):
            for first, count, inside, length in parts[lo:hi]:
                start = first * k + inside
                at = slice(start, start + count * length)
                numbers, scales = _writeable(flat[at]), _writeable(stored[first : first + count])
                if fused is not None and length % 16 == 0:
                    kind, row = fused
                    own = None if scaling.values is not None else scaling.value_factors(scales, first)
                    f, how = _table_or(scaling.values, own, SCALE_AT)
                    words, index = numbers.view(np.uint32), _index(scales, how)
                    kernel(words, target[at], f, kind, length, None, row, 0, way | how, index)
                    continue
                values = q[: count * length]
                cast(numbers, values)
                _give_value(scaling, kernel, values, target[at], scales, first, count, length)

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
        kernel(q, out, f.view(np.uint32), 3 if scaling.recipe.out_divides else 2, length)
        return
    t = decode_scales(scaling.fmt, stored)[:, None]
    level = {name: _column(scaling.level(getattr(scaling, name), first, first + count)) for name in ("z", "G")}
    q = q.view(np.float32).reshape(count, length)
    made = evaluate(scaling.fmt.q, {**scaling.environment, **level, "q": q, "s": t, "t": t})
    np.copyto(out.view(np.float32), np.asarray(made, np.float32).reshape(-1))


def _column(value: Any) -> Any:
    return value if np.ndim(value) == 0 else np.reshape(value, (-1, 1))
