"""One block on its way into a block format: what every expression of the recipe's row gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import adapt
from ..block_format import BlockFormat
from ..blocks.affine import affine_levels
from ..blocks.encode import Prepared, encode_blocks
from ..blocks.expressions import evaluate
from ..blocks.given import Given
from ..blocks.run import amax_of
from ..blocks.scaling import decode_scales
from ..casts import decode, quantize
from ..registry import get_element

__all__ = ["BlockExplanation", "explain_block"]


@dataclass(frozen=True)
class BlockExplanation:
    """How one block gets into a block format. Prints as text; `as_dict` holds the same.

    Attributes
    ----------
    format : BlockFormat
    steps : tuple of (name, expression, value)
        What the numbers of a block share, in the order of the arithmetic. Values are numbers; the expressions are the
        row's.
    numbers : tuple of dict
        For every number: ``x`` as the recipe sees it, ``y``, the element's ``code`` and its value ``q``, and the
        ``value`` that it decodes to.
    """

    format: BlockFormat
    steps: tuple[tuple[str, str, float], ...]
    numbers: tuple[Mapping[str, Any], ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "format": self.format.name,
            "steps": [{"name": name, "expression": how, "value": value} for name, how, value in self.steps],
            "numbers": [dict(number) for number in self.numbers],
        }

    def __str__(self) -> str:
        fmt, count = self.format, len(self.numbers)
        what = _text(self.numbers[0]["x"]) if count == 1 else f"{count} numbers"
        lines = [f"{what} into {fmt.name}: {fmt.clause}"]
        lines += [f"  {name:<9} {how} = {_text(value)}" for name, how, value in self.steps]
        lines += [f"  y         {fmt.y}", f"  value     {fmt.q}"]
        digits = -(-get_element(fmt.element).bits // 4)
        cells: list[tuple[str, ...]] = [("x", "y", "code", "q", "value")]
        cells += [
            (*(_text(n[key]) for key in ("x", "y")), f"{n['code']:#0{2 + digits}x}", _text(n["q"]), _text(n["value"]))
            for n in self.numbers
        ]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join(lines + ["  " + "  ".join(map(str.rjust, row, widths)) for row in cells])

    __repr__ = __str__


def _text(value: float) -> str:
    return str(np.float32(value)).removesuffix(".0")


def _block(x: Any) -> Any:
    """One number, or those of one block, as an array; text is rounded to float32 once."""
    if isinstance(x, (list, tuple)):
        if any(isinstance(each, str) for each in x):
            x = [quantize(each, "fp32") if isinstance(each, str) else each for each in x]
    elif isinstance(x, str) or np.ndim(x) == 0:
        x = [quantize(x, "fp32") if isinstance(x, str) else x]
    if np.ndim(x) != 1 or not len(x):
        raise TypeError(f"x has {np.ndim(x)} dimensions; one number, or the numbers of one block, were expected")
    return x


def explain_block(x: Any, fmt: BlockFormat, given: Given, **options: Any) -> BlockExplanation:
    """`explain` for a block format."""
    x = _block(x)
    size = fmt.size
    if size is not None and len(x) > size:
        raise ValueError(f"x has {len(x)} numbers; a block of {fmt.name} has at most {size}")
    if fmt.block[1] == 1 and len(x) > 1:
        raise ValueError(f"x has {len(x)} numbers along the axis; a block of {fmt.name} has one")
    made = encode_blocks(
        x, fmt, tensor_amax=given.tensor_amax, scale=given.scale, eps=given.eps, amax_history=given.amax_history,
        **options,
    )  # fmt: skip
    ready = Prepared(adapt(x), fmt, -1, options.get("rounding"), options.get("rng"), given)
    scaling, bits = ready.scaling, np.array(ready.blocks).reshape(1, -1)
    numbers = bits.view(np.float32).reshape(-1)[: len(x)]
    steps: list[tuple[str, str, float]] = []
    with np.errstate(all="ignore"):
        if fmt.z:
            steps.append(("G", "the tensor's amax", float(np.max(scaling.G))))
            steps.append(("z", fmt.z, float(np.max(scaling.z))))
        p: Any = 0
        s: Any = None
        if fmt.zero_point:
            level = {name: float(value[0]) for name, value in affine_levels(scaling, ready.blocks).items()}
            expressions = {"lo": "the least number, or 0", "hi": "the largest number, or 0", "v": fmt.v}
            steps += [(name, how, level[name]) for name, how in expressions.items()]
            s, p = np.array([level["s"]], np.float32), np.float32(level["p"])
        elif scaling.given is None:
            a = np.array([amax_of(bits, fmt.amax_nan)]) if scaling.amax is None else np.array([np.max(scaling.amax)])
            a = a.astype(np.float32)
            v = evaluate(fmt.v, scaling.block_environment(0, 1, a=a))
            steps.append(("a", "the block's amax" if fmt.statistic == "amax" else "the mean magnitude", float(a[0])))
            steps.append(("v", fmt.v, float(np.max(v))))
            s = scaling.scales(a, int(a.view(np.uint32)[0]), 0)[1]
        else:
            s = np.array([np.max(scaling.given)], np.float32)
        stored = made.scales.reshape(-1)
        if fmt.scale != "fp32":
            steps.append(("code", f"{fmt.rule}, to {fmt.scale}", float(stored[0])))
        if s is None or fmt.select:
            s = scaling.recipe.used.take(stored)
        given_scale = "the caller's" if fmt.amax_from == "block" else "of the history"
        how = given_scale if scaling.given is not None else "v" if fmt.scale == "fp32" else "the code's value"
        steps.append(("s", how, float(s[0])))
        if fmt.zero_point:
            steps.append(("p", fmt.zero_point, float(p)))
        if fmt.stored:
            steps.append(("stored", fmt.stored, float(decode_scales(fmt, stored)[0])))
        environment = scaling.block_environment(0, 1, x=numbers, s=s, p=p)
        y = np.broadcast_to(np.asarray(evaluate(fmt.y, environment), np.float32), numbers.shape)
    codes, values = made.codes.reshape(-1), made.decode().reshape(-1)
    rows = zip(numbers, y, codes, decode(codes, fmt.element), values, strict=True)
    return BlockExplanation(
        fmt,
        tuple(steps),
        tuple(
            {"x": float(n), "y": float(w), "code": int(code), "q": float(q), "value": float(value)}
            for n, w, code, q, value in rows
        ),
    )
