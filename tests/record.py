"""Record what torch, ml_dtypes, NumPy and NVIDIA's headers answer on boundary inputs, into ``tests/data``.

Run ``python tests/record.py`` where all four are installed, after one of them has changed what it does. The inputs of a
format are, in both signs: every value, every midpoint of two values, the edge of overflow, and the source's neighbours of
each of these (16-bit formats: of the ends of every binade and of a random sample), then the special values of the source.
"""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
from oracles import cuda_host, ml_dtypes_cast, torch_cast
from oracles.exact import Grid
from oracles.recorded import DIRECTORY, SOURCES, Case, save

#: The formats' integers: mantissa bits, emin, line of the largest finite value, line of code 0.
GRIDS = {
    "fp16": (10, -14, 0x7BFF, 0),
    "bf16": (7, -126, 0x7F7F, 0),
    "e5m2": (2, -14, 0x7B, 0),
    "e4m3": (3, -6, 0x7E, 0),
    "e4m3_ieee": (3, -6, 0x77, 0),
    "e3m4": (4, -2, 0x6F, 0),
    "e5m2fnuz": (2, -15, 0x7F, 0),
    "e4m3fnuz": (3, -7, 0x7F, 0),
    "e4m3b11fnuz": (3, -10, 0x7F, 0),
    "e3m2": (2, -2, 0x1F, 0),
    "e2m3": (3, 0, 0x1F, 0),
    "e2m1": (1, 0, 0x7, 0),
    "ue5m3": (3, -14, 0xFE, 0),
    "e8m0": (0, -127, 255, 1),
}

TORCH = {
    "fp16": "float16",
    "bf16": "bfloat16",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "e4m3fnuz": "float8_e4m3fnuz",
    "e5m2fnuz": "float8_e5m2fnuz",
    "e8m0": "float8_e8m0fnu",
}

ML_DTYPES = {
    **TORCH,
    "e4m3_ieee": "float8_e4m3",
    "e3m4": "float8_e3m4",
    "e4m3b11fnuz": "float8_e4m3b11fnuz",
    "e3m2": "float6_e3m2fn",
    "e2m3": "float6_e2m3fn",
    "e2m1": "float4_e2m1fn",
}

SPECIALS = {
    "float32": (
        0,
        1,
        8388607,
        8388608,
        2139095039,
        2139095040,
        2139095041,
        2141266757,
        2143289344,
        2143289345,
        2147483647,
    ),
    "float64": (
        0,
        1,
        4503599627370495,
        4503599627370496,
        3936146074321813504,
        5183643170835005440,
        9218868437227405311,
        9218868437227405312,
        9218868437227405313,
        9219994337134247936,
        9221120237041090560,
        9221703202992855740,
        9223372036854775807,
    ),
}


def _lines(grid: Grid, mantissa_bits: int) -> list[int]:
    """Indices into the list of values: all of them, or of a 16-bit format the ends of every binade and a sample."""
    size = len(grid.values)
    if size <= 256:
        return list(range(size))
    rng = np.random.default_rng(0)
    ends = np.arange(0, size, 2**mantissa_bits)
    chosen = {0, 1, 2, 3, *(ends - 1), *ends, *(ends + 1), size - 2, size - 1, *rng.integers(0, size, 128)}
    return sorted(int(index) for index in chosen if 0 <= index < size)


def inputs(fmt: str, source: str) -> np.ndarray:
    """The boundary inputs of a format, as described above."""
    mantissa_bits, emin, max_line, min_line = GRIDS[fmt]
    grid = Grid(mantissa_bits=mantissa_bits, emin=emin, max_line=max_line + 1, min_line=min_line)
    points: set[Fraction] = {grid.values[0] / 2, grid.values[-1] * 2}
    for index in _lines(grid, mantissa_bits):
        here = grid.values[index]
        above = grid.values[min(index + 1, len(grid.values) - 1)]
        points |= {here, above, (here + above) / 2}
    unsigned = np.dtype(source).str.replace("f", "u")
    largest = Fraction(float(np.finfo(source).max))
    exact = np.array([float(point) for point in sorted(points) if point <= largest], source)
    around = exact.view(unsigned).astype(object)
    bits = {int(b) + step for b in around for step in (-1, 0, 1) if b or step >= 0} | set(SPECIALS[source])
    positive = np.array(sorted(bits), unsigned)
    sign = np.array(1, unsigned) << (8 * positive.itemsize - 1)
    return np.concatenate([positive, positive | sign]).view(source)


def cases() -> list[Case]:
    """Ask every peer everything that it offers."""
    found = []
    for source in SOURCES:
        via: dict[str, object] = {"via": "float32"} if source == "float64" else {}
        for fmt in GRIDS:
            x = inputs(fmt, source)
            if name := TORCH.get(fmt):
                policy = {"device": "cpu", **via}
                if fmt in ("fp16", "bf16"):
                    policy["nan"] = "any"
                found.append(Case("torch", torch_cast.version(), fmt, source, policy, x, torch_cast.codes(name, x)))
            if name := ML_DTYPES.get(fmt):
                peer, policy = ("numpy", {}) if fmt == "fp16" else ("ml_dtypes", via)
                version = ml_dtypes_cast.version(name)
                found.append(Case(peer, version, fmt, source, policy, x, ml_dtypes_cast.codes(name, x)))
            for saturate in (True, False):
                for rounding in ("rn", "rz", "ru", "rd"):
                    if cuda_host.supports(fmt, source, saturate=saturate, rounding=rounding):
                        codes = cuda_host.codes(fmt, x, saturate=saturate, rounding=rounding)
                        policy = {"saturate": saturate, "rounding": rounding}
                        found.append(Case("cuda", cuda_host.version(), fmt, source, policy, x, codes))
    return found


def main() -> int:
    """Write the files and say what is in them."""
    for peer in (torch_cast, ml_dtypes_cast, cuda_host):
        if reason := peer.available():
            print(f"nothing recorded: {reason}", file=sys.stderr)
            return 1
    found = cases()
    save(found)
    for path in sorted(DIRECTORY.glob("casts_*.npz")):
        print(f"{path.name}: {path.stat().st_size:,} bytes")
    peers = sorted({f"{case.peer} {case.version}" for case in found})
    print(f"{len(found)} cases, {sum(case.codes.size for case in found):,} answers: {', '.join(peers)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
