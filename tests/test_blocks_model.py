"""Block recipes against the slow model, the packages' recorded answers, and exact definitions of their scales."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from block_ours import OURS
from oracles.block_model import MODELS
from oracles.block_model.exact import ELEMENTS, Format
from oracles.block_peers import OCP, same
from oracles.block_peers.recorded import Case, load, packages
from oracles.block_result import BlockResult

import fpformats as fp
from fpformats.block_format import BlockFormat
from fpformats.blocks.scales import scale_codes

MX = ("mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4")
RECIPES = sorted(set(OURS) & set(MODELS))
DTYPES = ("float32", "bfloat16", "float16")
LOW = {"float32": 1, "bfloat16": 1 << 16, "float16": 1 << 13}  #: the last place, in binary32 bits


def test_every_recipe_has_a_model() -> None:
    assert len(RECIPES) == len(OURS) >= 139


# --- what the packages answered ------------------------------------------------------------------
def described(case: Case) -> str:
    return f"{case.package}, {case.input} as {case.dtype}"


def code_zero(case: Case) -> BlockResult:
    """The recording, undefined where the scale's code is 0."""
    codes, scales, second, undefined = case.result
    zero = (scales == 0).repeat(codes.shape[1] // scales.shape[1], axis=1)
    return BlockResult(codes, scales, second, zero if undefined is None else zero | undefined)


@pytest.mark.parametrize(
    ("package", "recipe"), [(p, r) for p in packages() for r in sorted({case.recipe for case in load(p)})]
)
def test_recorded_answers(package: str, recipe: str) -> None:
    """Every recorded answer; under OCP's names torchao 0.18's floor answered, whose code 0 is another one."""
    cases = [case for case in load(package) if case.recipe == recipe]
    assert cases
    for case in cases:
        if recipe in OCP:
            old = f"{recipe}_torchao018_floor"
            compare_recorded(old, case, case.result)
            compare_recorded(recipe, case, code_zero(case))
        else:
            compare_recorded(recipe, case, case.result)


def compare_recorded(recipe: str, case: Case, expected: BlockResult) -> None:
    got = OURS[recipe](case.x, dtype=case.dtype)
    if same(recipe, expected, got) is not None:  # perhaps what the package leaves undefined
        undefined = MODELS[recipe](case.x, dtype=case.dtype).undefined
        difference = same(recipe, expected, got._replace(undefined=undefined))
        assert difference is None, f"{described(case)}: {difference}"


# --- hostile numbers ------------------------------------------------------------------------------
#: integers in two's complement: how many bits, and how many of them are a fraction
INTEGERS = {"int8": (8, 6), "mxint4_element": (4, 2), "s8": (8, 0), "s4": (4, 0), "s2": (2, 0)}


def largest(fmt: BlockFormat) -> float:
    if fmt.element in INTEGERS:
        return float(2 ** (INTEGERS[fmt.element][0] - 1) - 1)
    return ELEMENTS[fmt.element].max


def values(fmt: BlockFormat) -> np.ndarray:
    """The magnitudes of the elements."""
    if fmt.element in INTEGERS:
        bits, fraction = INTEGERS[fmt.element]
        return np.arange(2 ** (bits - 1)) / 2**fraction
    element: Format = ELEMENTS[fmt.element]
    return np.array([element.value(code) for code in range(element.top + 1)])


def cut(x: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers without what the type cannot hold."""
    if dtype == "float16":
        with np.errstate(over="ignore"):
            made = np.asarray(x, np.float32).astype(np.float16).astype(np.float32)
        return np.where(np.isinf(made) & np.isfinite(x), np.copysign(np.float32(65504), made), made)
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return (bits & np.uint32(0x100000000 - LOW[dtype])).view(np.float32)


def ties(fmt: BlockFormat, width: int, rng: np.random.Generator) -> np.ndarray:
    """Midpoints of elements and their neighbours, with amaxes that make the scales exact."""
    v = values(fmt)
    middle = np.concatenate([(v[1:] + v[:-1]) / 2, v[v > 0]])
    rows = -(-2 * middle.size // (width - 1))
    y = np.resize(np.concatenate([middle, -middle]), (rows, width - 1))
    x = np.concatenate([np.full((rows, 1), v[-1]), y], axis=1)
    scales = 2.0 ** rng.integers(-20, 20, (rows, 1))
    if fmt.scale == "e4m3":  # the tensor's largest is 6 * 448: its second level is 1
        codes = rng.integers(1, 127, rows)
        scales = np.array([ELEMENTS["e4m3"].value(int(code)) for code in codes])[:, None]
        scales[0] = 448.0
    return (x * scales).astype(np.float32)


def edges(fmt: BlockFormat, dtype: str, step: int) -> np.ndarray:
    """Blocks of two whose amax is one unit either side of a power of two, of it times the largest, of half-up ties."""
    top = largest(fmt)
    mantissas = {1.0, math.frexp(top)[0] * 2, *(2 - 2.0**-n for n in (2, 3, 4))}
    mantissas |= {1.5, 1.0 + 2.0**-23 * 50 if dtype == "float32" else 1.25}
    start = (np.arange(1, 255, step, dtype=np.int64) << 23)[:, None]
    m = np.array([round((m - 1) * 2**23) for m in sorted(mantissas)], np.int64)
    near = (start + m)[..., None] + np.array([-LOW[dtype], 0, LOW[dtype]])
    a = np.unique(near.reshape(-1)).astype(np.uint32).view(np.float32)
    a = cut(a[np.isfinite(a)], dtype)
    return np.stack([a, -a * np.float32(0.375)], axis=1)


def lanes(width: int, value: float, rng: np.random.Generator) -> np.ndarray:
    """One number at every lane in turn."""
    x = rng.normal(size=(width, width)).astype(np.float32)
    np.fill_diagonal(x, value)
    return x


def groups(fmt: BlockFormat, width: int, dtype: str) -> Iterator[tuple[str, np.ndarray]]:
    """Named matrices whose rows are blocks."""
    rng = np.random.default_rng(sum(fmt.name.encode()) + LOW[dtype])
    yield "ties", ties(fmt, width, rng)
    yield "normal", rng.normal(size=(4, width)) * 2.0 ** rng.integers(-30, 30, (4, 1))
    yield "wide", rng.normal(size=(4, width)) * 2.0 ** rng.integers(-120, 120, (4, width))
    smallest = rng.integers(0, 1 << 23, (4, width), dtype=np.uint32)
    smallest[1] >>= 3
    smallest[2, 1:] = 0
    smallest[3, :] = LOW[dtype]
    smallest |= rng.integers(0, 2, smallest.shape, dtype=np.uint32) << np.uint32(31)
    yield "subnormal", smallest.view(np.float32)
    zeros = np.zeros((4, width), np.float32)
    yield "zero tensor", zeros[:2]
    zeros[1] = -0.0
    zeros[2, ::3] = -0.0
    zeros[3, -1] = 2.0**-100
    zeros[3, 1] = -0.0
    yield "zeros", zeros
    huge = rng.uniform(0.2, 1, (4, width)) * 2.0**127
    huge[0, 1] = huge[1, 0] = np.finfo(np.float32).max
    huge[2] = -np.finfo(np.float32).max
    huge[3, 1:] = 2.0**-149 if dtype == "float32" else 2.0**-133
    yield "huge", huge
    yield "nan", np.concatenate([lanes(width, np.nan, rng), lanes(width, -np.nan, rng)[:2]])
    infinite = np.concatenate([lanes(width, np.inf, rng), lanes(width, -np.inf, rng)[:3]])
    infinite[-1, 0] = np.nan
    yield "inf", infinite
    yield "all nan, all inf", np.repeat(np.float32([[np.nan], [np.inf], [-np.inf]]), width, 1)


def matrices(fmt: BlockFormat, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Rows as the blocks of matrices: one matrix, its transpose, or one matrix a block."""
    height, width = fmt.block
    if height == 1:
        yield rows
    elif width == 1:
        yield np.ascontiguousarray(rows.T)
    else:  # 4over6 adds up rows of 16, so that is what it is given
        for row in rows:
            yield row.reshape(1 if fmt.select or row.size < 4 or row.size % 2 else 2, -1)


def nan_codes(fmt: BlockFormat, codes: np.ndarray) -> np.ndarray:
    if fmt.element not in ("e4m3", "e5m2"):
        return np.zeros(codes.shape, bool)
    return codes & 0x7F > (0x7C if fmt.element == "e5m2" else 0x7E)


def nan_scales(fmt: BlockFormat, scales: np.ndarray) -> np.ndarray:
    if fmt.scale == "fp32":
        return np.isnan(scales)
    return scales == 255 if fmt.scale == "e8m0" else scales & 0x7F == 0x7F


def bits(x: np.ndarray) -> np.ndarray:
    return x.view(np.uint32) if x.dtype == np.float32 else x


def same_as_model(what: str, fmt: BlockFormat, x: np.ndarray, dtype: str, **more: Any) -> None:
    """Scales, second level and codes of ours are the model's."""
    x = cut(x, dtype)
    got, expected = OURS[fmt.name](x, dtype=dtype, **more), MODELS[fmt.name](x, dtype=dtype, **more)
    pairs = [("scale", got.scales, expected.scales, nan_scales(fmt, got.scales) & nan_scales(fmt, expected.scales))]
    assert (got.second is None) == (expected.second is None), what
    if got.second is not None:
        pairs.append(("second", got.second, expected.second, np.isnan(got.second) & np.isnan(expected.second)))
    free = nan_codes(fmt, got.codes) & nan_codes(fmt, expected.codes)
    if expected.undefined is not None:
        free |= expected.undefined
    pairs.append(("code", got.codes, expected.codes, free))
    for part, one, other, either in pairs:
        assert one.dtype == other.dtype, f"{what} {part}"
        assert one.shape == other.shape, f"{what} {part}"
        wrong = (bits(one) != bits(other)) & ~either
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            near = x[at] if part == "code" else x.reshape(-1)[:4]
            raise AssertionError(
                f"{fmt.name} {dtype}, {what}: {int(wrong.sum())} of {wrong.size} {part}s differ; at {at} {one[at]!r}, "
                f"not {other[at]!r}; x {near!r} {more}"
            )


def second_levels(fmt: BlockFormat, what: str) -> list[dict[str, float]]:
    """The array's own amax, and some that are given."""
    if not fmt.z or fmt.second_of == "row":
        return [{}]
    given = {"nan": (2.75,), "inf": (2.75,), "edges": (2688.0, 1e-30), "normal": (1e-3, 0.0, 2.0**127)}
    return [{}, *({"amax": float(np.float32(amax))} for amax in given.get(what, ()))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", RECIPES)
def test_hostile(name: str, dtype: str) -> None:
    """Ties, subnormals, zeros, huge numbers, one NaN or infinity at every lane; blocks of sixteens and of any length."""
    fmt = fp.get(name)
    for width in (16, 19) if fmt.block[1] is None else (16,):
        for what, rows in groups(fmt, width, dtype):
            for more in second_levels(fmt, what):
                for x in matrices(fmt, rows):
                    same_as_model(f"{what}, {width} wide", fmt, x, dtype, **more)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", RECIPES)
def test_beside_powers_of_two(name: str, dtype: str) -> None:
    """Amaxes one unit in the last place from where a rule may change its mind."""
    fmt = fp.get(name)
    step = (1 if dtype == "float32" else 5) if 1 in fmt.block and fmt.scale != "fp32" and not fmt.select else 24
    rows = edges(fmt, dtype, step)
    for more in second_levels(fmt, "edges"):
        for x in matrices(fmt, rows):
            same_as_model("edges", fmt, x, dtype, **more)


# --- all pairs of a block's and a tensor's amax ---------------------------------------------------
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *((f"nvfp4_{who}", "float32") for who in ("te", "te213", "flashinfer", "torchao", "modelopt")),
        *(("nvfp4_compressed_tensors", dtype) for dtype in DTYPES),
    ],
)
def test_all_pairs_of_amaxes(name: str, dtype: str) -> None:
    """Every bfloat16 block amax in [1, 2) with every tensor amax in [4, 8): the scale, and the element of the amax."""
    a = (np.arange(0x3F80, 0x4000, dtype=np.uint32) << 16).view(np.float32)[:, None]
    for big in a[:, 0] * np.float32(4):
        same_as_model(f"G = {big}", fp.get(name), a, dtype, amax=float(big))


# --- E8M0 rules by their definitions --------------------------------------------------------------
def beyond(y: float, e: int) -> int:
    """The largest m with 1 + m / 2^23 < 2^(y - e), y a float32: by 60 digits; it is irrational unless y = e."""
    with localcontext() as context:
        context.prec = 60
        return math.floor((Decimal(2) ** (Decimal(y) - e) - 1) * 2**23)


def between(e: int, way: float) -> float:
    """The middle of a whole number and the next float32: a logarithm beyond it is rounded to another number."""
    return (float(e) + float(np.nextafter(np.float32(e), np.float32(way)))) / 2


def steps(rule: str, e: int) -> tuple[int, list[int]]:
    """What 2^e becomes (a code before it is limited), and mantissas m from which on a number becomes one more."""
    name, *rest = rule.split()
    if name == "half_up":
        return e + 127 - int(rest[1]), [(1 << 23) - (1 << (22 - int(rest[0])))]
    emax = int(rest[0]) if rest else 0
    if name in ("floor", "down"):
        return e + 127 - emax, []
    if name in ("ceil", "rp", "up"):
        return e + 127 - emax, [1]
    if name in ("ceil_log2f", "ceil_log2f_of"):  # more than e once RN(log2 v) is more than e
        return e + 127 - emax, [beyond(between(e, math.inf), e) + 1]
    return e + 127 - emax, [beyond(between(e + 1, -math.inf), e) + 1]  # floor_log2f: once RN(log2 v) is e + 1


RULES = [
    *(f"{rule} {emax}" for rule in ("floor", "ceil", "floor_log2f", "ceil_log2f_of") for emax in (0, 2, 8, 15)),
    *("half_up 1 2", "half_up 2 15", "half_up 3 8", "half_up 3 2", "half_up 1 8"),
    *("rp", "up", "down", "ceil_log2f"),
]


def check_rule(rule: str, e: int, m: np.ndarray) -> None:
    """A rule's codes of (1 + m / 2^23) 2^e, m in ascending order."""
    v = ((e + 127 << 23) + m.astype(np.int64)).astype(np.uint32).view(np.float32)
    code, at = steps(rule, e)
    expected = np.full(m.size, code)
    for start in at:
        expected[np.searchsorted(m, start) :] += 1
    last = 254 if rule in ("rp", "ceil_log2f") else 255
    np.testing.assert_array_equal(scale_codes(rule, v, True), np.clip(expected, 0, last), err_msg=f"{rule}, 2^{e}")


@pytest.mark.parametrize("rule", RULES)
def test_exponent_rules(rule: str) -> None:
    """All powers of two, and mantissas around every place where a rule changes its mind."""
    some = np.unique(np.random.default_rng(3).integers(0, 1 << 23, 400))
    for e in range(-126, 128):
        places = [0, 1, (1 << 23) - 1, *(near + d for near in steps(rule, e)[1] for d in (-2, -1, 0, 1, 2))]
        m = np.unique([*some, *(place for place in places if 0 <= place < 1 << 23)])
        check_rule(rule, e, m)


@pytest.mark.exhaustive
@pytest.mark.parametrize("rule", RULES)
def test_exponent_rules_for_all_mantissas(rule: str) -> None:
    """All 2^23 mantissas at exponents where logarithms are fine and coarse."""
    m = np.arange(1 << 23)
    for e in (-126, -125, -64, -33, -2, -1, 0, 1, 2, 3, 31, 64, 126, 127):
        check_rule(rule, e, m)


@pytest.mark.parametrize(("rule", "first"), [("rp", 0x400001), ("ceil_log2f", None)])
def test_exponent_rules_below_the_normal_numbers(rule: str, first: int | None) -> None:
    """Code 0 up to 2^-127, and as far beyond as its logarithm is rounded to -127; then 1."""
    if first is None:
        first = (1 << 22) + beyond(between(-127, math.inf), -127) // 2 + 1
    bits = np.unique([*range(1, 40), *range(first - 300, first + 300), (1 << 23) - 1])
    v = bits.astype(np.uint32).view(np.float32)
    np.testing.assert_array_equal(scale_codes(rule, v, True), bits >= first)


# --- symmetries -----------------------------------------------------------------------------------
def matrix(seed: int, *shape: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return cut(rng.normal(size=shape) * 2.0 ** rng.integers(-3, 4, shape), "bfloat16")


@pytest.mark.parametrize("name", MX)
def test_powers_of_two_move_the_scale(name: str) -> None:
    x = matrix(1, 8, 64)
    one = fp.encode_blocks(x, name)
    for k in (-100, -40, -1, 1, 40, 100):
        other = fp.encode_blocks(x * np.float32(2.0**k), name)
        np.testing.assert_array_equal(other.codes, one.codes)
        np.testing.assert_array_equal(other.scales.astype(int), one.scales.astype(int) + k)


@pytest.mark.parametrize("name", [name for name in RECIPES if "4over6" not in name])
def test_permuted_blocks(name: str) -> None:
    """The numbers of a block change places, and so do their codes: no more. (4over6 adds errors in order.)"""
    fmt = fp.get(name)
    x = matrix(2, 32, 32)
    order = np.random.default_rng(4).permutation(32)
    one = fp.encode_blocks(x, name)
    if fmt.block[0] == 1:
        inside = order[: fmt.block[1] or 32]
        inside = np.concatenate(
            [np.argsort(np.argsort(order[i : i + inside.size])) + i for i in range(0, 32, inside.size)]
        )
        other = fp.encode_blocks(x[:, inside], name)
        np.testing.assert_array_equal(other.codes, one.codes[:, inside])
    else:
        high = min(fmt.block[0] or 32, 32)
        inside = np.concatenate([np.argsort(np.argsort(order[i : i + high])) + i for i in range(0, 32, high)])
        other = fp.encode_blocks(x[inside], name)
        np.testing.assert_array_equal(other.codes, one.codes[inside])
    np.testing.assert_array_equal(other.scales, one.scales)


@pytest.mark.parametrize("name", RECIPES)
def test_axis_is_a_transpose(name: str) -> None:
    x = matrix(3, 33, 40)
    one, other = fp.encode_blocks(np.ascontiguousarray(x.T), name), fp.encode_blocks(x, name, axis=0)
    np.testing.assert_array_equal(other.codes, one.codes.T)
    np.testing.assert_array_equal(other.scales, one.scales.T)
    if one.tensor_scale is not None:
        np.testing.assert_array_equal(other.tensor_scale, one.tensor_scale)
    np.testing.assert_array_equal(other.decode(), one.decode().T)


@pytest.mark.parametrize("name", [*MX, "mxint8", "mxfp8_e4m3_te", "mxfp8_e5m2_te", "mxfp4_torchao_rceil"])
def test_idempotent(name: str) -> None:
    """Values of a block are values of it: where the scale is a power of two that no rounding up makes larger."""
    x = np.concatenate([matrix(6, 64, 64), ties(fp.get(name), 64, np.random.default_rng(7))])
    once = fp.quantize(x, name)
    np.testing.assert_array_equal(fp.quantize(once, name).view(np.uint32), once.view(np.uint32))


# --- whole and short tiles, side by side ----------------------------------------------------------
@pytest.mark.parametrize("name", RECIPES)
def test_ragged_matrix(name: str) -> None:
    """More than one block each way, the last ones short (4over6 has whole tiles, or the order of its sum is open)."""
    fmt = fp.get(name)
    if fmt.select and fmt.block[0] == 16:
        same_as_model("tiles", fmt, matrix(5, 32, 48), "float32")
        return
    shape = tuple(size + 2 if size and size > 32 else 37 if size != 1 else 3 for size in fmt.block)
    same_as_model("ragged", fmt, matrix(5, *shape), "float32")
