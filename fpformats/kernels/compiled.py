"""The bodies in loops that Numba compiles: twelve kernels, whatever the number of formats.

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
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from . import vector
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


def _loops(width: int) -> SimpleNamespace:
    """The kernels' Python bodies for one width of source."""
    from . import rows

    programs = bodies(words(width))
    unpack = {name: _unpack(size) for name, size in rows.PREFIX.items()}
    unpack["random"] = unpack["draw" if width == 32 else "random"]
    unpack_round, unpack_encode, unpack_decode = unpack["round"], unpack["encode"], unpack["decode"]
    unpack_modes, unpack_general, unpack_random = unpack["modes"], unpack["general"], unpack["random"]
    uint = np.uint32 if width == 32 else np.uint64
    ABS = uint((1 << (width - 1)) - 1)
    ZERO = uint(0)

    def plain(body):
        """A loop that looks for nothing."""

        def loop(x, out, r):
            for i in range(x.size):
                out[i] = body(x[i], r)
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

    r0, r1, r2, r3 = programs["round"]
    r0, r1, r2, r3 = plain(r0), plain(r1), watched(r2), plain(r3)

    def round_kernel(x, out, row, kind):
        r = unpack_round(row)
        if kind == 0:
            return r0(x, out, r)
        if kind == 1:
            return r1(x, out, r)
        if kind == 2:
            return r2(x, out, r)
        return r3(x, out, r)

    m0, m1, m2, m3, m4 = (watched(body) for body in programs["modes"])

    def modes_kernel(x, out, row, kind):
        r = unpack_modes(row)
        if kind == 0:
            return m0(x, out, r)
        if kind == 1:
            return m1(x, out, r)
        if kind == 2:
            return m2(x, out, r)
        if kind == 3:
            return m3(x, out, r)
        return m4(x, out, r)

    g0, g1 = (watched(body) for body in programs["general"])

    def general_kernel(x, out, row, kind):
        r = unpack_general(row)
        if kind == 0:
            return g0(x, out, r)
        return g1(x, out, r)

    e0, e1, e2, e3 = programs["encode"]
    e0, e1, e2, e3 = plain(e0), plain(e1), watched(e2), plain(e3)

    def encode_kernel(x, out, row, kind):
        r = unpack_encode(row)
        if kind == 0:
            return e0(x, out, r)
        if kind == 1:
            return e1(x, out, r)
        if kind == 2:
            return e2(x, out, r)
        return e3(x, out, r)

    d0, d1, d2 = programs["decode"]

    def decode_kernel(codes, out, row, kind):
        r = unpack_decode(row)
        if kind == 0:
            for i in range(codes.size):
                out[i] = d0(uint(codes[i]), r)
        elif kind == 1:
            for i in range(codes.size):
                out[i] = d1(uint(codes[i]), r)
        else:
            for i in range(codes.size):
                out[i] = d2(uint(codes[i]), r)
        return ZERO

    v_body, c_body = programs["draw" if width == 32 else "random"]
    fill = _philox()

    def random_kernel(x, out, row, kind, word, seed, start):
        if seed >= 0:
            fill(word, seed, start)
        r = unpack_random(row)
        largest = ZERO
        if kind == 0:
            for i in range(x.size):
                largest = max(largest, uint(x[i] & ABS))
                out[i] = v_body(x[i], uint(word[i]), r)
        else:
            for i in range(x.size):
                largest = max(largest, uint(x[i] & ABS))
                out[i] = c_body(x[i], uint(word[i]), r)
        return largest

    return SimpleNamespace(
        round=round_kernel,
        modes=modes_kernel,
        general=general_kernel,
        encode=encode_kernel,
        decode=decode_kernel,
        random=random_kernel,
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
    "general64": ("general", 64, 64),
    "encode8": ("encode", 32, 8),
    "encode16": ("encode", 32, 16),
    "decode8": ("decode", 8, 32),
    "decode16": ("decode", 16, 32),
    "random32": ("random", 32, 32),
    "random64": ("random", 64, 64),
}


class kernels:
    """Every kernel, by name, each compiled (or loaded) on its first use."""

    def __init__(self) -> None:
        self._bodies: dict[int, SimpleNamespace] = {}

    def __getattr__(self, name: str) -> Callable[..., int]:
        if name not in SIGNATURES:  # rare: the NumPy instantiation serves
            return getattr(vector.kernels(), name)
        what, source, result = SIGNATURES[name]
        width = 64 if 64 in (source, result) else 32
        if width not in self._bodies:
            self._bodies[width] = _loops(width)
        row = _array(width)
        extra = (_array(32), types.int64, types.int64) if what == "random" else ()
        signature = (_array(source), _array(result), row, types.int64, *extra)
        kernel = cached(getattr(self._bodies[width], what), name, signature, _KERNEL)
        setattr(self, name, kernel)
        return kernel
