"""Loops over numbers that share a scale, for `compiled`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from . import rows
from .bodies import Words
from .memory import INLINE, TILE, address_of, copy_past, fence, part_of, tile_address, unpacker

__all__ = ["block_loops"]


def block_loops(vocabulary: Words, programs: Any) -> Callable[..., Any]:
    """What numbers that share a scale need."""
    uint, flt, to_float, to_bits = vocabulary.uint, vocabulary.float, vocabulary.to_float, vocabulary.to_bits
    ABS, NAN_TO_SIGN = vocabulary.const(0x7FFFFFFF), vocabulary.const(0x7FFFFFFF - 0x7F800000)
    to_value, to_code = programs

    def each(step, item, size):
        """A loop over blocks of sixteens: `step(number, scale, value, zero, row)` gives results of so many bytes."""
        unpack = unpacker(size)
        step = numba.njit(**INLINE)(step)

        @numba.njit(**INLINE)
        def sixteen(v, y, s, t, z, r):
            # of known length: a loop with another one for what is left over would rarely be entered
            for i in range(16):
                y[i] = step(to_float(v[i]), s, t, z, r)

        def loop(x, out, scale, value, row, k, zero, past):
            r, z = unpack(row), to_float(zero)
            n, at, target, tile = scale.size, address_of(x), address_of(out), tile_address()
            past = past and k <= TILE
            most = TILE // k if past else n
            for first in range(0, n, most):
                count = min(most, n - first)
                to = tile if past else target
                for b in range(first, first + count):
                    s, t = to_float(scale[b]), to_float(value[b])
                    for _ in range(k // 16):
                        sixteen(part_of(x, at, 16), part_of(out, to, 16), s, t, z, r)
                        at += 64
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

    amax = numba.njit(**INLINE)(amax)

    def blocks(x, out, scale, kind, k, value, row, zero, past):
        """By kind, with results as bytes of `out`.

        0, 1: each block's largest magnitude, a NaN counting or not; 2, 3: its numbers times, or over, its scale;
        4, 5: that with `zero` added, rounded, times the block's value; 6, 7: that with `zero` added, as a code;
        8: as 4, over the block's value; 9: as 2. From 4 on k is a multiple of 16.
        """
        words = part_of(x, address_of(out), out.size // 4)
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
