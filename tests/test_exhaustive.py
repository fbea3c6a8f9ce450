"""Every float32 there is, to nearest even, under both overflow rules, against implementations that are not ours.

A row names the peer for each rule. Where no peer has a rule, it is derived from the other rule's answers by one step on
the peer's codes: a number whose code is no finite value becomes the largest finite value of its sign, as
"line > max_line" says. tf32 has no peer; the integers of its definition are written out here.

NaN inputs must give the canonical NaN of the format, stated here; in formats without one they are compared with CUDA's
largest value. Values are compared with the peer's codes as a peer decodes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType

import numpy as np
import pytest
from oracles import cuda_host, ml_dtypes_cast, torch_cast
from sweep import CHUNK, SIGN, Check, Difference, Scratch, fill, numbers, sweep

import fpformats as fp

Cast = Callable[[np.ndarray], np.ndarray]


def tf32_codes(x: np.ndarray) -> np.ndarray:
    """Round the word to its top 19 bits, half to even; the carry runs into the exponent and up to infinity's code."""
    bits = x.view(np.uint32)
    lowest_kept = (bits >> np.uint32(13)) & np.uint32(1)
    return (bits + (np.uint32(0x0FFF) + lowest_kept)) >> np.uint32(13)


def tf32_values(codes: np.ndarray) -> np.ndarray:
    """A code is the top 19 bits of the value."""
    return (codes.astype(np.uint32) << np.uint32(13)).view(np.float32)


@dataclass(frozen=True)
class Row:
    """The expected answers for one format: `saturate` or `nonfinite` is None where it follows from the other one.

    ``nan`` are the codes of +NaN and -NaN, or None for what the peer answers.
    """

    bits: int
    largest: int
    nan: tuple[int, int] | None
    decode: Cast
    saturate: Cast | None = None
    nonfinite: Cast | None = None
    peers: tuple[ModuleType, ...] = ()

    @property
    def dtype(self) -> type[np.unsignedinteger]:
        return np.uint8 if self.bits <= 8 else np.uint16 if self.bits <= 16 else np.uint32


def by_torch(name: str, bits: int, largest: int, nan: tuple[int, int], **more: object) -> Row:
    """torch's cast, which overflows to infinity or NaN."""
    row = {"nonfinite": partial(torch_cast.codes, name), "peers": (torch_cast,), **more}
    return Row(bits, largest, nan, partial(torch_cast.decode, name), **row)


def by_ml_dtypes(name: str, largest: int, nan: tuple[int, int]) -> Row:
    """ml_dtypes' cast, which overflows to infinity."""
    decode, nonfinite = partial(ml_dtypes_cast.decode, name), partial(ml_dtypes_cast.codes, name)
    return Row(8, largest, nan, decode, nonfinite=nonfinite, peers=(ml_dtypes_cast,))


def by_cuda(name: str, decoder: str, bits: int, largest: int) -> Row:
    """NVIDIA's cast to a format without infinity and NaN: both rules clamp."""
    decode, saturate = partial(ml_dtypes_cast.decode, decoder), partial(cuda_host.codes, name, saturate=True)
    return Row(bits, largest, None, decode, saturate=saturate, peers=(cuda_host, ml_dtypes_cast))


BOTH = (torch_cast, cuda_host)
ROWS = {
    "fp16": by_torch("float16", 16, 0x7BFF, (0x7E00, 0xFE00)),
    "bf16": by_torch("bfloat16", 16, 0x7F7F, (0x7FC0, 0xFFC0)),
    "tf32": Row(19, 0x3FBFF, (0x3FE00, 0x7FE00), tf32_values, nonfinite=tf32_codes),
    "e4m3": by_torch(
        "float8_e4m3fn", 8, 0x7E, (0x7F, 0xFF), peers=BOTH,
        saturate=partial(torch_cast.codes, "float8_e4m3fn"),
        nonfinite=partial(cuda_host.codes, "e4m3", saturate=False),
    ),
    "e5m2": by_torch(
        "float8_e5m2", 8, 0x7B, (0x7E, 0xFE), peers=BOTH, saturate=partial(cuda_host.codes, "e5m2", saturate=True)
    ),
    "e4m3fnuz": by_torch("float8_e4m3fnuz", 8, 0x7F, (0x80, 0x80)),
    "e5m2fnuz": by_torch("float8_e5m2fnuz", 8, 0x7F, (0x80, 0x80)),
    "e4m3_ieee": by_ml_dtypes("float8_e4m3", 0x77, (0x7C, 0xFC)),
    "e3m4": by_ml_dtypes("float8_e3m4", 0x6F, (0x78, 0xF8)),
    "e3m2": by_cuda("e3m2", "float6_e3m2fn", 6, 0x1F),
    "e2m3": by_cuda("e2m3", "float6_e2m3fn", 6, 0x1F),
    "e2m1": by_cuda("e2m1", "float4_e2m1fn", 4, 0x7),
}  # fmt: skip


def expected_runs(row: Row, start: int, x: np.ndarray, values: np.ndarray, scratch: Scratch) -> dict[str, tuple]:
    """For each overflow rule the places where the expected code changes, and the codes from there on."""
    count = x.size if row.nan is None else numbers(start, x.size)
    negative = start >= SIGN
    answers = {}
    for rule in ("saturate", "nonfinite"):
        if cast := getattr(row, rule):
            codes = cast(x.view(np.float32))[:count]
            starts = scratch.starts(codes)
            answers[rule] = starts, codes[starts].astype(row.dtype)
    for rule, other in (("saturate", "nonfinite"), ("nonfinite", "saturate")):
        if rule not in answers:
            starts, codes = answers[other]
            largest = row.largest | negative << row.bits - 1
            answers[rule] = starts, np.where(np.isfinite(values[codes]), codes, row.dtype(largest))
    if count < x.size:
        nan = row.dtype(row.nan[negative])
        answers = {rule: (np.append(starts, count), np.append(codes, nan)) for rule, (starts, codes) in answers.items()}
    return answers


def make_check(name: str) -> Check:
    """A check of encode and quantize, both overflow rules."""
    row, scratch = ROWS[name], Scratch()
    values = row.decode(np.arange(1 << row.bits, dtype=row.dtype))
    value_bits = values.view(np.uint32)
    codes, expected_codes = np.empty(CHUNK, row.dtype), np.empty(CHUNK, row.dtype)
    quantized, expected_values = np.empty(CHUNK, np.float32), np.empty(CHUNK, np.uint32)
    nan = "max" if row.nan is None else "raise"

    def check(start: int, x: np.ndarray) -> Difference | None:
        for rule, (starts, run_codes) in expected_runs(row, start, x, values, scratch).items():
            starts = starts.tolist()
            fill(expected_codes, starts, run_codes.tolist())
            fp.encode(x.view(np.float32), name, overflow=rule, nan=nan, out=codes)
            what = f"{name}, nearest_even, {rule}"
            if difference := scratch.compare(f"encode to {what}", x, expected_codes, codes):
                return difference
            fill(expected_values, starts, value_bits[run_codes].tolist())
            fp.quantize(x.view(np.float32), name, overflow=rule, nan=nan, out=quantized)
            bits = quantized.view(np.uint32)
            if difference := scratch.compare(f"quantize to {what}", x, expected_values, bits, as_float=True):
                return difference
        return None

    return check


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ROWS)
def test_all_float32(name: str, need: Callable[..., None]) -> None:
    need(*ROWS[name].peers)
    difference = sweep(partial(make_check, name))
    assert difference is None, str(difference)
