"""NVFP4 recipes: E2M1 elements, an E4M3 scale for 16 of them, and mostly a float32 for the tensor.

G is the tensor's amax, a the block's, s the decoded scale. Each recipe is the second level, then a function of a block:
the value that is rounded to E4M3 (`v`), then what x is multiplied or divided by.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from oracles.block_result import BlockResult

from .exact import BF16, E2M1, E4M3, FLT_MAX, add, amax_numbers, div, mul, nearest_of_table, pow2, rcp
from .exact import amax as block_amax
from .grid import DTYPES, Block, blockwise

ROW, TILE = (1, 16), (16, 16)
RCP6 = rcp(6.0)
Matrix = NDArray[np.float32]


def least(a: float, b: float) -> float:
    """min that keeps a NaN in a."""
    return b if b < a else a


def between(v: float, low: float, high: float) -> float:
    """v clamped; a NaN stays."""
    return low if v < low else high if v > high else v


def finish(x: Matrix, tile: tuple[int, int], block: Block, second: float) -> BlockResult:
    return blockwise(x, tile, block)._replace(second=np.array([second], np.float32))


def tensor_amax(x: Matrix, given: float | None) -> float:
    return block_amax(x.ravel().tolist()) if given is None else given


# --- Transformer Engine -----------------------------------------------------------------------------
def te_element(y: float) -> int:
    """The reference's conversion: -0 and NaN are 0, and what is rounded to zero keeps its sign."""
    return 0 if y == 0 or math.isnan(y) else E2M1.encode(y)


def te_encode_scale(g: float, largest: float = 448.0) -> float:
    """S = min(RN(6 * 448 / G), FLT_MAX), and 1 where that is 0 (G is inf)."""
    return least(div(6.0 * largest, g), FLT_MAX) or 1.0


def te_multiplier(code: int, s: float) -> float:
    return least(rcp(mul(E4M3.value(code), rcp(s))), FLT_MAX)


def te(
    x: Matrix,
    tile: tuple[int, int] = ROW,
    *,
    dtype: str = "float32",
    amax: float | None = None,
    before214: bool = False,
) -> BlockResult:
    """a * RN(S * RN(1/6)) from 2.14 on, and RN(a / 6) * S from 2.8 to 2.13."""
    g = tensor_amax(x, amax)
    big = te_encode_scale(g)

    def block(xs: list[float]) -> tuple[int, list[int]]:
        a = block_amax(xs)
        code = E4M3.encode(mul(div(a, 6.0), big) if before214 else mul(a, mul(big, RCP6)))
        m = te_multiplier(code, big)
        return code, [te_element(mul(v, m)) for v in xs]

    return finish(x, tile, block, g)


def te_rowscaled(x: Matrix, *, dtype: str = "float32") -> BlockResult:
    """Every row is a tensor."""
    rows = [te(x[i : i + 1]) for i in range(len(x))]
    return BlockResult(*(np.concatenate([row[k] for row in rows]) for k in range(3)))


def te_4over6(
    mode: str,
    largest: float,
    x: Matrix,
    tile: tuple[int, int] = ROW,
    *,
    dtype: str = "float32",
    amax: float | None = None,
) -> BlockResult:
    """Scales that map the amax to 6 and, 1.5 times as large, to 4; the second where its error is less."""
    g = tensor_amax(x, amax)
    big = te_encode_scale(g, largest)

    def error(xs: list[float], codes: list[int], scale: int) -> float:
        total = 0.0
        for v, code in zip(xs, codes, strict=True):
            back = div(mul(mul(E2M1.value(code), E4M3.value(scale)), g), 6.0 * largest)
            off = add(back, -v)
            total = add(total, mul(off, off) if mode == "mse" else abs(off))
        return total

    def block(xs: list[float]) -> tuple[int, list[int]]:
        base = mul(div(block_amax(xs), 6.0), big)
        found = []
        for v in (mul(base, 1.5), base):
            scale = E4M3.encode(v)
            m = te_multiplier(scale, big)
            codes = [te_element(mul(x, m)) for x in xs]
            errors = [error(xs[i : i + 16], codes[i : i + 16], scale) for i in range(0, len(xs), 16)]
            while len(errors) > 1:  # 16 rows: the first half plus the second, and so on
                half = len(errors) // 2
                errors = [add(a, b) for a, b in zip(errors[:half], errors[half:], strict=True)]
            found.append((errors[0], scale, codes))
        four, six = found
        return four[1:] if four[0] < six[0] else six[1:]

    return finish(x, tile, block, g)


# --- others with two levels -------------------------------------------------------------------------
def flashinfer(x: Matrix, *, dtype: str = "float32", amax: float | None = None) -> BlockResult:
    """The torch reference of its tests: S * RN(a * RN(1/6)). The stored second level is S."""
    big = te_encode_scale(tensor_amax(x, amax))

    def block(xs: list[float]) -> tuple[int, list[int]]:
        code = E4M3.encode(mul(big, mul(block_amax(xs), RCP6)))
        s = E4M3.value(code)
        m = 0.0 if s == 0 else rcp(mul(s, rcp(big)))
        return code, [te_element(mul(v, m)) for v in xs]

    return finish(x, ROW, block, big)


def torchao(x: Matrix, *, dtype: str = "float32", amax: float | None = None) -> BlockResult:
    p = div(tensor_amax(x, amax), 2688.0)

    def block(xs: list[float]) -> tuple[int, list[int | None]]:
        code = E4M3.encode(between(div(div(block_amax(xs), 6.0), p), pow2(-6), 448.0))
        m = div(rcp(p), E4M3.value(code))
        return code, torchao_elements([mul(v, m) for v in xs])

    return finish(x, ROW, block, p)


def torchao_onelevel(x: Matrix, *, dtype: str = "float32") -> BlockResult:
    def block(xs: list[float]) -> tuple[int, list[int | None]]:
        code = E4M3.encode(between(div(block_amax(xs), 6.0), pow2(-6), 448.0))
        m = rcp(E4M3.value(code))
        return code, torchao_elements([mul(v, m) for v in xs])

    return blockwise(x, ROW, block)


def torchao_elements(ys: list[float]) -> list[int | None]:
    """-0 stays, a NaN is undefined."""
    return [None if math.isnan(y) else E2M1.encode(y) for y in ys]


def modelopt(x: Matrix, *, dtype: str = "float32", amax: float | None = None) -> BlockResult:
    p = div(tensor_amax(x, amax), 2688.0)

    def block(xs: list[float]) -> tuple[int, list[int]]:
        v = div(block_amax(xs), mul(6.0, p)) or 1.0
        code = E4M3.encode(between(v, pow2(-9), 448.0))
        d = mul(E4M3.value(code), p)
        ys = [div(x, d) for x in xs]
        return code, [0 if y == 0 else E2M1.encode(y) for y in ys]

    return finish(x, ROW, block, p)


def compressed_tensors(x: Matrix, *, dtype: str = "float32", amax: float | None = None) -> BlockResult:
    """The second level is the encode scale, of two roundings in the input's type; so is a / 6."""
    dt = DTYPES[dtype]
    g = mul(rcp(tensor_amax(x, amax), dt), 2688.0, dt)
    g = g if math.isfinite(g) else 1.0

    def block(xs: list[float]) -> tuple[int, list[int | None]]:
        code = E4M3.encode(mul(g, div(block_amax(xs), 6.0, dt))) or E4M3.encode(0.125)
        d = div(E4M3.value(code), g)
        ys = [div(x, d) for x in xs]
        return code, [0 if y == 0 else code for y, code in zip(ys, torchao_elements(ys), strict=True)]

    return finish(x, ROW, block, g)


# --- one level --------------------------------------------------------------------------------------
def direct(x: Matrix, *, dtype: str = "float32") -> BlockResult:
    """triton_kernels."""

    def block(xs: list[float]) -> tuple[int, list[int | None]]:
        code = E4M3.encode(div(block_amax(xs), 6.0))
        s = E4M3.value(code)
        m = rcp(s) if s else 0.0
        return code, torchao_elements([mul(x, m) for x in xs])

    return blockwise(x, ROW, block)


def mlx(x: Matrix, *, dtype: str = "float32") -> BlockResult:
    """In the input's type; a NaN scale is the largest."""
    dt = DTYPES[dtype]

    def block(xs: list[float]) -> tuple[int, list[int]]:
        code = min(E4M3.encode(div(block_amax(xs), 6.0, dt)), E4M3.top)
        return code, [nearest_of_table(div(x, E4M3.value(code), dt)) for x in xs]

    return blockwise(x, ROW, block)


def qwix(x: Matrix, *, dtype: str = "float32") -> BlockResult:
    """In the input's type; a / 6 below the root of its smallest normal number becomes 1.

    XLA divides by multiplying with a reciprocal, of 0 too.
    """
    dt = DTYPES[dtype]

    def block(xs: list[float]) -> tuple[int, list[int | None]]:
        v = div(block_amax(xs), 6.0, dt)
        code = E4M3.encode(1.0 if v < pow2(dt.emin // 2) else v)
        return code, torchao_elements([mul(x, rcp(E4M3.value(code)), dt) for x in xs])

    return blockwise(x, ROW, block)


def ggml_scale(v: float) -> int:
    """UE4M3 of ggml: half up, but a subnormal stays one; 0x7E from 248 on; negative numbers and NaN are 0."""
    if not v > 0:
        return 0
    if v < pow2(-6):
        return min(math.floor(add(mul(v, 512.0), 0.5)), 7)
    if v >= 248.0:
        return 0x7E
    return E4M3.lattice(*v.as_integer_ratio(), "away")


def ggml(x: Matrix, *, dtype: str = "float32") -> BlockResult:
    def block(xs: list[float]) -> tuple[int, list[int]]:
        code = ggml_scale(div(amax_numbers(xs), 6.0))
        return code, [nearest_of_table(x, E4M3.value(code)) for x in xs]

    return blockwise(x, ROW, block)


_part = functools.partial
NVFP4: dict[str, Callable[..., BlockResult]] = {
    "nvfp4_te": te,
    "nvfp4_te_16x16": _part(te, tile=TILE),
    "nvfp4_te_rowscaled": te_rowscaled,
    "nvfp4_te213": _part(te, before214=True),
    "nvfp4_te213_16x16": _part(te, before214=True, tile=TILE),
    "nvfp4_flashinfer": flashinfer,
    "nvfp4_torchao": torchao,
    "nvfp4_torchao_onelevel": torchao_onelevel,
    "nvfp4_modelopt": modelopt,
    "nvfp4_compressed_tensors": compressed_tensors,
    "nvfp4_direct": direct,
    "nvfp4_mlx": mlx,
    "nvfp4_qwix": qwix,
    "nvfp4_ggml": ggml,
}
for _mode in ("mae", "mse"):
    for _largest in (448, 256):
        NVFP4[f"nvfp4_te_4over6_{_mode}_{_largest}"] = _part(te_4over6, _mode, float(_largest))
        NVFP4[f"nvfp4_te_4over6_{_mode}_{_largest}_16x16"] = _part(te_4over6, _mode, float(_largest), tile=TILE)


# --- the random Hadamard transform ------------------------------------------------------------------
SIGNS = (1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1)


def rht(x: Matrix, *, signs: bool = True) -> Matrix:
    """Transformer Engine's for the column-wise operand: every 16 of a column by a Hadamard matrix / 4, to bfloat16.

    The sum is exact before its one rounding; a matrix product in bfloat16 need not be.
    """
    out = np.zeros(x.T.shape, np.float32)
    for i, column in enumerate(x.T.tolist()):
        for k in range(0, len(column), 16):
            part = [Fraction(v) * (sign if signs else 1) for v, sign in zip(column[k : k + 16], SIGNS, strict=True)]
            for j in range(16):
                total = sum(v * (-1) ** (r & j).bit_count() for r, v in enumerate(part)) / 4
                out[i, k + j] = BF16.nearest(total.numerator, total.denominator) if total else 0.0
    return out
