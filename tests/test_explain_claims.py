"""What `explain` claims, read back from its printed text and from `as_dict`, against fractions worked out here.

The values of a format are made from the fields of its codes, in this file; neighbours, midpoint, tie, line, code, bits,
value and error follow from them. `fpformats.reference` must agree with both.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import fpformats as fp
from fpformats import reference
from fpformats.testing import boundary_inputs

TOYS = (
    fp.Format("toy", exponent_bits=3, mantissa_bits=2, bias=3, emax=2, subnormals=False),
    fp.Format("flat", exponent_bits=4, mantissa_bits=0),
    fp.Format("no_zero", exponent_bits=3, mantissa_bits=2, signed=False, has_zero=False, subnormals=False),
)
SMALL = [fmt for fmt in (*map(fp.get, fp.formats("element")), *TOYS) if fmt.bits <= 8]
LINE = re.compile(r"^  (.{12}) (.*)$")
PLACE = re.compile(r"(\S+) \(line (\d+), (?:not in \S+|code (0x[0-9a-f]+) = ([01 ]+))\)")


@lru_cache(maxsize=2)
def magnitudes(fmt: fp.Format) -> list[Fraction]:
    """Finite magnitudes by line, from the fields: codes up to the last finite one, sign bit off."""
    m = fmt.mantissa_bits
    found = []
    for code in range(fmt.max_code + 1):
        exponent, fraction = code >> m, code & ((1 << m) - 1)
        if exponent == 0 and fmt.has_zero:
            value = Fraction(fraction, 1 << m) * Fraction(2) ** (1 - fmt.bias) if fmt.subnormals else Fraction(0)
        else:
            value = (1 + Fraction(fraction, 1 << m)) * Fraction(2) ** (exponent - fmt.bias)
        found.append(value)
    if fmt.twos_complement:
        found.append(2 * found[1] * (1 << (m - 1)))  # the most negative
    return found


@dataclass(frozen=True)
class Expected:
    below: Fraction
    above: Fraction
    v: Fraction
    low_line: int
    high_line: int
    code: int
    beyond: bool


def expected(x: Fraction, negative: bool, fmt: fp.Format) -> Expected:
    """Rounding to nearest even by the default rules; sizes first, then the sign."""
    sizes, size, m = magnitudes(fmt), abs(x), fmt.mantissa_bits
    first = 0 if fmt.has_zero else 1 << m  # the line of code 0
    last = fmt.max_code + (negative and fmt.twos_complement)
    if size < sizes[0]:  # no zero: what is below becomes the smallest; a negative number is below an unsigned format
        code = fmt.nan_code if negative and size and fmt.has_inf and fmt.has_nan else 0
        return Expected(sizes[0], sizes[0], Fraction(0), first, first, code, False)
    if size <= sizes[last]:
        index = bisect_right(sizes, size, hi=last + 1) - 1
        if not fmt.subnormals and fmt.has_zero and size < Fraction(2) ** fmt.emin:
            index, after = 0, 1 << m
        else:
            after = index + 1
        low = sizes[index]
        if size == low:
            high, after = low, index
        else:
            high = sizes[after]
    else:  # the line goes on: binades of 2^M lines
        exponent = 0
        while Fraction(2) ** (exponent + 1) <= size:
            exponent += 1
        while Fraction(2) ** exponent > size:
            exponent -= 1
        exponent = max(exponent, fmt.emin)
        step = Fraction(2) ** (exponent - m)
        low = size // step * step
        index = int(low / step) + (exponent - fmt.emin) * (1 << m) - first
        high, after = (low, index) if low == size else (low + step, index + 1)
    v = (size - low) / (high - low) if high != low else Fraction(0)
    up = v > Fraction(1, 2) or (v == Fraction(1, 2) and index % 2 == 1)
    chosen = after if up else index
    beyond = chosen > last
    sign = 1 << (fmt.bits - 1)
    if negative and not fmt.signed and (chosen or not fmt.has_zero):
        code = fmt.nan_code if fmt.has_inf and fmt.has_nan else 0
    elif beyond and fmt.has_inf:
        code = fmt.max_code + 1 + sign * negative
    else:
        chosen = min(chosen, last)
        code = chosen + sign * (negative and fmt.signed)
        if fmt.twos_complement:
            code = (-chosen if negative else chosen) % (1 << fmt.bits)
        elif not chosen and not fmt.negative_zero:
            code = 0
    low_line, high_line = index + first, after + first
    if negative:
        return Expected(-high, -low, v, high_line, low_line, code, beyond)
    return Expected(low, high, v, low_line, high_line, code, beyond)


def number(words: str) -> tuple[Fraction | float, bool]:
    """(number, whether it is exact) of a printed number."""
    exact = not words.startswith("~")
    words = words.lstrip("~")
    if words.lstrip("-") in ("inf", "nan"):
        return float(words), True
    return Fraction(words), exact


def agree(words: str, value: Fraction | float) -> None:
    """A printed number is the value; one with ~ to 12 digits."""
    said, exact = number(words)
    if isinstance(value, float) and not math.isfinite(value):
        assert said == value or (said != said and value != value)
    elif exact:
        assert said == value, words
    else:
        assert abs(said - value) <= abs(value) * Fraction(1, 10**11), words


def dyadic(words: str) -> Fraction:
    """``13*2^-7``, ``-2^5``, ``3`` or ``1/3`` as a fraction."""
    if "^" not in words:
        return Fraction(words)
    found = re.fullmatch(r"(-?)(?:(\d+)\*)?2\^(-?\d+)", words)
    assert found, words
    size = int(found[2] or 1) * Fraction(2) ** int(found[3])
    return -size if found[1] else size


def plain(value: Any) -> Fraction:
    """A number of `as_dict`: a float, or a fraction as text."""
    return Fraction(value)


def code_words(code: int, fmt: fp.Format) -> str:
    bits = f"{code:0{fmt.bits}b}"
    cut = [
        bits[: int(fmt.signed)],
        bits[int(fmt.signed) : fmt.signed + fmt.exponent_bits],
        bits[fmt.signed + fmt.exponent_bits :],
    ]
    return " ".join(part for part in cut if part)


def check(x: float | Fraction, fmt: fp.Format) -> None:
    told = fp.explain(x, fmt)
    head, *rest = str(told).splitlines()
    assert head == f"{told.x} into {fmt.name}"
    said: dict[str, list[str]] = {}
    name = ""
    for line in rest:
        found = LINE.match(line)
        assert found, line
        name = found[1].strip() or name
        said.setdefault(name, []).append(found[2])
    data = told.as_dict()
    exact, negative = Fraction(x), (math.copysign(1, x) < 0 if isinstance(x, float) else x < 0)
    want = expected(exact, negative, fmt)
    # the number itself, in text and in data
    first, _, power = said["exact value"][0].partition(" = ")
    agree(first, exact)
    assert not power or dyadic(power) == exact
    assert plain(data["exact"]) == exact
    # the result, which the definition must give as well
    value = reference.decode(want.code, fmt)
    assert reference.encode(x, fmt) == want.code == data["code"]
    words, _, code = said["result"][0].partition(" = code ")
    agree(words, value)
    assert code == f"{want.code:#x} = {code_words(want.code, fmt)}"
    assert data["fields"] == code_words(want.code, fmt)
    if not math.isfinite(value):
        assert data["value"] == str(value)
    else:
        assert plain(data["value"]) == value
        agree(said["error"][0].partition(" = ")[0], Fraction(value) - exact)
        assert plain(data["error"]) == Fraction(value) - exact
    if not fmt.has_zero and (abs(exact) < magnitudes(fmt)[0] or not exact):
        assert "then" in said  # below the line: nothing to round
        return
    check_neighbours(want, exact, value, said, data, fmt)


def check_neighbours(
    want: Expected,
    exact: Fraction,
    value: Fraction | float,
    said: dict[str, list[str]],
    data: dict[str, Any],
    fmt: fp.Format,
) -> None:
    last = fmt.max_code + (0 if fmt.has_zero else 1 << fmt.mantissa_bits) + (exact < 0 and fmt.twos_complement)
    sides = {"a value": (want.below, want.low_line)} if want.below == want.above else {
        "below": (want.below, want.low_line), "above": (want.above, want.high_line)}  # fmt: skip
    for side, (point, line) in sides.items():
        found = PLACE.fullmatch(said[side][0])
        assert found, said[side][0]
        agree(found[1], point)
        assert int(found[2]) == line
        entry = data["below" if side == "a value" else side]
        assert (plain(entry["value"]), entry["line"]) == (point, line)
        in_format = line <= last and (fmt.signed or exact >= 0 or line == 0)
        assert (found[3] is not None) == in_format == (entry["code"] is not None)
        if in_format:
            code = int(found[3], 16)
            assert code == entry["code"]
            assert reference.decode(code, fmt) == point
            assert found[4] == code_words(code, fmt)
    assert plain(data["discarded"]) == want.v
    step = want.above - want.below
    if not want.v:
        assert not {"midpoint", "bits", "discarded", "even or odd"} & said.keys()
        return
    middle = (want.below + want.above) / 2
    words, tie, _ = said["midpoint"][0].partition(", x is on it: a tie")
    agree(words, middle)
    assert plain(data["midpoint"]) == middle
    assert bool(tie) == data["tie"] == (exact == middle) == ("even or odd" in said)
    found = re.fullmatch(r"v = (\S+) of the step; guard (\d), round (\d), sticky (\d)", said["discarded"][0])
    assert found
    agree(found[1], want.v)
    guard_round = int(want.v * 4)
    grs = [guard_round >> 1, guard_round & 1, int(want.v * 4 != guard_round)]
    assert [int(found[i]) for i in (2, 3, 4)] == grs == data["guard_round_sticky"]
    low, high = (want.low_line, want.high_line) if exact >= 0 else (want.high_line, want.low_line)
    first = 0 if fmt.has_zero else 1 << fmt.mantissa_bits
    if tie:
        parity = re.findall(r"(?:line|code) (\d+) is (even|odd), its last \w+ bit is (\d)", said["even or odd"][0])
        assert [(int(n), word, int(bit)) for n, word, bit in parity] == [
            (line - first, "odd" if (line - first) % 2 else "even", (line - first) % 2) for line in (low, high)
        ]
    toward = "away from zero" if want.v > Fraction(1, 2) or (tie and (low - first) % 2) else "toward zero"
    assert said["rule"][1].endswith(f"(line {low}), x {'<' if exact < 0 else '>'} 0: {toward}")
    assert f"s {'odd' if (low - first) % 2 else 'even'}" in said["rule"][1]
    assert ("overflow" in " ".join(said.get("then", []))) == (want.beyond and (fmt.signed or exact > 0))
    # the bits: kept and dropped make the number again
    if high == low + 1:
        kept, dropped, more, exponent = re.fullmatch(
            r"([01.]+)\|([01]*)(\.\.\.)? \* 2\^(-?\d+)", said["bits"][0]
        ).groups()
        whole = int(kept.replace(".", "") + dropped, 2)
        scale = Fraction(2) ** (int(exponent) - fmt.mantissa_bits - len(dropped))
        assert len(kept.partition(".")[2]) == fmt.mantissa_bits
        rest = abs(exact) / scale - whole
        assert 0 <= rest < 1
        assert (rest > 0) == bool(more)
        assert data["bits"] == {"kept": kept, "dropped": dropped, "more": bool(more), "exponent": int(exponent)}
    if math.isfinite(value):
        assert data["ulps"] == pytest.approx(float(abs(Fraction(value) - exact) / step), rel=1e-12)
        assert float(said["error"][0].split()[-2]) == pytest.approx(data["ulps"], rel=1e-3)


def numbers(fmt: fp.Format, count: int = 0) -> list[float]:
    """All boundary inputs, or about so many of them, without infinities and NaN."""
    x = boundary_inputs(fmt)
    x = x[np.isfinite(x)].astype(np.float64)
    return x[:: max(1, x.size // count)].tolist() if count else x.tolist()


def random_numbers(fmt: fp.Format, count: int, seed: int) -> list[float | Fraction]:
    """Around the format's range, of few and of many bits; some are no floats."""
    rng = np.random.default_rng(seed)
    low, high = max(fmt.emin - fmt.mantissa_bits - 2, -1000), min(fmt.maxexp + 2, 1000)
    exponents = rng.integers(low, high + 1, count).tolist()
    heads = rng.integers(1, 1 << rng.integers(1, 40, count)).tolist()
    signs = rng.choice([-1, 1], count).tolist()
    made: list[float | Fraction] = []
    for i, (e, head, sign) in enumerate(zip(exponents, heads, signs, strict=True)):
        exact = sign * Fraction(head, 1 << head.bit_length() - 1) * Fraction(2) ** e
        made.append(exact / 3 if i % 5 == 0 else float(exact))
    return made


@pytest.mark.parametrize("fmt", SMALL, ids=lambda fmt: fmt.name)
def test_a_few_of_each(fmt):
    for x in (
        *numbers(fmt, 8),
        *random_numbers(fmt, 6, fmt.bits),
        0.0,
        -0.0,
        float(min(Fraction(fmt.max), 2**1000)) * 1.75,
    ):
        check(x, fmt)


@pytest.mark.parametrize("name", ["e4m3", "e2m1", "e8m0", "int8", "e5m2fnuz", "ue5m3", "binary5p3uf"])
def test_many_of_some(name):
    fmt = fp.get(name)
    for x in (*numbers(fmt, 60), *random_numbers(fmt, 40, 1)):
        check(x, fmt)


@pytest.mark.nightly
@pytest.mark.parametrize("fmt", SMALL, ids=lambda fmt: fmt.name)
def test_hundreds_of_each(fmt):
    for x in (*numbers(fmt, 150), *random_numbers(fmt, 50, 2)):
        check(x, fmt)


@pytest.mark.nightly
@pytest.mark.parametrize("fmt", SMALL, ids=lambda fmt: fmt.name)
def test_all_boundaries_and_10000_others_of_each(fmt):
    for x in (*numbers(fmt), *random_numbers(fmt, 10_000, 3)):
        check(x, fmt)


@pytest.mark.parametrize("fmt", SMALL, ids=lambda fmt: fmt.name)
def test_infinities_and_nan(fmt):
    for x in (math.inf, -math.inf, math.nan):
        if math.isnan(x) and not fmt.has_nan:
            with pytest.raises(ValueError, match="NaN has no code"):
                fp.explain(x, fmt)
            continue
        told = fp.explain(x, fmt)
        assert told.code == reference.encode(x, fmt)
        assert (told.below, told.above, told.midpoint, told.bits, told.discarded, told.tie) == (None,) * 5 + (False,)
        assert told.as_dict()["exact"] == str(x)
        assert f"code {told.code:#x}" in str(told)
