"""The bodies in loops that Numba compiles: twelve kernels and those over blocks, whatever the number of formats.

Rules of this file

1. Every kernel is one function with one signature, `kernel(x, out, row, kind, ...) -> largest`,
   where `largest` is the largest magnitude seen, as bits (0 where no caller asks). A format or mode
   is data: it costs no compilation.
2. Loops differ only in the body they call; the row is unpacked before the loop, so that LLVM sees
   loop-invariant scalars and vectorises.
3. Every intermediate integer is cast back to the source's width: Numba widens otherwise.
4. The only relaxed floating-point rule is `contract`. It lets x + e * c become one fused
   operation; e is a power of two, so the product is exact and the sum is rounded once either way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from . import BLOCK_LOOPS, rows, vector
from .block_loops import block_loops
from .bodies import Words, bodies
from .cache import cached
from .memory import INLINE, tiled, unpacker
from .philox import M0, M1, W0, W1

__all__ = ["kernels"]

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

    inline = numba.njit(**INLINE)
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


def _loops(width: int) -> SimpleNamespace:
    """The kernels' Python bodies for one width of source."""
    programs = bodies(words(width))
    unpack = {name: unpacker(size) for name, size in rows.PREFIX.items()}
    unpack["random"] = unpack["draw" if width == 32 else "random"]
    uint = np.uint32 if width == 32 else np.uint64
    ABS = uint((1 << (width - 1)) - 1)
    ZERO = uint(0)

    def plain(body):
        """A loop that looks for nothing."""

        def loop(x, out, r):
            for i in range(x.size):
                out[i] = body(uint(x[i]), r)
            return ZERO

        return numba.njit(**INLINE)(loop)

    def watched(body):
        """A loop that also finds the largest magnitude, by which a caller knows of NaN."""

        def loop(x, out, r):
            largest = ZERO
            for i in range(x.size):
                largest = max(largest, uint(x[i] & ABS))
                out[i] = body(x[i], r)
            return largest

        return numba.njit(**INLINE)(loop)

    def checked(body):
        """A loop that also finds the largest code."""

        def loop(x, out, r):
            largest = ZERO
            for i in range(x.size):
                code = uint(x[i])
                largest = max(largest, code)
                out[i] = body(code, r)
            return largest

        return numba.njit(**INLINE)(loop)

    def drawn(body):
        """A watched loop with a random word for each number."""

        def loop(x, out, r, word):
            largest = ZERO
            for i in range(x.size):
                largest = max(largest, uint(x[i] & ABS))
                out[i] = body(x[i], uint(word[i]), r)
            return largest

        return numba.njit(**INLINE)(loop)

    def kernel(name, makers):
        """`(x, out, row, kind)`: one loop for each body, told apart by `kind` before any of them runs."""
        loops = [make(body) for make, body in zip(makers, programs[name], strict=False)]
        scope: dict[str, Any] = {f"loop{i}": loop for i, loop in enumerate(loops)}
        lines = [f"    if kind == {i}: return loop{i}(x, out, r)" for i in range(len(loops) - 1)]
        lines.append(f"    return loop{len(loops) - 1}(x, out, r)")
        exec("\n".join(["def choose(x, out, r, kind):", *lines]), scope)
        return tiled(numba.njit(**INLINE)(scope["choose"]), unpack[name], ZERO)

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

    general_loops = numba.njit(**INLINE)(general)

    def general_or_random(x, out, row, kind, word, seed, start):
        if kind < 2:
            return general_loops(x, out, row, kind)
        return random_kernel_loops(x, out, row, kind - 2, word, seed, start)

    random_kernel_loops = numba.njit(**INLINE)(random_kernel)

    return SimpleNamespace(
        round=kernel("round", some),
        modes=kernel("modes", [watched] * 16),
        general=general,
        encode=kernel("encode", some),
        decode=kernel("decode", [checked] * 8),
        random=random_kernel,
        either=general_or_random,
        block=block_loops(words(width), programs["blocks"], False),
        single=block_loops(words(width), programs["blocks"], True),
    )


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

    return numba.njit(**INLINE)(philox)


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
    # loops over blocks by themselves: there are more of them than anyone uses
    **{f"{kind} {name}": (f"{kind} {name}", 32, 8) for kind in ("block", "single") for name in BLOCK_LOOPS},
}


def signature(name: str) -> tuple[Any, ...]:
    """The types of a kernel's arguments."""
    what, source, result = SIGNATURES[name]
    row = _array(max(32, source, result))
    if what.partition(" ")[2]:
        return (_array(source), _array(result), row, types.int64, row, row, types.int64, _array(8))
    words = (_array(32), types.int64, types.int64) if what in ("random", "either") else ()
    return (_array(source), _array(result), row, types.int64, *words)


@lru_cache(maxsize=2)
def _loops_of(width: int) -> SimpleNamespace:
    return _loops(width)


def source(name: str) -> Callable[..., Any]:
    """A kernel before it is compiled."""
    what, *sizes = SIGNATURES[name]
    made, (kind, _, loop) = _loops_of(max(32, *sizes)), what.partition(" ")
    return getattr(made, kind)(loop) if loop else getattr(made, kind)


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
        self._kept: list[Any] = []

    def __getattr__(self, name: str) -> Callable[..., int]:
        if name in ("general64", "random64"):
            setattr(self, name, _half(self.either64, 2 * (name == "random64")))
            return getattr(self, name)
        if name not in SIGNATURES:  # rare: the NumPy instantiation serves
            return getattr(vector.kernels(), name)
        dispatcher = cached(source(name), name.replace(" ", "_").replace("+0", "_plus_0"), signature(name), _KERNEL)
        self._kept.append(dispatcher)  # it owns the code
        # what the dispatcher calls once it has looked at types: any array of that item size is taken for its bits
        kernel = dispatcher.overloads[signature(name)].entry_point
        setattr(self, name, kernel)
        return kernel
