"""Record what the packages of the block-scaling recipes answer on small inputs, into ``tests/data/blocks``.

Run ``python tests/record_blocks.py`` where all of them are installed (``oracles.block_peers`` says which), after one of them
or an adaptor has changed. The inputs are matrices of five kinds, every one recorded as the dtypes that hold it exactly:

* ties: amaxes a and G of block and tensor with 448 a / G on a midpoint of E4M3, and elements on midpoints times scales. The
  recipes' orders of operations round these apart, and hardly any others.
* normal: N(0, 1).
* wide, extreme, tiny, zeros: exponents far apart, subnormals, both zeros, zero blocks and tensors, huge blocks.
* edges: amaxes of MX blocks at powers of two, at powers of two times the largest elements, and some steps beside them.
* nan, inf: a few of them.

Blocks of 128 get inputs of their own, of rows that repeat.
"""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from oracles.block_peers import MODULES, same
from oracles.block_peers._common import installed
from oracles.block_peers.recorded import DIRECTORY, Case, save

Matrix = NDArray[np.float32]

#: Midpoints' mantissas: of E4M3 in sixteenths, of E5M2 in eighths, and the midpoints of E2M1 in quarters.
E4M3, E5M2, E2M1 = (17, 19, 21, 23, 25, 27, 29, 31), (9, 11, 13, 15), (1, 3, 5, 7, 10, 14, 20)

#: The largest value and its exponent, the mantissa bits and the smallest exponent of the MX elements.
ELEMENTS = {
    "e4m3": (Fraction(448), 8, 3, -6),
    "e5m2": (Fraction(57344), 15, 2, -14),
    "e3m2": (Fraction(28), 4, 2, -2),
    "e2m3": (Fraction(15, 2), 2, 3, 0),
    "e2m1": (Fraction(6), 2, 1, 0),
}

#: Amaxes of rows under which x * (448 / a) and x / (a / 448), in float32, round a midpoint apart; the largest comes first.
AMAXES = [Fraction(n, 32) for n in (196, 91, 196, 102, 104, 124, 69, 105)]


# --- numbers -------------------------------------------------------------------------------------
def power(exponent: int) -> Fraction:
    """2**exponent, exactly."""
    return Fraction(2) ** exponent


def fits(value: Fraction) -> bool:
    """Whether a positive number of ordinary size is a bfloat16."""
    significand, rest = value.numerator, value.denominator
    return rest & (rest - 1) == 0 and (significand // (significand & -significand)).bit_length() <= 8


def bfloat16(x: NDArray[np.floating]) -> Matrix:
    """Finite numbers rounded to bfloat16, to nearest even."""
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    return (bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def holds(x: Matrix, dtype: str) -> bool:
    """Whether every element is one of the dtype."""
    return dtype == "float32" or not (x.view(np.uint32) & 0xFFFF).any()


# --- ties ----------------------------------------------------------------------------------------
def tie_block(amax: Fraction, elements: list[Fraction], rng: np.random.Generator, size: int = 16) -> Matrix:
    """A block with this amax, as many of the elements as have room, then arbitrary ones; signs and places by chance."""
    fitting = [element for element in dict.fromkeys(elements) if element <= amax and fits(element)]
    chosen = rng.permutation(len(fitting))[: size - 1]
    values = [float(amax), *(float(fitting[index]) for index in chosen)]
    filler = bfloat16(float(amax) * rng.random(size - len(values)))
    return rng.permutation(np.concatenate([np.float32(values), filler]) * rng.choice([-1, 1], size).astype(np.float32))


def tie_blocks(tensor_amax: Fraction, top: int, count: int, rng: np.random.Generator) -> list[Matrix]:
    """Blocks of 16 with top * a / G on midpoints of E4M3; the first and every fourth has the amax G."""
    midpoints = [power(exponent - 4) * m for exponent in (8, 7, 5, 2, -1, -4) for m in E4M3]
    midpoints += [power(-10) * m for m in (3, 5, 1, 7)]
    ties = [m for m in midpoints if m < top and fits(m * tensor_amax / top)]
    blocks = []
    for index in range(count):
        scale = Fraction(top) if index % 4 == 0 else ties[(index - index // 4 - 1) % len(ties)]
        step = power(max(scale.numerator.bit_length() - scale.denominator.bit_length(), -6) - 3)
        around = {scale // step * step, -(-scale // step) * step} - {0}
        elements = [Fraction(m, 4) * s * tensor_amax / (6 * top) for s in sorted(around) for m in E2M1]
        blocks.append(tie_block(scale * tensor_amax / top, elements, rng))
    return blocks


def tie_matrix(tensor_amax: Fraction, top: int, rows: int, rng: np.random.Generator) -> Matrix:
    """Those blocks, four a row."""
    return np.stack(tie_blocks(tensor_amax, top, 4 * rows, rng)).reshape(rows, 64)


def tie_tiles(tensor_amax: Fraction, top: int, rng: np.random.Generator) -> Matrix:
    """Two rows of eight 16 × 16 tiles; every row of a tile is one of those blocks, rolled."""
    blocks = tie_blocks(tensor_amax, top, 16, rng)
    tiles = [np.stack([np.roll(block, 3 * row) for row in range(16)]) for block in blocks]
    return np.vstack([np.hstack(tiles[:8]), np.hstack(tiles[8:])])


def tie_row(amax: Fraction, width: int, rng: np.random.Generator) -> Matrix:
    """Elements on midpoints of E4M3 and E5M2 under scales 448 / a and 57344 / a, and under powers of two."""
    elements = [power(exponent) * m * amax / 448 for exponent in (4, 3, 0, -3, -7) for m in E4M3]
    elements += [power(exponent) * m * amax / 57344 for exponent in (12, 9, 3) for m in E5M2]
    elements += [power(exponent) * m for exponent in (-3, -5, -8) for m in E4M3 + E5M2]
    elements += [power(-14) * m for m in (1, 3, 5, 7)]
    return tie_block(amax, elements, rng, width)


def tie_elements(rng: np.random.Generator) -> Matrix:
    """MX blocks with elements on midpoints, subnormal ones too, under the largest amaxes of a scale and the least."""
    blocks = []
    for largest, top, mantissa, emin in ELEMENTS.values():
        unit = power(-mantissa - 1)
        for scale, amax in ((-3, largest), (0, power(top)), (5, largest)):
            odd = range(2 ** (mantissa + 1) + 1, 2 ** (mantissa + 2), 2)
            exponents = sorted({top, top - 1, (top + emin) // 2, emin})
            elements = [power(e) * unit * m for e in exponents for m in odd]
            elements += [power(emin) * unit * m for m in range(1, 2 ** (mantissa + 1), 2)]
            blocks.append(tie_block(amax * power(scale), [e * power(scale) for e in elements], rng, 32))
    blocks.append(np.zeros(32, np.float32))
    return np.stack(blocks).reshape(8, 64)


# --- the others ----------------------------------------------------------------------------------
def spread(exponents: NDArray[np.int64], deep: int, rng: np.random.Generator) -> Matrix:
    """A bfloat16 matrix: a block of 16 for each exponent, with elements down to `deep` binades below, four blocks a row."""
    shape = (exponents.size, 16)
    below = rng.integers(0, deep, shape)
    below[:, 0] = 0
    signed = rng.choice([-1.0, 1.0], shape) * (1 + rng.integers(0, 128, shape) / 128)
    with np.errstate(under="ignore"):
        x = bfloat16(np.ldexp(signed, exponents[:, None] - below).astype(np.float32))
    return rng.permuted(x, axis=1).reshape(-1, 64)


def wide(rng: np.random.Generator) -> Matrix:
    """Blocks of amaxes from 2 to 2**-35, some zeros of both signs, two zero blocks."""
    x = spread(rng.permutation(2 - np.arange(64) * 38 // 64), 12, rng)
    x[rng.random(x.shape) < 0.05] = 0
    x[rng.random(x.shape) < 0.05] = -0.0
    x[3, :32] = 0
    x[9, 32:] = -0.0
    return x


def extreme(rng: np.random.Generator) -> Matrix:
    """Blocks of amaxes from the largest bfloat16 to its smallest subnormal."""
    x = spread(rng.permutation(127 - np.arange(32) * 260 // 31), 6, rng)
    x[0, 0], x[5, 7], x[6, 9] = (np.uint32([0x7F7F0000, 0x80010000, 0x00010000])).view(np.float32)
    return x


def edges(steps: tuple[int, ...], ulp: int, rng: np.random.Generator) -> Matrix:
    """MX blocks whose amaxes lie these steps of `ulp` beside powers of two times 1, 1.5, 1.75, 1.875 and 1.9375."""
    amaxes = [
        int(np.float32(mantissa * 2.0**exponent).view(np.uint32)) + step * ulp
        for mantissa in (1, 1.5, 1.75, 1.875, 1.9375)
        for exponent in (-20, 3, 100)
        for step in steps
    ]
    # 2**-127, below and above; around the smallest normal; around 1.75 * 2**127 (not above: senseless in one package)
    ends = (0x00400000, 0x00400000 - ulp, 0x00400000 + ulp, 0x00800000, 0x00800000 - ulp, 0x7F600000 - 2 * ulp)
    amaxes += ends
    x = np.zeros((len(amaxes) + len(amaxes) % 2, 32), np.uint32)
    x[: len(amaxes), 0] = amaxes
    shrunk = bfloat16(x[:, :1].view(np.float32) * np.float32([0.75, 0.4, 0.1, 0.03, 0.003]))
    x[:, 3:8] = shrunk.view(np.uint32)
    x[:, 4:9:2] ^= np.uint32(0x80000000)
    return np.roll(x.view(np.float32), rng.integers(0, 32), axis=1).reshape(-1, 64)


def broken(lanes: list[tuple[int, int, int]], rng: np.random.Generator) -> Matrix:
    """N(0, 1) in bfloat16, with these bit patterns in some lanes."""
    x = bfloat16(rng.standard_normal((8, 64)))
    for row, column, bits in lanes:
        x[row, column] = np.uint32(bits).view(np.float32)
    return x


def repeated(patterns: Matrix) -> Matrix:
    """128 × 256 of eight rows: the right half is an eighth of the left, the lower rows 2**-3, 2**-6 and 2**-9 of these."""
    wide_rows = np.hstack([patterns, patterns / 8])
    return np.vstack([wide_rows * np.float32(2.0**-shift) for shift in (0, 3, 6, 9) for _ in range(4)])


def ties128(rng: np.random.Generator) -> Matrix:
    """Midpoints under the scales of 1 × 128, 128 × 128 and 128 × 1 blocks: a row of the amax alone, and seven tie rows."""
    rows = [tie_row(amax, 128, rng) for amax in AMAXES[1:]]
    return repeated(np.stack([np.full(128, float(AMAXES[0]), np.float32), *rows]))


def wide128(rng: np.random.Generator) -> Matrix:
    """Wide exponents, with a zero row and a zero 128 × 128 block."""
    rows = spread(rng.permutation(2 - np.arange(64) * 30 // 64), 12, rng).reshape(8, 128)
    rows[5] = 0
    rows[6, ::2] = -0.0
    x = repeated(rows)
    x[:, 128:] = 0
    return x


def special128() -> Matrix:
    """A NaN in one block of 128 × 128, infinities in the other."""
    x = np.full((128, 256), 1.5, np.float32)
    x[3, 5], x[70, 130], x[71, 200] = np.nan, np.inf, -np.inf
    return x


#: What an input is for: NVFP4 rows and tiles, MX, FP8 scales of tensors and rows, blocks of 128.
ALL = ("rows", "tiles", "mx", "fp8")


def inputs() -> dict[str, tuple[Matrix, tuple[str, ...]]]:
    """Name → the input, and what it is for."""
    rng = np.random.default_rng(20260601)
    found: dict[str, tuple[Matrix, tuple[str, ...]]] = {}
    # 2688 is a second level of 1, for one-level recipes; 5 is for scales up to 256; the recipes part at the others.
    for tensor_amax, top, rows in (
        (Fraction(2688), 448, 4),
        (Fraction(5), 256, 4),
        (Fraction(35, 8), 448, 8),
        (Fraction(7), 448, 8),
        (Fraction(65, 16), 448, 3),
        (Fraction(69, 16), 448, 3),
        (Fraction(77, 16), 448, 4),
        (Fraction(83, 16), 448, 3),
    ):
        found[f"ties_{float(tensor_amax):g}"] = tie_matrix(tensor_amax, top, rows, rng), ("rows",)
    found["ties_tiles_4.375"] = tie_tiles(Fraction(35, 8), 448, rng), ("tiles",)
    found["ties_tiles_5"] = tie_tiles(Fraction(5), 256, rng), ("tiles",)
    found["ties_fp8"] = np.stack([tie_row(amax, 64, rng) for amax in AMAXES]), ("fp8",)
    found["ties_mx"] = tie_elements(rng), ("mx",)
    normal = rng.standard_normal((16, 64)).astype(np.float32)
    found["normal"] = normal, ALL
    found["normal_bfloat16"] = bfloat16(normal), ALL
    found["wide"] = wide(rng), ALL
    found["extreme"] = np.repeat(extreme(rng), 2, axis=0), ALL
    found["tiny"] = np.repeat(spread(rng.permutation(-118 - np.arange(8) * 15 // 7), 4, rng), 8, axis=0), ALL
    zeros = np.zeros((16, 64), np.float32)
    zeros[:, ::3] = -0.0
    found["zeros"] = zeros, ALL
    found["edges"] = edges((-1, 0, 1, 20), 1, rng), ("mx",)
    found["edges_bfloat16"] = edges((-1, 0, 1), 1 << 16, rng), ("mx",)
    nan = broken([(1, 3, 0x7FC00000), (1, 40, 0xFFC00000), (4, 20, 0x7FC00000)], rng)
    inf = broken([(2, 5, 0x7F800000), (2, 60, 0xFF800000), (5, 33, 0xFF800000)], rng)
    found["nan"] = np.repeat(nan, 2, axis=0), ALL
    found["inf"] = np.repeat(inf, 2, axis=0), ALL
    found["ties_128"] = ties128(rng), ("128",)
    found["wide_128"] = wide128(rng), ("128",)
    found["special_128"] = special128(), ("128",)
    return found


def purpose(recipe: str) -> str:
    """Which inputs a recipe gets."""
    if "x128" in recipe or "128x" in recipe:
        return "128"
    if recipe.startswith("fp8"):
        return "fp8"
    if recipe.startswith("mx"):
        return "mx"
    return "tiles" if recipe.endswith("16x16") else "rows"


#: Inputs that only one dtype is asked, for size: the other has its own.
ONLY = {"normal_bfloat16": "bfloat16", "edges_bfloat16": "bfloat16"}


def cases() -> list[Case]:
    """Ask every peer everything, inputs outermost, so that like answers lie together."""
    found = []
    for package, module in MODULES.items():
        versions = {name: installed(name) or "" for name in ("torch", "numpy")}
        versions[package] = module.VERSION
        for name, (x, purposes) in inputs().items():
            for recipe, peer in module.RECIPES.items():
                if purpose(recipe) not in purposes:
                    continue
                for dtype in ("float32", "bfloat16"):
                    if holds(x, dtype) and ONLY.get(name, dtype) == dtype:
                        result = peer(x, dtype=dtype)
                        if difference := same(recipe, result, peer(x, dtype=dtype)):
                            raise AssertionError(f"asked twice: {difference}")
                        found.append(Case(package, versions, recipe, dtype, name, x, result))
    return found


def main() -> int:
    """Write the files and say what is in them."""
    for module in MODULES.values():
        if reason := module.available():
            print(f"nothing recorded: {reason}", file=sys.stderr)
            return 1
    found = cases()
    save(found)
    sizes = {path.name: path.stat().st_size for path in sorted(DIRECTORY.glob("*.npz"))}
    for name, size in sizes.items():
        print(f"{name}: {size:,} bytes")
    answers = sum(case.result.codes.size for case in found)
    print(f"{len(found)} cases, {answers:,} codes, {sum(sizes.values()):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
