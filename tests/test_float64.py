"""float64 sources are rounded once: every middle of two values of every format up to 16 bits, and its two neighbours.

These are the inputs that a way through float32 gets wrong. For nearest-even the answer is an integer: the code below
the middle, or the one above, or at the middle the even one of the two; so all are tried, and NVIDIA's conversions from
double and NumPy's float16 are asked too. In the other modes small formats are held against `oracles.exact`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from oracles import cuda_host
from oracles.exact import Grid, Rounded
from same import same_codes

import fpformats as fp

NAMES = [name for name in fp.formats("element") if fp.get(name).bits <= 16]
SMALL = [name for name in NAMES if fp.get(name).bits <= 6]
SMALL += [
    "e4m3",
    "e5m2",
    "e4m3fnuz",
    "e3m4",
    "e8m0",
    "ue5m3",
    "binary8p3uf",
]
MODES = ("nearest_even", "nearest_away", "nearest_zero", "toward_zero", "away_from_zero")
MODES += ("toward_positive", "toward_negative", "to_odd")
#: Formats beyond float64 run number by number, by the definition itself; they get a sample.
BY_DEFINITION = 500


def middles(fmt: fp.Format) -> tuple[np.ndarray, np.ndarray]:
    """(lines, the middle of each and the next one as float64), where that and its neighbours are normal numbers."""
    lines = np.arange(fmt.min_line, fmt.max_line + 1)
    if not fmt.subnormals:
        lines = lines[lines >= 1 << fmt.mantissa_bits]
    binade, fraction = np.divmod(2 * lines + 1, 2 << fmt.mantissa_bits)  # one more bit: a middle is an odd line there
    significand = fraction + np.where(binade > 0, 2 << fmt.mantissa_bits, 0)
    exponent = np.maximum(binade, 1) - 1 + fmt.emin - fmt.mantissa_bits - 1
    inside = (exponent > -1000) & (exponent < 1000)
    return lines[inside], np.ldexp(significand[inside].astype(np.float64), exponent[inside])


def nearest_even(fmt: fp.Format, lines: np.ndarray, overflow: str) -> list[np.ndarray]:
    """Codes of the numbers just below, at and just above the middles after `lines`."""
    codes = lines - fmt.min_line
    rounded = [codes, codes + (codes & 1), codes + 1]
    largest = fmt.max_line - fmt.min_line
    beyond = largest + 1 if overflow == "nonfinite" and fmt.has_inf else largest
    return [np.where(code > largest, beyond, code) for code in rounded]


def negated(fmt: fp.Format, codes: np.ndarray) -> np.ndarray:
    """The codes of the negative numbers, by those of the positive ones."""
    if fmt.twos_complement:
        return -codes & (1 << fmt.bits) - 1
    return np.where((codes == 0) & (not fmt.negative_zero), 0, codes | fmt.sign_bit)


@pytest.mark.parametrize("name", NAMES)
def test_every_middle(name: str) -> None:
    fmt = fp.get(name)
    lines, middle = middles(fmt)
    if fmt.emin - fmt.mantissa_bits < -1020 or fmt.maxexp > 1020:
        lines, middle = lines[:: -(-lines.size // BY_DEFINITION)], middle[:: -(-lines.size // BY_DEFINITION)]
    around = [np.nextafter(middle, 0), middle, np.nextafter(middle, np.inf)]
    for overflow in ("saturate", "nonfinite") if fmt.has_inf else ("saturate",):
        for x, expected in zip(around, nearest_even(fmt, lines, overflow), strict=True):
            same_codes(f"{name}, nearest_even, {overflow}", x, fp.encode(x, fmt, overflow=overflow), expected)
            if fmt.signed and not fmt.twos_complement:
                got = fp.encode(-x, fmt, overflow=overflow)
                same_codes(f"{name}, nearest_even, {overflow}", -x, got, negated(fmt, expected))


def test_every_middle_of_twos_complement() -> None:
    """int8 goes one further down than up, and its ties are even codes there too."""
    x = (np.arange(-300, 300) + 0.5) / 64
    for points in (x, np.nextafter(x, -np.inf), np.nextafter(x, np.inf)):
        expected = [max(-128, min(127, round(Fraction(float(point)) * 64))) & 0xFF for point in points]
        same_codes("int8, nearest_even", points, fp.encode(points, "int8"), np.array(expected))


def around_middles(fmt: fp.Format) -> np.ndarray:
    """Middles, their neighbours, an overflow, infinity and zero; negative too where the format has a sign."""
    middle = middles(fmt)[1]
    x = np.concatenate([np.nextafter(middle, 0), middle, np.nextafter(middle, np.inf), [1e300, np.inf, 0.0]])
    return np.concatenate([x, -x]) if fmt.signed else x


#: The conversions from double that NVIDIA's headers have.
CUDA = [(name, saturate) for name in ("e4m3", "e5m2", "ue5m3") for saturate in (True, False)]
CUDA += [(name, True) for name in ("e3m2", "e2m3", "e2m1")] + [("fp16", False), ("bf16", False)]


@pytest.mark.parametrize(("name", "saturate"), CUDA)
def test_cuda_double(name: str, saturate: bool, need: Callable[..., None]) -> None:
    """NVIDIA's conversions from double at the same places."""
    need(cuda_host)
    if not cuda_host.supports(name, np.float64, saturate=saturate):
        pytest.skip(f"CUDA {cuda_host.version()} headers have no {name} from double")
    fmt = fp.get(name)
    x = around_middles(fmt)
    overflow = "saturate" if saturate else "nonfinite"
    expected = cuda_host.codes(name, x, saturate=saturate)
    same_codes(f"{name}, {overflow}", x, fp.encode(x, fmt, overflow=overflow), expected)


def test_numpy_float16() -> None:
    """NumPy converts double to half directly."""
    x = around_middles(fp.FP16)
    with np.errstate(over="ignore", under="ignore"):
        expected = x.astype(np.float16)
    same_codes("fp16", x, fp.encode(x, "fp16"), expected.view(np.uint16))
    values = expected.astype(np.float64)
    same_codes("fp16 values", x, fp.quantize(x, "fp16").view(np.uint64), values.view(np.uint64))


def grid(fmt: fp.Format) -> Grid:
    """The oracle's own view of a format, from its integers."""
    return Grid(
        mantissa_bits=fmt.mantissa_bits, emin=fmt.emin, min_line=fmt.min_line, subnormals=fmt.subnormals,
        max_line=fmt.max_line, signed=fmt.signed, negative_zero=fmt.negative_zero,
        has_inf=fmt.has_inf, has_nan=fmt.has_nan,
    )  # fmt: skip


def code_of(fmt: fp.Format, result: Rounded) -> int:
    """A result of the oracle as a code."""
    sign = fmt.sign_bit if result.negative else 0
    if result.kind == "finite":
        return result.code | sign
    if result.kind == "inf":
        return fmt.inf_code | sign
    return fmt.nan_code | (0 if fmt.nan_at_sign else sign)


@pytest.mark.parametrize("name", [name for name in SMALL if not fp.get(name).twos_complement])
def test_every_mode(name: str) -> None:
    """Values, middles and their neighbours, in all deterministic modes under all overflow rules."""
    fmt = fp.get(name)
    oracle, middle = grid(fmt), middles(fmt)[1]
    values = np.array([float(value) for value in oracle.values])
    points = np.concatenate([middle, values, [2 * values[-1], 1e300, np.inf]])
    points = np.concatenate([points, np.nextafter(points, 0), np.nextafter(points, np.inf)])
    x = np.concatenate([points, -points])
    for rounding in MODES:
        for overflow in ("saturate", "propagate", "nonfinite"):
            expected = np.array([code_of(fmt, oracle.round(v, rounding, overflow)) for v in x.tolist()])
            got = fp.encode(x, fmt, rounding=rounding, overflow=overflow)
            same_codes(f"{name}, {rounding}, {overflow}", x, got, expected)
