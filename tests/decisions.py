"""What the reference decides for every positive, or every negative, float32, as a few runs of bit patterns.

For a fixed sign and fixed rules the code of x can only change where x is a value of the format or the middle of two, or
passes from the subnormal float32 to the normal ones (when those are flushed). These places cut the patterns into single
points and open intervals. The reference is asked for each point, and for the first and the last pattern of each
interval; these must agree, and then so must all between.

Formats with many lines (fp16, bf16, tf32) are decided so at both ends of every binade, at the ends of the format and on
a random sample of lines. The other lines follow by class: position between two values, parity, subnormal or not. Every
member of a class that was decided must have been decided alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sweep import INF, SIGN

from fpformats import Format, reference
from fpformats.rounding import Rules

__all__ = ["Segments", "decide", "segments"]

#: Formats with no more lines than this are decided everywhere.
FEW = 512
SMALLEST_NORMAL = 0x00800000


@dataclass(frozen=True)
class Segments:
    """Runs of float32 magnitudes, in order: every one has one code.

    ``start`` and ``last`` are the first and the last pattern of each. ``line`` is the format's line at or below, and
    ``position`` says where: at its value (0), below the middle (1), at the middle (2), above (3); -1 for other cuts.
    """

    fmt: Format
    start: np.ndarray
    last: np.ndarray
    line: np.ndarray
    position: np.ndarray


def _values(fmt: Format, lines: np.ndarray) -> np.ndarray:
    """The magnitudes that stand at `lines`, exact in float64."""
    binade, fraction = np.divmod(lines, 1 << fmt.mantissa_bits)
    significand = fraction + np.where(binade > 0, 1 << fmt.mantissa_bits, 0)
    return np.ldexp(significand.astype(np.float64), np.maximum(binade, 1) - 1 + fmt.emin - fmt.mantissa_bits)


def _bits(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # what lies beyond float32 is infinity
        narrow = values.astype(np.float32)
    assert ((narrow == values) | np.isinf(narrow)).all(), "a value or middle that float32 does not hold"
    return narrow.view(np.uint32).astype(np.int64)


def segments(fmt: Format) -> Segments:
    """The cuts of a format whose values and middles are float32 numbers."""
    lines = np.arange(fmt.min_line, fmt.max_line + 2 + fmt.twos_complement)
    if not fmt.subnormals:
        lines = lines[(lines == 0) | (lines >= 1 << fmt.mantissa_bits)]
    values = _values(fmt, lines)
    at, middle = _bits(values), _bits((values[:-1] + values[1:]) / 2)
    beyond = int(at[-1])
    other = [0, 1, SMALLEST_NORMAL, beyond, min(beyond + 1, INF), INF, INF + 1]
    start = np.concatenate([other, np.stack([at[:-1], at[:-1] + 1, middle, middle + 1], axis=1).ravel()])
    line = np.concatenate([[-1] * len(other), np.repeat(lines[:-1], 4)])
    position = np.concatenate([[-1] * len(other), np.tile(np.arange(4), len(middle))])
    order = np.argsort(start, kind="stable")
    start, line, position = start[order], line[order], position[order]
    last = np.append(start[1:], SIGN) - 1
    some = last >= start  # neighbours may have nothing between them
    return Segments(fmt, start[some], last[some], line[some], position[some])


def _asked(cut: Segments, sample: int) -> np.ndarray:
    """Which segments the reference is asked about."""
    fmt = cut.fmt
    if fmt.max_line < FEW:
        return np.ones(cut.start.size, bool)
    ends = np.arange(0, fmt.max_line + 2, 1 << fmt.mantissa_bits)
    near = np.concatenate([ends + step for step in (-2, -1, 0, 1, 2)] + [[3, fmt.max_line - 1, fmt.max_line]])
    random = np.random.default_rng(sample).integers(0, fmt.max_line, sample)
    return np.isin(cut.line, np.concatenate([near, random])) | (cut.position < 0)


def _floats(magnitudes: np.ndarray, sign: np.uint32) -> list[float]:
    with np.errstate(invalid="ignore"):  # signalling NaN
        return (magnitudes.astype(np.uint32) | sign).view(np.float32).astype(np.float64).tolist()


def decide(cut: Segments, rules: Rules, *, negative: bool, sample: int = 2000) -> np.ndarray:
    """The code of every segment.

    Parameters
    ----------
    cut : Segments
        Of the target.
    rules : Rules
        A deterministic mode.
    negative : bool
        Which half of the float32 numbers.
    sample : int
        How many random lines of a large format the reference decides.
    """
    asked = _asked(cut, sample)
    codes = np.zeros(cut.start.size, np.int64)
    sign = np.uint32(SIGN if negative else 0)
    decided = []
    for first, last in zip(_floats(cut.start[asked], sign), _floats(cut.last[asked], sign), strict=True):
        code = reference.encode(first, cut.fmt, rules, source="fp32")
        if first < last or last < first:
            other = reference.encode(last, cut.fmt, rules, source="fp32")
            assert code == other, f"{cut.fmt.name}, {rules}: {first!r} and {last!r}, with no boundary between, differ"
        decided.append(code)
    codes[asked] = decided
    if not asked.all():
        _by_class(cut, codes, asked, cut.fmt.sign_bit if negative else 0)
    return codes


def _by_class(cut: Segments, codes: np.ndarray, asked: np.ndarray, sign: int) -> None:
    """Fill in the codes of the segments that were not asked about."""
    first_normal = 1 << cut.fmt.mantissa_bits
    kind = cut.position + 4 * (cut.line & 1) + 8 * (cut.line >= first_normal)
    special = (cut.line < 4) | (cut.line == first_normal - 1) | (cut.line == cut.fmt.max_line)
    magnitude = codes - sign
    flushed = -1
    step = np.where(magnitude == 0, flushed, magnitude - cut.line)
    for k in range(16):
        seen = np.unique(step[asked & ~special & (kind == k)])
        assert seen.size == 1, f"{cut.fmt.name}: lines of one class went {seen} lines up"
        rest = ~asked & (kind == k)
        codes[rest] = sign + (0 if seen[0] == flushed else cut.line[rest] + seen[0])
