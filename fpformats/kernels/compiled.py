"""The bodies in loops that Numba compiles: twelve kernels, whatever the number of formats.

Rules of this file

1. Every kernel is one function with one signature, `kernel(x, out, row, kind, ...) -> largest`,
   where `largest` is the largest magnitude seen, as bits (0 where no caller asks). A format or mode
   is data: it costs no compilation.
2. Loops differ only in the body they call; the row is unpacked before the loop, so that LLVM sees
   loop-invariant scalars and vectorises.
3. A large result goes through a tile on the stack and from there past the caches: it costs no reading
   of the lines it overwrites. So does a result that overwrites its source, whose loop would stay scalar.
4. Every intermediate integer is cast back to the source's width: Numba widens otherwise.
5. The only relaxed floating-point rule is `contract`. It lets x + e * c become one fused
   operation; e is a power of two, so the product is exact and the sum is rounded once either way.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from . import LARGE, rows, vector
from .bodies import Words, bodies
from .cache import cached
from .philox import M0, M1, W0, W1

__all__ = ["kernels"]

_INLINE = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
_KERNEL = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}, "no_cfunc_wrapper": True}


def words(width: int) -> Words:
    """The vocabulary on machine integers of one width."""
    uint, flt = (np.uint32, np.float32) if width == 32 else (np.uint64, np.float64)

    def to_float(x):
        return uint(x).view(flt)

    def to_bits(x):
        return flt(x).view(uint)

    @intrinsic
    def to_int(typing_context, x):
        # Numba's own cast goes through 64 bits and keeps the loop scalar
        kind = types.uint32 if width == 32 else types.uint64

        def emit(context, builder, signature, arguments):
            return builder.fptoui(arguments[0], context.get_value_type(kind))

        return kind(x), emit

    def from_int(x):
        return flt(x)

    def where(condition, a, b):
        return a if condition else b

    inline = numba.njit(**_INLINE)
    return Words(
        mantissa=23 if width == 32 else 52,
        exponent=8 if width == 32 else 11,
        uint=uint,
        const=uint,
        float=flt,
        to_float=inline(to_float),
        to_bits=inline(to_bits),
        to_int=to_int,  # type: ignore[arg-type]
        from_int=inline(from_int),
        where=inline(where),
        minimum=min,
        maximum=max,
        function=inline,
    )


def _unpack(size: int) -> Callable[..., Any]:
    """A function that turns a row into a tuple of scalars."""
    scope: dict[str, Any] = {}
    exec(f"def unpack(row): return ({', '.join(f'row[{i}]' for i in range(size))})", scope)
    return numba.njit(**_INLINE)(scope["unpack"])


#: numbers that go through a tile of the first-level cache at a time: reading and writing overlap
TILE = 512
_LINE = 64  # bytes


@intrinsic
def _address(typing_context, array):
    """Where an array begins."""

    def emit(context, builder, signature, arguments):
        return builder.ptrtoint(context.make_array(array)(context, builder, arguments[0]).data, ir.IntType(64))

    return types.int64(array), emit


@intrinsic
def _part(typing_context, array, address, count):
    """Numbers at an address as an array of that type which owns nothing: Numba need not count references to it."""

    def emit(context, builder, signature, arguments):
        made, size = (
            context.make_array(array)(context, builder),
            context.get_abi_sizeof(context.get_data_type(array.dtype)),
        )
        context.populate_array(
            made,
            data=builder.inttoptr(arguments[1], made.data.type),
            shape=[arguments[2]],
            strides=[ir.Constant(ir.IntType(64), size)],
            itemsize=ir.Constant(ir.IntType(64), size),
            meminfo=None,
        )
        return made._getvalue()

    return array(array, types.int64, types.int64), emit


@intrinsic
def _tile(typing_context):
    """The address of room for `TILE` numbers, on the stack."""

    def emit(context, builder, signature, arguments):
        tile = cgutils.alloca_once(builder, ir.ArrayType(ir.IntType(64), TILE))
        tile.align = _LINE
        return builder.ptrtoint(tile, ir.IntType(64))

    return types.int64(), emit


@intrinsic
def _copy(typing_context, target, source, size, lines):
    """Copy bytes: so many cache lines first, from the start of one on, by stores past the caches."""

    def emit(context, builder, signature, arguments):
        word, byte, vector = ir.IntType(64), ir.IntType(8).as_pointer(), ir.VectorType(ir.IntType(32), 8)
        past_caches = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
        target, source, size, lines = arguments
        to, of = (builder.inttoptr(address, vector.as_pointer()) for address in (target, source))
        with cgutils.for_range(builder, builder.mul(lines, word(_LINE // 32))) as loop:
            loaded = builder.load(builder.gep(of, [loop.index]), align=1)
            builder.store(loaded, builder.gep(to, [loop.index]), align=32).set_metadata("nontemporal", past_caches)
        done = builder.mul(lines, word(_LINE))
        to, of = (builder.inttoptr(builder.add(address, done), byte) for address in (target, source))
        cgutils.raw_memcpy(builder, to, of, builder.sub(size, done), 1)
        return context.get_dummy_value()

    return types.none(*[types.int64] * 4), emit


@intrinsic
def _fence(typing_context):
    """Stores past the caches are seen before any later one."""

    def emit(context, builder, signature, arguments):
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.none(), emit


def _past(target, source, size):
    """Copy bytes: lines that are whole by stores past the caches."""
    head = min(-target % _LINE, size)
    _copy(target, source, head, 0)
    _copy(target + head, source + head, size - head, (size - head) // _LINE)


_past = numba.njit(**_INLINE)(_past)


def _tiled(choose: Callable[..., Any], unpack: Callable[..., Any], zero: Any) -> Callable[..., Any]:
    """`(x, out, row, kind)` over all of an array at once, or by tiles where it is large, or where x is overwritten."""

    def kernel(x, out, row, kind):
        r = unpack(row)
        n, source, target, tile = x.size, _address(x), _address(out), _tile()
        # a loop that overwrites what it reads would stay scalar
        large = n * out.itemsize >= LARGE and source != target and target % out.itemsize == 0
        tiles = large or source == target
        at, stop = 0, n
        if tiles:  # the first one is short: it ends at the start of a cache line
            stop = min(-target % _LINE // out.itemsize if large else TILE, n)
        largest = zero
        while True:
            count, to = stop - at, target + at * out.itemsize
            y = _part(out, tile if tiles else to, count)
            largest = max(largest, choose(_part(x, source + at * x.itemsize, count), y, r, kind))
            if tiles:
                size = count * out.itemsize
                _copy(to, tile, size, size // _LINE if large and at else 0)
            if stop == n:
                break
            at, stop = stop, min(stop + TILE, n)
        if large:
            _fence()
        return largest

    return kernel


def _loops(width: int) -> SimpleNamespace:
    """The kernels' Python bodies for one width of source."""
    programs = bodies(words(width))
    unpack = {name: _unpack(size) for name, size in rows.PREFIX.items()}
    unpack["random"] = unpack["draw" if width == 32 else "random"]
    uint = np.uint32 if width == 32 else np.uint64
    ABS = uint((1 << (width - 1)) - 1)
    ZERO = uint(0)

    def tiled(choose, unpack):
        return _tiled(choose, unpack, ZERO)

    def plain(body):
        """A loop that looks for nothing."""

        def loop(x, out, r):
            for i in range(x.size):
                out[i] = body(uint(x[i]), r)
            return ZERO

        return numba.njit(**_INLINE)(loop)

    def watched(body):
        """A loop that also finds the largest magnitude, by which a caller knows of NaN."""

        def loop(x, out, r):
            largest = ZERO
            for i in range(x.size):
                largest = max(largest, uint(x[i] & ABS))
                out[i] = body(x[i], r)
            return largest

        return numba.njit(**_INLINE)(loop)

    def checked(body):
        """A loop that also finds the largest code."""

        def loop(x, out, r):
            largest = ZERO
            for i in range(x.size):
                code = uint(x[i])
                largest = max(largest, code)
                out[i] = body(code, r)
            return largest

        return numba.njit(**_INLINE)(loop)

    def drawn(body):
        """A watched loop with a random word for each number."""

        def loop(x, out, r, word):
            largest = ZERO
            for i in range(x.size):
                largest = max(largest, uint(x[i] & ABS))
                out[i] = body(x[i], uint(word[i]), r)
            return largest

        return numba.njit(**_INLINE)(loop)

    def kernel(name, makers):
        """`(x, out, row, kind)`: one loop for each body, told apart by `kind` before any of them runs."""
        loops = [make(body) for make, body in zip(makers, programs[name], strict=False)]
        scope: dict[str, Any] = {f"loop{i}": loop for i, loop in enumerate(loops)}
        lines = [f"    if kind == {i}: return loop{i}(x, out, r)" for i in range(len(loops) - 1)]
        lines.append(f"    return loop{len(loops) - 1}(x, out, r)")
        exec("\n".join(["def choose(x, out, r, kind):", *lines]), scope)
        return tiled(numba.njit(**_INLINE)(scope["choose"]), unpack[name])

    # who may be a format without NaN has them found by the loop; where that costs little, all do
    some = [plain, plain, watched, plain, watched, watched, watched]
    value_body, code_body = (drawn(body) for body in programs["draw" if width == 32 else "random"])
    fill, unpack_random = _philox(), unpack["random"]
    general = kernel("general", [watched] * 2)

    def random_kernel(x, out, row, kind, word, seed, start):
        if seed >= 0:
            fill(word, seed, start)
        r = unpack_random(row)
        if kind == 0:
            return value_body(x, out, r, word)
        return code_body(x, out, r, word)

    general_loops = numba.njit(**_INLINE)(general)

    def general_or_random(x, out, row, kind, word, seed, start):
        if kind < 2:
            return general_loops(x, out, row, kind)
        return random_kernel_loops(x, out, row, kind - 2, word, seed, start)

    random_kernel_loops = numba.njit(**_INLINE)(random_kernel)

    return SimpleNamespace(
        round=kernel("round", some),
        modes=kernel("modes", [watched] * 16),
        general=general,
        encode=kernel("encode", some),
        decode=kernel("decode", [checked] * 8),
        random=random_kernel,
        either=general_or_random,
        blocks=_blocks(words(width), programs["blocks"]),
    )


def _blocks(vocabulary: Words, programs: Any) -> Callable[..., Any]:
    """What numbers that share a scale need."""
    uint, flt, to_float, to_bits = vocabulary.uint, vocabulary.float, vocabulary.to_float, vocabulary.to_bits
    ABS, NAN_TO_SIGN = vocabulary.const(0x7FFFFFFF), vocabulary.const(0x7FFFFFFF - 0x7F800000)
    to_value, to_code = programs

    def each(step, item, size):
        """A loop over blocks of sixteens: `step(number, scale, value, zero, row)` gives results of so many bytes."""
        unpack = _unpack(size)
        step = numba.njit(**_INLINE)(step)

        @numba.njit(**_INLINE)
        def sixteen(v, y, s, t, z, r):
            # of known length: a loop with another one for what is left over would rarely be entered
            for i in range(16):
                y[i] = step(to_float(v[i]), s, t, z, r)

        def loop(x, out, scale, value, row, k, zero, past):
            r, z = unpack(row), to_float(zero)
            n, at, target, tile = scale.size, _address(x), _address(out), _tile()
            past = past and k <= TILE
            most = TILE // k if past else n
            for first in range(0, n, most):
                count = min(most, n - first)
                to = tile if past else target
                for b in range(first, first + count):
                    s, t = to_float(scale[b]), to_float(value[b])
                    for _ in range(k // 16):
                        sixteen(_part(x, at, 16), _part(out, to, 16), s, t, z, r)
                        at += 64
                        to += 16 * item
                if past:
                    _past(target, tile, count * k * item)
                    target += count * k * item
            if past:
                _fence()

        return numba.njit(**_INLINE)(loop)

    def simple(step):
        """A loop over blocks of any length: `step(number, scale)`."""

        def loop(x, out, scale, k):
            for b in range(scale.size):
                v, y = x[b * k : b * k + k], out[b * k : b * k + k]
                s = to_float(scale[b])
                for i in range(k):
                    y[i] = to_bits(step(to_float(v[i]), s))

        return numba.njit(**_INLINE)(loop)

    # a product that is not contracted with the sum, which then takes it for what it is: y + 0 is y without -0
    exact = numba.njit(**{**_INLINE, "fastmath": False})

    @exact
    def product(a, s):
        return flt(a * s)

    @exact
    def quotient(a, s):
        return flt(a / s)

    def only_times(a, s, t, z, r):
        return to_bits(flt(a * s))

    def values_times(a, s, t, z, r):
        return to_bits(flt(to_float(to_value(to_bits(flt(product(a, s) + z)), r)) * t))

    def values_over(a, s, t, z, r):
        return to_bits(flt(to_float(to_value(to_bits(flt(quotient(a, s) + z)), r)) * t))

    def values_times_over(a, s, t, z, r):
        return to_bits(flt(to_float(to_value(to_bits(flt(product(a, s) + z)), r)) / t))

    def codes_times(a, s, t, z, r):
        return to_code(to_bits(flt(product(a, s) + z)), r)

    def codes_over(a, s, t, z, r):
        return to_code(to_bits(flt(quotient(a, s) + z)), r)

    times, over, only_times = simple(product), simple(quotient), each(only_times, 4, 1)
    size = rows.PREFIX["round"]
    values_times, values_over = each(values_times, 4, size), each(values_over, 4, size)
    values_times_over = each(values_times_over, 4, size)
    size = rows.PREFIX["encode"]
    codes_times, codes_over = each(codes_times, 1, size), each(codes_over, 1, size)

    def amax(x, out, k, nan):
        """Each block's largest magnitude, as bits, and the largest of all; NaN counts or not."""
        largest = uint(0)
        for b in range(out.size):
            v = x[b * k : b * k + k]
            most = uint(0)
            if nan:
                for i in range(k):
                    a = uint(v[i] & ABS)
                    most = a if a > most else most
            else:
                for i in range(k):
                    a = uint(v[i] & ABS)
                    # a choice would keep the loop scalar: all ones unless a is a NaN's
                    a = uint(a & uint(uint(uint(a + NAN_TO_SIGN) >> uint(31)) - uint(1)))
                    most = a if a > most else most
            out[b] = most
            largest = max(largest, most)
        return largest

    amax = numba.njit(**_INLINE)(amax)

    def blocks(x, out, scale, kind, k, value, row, zero, past):
        """By kind, with results as bytes of `out`.

        0, 1: each block's largest magnitude, a NaN counting or not; 2, 3: its numbers times, or over, its scale;
        4, 5: that with `zero` added, rounded, times the block's value; 6, 7: that with `zero` added, as a code;
        8: as 4, over the block's value; 9: as 2. From 4 on k is a multiple of 16.
        """
        words = _part(x, _address(out), out.size // 4)
        if kind < 2:
            return amax(x, words, k, kind == 0)
        if kind == 2:
            times(x, words, scale, k)
        elif kind == 3:
            over(x, words, scale, k)
        elif kind == 4:
            values_times(x, words, scale, value, row, k, zero, past)
        elif kind == 5:
            values_over(x, words, scale, value, row, k, zero, past)
        elif kind == 6:
            codes_times(x, out, scale, value, row, k, zero, past)
        elif kind == 7:
            codes_over(x, out, scale, value, row, k, zero, past)
        elif kind == 9:
            only_times(x, words, scale, value, row, k, zero, past)
        else:
            values_times_over(x, words, scale, value, row, k, zero, past)
        return uint(0)

    return blocks


def _philox() -> Callable[..., Any]:
    """`philox.philox`, compiled."""
    u32, u64 = np.uint32, np.uint64
    LOW = np.uint64(0xFFFFFFFF)

    def philox(out, seed, start):
        # 32-bit words in 64-bit lanes: a product needs all of one, and masks are cheap
        first = start // 4
        key0, key1 = u64(u64(seed) & LOW), u64(u64(seed) >> u64(32))
        for j in range(out.size // 4):
            block = u64(first + j)
            c0, c1, c2, c3 = u64(block & LOW), u64(block >> u64(32)), u64(0), u64(0)
            k0, k1 = key0, key1
            for _ in range(10):
                p0, p1 = u64(u64(M0) * c0), u64(u64(M1) * c2)
                c0, c2 = u64(u64(u64(p1 >> u64(32)) ^ c1) ^ k0), u64(u64(u64(p0 >> u64(32)) ^ c3) ^ k1)
                c1, c3 = u64(p1 & LOW), u64(p0 & LOW)
                k0, k1 = u64(u64(k0 + u64(W0)) & LOW), u64(u64(k1 + u64(W1)) & LOW)
            out[4 * j] = u32(c0)
            out[4 * j + 1] = u32(c1)
            out[4 * j + 2] = u32(c2)
            out[4 * j + 3] = u32(c3)

    return numba.njit(**_INLINE)(philox)


_INT = {8: types.uint8, 16: types.uint16, 32: types.uint32, 64: types.uint64}


def _array(bits: int) -> Any:
    return types.Array(_INT[bits], 1, "C")


#: name -> (body, source bits, result bits): all the machine code there ever is
SIGNATURES = {
    "round32": ("round", 32, 32),
    "round64": ("round", 64, 64),
    "modes32": ("modes", 32, 32),
    "modes64": ("modes", 64, 64),
    "general32": ("general", 32, 32),
    "encode8": ("encode", 32, 8),
    "encode16": ("encode", 32, 16),
    "decode8": ("decode", 8, 32),
    "decode16": ("decode", 16, 32),
    "random32": ("random", 32, 32),
    # binary64's general and random loops in one
    "either64": ("either", 64, 64),
    "blocks32": ("blocks", 32, 8),
}


def signature(name: str) -> tuple[Any, ...]:
    """The types of a kernel's arguments."""
    what, source, result = SIGNATURES[name]
    row = _array(max(32, source, result))
    words = (_array(32), types.int64, types.int64)
    more = {"random": words, "either": words, "blocks": (types.int64, row, row, types.uint32, types.boolean)}
    return (_array(source), _array(result), row, types.int64, *more.get(what, ()))


def _half(kernel: Callable[..., int], offset: int) -> Callable[..., int]:
    """One half of a kernel's loops."""
    no_words = np.zeros(1, np.uint32)

    def half(x: Any, out: Any, row: Any, kind: int, word: Any = no_words, seed: int = -1, start: int = 0) -> int:
        return kernel(x, out, row, kind + offset, word, seed, start)

    return half


class kernels:
    """Every kernel, by name, each compiled (or loaded) on its first use.

    They take writeable, contiguous, one-dimensional arrays, and look at nothing but the size of an item.
    """

    def __init__(self) -> None:
        self._bodies: dict[int, SimpleNamespace] = {}
        self._kept: list[Any] = []

    def __getattr__(self, name: str) -> Callable[..., int]:
        if name in ("general64", "random64"):
            setattr(self, name, _half(self.either64, 2 * (name == "random64")))
            return getattr(self, name)
        if name not in SIGNATURES:  # rare: the NumPy instantiation serves
            return getattr(vector.kernels(), name)
        what, *sizes = SIGNATURES[name]
        width = max(32, *sizes)
        if width not in self._bodies:
            self._bodies[width] = _loops(width)
        dispatcher = cached(getattr(self._bodies[width], what), name, signature(name), _KERNEL)
        self._kept.append(dispatcher)  # it owns the code
        # what the dispatcher calls once it has looked at types: any array of that item size is taken for its bits
        kernel = dispatcher.overloads[signature(name)].entry_point
        setattr(self, name, kernel)
        return kernel
