"""Where casts go wrong: every value of a format, every midpoint, and the numbers next to them.

All in integers: a point sig * 2^exp falls on a line of the source, and its neighbours are the lines beside it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..block_format import BlockFormat
from ..format import Format
from ..plan import code_dtype
from ..registry import get
from .source import Source, source_format

__all__ = ["boundary_bits", "boundary_inputs"]

Array = NDArray[Any]
#: lines of formats up to this many are all taken; of larger ones the ends of each binade
ALL_LINES = 1 << 16
#: points around which numbers at every power of two of the source's steps are taken
DISTANT = 512
#: lines at either end of a binade
ENDS = 4


def _lines(fmt: Format) -> Array:
    """Lines of the format and two beyond its largest, as int64."""
    last = fmt.max_line + 2
    if last < ALL_LINES:
        return np.arange(0 if fmt.has_zero else fmt.min_line, last + 1, dtype=np.int64)
    binade = np.int64(1) << fmt.mantissa_bits
    starts = np.arange(0, last + 1, int(binade), dtype=np.int64)
    around = starts[:, None] + np.arange(-ENDS, ENDS + 1)
    bits = starts[:, None] + (np.int64(1) << np.arange(fmt.mantissa_bits, dtype=np.int64))
    ends = np.concatenate([around.ravel(), bits.ravel(), last - np.arange(ENDS + 3)])
    return np.unique(ends[(ends >= fmt.min_line) & (ends <= last)])


def _points(fmt: Format) -> tuple[Array, Array]:
    """(sig, exp) of every value and midpoint: sig * 2^exp."""
    line, m = _lines(fmt), fmt.mantissa_bits
    normal = line >> m > 0
    sig = np.where(normal, (np.int64(1) << m) + (line & ((1 << m) - 1)), line)
    exp = np.where(normal, (line >> m) - 1, 0) + fmt.emin - m
    points = [(2 * sig, exp - 1), (2 * sig + 1, exp - 1)]
    if not fmt.subnormals and fmt.has_zero:  # the midpoint between zero and the smallest value
        points.append((np.ones(1, np.int64), np.full(1, fmt.emin - 1, np.int64)))
    return np.concatenate([a for a, _ in points]), np.concatenate([b for _, b in points])


def _bit_length(sig: Array) -> Array:
    """Of integers from 1 up to 2^60; exact, as halves of them are doubles."""
    high = sig >> 30
    low = np.frexp((sig & ((1 << 30) - 1)).astype(np.float64))[1]
    return np.where(high > 0, np.frexp(high.astype(np.float64))[1] + 30, low).astype(np.int64)


def _beside(sig: Array, exp: Array, source: Format) -> Array:
    """Lines of the source: of each point and on both its sides; of one between two lines, those two.

    And at every power of two of lines from it, on both sides: what an intermediate format takes for the point itself.
    """
    m = source.mantissa_bits
    sig, exp = sig[sig > 0], exp[sig > 0]
    e = np.maximum(_bit_length(sig) - 1 + exp, source.emin)
    shift = np.clip(exp - (e - m), -63, 62)
    s = np.where(shift >= 0, sig << np.maximum(shift, 0), sig >> np.maximum(-shift, 0))
    exact = (shift >= 0) | (s << np.maximum(-shift, 0) == sig)
    inside = e <= source.maxexp
    line = np.where(inside, ((np.minimum(e, source.maxexp) - source.emin) << m) + s, source.max_line + 1)
    some = line[:: max(1, line.size // DISTANT)]
    apart = np.int64(1) << np.arange(max(m, 1), dtype=np.int64)
    far = [(some[:, None] + sign * apart).ravel() for sign in (1, -1)]
    return np.unique(np.concatenate([line, line + 1, line[exact] - 1, *far]))


def _nan_codes(source: Format) -> Array:
    """NaN with every payload of one bit, without its highest and lowest, and all ones."""
    if source.nan_at_sign:
        return np.array([source.sign_bit], np.uint64)
    count = source.nan_codes or 0
    if not count:
        return np.zeros(0, np.uint64)
    first = source.top_line - source.min_line - count + 1
    bits = [first - 1 + (1 << i) for i in range(source.mantissa_bits)]
    chosen = {first, first + count - 1, source.nan_code or first, *bits}
    return np.array(sorted(code for code in chosen if first <= code < first + count), np.uint64)


def _patterns(source: Format) -> Array:
    """Every exponent with fractions of few ones and few zeros, in the manner of TestFloat."""
    m = source.mantissa_bits
    full = (1 << m) - 1
    single = [1 << i for i in range(m)]
    fractions = {0, full, *single, *(full ^ bit for bit in single), *((1 << i) - 1 for i in range(m)),
                 *(full ^ ((1 << i) - 1) for i in range(m))}  # fmt: skip
    exponents = np.arange(((source.top_line - source.min_line) >> m) + 1, dtype=np.uint64) << np.uint64(m)
    codes = (exponents[:, None] + np.array(sorted(fractions), np.uint64)).ravel()
    return codes[codes <= np.uint64(source.max_line - source.min_line)]


@lru_cache(maxsize=64)
def boundary_bits(fmt: Format, source: Format, level: int) -> Array:
    """`boundary_inputs` of an element format as codes of the source: positive, negative, then NaN."""
    near = _beside(*_points(fmt), source)
    near = near[(near >= source.min_line) & (near <= source.max_line)] - source.min_line
    ends = [0, 1, 2, (1 << source.mantissa_bits) - 1, 1 << source.mantissa_bits, source.max_code - 1, source.max_code]
    parts = [near.astype(np.uint64), np.array([code for code in ends if 0 <= code <= source.max_code], np.uint64)]
    if level == 2:
        parts.append(_patterns(source))
    if source.has_inf:
        parts.append(np.array([source.inf_code], np.uint64))
    plus = np.unique(np.concatenate(parts))
    sign = np.uint64(source.sign_bit)
    signed = [plus, plus | sign] if source.signed and not source.twos_complement else [plus]
    if source.nan_at_sign:
        signed[1] = signed[1][signed[1] != sign]
    nan = _nan_codes(source)
    signed += [nan, nan | sign] if source.signed and not source.nan_at_sign else [nan]
    bits = np.concatenate(signed).astype(code_dtype(source))
    bits.setflags(write=False)
    return bits


def boundary_inputs(fmt: str | Format | BlockFormat, source: Any = "float32", level: int = 1) -> Array:
    """The numbers at which casts to a format go wrong.

    Parameters
    ----------
    fmt : str, Format or BlockFormat
    source : str or dtype
        The type of the numbers: ``float32``, ``float64``, ``float16``, or a type of ml_dtypes.
    level : int
        1: every value of the format, every midpoint, two values and midpoints beyond the largest, for each the source's
        numbers at, below and above, and those at every power of two of the source's steps from it, which an
        intermediate format takes for the point itself; the source's own ends, zeros, infinities, and NaN with many
        payloads. Formats of more than 2^16 lines give the ends of their binades in place of all. 2: also every exponent
        of the source with fractions of few ones or few zeros, in the manner of Berkeley TestFloat.

    Returns
    -------
    numpy.ndarray
        One-dimensional, without doubles: positive numbers in order, then negative ones, then NaN. For a block format
        two-dimensional, in as many columns as a block has: see `block_inputs`.

    Raises
    ------
    ValueError
        Another level; a source that no array holds.

    Examples
    --------
    >>> from fpformats.testing import boundary_inputs
    >>> x = boundary_inputs("e2m1")
    >>> x[(x > 4.999999) & (x < 5.000001)].tolist()  # 5 is the midpoint of 4 and 6
    [4.999999523162842, 5.0, 5.000000476837158]
    >>> len(x), len(boundary_inputs("e2m1", level=2))
    (1686, 45964)
    """
    row = get(fmt)
    if level not in (1, 2):
        raise ValueError(f"level={level!r}: 1 or 2 was expected")
    kind = source_format(source)
    if isinstance(row, BlockFormat):
        from .block_inputs import block_inputs

        return block_inputs(row, kind, level)
    return Source(boundary_bits(row, kind, level), kind).array().copy()
