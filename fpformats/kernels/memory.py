"""Where the compiled loops read and write: parts of arrays, a tile on the stack, stores past the caches.

A large result goes through the tile and from there past the caches: it costs no reading of the lines it overwrites. So
does a result that overwrites its source, whose loop would stay scalar.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from . import LARGE

__all__ = ["INLINE", "TILE", "address_of", "copy_past", "fence", "part_of", "tile_address", "tiled", "unpacker"]

INLINE: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


def unpacker(size: int) -> Callable[..., Any]:
    """A function that turns a row into a tuple of scalars."""
    scope: dict[str, Any] = {}
    exec(f"def unpack(row): return ({', '.join(f'row[{i}]' for i in range(size))})", scope)
    return numba.njit(**INLINE)(scope["unpack"])


#: numbers that go through a tile of the first-level cache at a time: reading and writing overlap
TILE = 512
LINE = 64  # bytes


@intrinsic
def address_of(typing_context, array):
    """Where an array begins."""

    def emit(context, builder, signature, arguments):
        return builder.ptrtoint(context.make_array(array)(context, builder, arguments[0]).data, ir.IntType(64))

    return types.int64(array), emit


@intrinsic
def part_of(typing_context, array, address, count):
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
def tile_address(typing_context):
    """The address of room for `TILE` numbers, on the stack."""

    def emit(context, builder, signature, arguments):
        tile = cgutils.alloca_once(builder, ir.ArrayType(ir.IntType(64), TILE))
        tile.align = LINE
        return builder.ptrtoint(tile, ir.IntType(64))

    return types.int64(), emit


@intrinsic
def copy(typing_context, target, source, size, lines):
    """Copy bytes: so many cache lines first, from the start of one on, by stores past the caches."""

    def emit(context, builder, signature, arguments):
        word, byte, vector = ir.IntType(64), ir.IntType(8).as_pointer(), ir.VectorType(ir.IntType(32), 8)
        past_caches = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
        target, source, size, lines = arguments
        to, of = (builder.inttoptr(address, vector.as_pointer()) for address in (target, source))
        with cgutils.for_range(builder, builder.mul(lines, word(LINE // 32))) as loop:
            loaded = builder.load(builder.gep(of, [loop.index]), align=1)
            builder.store(loaded, builder.gep(to, [loop.index]), align=32).set_metadata("nontemporal", past_caches)
        done = builder.mul(lines, word(LINE))
        to, of = (builder.inttoptr(builder.add(address, done), byte) for address in (target, source))
        cgutils.raw_memcpy(builder, to, of, builder.sub(size, done), 1)
        return context.get_dummy_value()

    return types.none(*[types.int64] * 4), emit


@intrinsic
def fence(typing_context):
    """Stores past the caches are seen before any later one."""

    def emit(context, builder, signature, arguments):
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.none(), emit


def copy_past(target, source, size):
    """Copy bytes: lines that are whole by stores past the caches."""
    head = min(-target % LINE, size)
    copy(target, source, head, 0)
    copy(target + head, source + head, size - head, (size - head) // LINE)


copy_past = numba.njit(**INLINE)(copy_past)


def tiled(choose: Callable[..., Any], unpack: Callable[..., Any], zero: Any) -> Callable[..., Any]:
    """`(x, out, row, kind)` over all of an array at once, or by tiles where it is large, or where x is overwritten."""

    def kernel(x, out, row, kind):
        r = unpack(row)
        n, source, target, tile = x.size, address_of(x), address_of(out), tile_address()
        # a loop that overwrites what it reads would stay scalar
        large = n * out.itemsize >= LARGE and source != target and target % out.itemsize == 0
        tiles = large or source == target
        at, stop = 0, n
        if tiles:  # the first one is short: it ends at the start of a cache line
            stop = min(-target % LINE // out.itemsize if large else TILE, n)
        largest = zero
        while True:
            count, to = stop - at, target + at * out.itemsize
            y = part_of(out, tile if tiles else to, count)
            largest = max(largest, choose(part_of(x, source + at * x.itemsize, count), y, r, kind))
            if tiles:
                size = count * out.itemsize
                copy(to, tile, size, size // LINE if large and at else 0)
            if stop == n:
                break
            at, stop = stop, min(stop + TILE, n)
        if large:
            fence()
        return largest

    return kernel
