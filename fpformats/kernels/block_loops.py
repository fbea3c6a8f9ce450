"""Loops over numbers that share a scale, for `compiled`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from . import AHEAD, BLOCK_BODIES, BLOCK_LOOPS, OPERATIONS, PAST, SCALE_AT, VALUE_AT, rows
from .bodies import Words
from .memory import (
    INLINE,
    LINE,
    TILE,
    address_of,
    copy,
    fence,
    largest,
    line_like,
    part_of,
    prefetch,
    read,
    tile_address,
    unpacker,
    write,
    write_bytes,
)

__all__ = ["block_loops"]


def block_loops(vocabulary: Words, programs: Any, single: bool) -> Callable[[str], Callable[..., Any]]:
    """Loops by their names in `BLOCK_LOOPS`: ``(x, out, scale, k, value, row, how, index)``, `out` as bytes.

    Blocks have k numbers; where k is no multiple of sixteen, there are only amaxes, ``times`` and ``over``. `how` says
    whether results go past the caches, and whether a block's scale and value stand at its own place in `scale` and
    `value` or at the place that `index` names.

    Where blocks are `single`, one number wide and some rows high, k is the length of a row of numbers, and `scale` and
    `value` have as many for each strip of rows, at their own places.

    No loop hands an array on: counting references to it would cost more than what is done to a block.
    """
    uint, flt, to_float, to_bits = vocabulary.uint, vocabulary.float, vocabulary.to_float, vocabulary.to_bits
    ABS, NAN_TO_SIGN = vocabulary.const(0x7FFFFFFF), vocabulary.const(0x7FFFFFFF - 0x7F800000)

    # --- what is done to a number -----------------------------------------------------------------
    # a product that is not contracted with the sum, which then takes it for what it is: y + 0 is y without -0
    exact = numba.njit(**{**INLINE, "fastmath": False})

    @exact
    def product(a, s):
        return flt(a * s)

    @exact
    def quotient(a, s):
        return flt(a / s)

    def without_minus(operation):
        @exact
        def plus_0(a, s):
            return flt(operation(a, s) + flt(0))

        return plus_0

    operations = dict(zip(OPERATIONS, (product, quotient, *map(without_minus, (product, quotient))), strict=True))

    def step_of(body, ahead, behind):
        """`(number, scale, value, row)`: an operation with the scale, a body, an operation with the value."""
        into, out_of = operations.get(ahead), operations.get(behind)

        def value(a, s, t, r):
            return to_bits(out_of(to_float(body(to_bits(into(to_float(a), s)), r)), t))

        def code(a, s, t, r):
            return body(to_bits(into(to_float(a), s)), r)

        def decoded(a, s, t, r):
            return to_bits(out_of(to_float(body(a, r)), s))

        return numba.njit(**INLINE)(code if out_of is None else decoded if into is None else value)

    # --- to sixteen of them -----------------------------------------------------------------------
    @numba.njit(**INLINE)
    def of_block(scale, i):
        return to_float(scale)

    @numba.njit(**INLINE)
    def of_number(scales, i):
        return to_float(read(scales, i))

    own = of_number if single else of_block

    def sixteens(step, wide):
        # of known length: a loop with another one for what is left over would rarely be entered
        def words(v, y, s, t, r):
            for i in range(16):
                write(y, i, step(uint(read(v, i)), own(s, i), own(t, i), r))

        def low_bytes(v, y, s, t, r):
            made = line_like(v)
            for i in range(16):
                made[i] = step(uint(read(v, i)), own(s, i), own(t, i), r)
            write_bytes(y, made)

        return numba.njit(**INLINE)(words if wide else low_bytes)

    def sixteen_at(words):
        """Sixteen numbers at an address: of x's type, or of out's."""

        def sixteen(x, out, address):
            return part_of(x if words else out, address, 16)

        return numba.njit(**INLINE)(sixteen)

    # --- to all of them ---------------------------------------------------------------------------
    def each(body, reads, ahead, behind):
        """A loop over blocks of sixteens; the body reads that prefix of the row."""
        of, item = 4 if ahead else 1, 4 if behind else 1
        unpack = unpacker(rows.PREFIX[reads])
        sixteen, numbers, results = (
            sixteens(step_of(body, ahead, behind), item == 4), sixteen_at(of == 4), sixteen_at(item == 4)
        )  # fmt: skip

        def loop(x, out, scale, k, value, row, how, index):
            r = unpack(row)
            n, at, target, tile = out.size // (k * item), address_of(x), address_of(out), tile_address()
            past = how & PAST > 0 and k <= TILE
            ahead = 4 * x.size if how & AHEAD else 0
            most, rest = TILE // k if past else n, 0
            for first in range(0, n, most):
                count = min(most, n - first)
                to = tile + LINE if past else target
                for b in range(first, first + count):
                    s = scale[index[b]] if how & SCALE_AT else scale[b]
                    t = value[index[b]] if how & VALUE_AT else value[b]
                    for _ in range(k // 16):
                        prefetch(at + ahead)
                        sixteen(numbers(x, out, at), results(x, out, to), s, t, r)
                        at += 16 * of
                        to += 16 * item
                if past:
                    # whole lines; what is left of one waits before the next numbers
                    size, source = rest + count * k * item, tile + LINE - rest
                    if first == 0:
                        head = min(-target % LINE, size)
                        copy(target, source, head, 0)
                        size, source, target = size - head, source + head, target + head
                    whole, last = size // LINE * LINE, first + count == n
                    copy(target, source, size if last else whole, whole // LINE)
                    rest, target = size - whole, target + whole
                    if not last:
                        copy(tile + LINE - rest, source + whole, rest, 0)
            if past:
                fence()
            return uint(0)

        def single_loop(x, out, scale, k, value, row, how, index):
            r = unpack(row)
            at, to, high = address_of(x), address_of(out), out.size // (item * scale.size)
            ahead = 4 * x.size if how & AHEAD else 0
            scales, values = address_of(scale), address_of(value)
            for b in range(out.size // (k * item)):
                start = 4 * k * (b // high)
                for i in range(start, start + 4 * k, 64):
                    prefetch(at + ahead)
                    s, t = part_of(scale, scales + i, 16), part_of(value, values + i, 16)
                    sixteen(numbers(x, out, at), results(x, out, to), s, t, r)
                    at += 16 * of
                    to += 16 * item
            return uint(0)

        return single_loop if single else loop

    def simple(operation):
        """A loop over blocks of any length: numbers, and their scale."""

        def loop(x, out, scale, k, value, row, how, index):
            y = part_of(x, address_of(out), x.size)
            for b in range(scale.size):
                s = to_float(scale[b])
                for i in range(b * k, b * k + k):
                    write(y, i, to_bits(operation(to_float(read(x, i)), s)))
            return uint(0)

        def single_loop(x, out, scale, k, value, row, how, index):
            y, high = part_of(x, address_of(out), x.size), x.size // scale.size
            for b in range(x.size // k):
                start = b // high * k
                for i in range(k):
                    made = operation(to_float(read(x, b * k + i)), to_float(read(scale, start + i)))
                    write(y, b * k + i, to_bits(made))
            return uint(0)

        return single_loop if single else loop

    # --- amaxes -----------------------------------------------------------------------------------
    def amax(nan):
        """Each block's largest magnitude, as bits, and the largest of all; NaN counts or not."""
        of_one, of_four = largest(nan)

        @numba.njit(**INLINE)
        def larger(most, x):
            a = uint(x & ABS)
            if not nan:
                # a choice would keep the loop scalar: all ones unless a is a NaN's
                a = uint(a & uint(uint(uint(a + NAN_TO_SIGN) >> uint(31)) - uint(1)))
            return a if a > most else most

        def loop(x, out, scale, k, value, row, how, index):
            found, most, at = part_of(x, address_of(out), out.size // 4), uint(0), address_of(x)
            if k % 16 == 0:
                fours = found.size // 4 * 4
                for b in range(0, fours, 4):
                    most = max(most, of_four(at, k // 16, part_of(x, address_of(out) + 4 * b, 4)))
                    at += 16 * k
                for b in range(fours, found.size):
                    found[b] = of_one(at, k // 16)
                    most = max(most, found[b])
                    at += 4 * k
                return most
            for b in range(found.size):
                v, a = x[b * k : b * k + k], uint(0)
                for i in range(k):
                    a = larger(a, uint(v[i]))
                found[b] = a
                most = max(most, a)
            return most

        def single_loop(x, out, scale, k, value, row, how, index):
            found, most = part_of(x, address_of(out), out.size // 4), uint(0)
            high = x.size // found.size
            found[:] = 0
            for b in range(x.size // k):
                start = b // high * k
                v, y = x[b * k : b * k + k], found[start : start + k]
                for i in range(k):
                    y[i] = larger(uint(y[i]), uint(v[i]))
            for b in range(found.size):
                most = max(most, found[b])
            return most

        return single_loop if single else loop

    def made(name):
        body, ahead, behind = BLOCK_LOOPS[name]
        if body in BLOCK_BODIES:
            return each(programs[list(BLOCK_BODIES).index(body)], BLOCK_BODIES[body], ahead, behind)
        return simple(operations[ahead]) if body == "scale" else amax(body == "amax")

    return made
