"""assert_quantized for block formats: scales first, then the elements, then the second level.

Causes are rows here too: the other recipes of the same shape, the other roundings, and codes in other places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import adapt
from ..block_format import BlockFormat
from ..blocks.array import BlockArray
from ..blocks.encode import encode_blocks
from ..casts import decode, recipe_rounding
from ..explore.words import text
from ..recipes import BLOCK_FORMATS
from ..registry import get_element
from ..rounding import ROUNDINGS, Rules
from .case import Case
from .lines import as_codes, same
from .message import SHOWN, describe, value_text
from .search import infer_rules
from .source import Source

__all__ = ["assert_blocks", "block_causes"]

Array = NDArray[Any]
Maker = Callable[[], BlockArray]


def _other_recipes(fmt: BlockFormat) -> Iterator[BlockFormat]:
    """Recipes whose codes and scales have the same shapes."""
    kind = (fmt.element, fmt.block, fmt.scale, bool(fmt.zero_point))
    for other in BLOCK_FORMATS.values():
        if other.name != fmt.name and (other.element, other.block, other.scale, bool(other.zero_point)) == kind:
            yield other


def block_causes(x: Any, fmt: BlockFormat, options: dict[str, Any]) -> Iterator[tuple[str, Maker]]:
    """(name, what a wrong quantizer would have made of x), most telling first."""
    plain = {key: value for key, value in options.items() if key != "rounding"}
    others = list(_other_recipes(fmt))
    by_rule: dict[str, BlockFormat] = {}
    for other in others:
        if other.v == fmt.v and other.rule != fmt.rule:
            by_rule.setdefault(other.rule, replace(fmt, rule=other.rule, name=fmt.name))
    for rule, row in by_rule.items():
        yield f"scale rule {rule!r} in place of {fmt.rule!r}", lambda row=row: encode_blocks(x, row, **options)  # type: ignore[misc]
    for mode, rounding in ROUNDINGS.items():
        if not rounding.random_bits and mode != fmt.rounding:
            yield (f"elements rounded by {mode!r}",
                   lambda mode=mode: encode_blocks(x, fmt, **plain, rounding=mode))  # type: ignore[misc]  # fmt: skip
    for other in others:
        yield f"what recipe {other.name!r} does", lambda other=other: encode_blocks(x, other, **options)  # type: ignore[misc]


def _pairs(codes: Array) -> Array | None:
    flat = codes.reshape(-1)
    return flat.reshape(-1, 2)[:, ::-1].reshape(codes.shape) if flat.size % 2 == 0 else None


def _parts(actual: Any, fmt: BlockFormat, due: BlockArray) -> tuple[Array, Array | None, str]:
    """(codes, scales, what is wrong at once) of what the code under test made."""
    scales: Any = None
    codes = actual
    if isinstance(actual, BlockArray):
        if replace(actual.format, name="") != replace(fmt, name="") and actual.format.name != fmt.name:
            raise ValueError(f"actual is in {actual.format.name}, {fmt.name} was expected")
        codes, scales = actual.codes, actual.scales
    elif isinstance(actual, tuple):
        if len(actual) < 2:
            raise ValueError(f"actual has {len(actual)} parts; (codes, scales) were expected")
        codes, scales = actual[:2]
    element = get_element(fmt.element)
    got = as_codes("actual's codes", codes, element)
    if got.shape != due.codes.shape:
        packed = got.flat.size * 8 == due.codes.size * element.bits
        hint = "; packed? fpformats.unpack takes them apart" if packed and element.bits < 8 else ""
        raise ValueError(f"actual's codes have shape {got.shape}, x has {due.codes.shape}{hint}")
    if scales is None:
        return got.flat.reshape(got.shape), None, got.problem
    if fmt.scale == "fp32":
        seen = np.asarray(adapt(scales).data).view(np.float32)
    else:
        seen = as_codes("actual's scales", scales, get_element(fmt.scale)).flat
    if seen.size != due.scales.size:
        raise ValueError(f"actual has {seen.size} scales, {due.scales.size} were expected for {fmt.block_text} blocks")
    return got.flat.reshape(got.shape), seen.reshape(due.scales.shape), got.problem


def _same_scales(a: Array, b: Array) -> NDArray[np.bool_]:
    return (a == b) | (np.isnan(a) & np.isnan(b)) if a.dtype.kind == "f" else a == b


def _explains(made: BlockArray, codes: Array, scales: Array | None) -> bool:
    if scales is not None and not _same_scales(made.scales, scales).all():
        return False
    return bool((made.codes == codes).all())


def _find(x: Any, fmt: BlockFormat, options: dict[str, Any], due: BlockArray, codes: Array,
          scales: Array | None) -> str | None:  # fmt: skip
    """The first row that gives exactly what came, scales and codes."""
    if scales is None or _same_scales(due.scales, scales).all():
        exchanged = _pairs(due.codes)
        if exchanged is not None and bool((exchanged == codes).all()):
            return "nibbles swapped: each pair of codes is exchanged"
    for name, make in block_causes(x, fmt, options):
        try:
            made = make()
        except (ValueError, TypeError):
            continue  # a recipe that does not take what this one is given
        if _explains(made, codes, scales):
            return name
    if scales is not None and scales.dtype.kind == "u":
        step = np.unique(scales.astype(np.int64) - due.scales)
        if step.size == 1 and step[0]:
            return f"every scale's code is {abs(int(step[0]))} too {'large' if step[0] > 0 else 'small'}"
    return None


def _scale_text(value: Any, fmt: BlockFormat) -> str:
    if fmt.scale == "fp32":
        return f"{float(value):.9g} = 0x{int(np.float32(value).view(np.uint32)):08x}"
    return value_text(int(value), get_element(fmt.scale))


def _scale_lines(got: Array, due: BlockArray, x: Any) -> list[str]:
    differ = np.flatnonzero(~_same_scales(got, due.scales).reshape(-1))
    lines = [f"  {differ.size} of {due.scales.size} scales differ"]
    blocks = due._tiling.cut(np.asarray(np.abs(Source.of(x, get_element("fp32"))[0].wide()).reshape(due.shape)))
    for i in differ[:SHOWN].tolist():
        place = [int(j) for j in np.unravel_index(i, due.scales.shape)]
        with np.errstate(all="ignore"):
            amax = float(np.max(blocks[i]))
        lines += [
            f"  scale {place}: the block's amax = {amax:.9g} = {amax.hex()}",
            f"    got       {_scale_text(got.reshape(-1)[i], due.format)}",
            f"    expected  {_scale_text(due.scales.reshape(-1)[i], due.format)}",
        ]
    if differ.size > SHOWN:
        lines.append(f"  ... {differ.size - SHOWN} more")
    return lines


def _scaled(x: Any, due: BlockArray) -> Source | None:
    """The numbers that are rounded to elements, where scales are powers of two and dividing is exact."""
    if due.format.scale != "e8m0":
        return None
    tiles = due._tiling
    values = tiles.cut(Source.of(x, get_element("fp32"))[0].wide().reshape(due.shape))
    scales = decode(tiles.cut_scales(due.scales).reshape(-1), "e8m0", dtype=np.float64)
    with np.errstate(all="ignore"):
        y = values / scales[:, None]
    return Source.of_doubles(tiles.join(y).reshape(-1))


def assert_blocks(
    actual: Any, x: Any, fmt: BlockFormat, nan_codes: str, *, axis: int, rng: Any, tensor_amax: Any, scale: Any,
    eps: float | None, amax_history: Any, **rules: Any,
) -> None:  # fmt: skip
    """`asserts.assert_quantized` for a block format; its docstring says all."""
    own = recipe_rounding(fmt, **rules)
    options = {"axis": axis, "rng": rng, "tensor_amax": tensor_amax, "scale": scale, "eps": eps,
               "amax_history": amax_history, **own}  # fmt: skip
    due = encode_blocks(x, fmt, **options)
    seen = None if isinstance(actual, (tuple, BlockArray)) else adapt(actual)
    if seen is not None and seen.format not in (None, fmt.element):
        _values(actual, x, due, options)
        return
    codes, scales, problem = _parts(actual, fmt, due)
    if problem:
        raise AssertionError(problem)
    element = get_element(fmt.element)
    equal = same(codes, due.codes, element, nan_codes)
    scales_equal = scales is None or bool(_same_scales(scales, due.scales).all())
    second = getattr(actual, "tensor_scale", actual[2] if isinstance(actual, tuple) and len(actual) > 2 else None)
    if second is not None and due.tensor_scale is not None:
        got = np.asarray(second, np.float32)
        if got.tobytes() != np.asarray(due.tensor_scale, np.float32).tobytes():
            raise AssertionError(f"{fmt.name}: the second level is {got}, {due.tensor_scale} was expected")
    if equal.all() and scales_equal:
        return
    lines = [f"{fmt.name}: {int((~equal).sum())} of {equal.size} codes differ"]
    cause = _find(x, fmt, options, due, codes, scales)
    if cause is not None:
        lines.append(f"  likely cause: {cause}; it explains every code and scale")
    if not scales_equal:
        assert scales is not None
        lines += _scale_lines(scales, due, x)
    elif cause is None or not equal.all():
        lines += _element_lines(codes, due, x, nan_codes, told=cause is not None)
    raise AssertionError("\n".join(lines))


def _element_lines(codes: Array, due: BlockArray, x: Any, nan: str, *, told: bool) -> list[str]:
    """Scales agree: the elements as a cast of their own, with its causes."""
    element = get_element(due.format.element)
    source = _scaled(x, due)
    flat, expected = codes.reshape(-1), due.codes.reshape(-1)
    equal = same(flat, expected, element, nan)
    rules = Rules(overflow="saturate", nan="max") if source is None else infer_rules(source, expected, element)
    case = Case(element, flat, expected, rules, source, due.shape)
    message, _ = describe(case, equal, nan, title=f"elements ({element.name}, x over its scale)")
    return ["  " + line for line in message.splitlines() if not (told and "likely cause" in line)]


def _values(actual: Any, x: Any, due: BlockArray, options: dict[str, Any]) -> None:
    """What came are values: they are compared as binary32."""
    got, shape = Source.of(actual, get_element("fp32"))
    if shape != due.shape:
        raise ValueError(f"actual has shape {shape}, x has {due.shape}")
    wide, wanted = got.wide(), due.decode().reshape(-1).astype(np.float64)
    equal = (wide == wanted) | (np.isnan(wide) & np.isnan(wanted))
    if equal.all():
        return
    name = due.format.name
    lines = [f"{name}: {int((~equal).sum())} of {equal.size} values differ"]
    for cause, make in block_causes(x, due.format, options):
        try:
            made = make().decode().reshape(-1).astype(np.float64)
        except (ValueError, TypeError):
            continue
        if bool(((wide == made) | (np.isnan(wide) & np.isnan(made))).all()):
            lines.append(f"  likely cause: {cause}; it explains every value")
            break
    numbers = Source.of(x, get_element("fp32"))[0]
    for i in np.flatnonzero(~equal)[:SHOWN].tolist():
        place = [int(j) for j in np.unravel_index(i, due.shape)]
        lines.append(f"  element {place}: x = {numbers.text(i)}; got {got.text(i)}, expected {text(float(wanted[i]))}")
    raise AssertionError("\n".join(lines))
