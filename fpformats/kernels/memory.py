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

__all__ = [
    "INLINE", "LINE", "TILE", "address_of", "copy", "fence", "largest", "line_like", "part_of", "prefetch", "read",
    "tile_address", "tiled", "unpacker", "write", "write_bytes",
]  # fmt: skip

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


def _array_at(context: Any, builder: Any, array: Any, data: Any, count: Any) -> Any:
    """An array of that type which owns nothing: Numba need not count references to it."""
    made, size = context.make_array(array)(context, builder), context.get_abi_sizeof(context.get_data_type(array.dtype))
    word = ir.IntType(64)
    context.populate_array(
        made,
        data=data,
        shape=[word(count) if isinstance(count, int) else count],
        strides=[word(size)],
        itemsize=word(size),
        meminfo=None,
    )
    return made._getvalue()


@intrinsic
def part_of(typing_context, array, address, count):
    """Numbers at an address as an array of that type."""

    def emit(context, builder, signature, arguments):
        data = builder.inttoptr(arguments[1], context.get_data_type(array.dtype).as_pointer())
        return _array_at(context, builder, array, data, arguments[2])

    return array(array, types.int64, types.int64), emit


def _apart(builder: Any) -> Any:
    """What says that no `write` hits what a `read` sees, unless both are one number's: no loop has to look."""
    domain = builder.module.add_metadata(["fpformats"])
    return builder.module.add_metadata([builder.module.add_metadata(["fpformats.source", domain])])


@intrinsic
def read(typing_context, array, i):
    """Number i of an array."""

    def emit(context, builder, signature, arguments):
        data = context.make_array(array)(context, builder, arguments[0]).data
        loaded = builder.load(builder.gep(data, [arguments[1]], inbounds=True), align=1)
        loaded.set_metadata("alias.scope", _apart(builder))
        return loaded

    return array.dtype(array, types.int64), emit


@intrinsic
def write(typing_context, array, i, value):
    """Put a number of the array's type at place i."""

    def emit(context, builder, signature, arguments):
        data = context.make_array(array)(context, builder, arguments[0]).data
        at = builder.gep(data, [arguments[1]], inbounds=True)
        builder.store(arguments[2], at, align=1).set_metadata("noalias", _apart(builder))
        return context.get_dummy_value()

    return types.none(array, types.int64, array.dtype), emit


@intrinsic
def prefetch(typing_context, address):
    """Have the line at an address come into the caches."""

    def emit(context, builder, signature, arguments):
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [builder.inttoptr(arguments[0], byte), word(0), word(1), word(1)])
        return context.get_dummy_value()

    return types.none(types.int64), emit


@intrinsic
def write_bytes(typing_context, out, source):
    """The low bytes of the sixteen 32-bit integers of an array, to one of bytes."""

    def emit(context, builder, signature, arguments):
        wide, narrow = ir.VectorType(ir.IntType(32), 16), ir.VectorType(ir.IntType(8), 16)
        to, data = (
            context.make_array(array)(context, builder, value).data
            for array, value in zip((out, source), arguments, strict=True)
        )
        loaded = builder.load(builder.bitcast(data, wide.as_pointer()), align=LINE)
        at = builder.bitcast(to, narrow.as_pointer())
        builder.store(builder.trunc(loaded, narrow), at, align=1).set_metadata("noalias", _apart(builder))
        return context.get_dummy_value()

    return types.none(out, source), emit


def _magnitudes(builder: Any, at: Any, nan: bool) -> Any:
    """Sixteen binary32 numbers' magnitudes as bits; a NaN's may count as 0."""

    def each(value: int) -> ir.Constant:
        return ir.Constant(at.type.pointee, [value] * 16)

    a = builder.and_(builder.load(at, align=1), each(0x7FFFFFFF))
    return a if nan else builder.select(builder.icmp_signed(">", a, each(0x7F800000)), each(0), a)


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.icmp_signed(">", a, b), a, b)


def _largest_each(builder: Any, address: Any, count: Any, blocks: int, nan: bool) -> list[Any]:
    """For each of some blocks of so many sixteens, the largest magnitudes of each sixteenth number, as a vector."""
    at = builder.inttoptr(address, ir.VectorType(ir.IntType(32), 16).as_pointer())
    starts = [builder.gep(at, [builder.mul(count, count.type(i))]) for i in range(blocks)]
    most = [cgutils.alloca_once_value(builder, _magnitudes(builder, start, nan)) for start in starts]
    with cgutils.for_range(builder, builder.sub(count, count.type(1))) as loop:
        for start, room in zip(starts, most, strict=True):
            a = _magnitudes(builder, builder.gep(start, [builder.add(loop.index, count.type(1))]), nan)
            builder.store(_larger(builder, a, builder.load(room)), room)
    return [builder.load(room) for room in most]


def largest(nan: bool) -> tuple[Any, Any]:
    """(of one block, of four): intrinsics for the largest magnitudes, as bits; a NaN counts, or is 0.

    The first takes an address and how many sixteens of binary32 numbers the block has. The second takes four blocks
    one after the other, writes theirs to the beginning of an array, and returns the largest.
    """

    def reduced(builder: Any, most: Any) -> Any:
        name = f"llvm.vector.reduce.smax.v{most.type.count}i32"
        function = ir.FunctionType(ir.IntType(32), [most.type])
        return builder.call(cgutils.get_or_insert_function(builder.module, function, name), [most])

    def halves(builder: Any, a: Any, b: Any, size: int, low: list[int], high: list[int]) -> Any:
        """The larger of what two vectors together have at some places, and at others."""
        kind = ir.VectorType(ir.IntType(32), size)
        return _larger(builder, *(builder.shuffle_vector(a, b, ir.Constant(kind, places)) for places in (low, high)))

    def lanes(*places: int) -> list[int]:
        """The same places of every four; from 4 on they are the second vector's."""
        return [lane + place % 4 + place // 4 * 16 for lane in range(0, 16, 4) for place in places]

    @intrinsic
    def of_one(typing_context, address, sixteens):
        def emit(context, builder, signature, arguments):
            return reduced(builder, *_largest_each(builder, *arguments, 1, nan))

        return types.uint32(types.int64, types.int64), emit

    @intrinsic
    def of_four(typing_context, address, sixteens, out):
        def emit(context, builder, signature, arguments):
            a, b, c, d = _largest_each(builder, *arguments[:2], 4, nan)
            # every four of a and b become a b a b, and those with c d c d become a b c d
            ab, cd = (halves(builder, *pair, 16, lanes(0, 4, 1, 5), lanes(2, 6, 3, 7)) for pair in ((a, b), (c, d)))
            most = halves(builder, ab, cd, 16, lanes(0, 1, 4, 5), lanes(2, 3, 6, 7))
            for size in (8, 4):
                most = halves(builder, most, most, size, list(range(size)), list(range(size, 2 * size)))
            data = context.make_array(out)(context, builder, arguments[2]).data
            builder.store(most, builder.bitcast(data, most.type.as_pointer()), align=1)
            return reduced(builder, most)

        return types.uint32(types.int64, types.int64, out), emit

    return of_one, of_four


def _room(builder: Any, item: ir.Type, count: int) -> Any:
    """Room for so many items on the stack; unlike Numba's own it is not cleared."""
    with builder.goto_entry_block():
        room = builder.alloca(item, count)
    room.align = LINE
    return room


@intrinsic
def tile_address(typing_context):
    """The address of room for `TILE` numbers, on the stack."""

    def emit(context, builder, signature, arguments):
        return builder.ptrtoint(_room(builder, ir.IntType(64), TILE), ir.IntType(64))

    return types.int64(), emit


@intrinsic
def line_like(typing_context, array):
    """Room on the stack for sixteen of an array's items, as such an array."""

    def emit(context, builder, signature, arguments):
        return _array_at(context, builder, array, _room(builder, context.get_data_type(array.dtype), 16), 16)

    return array(array), emit


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
