"""Loops over numbers that share a scale, for `compiled`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from . import AHEAD, PAST, SCALE_AT, VALUE_AT, rows
from .bodies import Words
from .memory import (
    INLINE,
    TILE,
    address_of,
    copy_past,
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


def block_loops(vocabulary: Words, programs: Any, single: bool) -> Callable[..., Any]:
    """What numbers that share a scale need.

    Where blocks are `single`, one number wide and some rows high, the numbers of a row have each their own scale.
    """
    uint, flt, to_float, to_bits = vocabulary.uint, vocabulary.float, vocabulary.to_float, vocabulary.to_bits
    ABS, NAN_TO_SIGN = vocabulary.const(0x7FFFFFFF), vocabulary.const(0x7FFFFFFF - 0x7F800000)
    to_value, to_code, *from_code = programs

    def sixteen_at(words):
        """Sixteen numbers at an address: of x's type, or of out's."""

        def sixteen(x, out, address):
            return part_of(x if words else out, address, 16)

        return numba.njit(**INLINE)(sixteen)

    @numba.njit(**INLINE)
    def of_block(numbers, i):
        return to_float(numbers)

    @numba.njit(**INLINE)
    def of_number(numbers, i):
        return to_float(read(numbers, i))

    sixteen_words, sixteen_bytes = sixteen_at(True), sixteen_at(False)
    own = of_number if single else of_block
    unpackers = {size: unpacker(size) for size in set(rows.PREFIX.values())}

    def each(step, of, item, size):
        """A loop over blocks of sixteens: `step(number, scale, value, zero, row)`; of so many bytes, to so many."""
        unpack = unpackers[size]
        step = numba.njit(**INLINE)(step)

        # of known length: a loop with another one for what is left over would rarely be entered
        def words(v, y, s, t, z, r):
            for i in range(16):
                write(y, i, step(uint(read(v, i)), own(s, i), own(t, i), z, r))

        def low_bytes(v, y, s, t, z, r):
            made = line_like(v)
            for i in range(16):
                made[i] = step(uint(read(v, i)), own(s, i), own(t, i), z, r)
            write_bytes(y, made)

        sixteen = numba.njit(**INLINE)(words if item == 4 else low_bytes)
        numbers = sixteen_words if of == 4 else sixteen_bytes
        results = sixteen_words if item == 4 else sixteen_bytes

        def loop(x, out, scale, value, row, k, zero, how, index):
            r, z = unpack(row), to_float(zero)
            n, at, target, tile = out.size // (k * item), address_of(x), address_of(out), tile_address()
            past = how & PAST > 0 and k <= TILE
            ahead = 4 * x.size if how & AHEAD else 0
            most = TILE // k if past else n
            for first in range(0, n, most):
                count = min(most, n - first)
                to = tile if past else target
                for b in range(first, first + count):
                    s = scale[index[b]] if how & SCALE_AT else scale[b]
                    t = value[index[b]] if how & VALUE_AT else value[b]
                    for _ in range(k // 16):
                        prefetch(at + ahead)
                        sixteen(numbers(x, out, at), results(x, out, to), s, t, z, r)
                        at += 16 * of
                        to += 16 * item
                if past:
                    copy_past(target, tile, count * k * item)
                    target += count * k * item
            if past:
                fence()

        def single_loop(x, out, scale, value, row, k, zero, how, index):
            r, z = unpack(row), to_float(zero)
            at, to, high = address_of(x), address_of(out), out.size // (item * scale.size)
            ahead = 4 * x.size if how & AHEAD else 0
            first, first_value = address_of(scale), address_of(value)
            for b in range(out.size // (k * item)):
                start = 4 * k * (b // high)
                for i in range(start, start + 4 * k, 64):
                    prefetch(at + ahead)
                    s, t = part_of(scale, first + i, 16), part_of(value, first_value + i, 16)
                    sixteen(numbers(x, out, at), results(x, out, to), s, t, z, r)
                    at += 16 * of
                    to += 16 * item

        return numba.njit(**INLINE)(single_loop if single else loop)

    def simple(step):
        """A loop over blocks of any length: `step(number, scale)`."""

        def loop(x, out, scale, k):
            for b in range(scale.size):
                v, y = x[b * k : b * k + k], out[b * k : b * k + k]
                s = to_float(scale[b])
                for i in range(k):
                    y[i] = to_bits(step(to_float(v[i]), s))

        def single_loop(x, out, scale, k):
            high = x.size // scale.size
            for b in range(x.size // k):
                start = b // high * k
                v, y, s = x[b * k : b * k + k], out[b * k : b * k + k], scale[start : start + k]
                for i in range(k):
                    y[i] = to_bits(step(to_float(v[i]), to_float(s[i])))

        return numba.njit(**INLINE)(single_loop if single else loop)

    # a product that is not contracted with the sum, which then takes it for what it is: y + 0 is y without -0
    exact = numba.njit(**{**INLINE, "fastmath": False})

    @exact
    def product(a, s):
        return flt(a * s)

    @exact
    def quotient(a, s):
        return flt(a / s)

    def values_times(a, s, t, z, r):
        return to_bits(flt(to_float(to_value(to_bits(flt(product(to_float(a), s) + z)), r)) * t))

    def values_over(a, s, t, z, r):
        return to_bits(flt(to_float(to_value(to_bits(flt(quotient(to_float(a), s) + z)), r)) * t))

    def values_times_over(a, s, t, z, r):
        return to_bits(flt(to_float(to_value(to_bits(flt(product(to_float(a), s) + z)), r)) / t))

    def codes_times(a, s, t, z, r):
        return to_code(to_bits(flt(product(to_float(a), s) + z)), r)

    def codes_over(a, s, t, z, r):
        return to_code(to_bits(flt(quotient(to_float(a), s) + z)), r)

    def decoded(body):
        def times(a, s, t, z, r):
            return to_bits(flt(to_float(body(a, r)) * s))

        return times

    times, over = simple(product), simple(quotient)
    size = rows.PREFIX["round"]
    values_times, values_over, values_times_over = (
        each(step, 4, 4, size) for step in (values_times, values_over, values_times_over)
    )
    size = rows.PREFIX["encode"]
    codes_times, codes_over = each(codes_times, 4, 1, size), each(codes_over, 4, 1, size)
    size = rows.PREFIX["decode"]
    decoded, decoded_with_inf, decoded_twos_complement = (each(decoded(body), 1, 4, size) for body in from_code)

    def sixteens_amax(nan):
        """A loop for blocks of sixteens, four at a time; NaN counts or not."""
        of_one, of_four = largest(nan)

        def loop(x, out, k):
            most, at, fours = uint(0), address_of(x), out.size // 4 * 4
            for b in range(0, fours, 4):
                most = max(most, of_four(at, k // 16, out[b : b + 4]))
                at += 16 * k
            for b in range(fours, out.size):
                out[b] = of_one(at, k // 16)
                most = max(most, out[b])
                at += 4 * k
            return most

        return numba.njit(**INLINE)(loop)

    amax_of_sixteens, number_amax_of_sixteens = sixteens_amax(True), sixteens_amax(False)

    @numba.njit(**INLINE)
    def larger(most, x, nan):
        """The larger of two magnitudes; NaN counts or is 0."""
        a = uint(x & ABS)
        if not nan:
            # a choice would keep the loop scalar: all ones unless a is a NaN's
            a = uint(a & uint(uint(uint(a + NAN_TO_SIGN) >> uint(31)) - uint(1)))
        return a if a > most else most

    def any_amax(nan):
        """The same for blocks of any length."""

        def loop(x, out, k):
            largest = uint(0)
            for b in range(out.size):
                v = x[b * k : b * k + k]
                most = uint(0)
                for i in range(k):
                    most = larger(most, uint(v[i]), nan)
                out[b] = most
                largest = max(largest, most)
            return largest

        def single_loop(x, out, k):
            out[:] = 0
            high = x.size // out.size
            for b in range(x.size // k):
                start = b // high * k
                v, y = x[b * k : b * k + k], out[start : start + k]
                for i in range(k):
                    y[i] = larger(uint(y[i]), uint(v[i]), nan)
            largest = uint(0)
            for b in range(out.size):
                largest = max(largest, out[b])
            return largest

        return numba.njit(**INLINE)(single_loop if single else loop)

    amax_of_any, number_amax_of_any = any_amax(True), any_amax(False)

    def amax(x, out, k, nan):
        """Each block's largest magnitude, as bits, and the largest of all; NaN counts or not."""
        if k % 16 == 0:
            return amax_of_sixteens(x, out, k) if nan else number_amax_of_sixteens(x, out, k)
        return amax_of_any(x, out, k) if nan else number_amax_of_any(x, out, k)

    def single_amax(x, out, k, nan):
        return amax_of_any(x, out, k) if nan else number_amax_of_any(x, out, k)

    amax = numba.njit(**INLINE)(single_amax if single else amax)

    def blocks(x, out, scale, kind, k, value, row, zero, how, index):
        """By kind, with results as bytes of `out`.

        0, 1: each block's largest magnitude, a NaN counting or not; 2, 3: its numbers times, or over, its scale;
        4, 5: that with `zero` added, rounded, times the block's value; 6, 7: that with `zero` added, as a code;
        8: as 4, over the block's value; 9, 10, 11: what its codes (bytes of x) decode to, times its scale, where the
        format has no infinity, may have one, is two's complement. From 4 on k is a multiple of 16, and `how` says
        whether results go past the caches, and whether a block's scale and value stand at its own place in `scale`
        and `value` or at the place that `index` names.

        Where blocks are `single`, k is the length of a row of numbers, and `scale` and `value` have as many for each
        strip of rows, at their own places.
        """
        words = part_of(x, address_of(out), out.size // 4)
        if kind < 2:
            return amax(x, words, k, kind == 0)
        if kind == 2:
            times(x, words, scale, k)
        elif kind == 3:
            over(x, words, scale, k)
        elif kind == 4:
            values_times(x, out, scale, value, row, k, zero, how, index)
        elif kind == 5:
            values_over(x, out, scale, value, row, k, zero, how, index)
        elif kind == 6:
            codes_times(x, out, scale, value, row, k, zero, how, index)
        elif kind == 7:
            codes_over(x, out, scale, value, row, k, zero, how, index)
        elif kind == 8:
            values_times_over(x, out, scale, value, row, k, zero, how, index)
        elif kind == 9:
            decoded(x, out, scale, value, row, k, zero, how, index)
        elif kind == 10:
            decoded_with_inf(x, out, scale, value, row, k, zero, how, index)
        else:
            decoded_twos_complement(x, out, scale, value, row, k, zero, how, index)
        return uint(0)

    return blocks
