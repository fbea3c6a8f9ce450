"""A recipe over an array, block by block: amax, second level, scale, elements.

    x -> blocks -> [amax] -> v -> scale's code -> s -> y = x * f(s) -> element's code (or value * what it decodes with)

Chunks of blocks stay in cache: three light passes over numbers (`engine.blocks_kernel` twice, the element's own cast
once) and NumPy over the scales between them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import engine
from ..block_format import BlockFormat
from ..elements import decode32, quantize32
from ..format import Format
from ..plan import Plan, encode_plan, quantize_plan
from ..registry import get_element
from ..rounding import Rules
from .expressions import Factor, evaluate, factor
from .scales import scale_codes

__all__ = ["Scaling", "amax_of", "decode_scales", "run_decode", "run_encode", "run_quantize"]

Array = NDArray[Any]
CHUNK = 1 << 16
_FP32 = get_element("fp32")
_NONE = np.zeros(1, np.uint32)


def amax_of(bits: Array, nan: str) -> np.float32:
    """The largest magnitude of binary32 bits; a NaN counts (``propagate``) or not (``ignore``)."""
    flat, kind = bits.reshape(-1), int(nan == "ignore")
    kernel = engine.blocks_kernel(flat.size)
    found = np.zeros(1, np.uint32)
    most = np.uint32(0)
    for start in range(0, flat.size, CHUNK):
        part = flat[start : start + CHUNK]
        kernel(part if part.flags.writeable else part.copy(), found, _NONE, kind, part.size)
        most = max(most, found[0])
    return np.uint32(most).view(np.float32)


@dataclass(frozen=True)
class Scaling:
    """A recipe with all that it takes from an array or its caller.

    Attributes
    ----------
    fmt : BlockFormat
    source : Format
        The type the numbers came in.
    z, G : array or number
        The second level, one for all blocks or one each.
    amax : binary32, optional
        The amax of the one block that there is, where the caller knows better.
    given : binary32, optional
        The caller's scale, in place of what the amax says.
    rounding, rng : str, (words, seed)
        Of the elements, where the caller says so.
    """

    fmt: BlockFormat
    source: Format
    G: Any = 0
    z: Any = 0
    eps: float = 0.0
    given: Any = None
    amax: Any = None
    rounding: str = ""
    words: Array | None = None
    seed: int = -1
    environment: dict[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        def again(value: Any) -> Any:
            if self.source.name in ("bf16", "fp16"):
                return quantize32(np.array(value, np.float32, order="C"), self.source, Rules(nan="max"))
            return np.asarray(value, np.float32)

        largest = self.source.max if self.source.name in ("bf16", "fp16") else _FP32.max
        epsilon = self.source.eps if self.source.name in ("bf16", "fp16") else _FP32.eps
        self.environment.update(
            d=again,
            MAX=np.float32(_FP32.max),
            DMAX=np.float32(largest),
            DEPS=np.float32(epsilon),
            eps=np.float32(self.eps),
        )

    @cached_property
    def element(self) -> Format:
        return get_element(self.fmt.element)

    @cached_property
    def rules(self) -> Rules:
        return Rules(rounding=self.rounding or self.fmt.rounding, overflow=self.fmt.overflow, nan="max")

    @cached_property
    def way(self) -> Factor:
        """How x becomes y."""
        way = factor(self.fmt.y)
        assert way is not None
        return way

    @cached_property
    def nan_code(self) -> int:
        """The element code of a NaN."""
        return self.element.max_code if self.fmt.nan_code is None else self.fmt.nan_code

    def level(self, value: Any, first: int, last: int) -> Any:
        """A second-level number for these blocks."""
        return value if np.ndim(value) == 0 else value[first:last]

    def block_environment(self, first: int, last: int, **more: Any) -> dict[str, Any]:
        return {**self.environment, "z": self.level(self.z, first, last), "G": self.level(self.G, first, last), **more}

    # --- scales ---------------------------------------------------------------------------------
    def scales(self, a: Array, first: int, v: str = "") -> tuple[Array, Array]:
        """(stored, s) of blocks from `first` on, of amaxes a."""
        fmt = self.fmt
        environment = self.block_environment(first, first + a.size, a=a)
        coded = fmt.scale != "fp32"
        if self.given is None:
            made = scale_codes(fmt.rule, np.broadcast_to(evaluate(v or fmt.v, environment), a.shape), coded)
        else:
            made = np.broadcast_to(np.asarray(self.given, np.uint8 if coded else np.float32), a.shape)
        for old, new in fmt.code_at:
            made = np.where(made == old, np.uint8(new), made)
        s = self.decoded(made)
        for condition, code, value in fmt.special if self.given is None else ():
            where = _holds(condition, np.maximum(a, np.float32(self.eps)), made, fmt)
            if where.any():
                s = np.where(where, np.float32(value), s)
                made = made if code is None else np.where(where, np.uint8(code), made)
        stored = made if coded else s
        if fmt.stored:
            stored = np.asarray(evaluate(fmt.stored, {**environment, "s": s}), np.float32)
        return stored, s

    def decoded(self, made: Array) -> Array:
        """Codes as the scales that `y` uses."""
        s = decode_scales(self.fmt, made)
        for code, value in self.fmt.scale_at:
            s = np.where(made == code, np.float32(value), s)
        return s

    def factor(self, text: str, first: int, count: int, **values: Any) -> Array:
        """The number of each block by which, or over which, its elements go."""
        made = evaluate(text, self.block_environment(first, first + count, **values))
        return np.array(np.broadcast_to(np.asarray(made, np.float32), (count,)))

    # --- elements -------------------------------------------------------------------------------
    @cached_property
    def _plans(self) -> tuple[Plan, Plan, Plan | None]:
        seeded = self.seed >= 0
        again = None
        if self.way.again and self.source.name in ("bf16", "fp16"):
            again = quantize_plan(_FP32, self.source, Rules(nan="max"), _FP32)
        return (
            encode_plan(_FP32, self.element, self.rules, seeded),
            quantize_plan(_FP32, self.element, self.rules, _FP32, seeded),
            again,
        )

    def scaled(self, kernel: Callable[..., int], bits: Array, buffer: Array, f: Array, k: int) -> None:
        """y: the numbers by their blocks' factors, rounded as the recipe says, before they are elements."""
        kernel(bits, buffer, f.view(np.uint32), 3 if self.way.divide else 2, k)
        if (again := self._plans[2]) is not None:
            engine.run_stages(again.stages, buffer, buffer)
        values = buffer.view(np.float32)
        if self.fmt.zero == "drop_exact":
            np.add(values, np.float32(0), out=values)
        elif self.fmt.zero == "minus_exact":
            values[values == 0] = np.float32(-0.0)
        if self.fmt.symmetric:
            np.maximum(values, np.float32(-float(self.element.max)), out=values)

    def to_codes(self, buffer: Array, out: Array, index: int, odd: bool) -> None:
        """Elements' codes; `odd` says that a NaN may be among the numbers."""
        words = None if self.words is None else self.words[index : index + buffer.size]
        engine.run_stages(self._plans[0].stages, buffer, out, words=words, seed=self.seed, offset=index)
        if odd:
            out[np.isnan(buffer.view(np.float32))] = self.nan_code
        if self.fmt.zero == "drop":
            out[out == self.element.sign_bit] = 0

    def to_nearest(self, bits: Array, s: Array, buffer: Array, out: Array) -> None:
        """`BlockFormat.argmin`, where it is not the rounding."""
        far = ~(np.abs(buffer.view(np.float32)) <= np.float32(2.0**20)) & ~np.isnan(bits.view(np.float32))
        if far.any():
            x, d = bits.view(np.float32)[far], np.repeat(s, buffer.size // s.size)[far]
            table = decode32(np.arange(1 << self.element.bits, dtype=np.uint8), self.element)
            out[far] = np.argmin(np.abs(table * d[:, None] - x[:, None]), axis=1)

    def to_values(self, buffer: Array, out: Array, index: int) -> None:
        """Elements' values, where there is no NaN."""
        words = None if self.words is None else self.words[index : index + buffer.size]
        engine.run_stages(self._plans[1].stages, buffer, out, words=words, seed=self.seed, offset=index)
        if self.fmt.zero == "drop":
            values = out.view(np.float32)
            np.add(values, np.float32(0), out=values)


def _holds(condition: str, a: Array, made: Array, fmt: BlockFormat) -> Array:
    if condition == "zero":
        return a == 0
    if condition == "inf":
        return np.isinf(a)
    if condition == "nan":
        return np.isnan(a)
    if condition == "nonfinite":
        return ~np.isfinite(a)
    if condition == "carry":  # the exponent's field is that of an infinity
        return made == 255 - int(fmt.rule.split()[-1])
    raise ValueError(f"{fmt.name}: unknown condition {condition!r}")


def decode_scales(fmt: BlockFormat, codes: Array) -> Array:
    """Stored scales as binary32 numbers."""
    if fmt.scale == "fp32":
        return np.asarray(codes, np.float32)
    if fmt.scale == "e8m0":
        bits = np.where(codes == 0, np.uint32(0x400000), codes.astype(np.uint32) << np.uint32(23))
        return np.where(codes == 255, np.uint32(0x7FC00000), bits).view(np.float32)
    return decode32(np.ascontiguousarray(codes), fmt.scale)


# --- loops ----------------------------------------------------------------------------------------
def _parts(blocks: int, k: int) -> list[tuple[int, int, int, int]]:
    """(first block, blocks, first number in the block, numbers): whole blocks, or parts of one that is too large."""
    if k <= CHUNK:
        step = max(4 * (CHUNK // (4 * k)), 1)
        return [(b, min(step, blocks - b), 0, k) for b in range(0, blocks, step)]
    return [(b, 1, i, min(CHUNK, k - i)) for b in range(blocks) for i in range(0, k, CHUNK)]


def _run(scaling: Scaling, x: Array, stored: Array, finish: Callable[..., None]) -> None:
    """The loop that all jobs share: `finish(y, x, first, count, slice, stored, s, odd, length)` does the rest."""
    blocks, k = x.shape
    flat = x.reshape(-1)
    kernel = engine.blocks_kernel(flat.size)
    kind = int(scaling.fmt.amax_nan == "ignore")
    amaxes = None
    if k > CHUNK:
        amaxes = np.array([amax_of(row, scaling.fmt.amax_nan) for row in x], np.float32)

    def run(lo: int, hi: int) -> None:
        size = min(CHUNK, k) * (max(4 * (CHUNK // (4 * k)), 1) if k <= CHUNK else 1)
        buffer = np.empty(size, np.uint32)
        entry = None if x.flags.writeable else np.empty(size, np.uint32)
        room = np.empty(max(size // k, 1), np.uint32)
        with np.errstate(all="ignore"):
            for first, count, inside, length in parts[lo:hi]:
                at = slice(first * k + inside, first * k + inside + count * length)
                bits = flat[at]
                if entry is not None:
                    np.copyto(entry[: bits.size], bits)
                    bits = entry[: bits.size]
                if amaxes is None:
                    most = kernel(bits, room[:count], _NONE, kind, k)
                    a, odd = room[:count].view(np.float32), most > 0x7F800000
                else:
                    a, odd = amaxes[first : first + 1], True
                if scaling.amax is not None:
                    a = np.full(count, scaling.amax, np.float32)
                codes, s = scaling.scales(a, first)
                f = scaling.factor(scaling.way.expression, first, count, s=s, a=a)
                odd = odd or not bool((np.isfinite(f) & (f != 0)).all())
                stored[first : first + count] = codes
                y = buffer[: bits.size]
                scaling.scaled(kernel, bits, y, f, length)
                odd = odd or scaling.fmt.argmin
                finish(y, bits, first, count, at, codes, s, odd, length)

    parts = _parts(blocks, k)
    engine.spread(run, len(parts), flat.size)


def run_encode(scaling: Scaling, x: Array, codes: Array, stored: Array) -> None:
    """Codes of numbers (binary32 bits, one block a row) and stored scales."""
    if scaling.fmt.select is not None:
        from .four_over_six import run_select

        run_select(scaling, x, codes, stored)
        return
    target = codes.reshape(-1)

    def finish(
        y: Array, bits: Array, first: int, count: int, at: slice, stored: Array, s: Array, odd: bool, length: int
    ) -> None:
        scaling.to_codes(y, target[at], at.start, odd)
        if scaling.fmt.argmin:
            scaling.to_nearest(bits, s, y, target[at])

    _run(scaling, x, stored, finish)


def run_quantize(scaling: Scaling, x: Array, out: Array, stored: Array) -> None:
    """Values (binary32 bits) that the codes decode to, without the codes."""
    if scaling.fmt.select is not None:
        codes = np.empty(x.shape, np.uint8)
        run_encode(scaling, x, codes, stored)
        run_decode(scaling, codes, stored, out)
        return
    target = out.reshape(-1)
    kernel = engine.blocks_kernel(x.size)

    def finish(
        y: Array, bits: Array, first: int, count: int, at: slice, stored: Array, s: Array, odd: bool, length: int
    ) -> None:
        if odd:
            made = np.empty(y.size, scaling._plans[0].result)
            scaling.to_codes(y, made, at.start, True)
            if scaling.fmt.argmin:
                scaling.to_nearest(bits, s, y, made)
            np.copyto(y, decode32(made, scaling.element).view(np.uint32))
        else:
            scaling.to_values(y, y, at.start)
        _give_value(scaling, kernel, y, target[at], stored, first, count, length)

    _run(scaling, x, stored, finish)


def run_decode(scaling: Scaling, codes: Array, stored: Array, out: Array) -> None:
    """Values of codes."""
    blocks, k = codes.shape
    flat, target = codes.reshape(-1), out.reshape(-1)
    kernel = engine.blocks_kernel(flat.size)
    parts = _parts(blocks, k)

    def run(lo: int, hi: int) -> None:
        with np.errstate(all="ignore"):
            for first, count, inside, length in parts[lo:hi]:
                at = slice(first * k + inside, first * k + inside + count * length)
                values = decode32(np.ascontiguousarray(flat[at]), scaling.element).view(np.uint32)
                _give_value(scaling, kernel, values, target[at], stored[first : first + count], first, count, length)

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
    text = scaling.fmt.q
    t = decode_scales(scaling.fmt, stored)
    linear = factor(text)
    if linear is None:
        values = q.view(np.float32).reshape(count, length)
        columns = {name: np.reshape(value, (-1, 1)) for name, value in (("s", t), ("t", t))}
        level = {name: _column(scaling.level(getattr(scaling, name), first, first + count)) for name in ("z", "G")}
        made = evaluate(text, {**scaling.environment, **level, **columns, "q": values})
        np.copyto(out.view(np.float32), np.asarray(made, np.float32).reshape(-1))
        return
    f = scaling.factor(linear.expression, first, count, s=t, t=t)
    kernel(q, out, f.view(np.uint32), 3 if linear.divide else 2, length)


def _column(value: Any) -> Any:
    return value if np.ndim(value) == 0 else np.reshape(value, (-1, 1))
