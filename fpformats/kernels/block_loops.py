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


def block_loops(vocabulary: Words, programs: Any) -> Callable[..., Any]:
    """What numbers that share a scale need."""
    uint, flt, to_float, to_bits = vocabulary.uint, vocabulary.float, vocabulary.to_float, vocabulary.to_bits
    ABS, NAN_TO_SIGN = vocabulary.const(0x7FFFFFFF), vocabulary.const(0x7FFFFFFF - 0x7F800000)
    to_value, to_code, *from_code = programs

    def choose(words):
        """Sixteen numbers at an address: of x's type, or of out's."""

        def sixteen(x, out, address):
            return part_of(x if words else out, address, 16)

        return numba.njit(**INLINE)(sixteen)

    def each(step, of, item, size):
        """A loop over blocks of sixteens: `step(number, scale, value, zero, row)`; of so many bytes, to so many."""
        unpack = unpacker(size)
        step = numba.njit(**INLINE)(step)

        # of known length: a loop with another one for what is left over would rarely be entered
        @numba.njit(**INLINE)
        def words(v, y, s, t, z, r):
            for i in range(16):
                write(y, i, step(uint(read(v, i)), s, t, z, r))

        @numba.njit(**INLINE)
        def low_bytes(v, y, s, t, z, r):
            made = line_like(v)
            for i in range(16):
                made[i] = step(uint(read(v, i)), s, t, z, r)
            write_bytes(y, made)

        sixteen = words if item == 4 else low_bytes
        numbers = choose(of == 4)
        results = choose(item == 4)

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
                    s = to_float(scale[index[b]] if how & SCALE_AT else scale[b])
                    t = to_float(value[index[b]] if how & VALUE_AT else value[b])
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

        return numba.njit(**INLINE)(loop)

    def simple(step):
        """A loop over blocks of any length: `step(number, scale)`."""

        def loop(x, out, scale, k):
            for b in range(scale.size):
                v, y = x[b * k : b * k + k], out[b * k : b * k + k]
                s = to_float(scale[b])
                for i in range(k):
                    y[i] = to_bits(step(to_float(v[i]), s))

        return numba.njit(**INLINE)(loop)

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

    def amax(x, out, k, nan):
        """Each block's largest magnitude, as bits, and the largest of all; NaN counts or not."""
        if k % 16 == 0:
            return amax_of_sixteens(x, out, k) if nan else number_amax_of_sixteens(x, out, k)
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

    amax = numba.njit(**INLINE)(amax)

    def blocks(x, out, scale, kind, k, value, row, zero, how, index):
        """By kind, with results as bytes of `out`.

        0, 1: each block's largest magnitude, a NaN counting or not; 2, 3: its numbers times, or over, its scale;
        4, 5: that with `zero` added, rounded, times the block's value; 6, 7: that with `zero` added, as a code;
        8: as 4, over the block's value; 9, 10, 11: what its codes (bytes of x) decode to, times its scale, where the
        format has no infinity, may have one, is two's complement. From 4 on k is a multiple of 16, and `how` says
        whether results go past the caches, and whether a block's scale and value stand at its own place in `scale`
        and `value` or at the place that `index` names.
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
