"""What formats did to values, counted: the numbers of a comparison's row.

Rules of this file

1. Every number of the report is defined in `Row`, once.
2. Nothing is kept but sums and counts, so a tensor of any size can be fed in chunks.
3. The errors are measured in float64; squares are scaled, so that no magnitude overflows them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..block_format import BlockFormat
from ..blocks.array import BlockArray
from ..format import Format
from ..registry import get, get_element

__all__ = ["CHUNK", "Accumulator", "Row"]

#: Elements a step: large enough that NumPy's overhead vanishes, small enough to stay in cache.
CHUNK = 1 << 13


@dataclass(frozen=True)
class Row:
    """What one format does to one set of values. x is an input, q its result.

    Attributes
    ----------
    format : str
        The format's name.
    bits : int or float
        Width of one code; of a block format the codes, scales and second level, shared out among all values.
    count : int
        Number of inputs, whatever they are.
    sqnr_db : float
        Signal to quantization noise, 10 log10(sum x^2 / sum (x - q)^2) over finite x, in decibels.
        inf when nothing changed, -inf when a finite x became infinite or NaN, nan when every
        finite x is zero.
    max_rel_error, mean_rel_error : float
        The largest and the mean |x - q| / |x| over finite nonzero x; infinite when a finite x
        became infinite or NaN, nan when there is no such x. A value flushed to zero counts 1.
    saturated : int
        Finite x beyond the format: x > max, or x < min for a signed format. The result is then the
        largest finite value, an infinity or NaN. Of a block format, x beyond the last value that its block can hold
        by more than half the step before that, so that it is not merely rounded.
    flushed : int
        Finite nonzero x whose result is zero.
    subnormal : int
        Nonzero results below the format's smallest normal number; of a block format, the block's.
    inf, nan : int
        Results that are infinite, and that are NaN, those whose input was already so included.
    """

    format: str
    bits: int | float
    count: int
    sqnr_db: float
    max_rel_error: float
    mean_rel_error: float
    saturated: int
    flushed: int
    subnormal: int
    inf: int
    nan: int


class _Squares:
    """A sum of squares as total * 4**exponent: no square over- or underflows."""

    def __init__(self) -> None:
        self.total = 0.0
        self.exponent = 0

    def add(self, magnitudes: np.ndarray) -> None:
        top = float(magnitudes.max(initial=0.0))
        if top == 0.0 or self.total == math.inf:
            return
        if top == math.inf:
            self.total = math.inf
            return
        # not below -1000, so that the scale is a float; squares of what is left there are far from zero
        exponent = max(math.frexp(top)[1], -1000)
        if self.total:
            exponent = max(exponent, self.exponent)
        scaled = magnitudes * math.ldexp(1.0, -exponent)
        self.total = math.ldexp(self.total, 2 * (self.exponent - exponent)) + float(np.dot(scaled, scaled))
        self.exponent = exponent


def _ratio_db(signal: _Squares, noise: _Squares) -> float:
    if noise.total == 0.0:
        return math.inf if signal.total else math.nan
    if signal.total == 0.0 or noise.total == math.inf:
        return -math.inf
    powers = 2 * (signal.exponent - noise.exponent) * math.log10(2)
    return 10 * (math.log10(signal.total) - math.log10(noise.total) + powers)


def _threshold(value: object) -> float:
    """A format's limit as float64; inf where it is beyond every float64 (and so no input passes it)."""
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


Limit = Any  # one number, or one for each of a chunk's


class Accumulator:
    """Collects one format's `Row` from any number of chunks (of a block format: of whole arrays).

    Parameters
    ----------
    fmt : str, Format or BlockFormat
        The format the results are in.

    Examples
    --------
    >>> import numpy as np
    >>> part = Accumulator("e4m3")
    >>> part.update(np.array([1.0, 500.0]), np.array([1.0, 448.0]))
    >>> part.update(np.array([2.0 ** -11]), np.array([0.0]))
    >>> row = part.result()
    >>> row.count, row.saturated, row.flushed, row.max_rel_error
    (3, 1, 1, 1.0)
    """

    def __init__(self, fmt: str | Format | BlockFormat) -> None:
        self.format = get(fmt)
        self._limits: tuple[float, float, float] | None = None
        if isinstance(self.format, Format):
            above, low = _threshold(self.format.max), _threshold(self.format.min)
            # without exponents (int8) every value is equally far from its neighbours: none is "subnormal"
            normal = _threshold(self.format.smallest_normal) if self.format.exponent_bits else 0.0
            self._limits = above, low if self.format.signed else -math.inf, normal
        self._bits = 0  # of what block arrays take
        self._signal, self._noise = _Squares(), _Squares()
        self._nonzero = 0
        self._relative_sum = 0.0
        self._relative_max = 0.0
        self._counts = dict.fromkeys(("count", "saturated", "flushed", "subnormal", "inf", "nan"), 0)

    def update(self, x: np.ndarray, q: np.ndarray) -> None:
        """Count inputs `x` and their results `q`, arrays of the same size; of an element format."""
        if self._limits is None:
            raise TypeError(f"{self.format.name} is a block format; update_blocks was expected")
        x, q = np.asarray(x).reshape(-1), np.asarray(q).reshape(-1)
        if x.shape != q.shape:
            raise ValueError(f"x has {x.size} values and q has {q.size}; as many of each were expected")
        for start in range(0, x.size, CHUNK):
            stop = start + CHUNK
            self._add(x[start:stop].astype(np.float64), q[start:stop].astype(np.float64), *self._limits)

    def update_blocks(self, x: np.ndarray, q: BlockArray) -> None:
        """Count an array `x` and what it became in a block format."""
        element = get_element(q.format.element)
        lowest = element.max_code | element.sign_bit
        if element.twos_complement:
            lowest = element.sign_bit + q.format.symmetric

        def at(code: int) -> np.ndarray:
            """Every value's block's value of one code."""
            codes = np.full(q.codes.shape, code, np.uint8)
            other = BlockArray._trusted(codes, q.scales, q.format, q.tensor_scale, q._tiling, q.zero_points)
            return other.decode().reshape(-1).astype(np.float64)

        above, below = at(element.max_code), at(lowest)
        with np.errstate(invalid="ignore"):  # of blocks whose values are all infinite; no finite x is beyond those
            above = above + (above - at(element.max_code - 1)) / 2
            below = below + (below - at(lowest + 1 if element.twos_complement else lowest - 1)) / 2
        # integers have no smallest normal number
        smallest = at(1 << element.mantissa_bits) if element.exponent_bits else np.zeros(q.codes.size)
        made, flat = q.decode().reshape(-1), np.asarray(x).reshape(-1)
        for start in range(0, flat.size, CHUNK):
            part = slice(start, start + CHUNK)
            limits = above[part], below[part], smallest[part]
            self._add(flat[part].astype(np.float64), made[part].astype(np.float64), *limits)
        self._bits += 8 * q.nbytes

    def _add(self, x: np.ndarray, q: np.ndarray, above: Limit, below: Limit, normal: Limit) -> None:
        counts = self._counts
        counts["count"] += x.size
        if not np.isfinite(q).all():
            counts["inf"] += int(np.count_nonzero(np.isinf(q)))
            counts["nan"] += int(np.count_nonzero(np.isnan(q)))
        finite = np.isfinite(x)
        if not finite.all():
            x, q = x[finite], q[finite]
            above, below, normal = (
                limit[finite] if isinstance(limit, np.ndarray) else limit for limit in (above, below, normal)
            )
        size, small = np.abs(x), np.abs(q)
        nonzero = size != 0
        zeros = small == 0
        counts["saturated"] += int(np.count_nonzero((x > above) | (x < below)))
        counts["flushed"] += int(np.count_nonzero(zeros & nonzero))
        counts["subnormal"] += int(np.count_nonzero((small < normal) & ~zeros))
        with np.errstate(over="ignore"):  # a huge x against a far smaller q
            error = np.abs(np.subtract(x, q, out=x), out=x)
        error[np.isnan(error)] = math.inf  # x is finite here, so q was NaN
        self._signal.add(size)
        self._noise.add(error)
        if not nonzero.all():
            error, size = error[nonzero], size[nonzero]
        with np.errstate(over="ignore"):  # the quotient of a subnormal x
            error /= size
        self._nonzero += size.size
        self._relative_sum += float(error.sum())
        self._relative_max = max(self._relative_max, float(error.max(initial=0.0)))

    def result(self) -> Row:
        """The row of everything counted so far."""
        some = self._nonzero > 0
        if isinstance(self.format, Format):
            bits: int | float = self.format.bits
        else:
            bits = self._bits / self._counts["count"] if self._counts["count"] else self.format.bits_per_value
        return Row(
            format=self.format.name,
            bits=bits,
            sqnr_db=_ratio_db(self._signal, self._noise),
            max_rel_error=self._relative_max if some else math.nan,
            mean_rel_error=self._relative_sum / self._nonzero if some else math.nan,
            **self._counts,
        )
