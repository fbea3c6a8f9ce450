"""A recipe over an array, block by block: amax, second level, scale, elements.

    x -> blocks -> [amax] -> v -> scale's code -> s -> y = x * f(s) -> element's code (or value * what it decodes with)

Chunks of blocks stay in cache: two passes over numbers (`engine.blocks_kernel`: amaxes, then scaling and rounding in
one loop) and NumPy over the scales between them. Where one loop cannot do it, scaling, the element's own cast and
scaling back are a pass each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import engine
from ..elements import decode32
from ..kernels import AHEAD, LARGE, PAST, SCALE_AT, VALUE_AT
from ..plan import decode_plan
from ..registry import get_element
from .expressions import evaluate
from .scaling import Scaling, decode_scales
from .tiles import ALONE, Turns

__all__ = ["CHUNK", "amax_of", "amaxes_of", "run_decode", "run_encode", "run_quantize"]

Array = NDArray[Any]
Kernel = Callable[..., int]
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


class _Span(NamedTuple):
    """Blocks that are worked on together, or a piece of one that is too large."""

    first: int
    size: int
    #: where their numbers are, and how many one row has
    at: slice
    length: int

    @property
    def blocks(self) -> slice:
        return slice(self.first, self.first + self.size)


@dataclass(frozen=True)
class _Part:
    """What is known of them once they have scales."""

    span: _Span
    turns: Turns
    #: as stored, as used, and factors; None where the stored codes decide them
    stored: Array
    s: Array | None = None
    f: Array | None = None
    #: whether a NaN may come out; whether one loop does not do it
    odd: bool = False
    apart: bool = False

    @property
    def at(self) -> slice:
        return self.span.at

    @property
    def length(self) -> int:
        return self.span.length

    def looked_up(self, own: Array | None, table: Array | None, flag: int) -> tuple[Array, int]:
        """Rows' own numbers, or where there are none the table that their codes look into, as bits; the flag."""
        if own is None:
            assert table is not None
            if not self.turns.single:
                return table.view(np.uint32), flag
            own = table.take(self.stored, mode="clip")
        return self.rows(own).view(np.uint32), 0

    def rows(self, numbers: Array) -> Array:
        """A block's number for each of its rows, or where a row has many blocks as it is."""
        return numbers if self.turns.single else self.turns.spread(numbers)

    def index(self, how: int) -> Array:
        """What looks into tables, if there are any."""
        return self.turns.spread(self.stored) if how & (SCALE_AT | VALUE_AT) else _NO_CODES


def _spans(blocks: int, k: int, chunk: int, turns: Turns = ALONE) -> list[_Span]:
    """Whole blocks, or pieces of one that is too large. Those that take turns stay together."""
    size = turns.rows if turns.single else k * turns.rows
    if k > chunk and turns.rows == 1:
        starts = [(b, i, min(chunk, k - i)) for b in range(blocks) for i in range(0, k, chunk)]
        return [_Span(b, 1, slice(b * k + i, b * k + i + length), length) for b, i, length in starts]
    few, least = (turns.across, turns.across) if turns.rows > 1 else (4, 1)  # random words come in fours
    step = max(chunk // (few * size) * few, least)
    ends = [(b, min(b + step, blocks)) for b in range(0, blocks, step)]
    return [_Span(b, end - b, slice(b * size, end * size), k) for b, end in ends]


def amaxes_of(x: Array, nan: str, turns: Turns = ALONE) -> Array:
    """Each block's largest magnitude; rows are blocks, or take turns."""
    k = x.shape[1]
    if k > CHUNK and not turns.single:
        return turns.largest(np.array([amax_of(row, nan) for row in x], np.float32).view(np.uint32)).view(np.float32)
    flat, out = x.reshape(-1), np.empty(x.size // (turns.rows if turns.single else k), np.uint32)
    kernel = engine.blocks_kernel(x.size, turns.single)
    spans = _spans(out.size, k, CHUNK, turns if turns.single else ALONE)

    def run(lo: int, hi: int) -> None:
        for span in spans[lo:hi]:
            _amaxes(kernel, _writeable(flat[span.at]), out[span.blocks], k, nan)

    if spans:
        engine.spread(run, len(spans), x.size)
    return turns.largest(out).view(np.float32)


def _amaxes(kernel: Kernel, bits: Array, out: Array, k: int, nan: str) -> int:
    """Amaxes of blocks, as bits; the largest one, which is a NaN's if there is one."""
    most = int(kernel(bits, out, _NONE, "amax", k))
    if most > 0x7F800000 and nan == "ignore":
        kernel(bits, out, _NONE, "amax_of_numbers", k)
    return most


def _writeable(bits: Array) -> Array:
    """Compiled kernels take no others."""
    return bits if bits.flags.writeable else bits.copy()


def _run(scaling: Scaling, x: Array, stored: Array, finish: Callable[..., None], apart: bool, turns: Turns) -> None:
    """The loop that all jobs share: `finish(y, x, part)` does the rest; where it works `apart`, y is room for it."""
    blocks, k = stored.size, x.shape[1]
    flat = x.reshape(-1)
    kernel = engine.blocks_kernel(flat.size, turns.single)
    nan, argmin = scaling.fmt.amax_nan, scaling.fmt.argmin
    spans = _spans(blocks, k, CHUNK, turns)
    amaxes, all_counts = scaling.amaxes, nan != "ignore" and scaling.amax is None
    if scaling.amax is not None:
        amaxes = np.full(blocks, scaling.amax, np.float32)
    elif amaxes is None and k > CHUNK and not turns.single:
        amaxes = amaxes_of(x, nan, turns)

    def run(lo: int, hi: int) -> None:
        y = np.empty(max(span.at.stop - span.at.start for span in spans) if apart or argmin else 0, np.uint32)
        each = 1 if turns.single else turns.rows
        room = np.empty(max(span.size for span in spans) * each, np.uint32)
        with np.errstate(all="ignore"):
            for span in spans[lo:hi]:
                bits = _writeable(flat[span.at])
                if amaxes is None:
                    rows = room[: span.size * each]
                    most = _amaxes(kernel, bits, rows, k, nan)
                    a, odd = turns.largest(rows).view(np.float32), most >= 0x7F800000
                else:
                    a = amaxes[span.blocks]
                    most = int(a.view(np.uint32).max())
                    odd = most >= 0x7F800000 or not all_counts
                codes, s, f = scaling.scales(a, most, span.first)
                stored[span.blocks] = codes
                far = argmin and scaling.recipe.may_be_far(a, codes, s, scaling.factors_of(codes) if f is None else f)
                if apart or far:
                    f = scaling.factors_of(codes) if f is None else f
                    # a NaN comes from one, from an infinity, or from a factor of zero or infinity
                    odd = odd or far or not (f.min() > 0 and f.max() < np.inf)
                finish(y[: bits.size], bits, _Part(span, turns, codes, s, f, odd, apart or far))

    if spans:
        engine.spread(run, len(spans), flat.size)


def run_encode(scaling: Scaling, x: Array, codes: Array, stored: Array, turns: Turns = ALONE) -> None:
    """Codes of numbers (binary32 bits, one block a row, or a row of one) and stored scales."""
    if scaling.fmt.select:
        from .four_over_six import run_select

        run_select(scaling, x, codes, stored)
        return
    target = codes.reshape(-1)
    kernel, way = engine.blocks_kernel(x.size, turns.single), _way(x, codes)
    fused = scaling.recipe.fused_codes if x.shape[1] % 16 == 0 else None

    def finish(y: Array, bits: Array, part: _Part) -> None:
        if fused is None or part.apart:
            _to_codes(scaling, kernel, y, bits, target[part.at], part)
            return
        _fused_codes(scaling, kernel, fused, bits, target[part.at], part, way)

    _run(scaling, x, stored, finish, fused is None, turns)


def _fused_codes(
    scaling: Scaling, kernel: Kernel, loop: tuple[str, Array], bits: Array, out: Array, part: _Part, way: int
) -> None:
    (name, row), (f, how) = loop, part.looked_up(part.f, scaling.factors, SCALE_AT)
    kernel(bits, out, f, name, part.length, None, row, way | how, part.index(how))


def _fused_decode(
    scaling: Scaling, kernel: Kernel, loop: tuple[str, Array], codes: Array, out: Array, part: _Part, way: int
) -> None:
    (name, row), (f, how) = loop, part.looked_up(_own_values(scaling, part), scaling.values, SCALE_AT)
    kernel(codes.view(np.uint32), out, f, name, part.length, None, row, way | how, part.index(how))


def _to_codes(scaling: Scaling, kernel: Kernel, y: Array, bits: Array, out: Array, part: _Part) -> None:
    """Scaling and the element's cast, each by itself; y is what goes between them."""
    _scaled(scaling, kernel, y, bits, part)
    scaling.to_codes(y, out, part.at.start, part.odd)
    if part.odd and scaling.fmt.argmin:
        s = scaling.recipe.used.take(part.stored) if part.s is None else part.s
        scaling.recipe.to_nearest(bits, part.turns.spread(s), y, out)


def _scaled(scaling: Scaling, kernel: Kernel, y: Array, bits: Array, part: _Part) -> None:
    assert part.f is not None
    scaling.recipe.scaled(kernel, bits, y, part.rows(part.f), part.length)


def run_quantize(scaling: Scaling, x: Array, out: Array, stored: Array, turns: Turns = ALONE) -> None:
    """Values (binary32 bits) that the codes decode to, without the codes."""
    if scaling.fmt.select:
        codes = np.empty(x.shape, np.uint8)
        run_encode(scaling, x, codes, stored)
        run_decode(scaling, codes, stored, out)
        return
    target = out.reshape(-1)
    kernel, way = engine.blocks_kernel(x.size, turns.single), _way(x, out)
    in_loops = x.shape[1] % 16 == 0
    fused = scaling.recipe.fused_values if in_loops else None
    coded, decoded = scaling.recipe.fused_codes, scaling.recipe.fused_decode
    by_codes = (coded, decoded) if in_loops and fused is None and coded and decoded else None

    def finish(y: Array, bits: Array, part: _Part) -> None:
        if by_codes is not None and not part.apart:
            made = np.empty(bits.size, np.uint8)
            _fused_codes(scaling, kernel, by_codes[0], bits, made, part, way & AHEAD)
            _fused_decode(scaling, kernel, by_codes[1], made, target[part.at], part, way & PAST)
            return
        if fused is not None and not part.apart:
            (name, row), (f, how) = fused, part.looked_up(part.f, scaling.factors, SCALE_AT)
            value, more = part.looked_up(_own_values(scaling, part), scaling.values, VALUE_AT)
            how |= more
            kernel(bits, target[part.at], f, name, part.length, value, row, way | how, part.index(how))
            return
        if part.odd:
            made = np.empty(y.size, np.uint8)
            _to_codes(scaling, kernel, y, bits, made, part)
            q = decode32(made, scaling.element).view(np.uint32)
        else:
            _scaled(scaling, kernel, y, bits, part)
            q = np.empty_like(y)
            scaling.to_values(y, q, part.at.start)
        _give_value(scaling, kernel, q, target[part.at], part)

    _run(scaling, x, stored, finish, fused is None and by_codes is None, turns)


def _own_values(scaling: Scaling, part: _Part) -> Array | None:
    """By what elements go on their way out, where a table of codes does not say it."""
    return None if scaling.values is not None else scaling.value_factors(part.stored, part.span.first)


def _way(x: Array, out: Array) -> int:
    """Whether results go past the caches, and whether numbers come into them before the next amaxes are taken."""
    past = out.nbytes >= LARGE and not np.may_share_memory(x, out)
    return (PAST if past else 0) | (AHEAD if x.itemsize == 4 and x.nbytes >= LARGE else 0)


def run_decode(scaling: Scaling, codes: Array, stored: Array, out: Array, turns: Turns = ALONE) -> None:
    """Values of codes."""
    k = codes.shape[1]
    flat, target = codes.reshape(-1), out.reshape(-1)
    kernel = engine.blocks_kernel(flat.size, turns.single)
    way = _way(codes, out)
    fused = scaling.recipe.fused_decode if k % 16 == 0 else None
    spans = _spans(stored.size, k, DECODED if fused is None else CHUNK, turns)
    cast = engine.Cast(decode_plan(scaling.element, _FP32).stages)

    def run(lo: int, hi: int) -> None:
        q = np.empty(max(span.at.stop - span.at.start for span in spans) if fused is None else 0, np.uint32)
        with np.errstate(all="ignore"):
            for span in spans[lo:hi]:
                numbers, part = _writeable(flat[span.at]), _Part(span, turns, _writeable(stored[span.blocks]))
                if fused is not None:
                    _fused_decode(scaling, kernel, fused, numbers, target[span.at], part, way)
                    continue
                values = q[: numbers.size]
                cast(numbers, values)
                _give_value(scaling, kernel, values, target[span.at], part)

    if spans:
        engine.spread(run, len(spans), flat.size)


def _give_value(scaling: Scaling, kernel: Kernel, q: Array, out: Array, part: _Part) -> None:
    """q by what it decodes with."""
    f, spread = scaling.value_factors(part.stored, part.span.first), part.turns.spread
    if f is not None:
        kernel(q, out, part.rows(f).view(np.uint32), "over" if scaling.recipe.out_divides else "times", part.length)
        return
    level = {name: scaling.level(getattr(scaling, name), part.span.first, part.span.blocks.stop) for name in ("z", "G")}
    columns = {**level, "t": decode_scales(scaling.fmt, part.stored)}
    columns = {name: value if np.ndim(value) == 0 else spread(value)[:, None] for name, value in columns.items()}
    q = q.view(np.float32).reshape(-1, 1 if part.turns.single else part.length)
    made = evaluate(scaling.fmt.q, {**scaling.environment, **columns, "q": q, "s": columns["t"]})
    np.copyto(out.view(np.float32), np.asarray(made, np.float32).reshape(-1))
