"""One block on its way into a block format: what every expression of the recipe's row gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np

from ..arrays import adapt
from ..block_format import BlockFormat
from ..blocks.affine import affine_levels
from ..blocks.encode import Prepared, encode_blocks
from ..blocks.expressions import evaluate, operations
from ..blocks.given import Given
from ..blocks.run import amax_of
from ..blocks.scaling import Scaling, decode_scales
from ..casts import decode, quantize
from ..registry import get_element
from ..rounding import ROUNDINGS
from .explanation import Explanation
from .html import bits_html, cells_html, rows_html
from .walk import walked
from .words import plain, text

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
    roundings : mapping of str to tuple of (expression, value)
        Of a step's name, ``y`` and ``value``: each operation inside the expression, innermost first, with the float32
        number that it is rounded to. Of y and value those that all numbers share.
    elements : tuple of Explanation or None
        For every number, how its y gets into the element format. None where the recipe has a rule of its own that gives
        another code (a sign dropped from a zero, the nearest of products), or draws random bits.
    note : str
        What else there is to say.
    """

    format: BlockFormat
    steps: tuple[tuple[str, str, float], ...]
    numbers: tuple[Mapping[str, Any], ...]
    roundings: Mapping[str, tuple[tuple[str, float], ...]]
    elements: tuple[Explanation | None, ...]
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON: infinities and NaN are text."""

        def inside(name: str) -> list[dict[str, Any]]:
            return [{"expression": how, "value": plain(value)} for how, value in self.roundings.get(name, ())]

        return {
            "format": self.format.name,
            "steps": [
                {"name": name, "expression": how, "value": plain(value), "roundings": inside(name)}
                for name, how, value in self.steps
            ],
            "y": {"expression": self.format.y, "roundings": inside("y")},
            "value": {"expression": self.format.q, "roundings": inside("value")},
            "numbers": [
                {key: plain(value) if isinstance(value, float) else value for key, value in number.items()}
                | {"element": element and element.as_dict()}
                for number, element in zip(self.numbers, self.elements, strict=True)
            ],
            "note": self.note,
        }

    def _cells(self) -> list[tuple[str, ...]]:
        digits = -(-get_element(self.format.element).bits // 4)
        cells: list[tuple[str, ...]] = [("x", "y", "below", "above", "code", "q", "value")]
        for number, element in zip(self.numbers, self.elements, strict=True):
            beside = (element.below, element.above) if element else (None, None)
            cells.append((
                *(_text(number[key]) for key in ("x", "y")),
                *("-" if at is None else text(at.value) for at in beside),
                f"{number['code']:#0{2 + digits}x}",
                *(_text(number[key]) for key in ("q", "value")),
            ))  # fmt: skip
        return cells

    def _shared(self) -> list[tuple[str, str]]:
        """What the numbers share, and each rounding inside it, as lines of a name and its text."""
        lines = []
        for name, how, value in (*self.steps, ("y", self.format.y, None), ("value", self.format.q, None)):
            lines.append((name, how if value is None else f"{how} = {_text(value)}"))
            lines += [("", f"  {part} = {_text(rounded)}") for part, rounded in self.roundings.get(name, ())]
        return lines

    @property
    def _title(self) -> str:
        count = len(self.numbers)
        what = _text(self.numbers[0]["x"]) if count == 1 else f"{count} numbers"
        return f"{what} into {self.format.name}: {self.format.clause}"

    def __str__(self) -> str:
        lines = [self._title, *(f"  {name:<9} {words}" for name, words in self._shared())]
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines += ["  " + "  ".join(map(str.rjust, row, widths)) for row in cells]
        if len(self.elements) == 1 and self.elements[0]:
            lines += [f"  {line}" for line in str(self.elements[0]).splitlines()]
        return "\n".join([*lines, f"  note      {self.note}"] if self.note else lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        element, cells = get_element(self.format.element), self._cells()
        at = cells[0].index("code")
        for i, number in enumerate(self.numbers, 1):
            drawn = f"{cells[i][at]} = {bits_html(number['code'], element)}"
            cells[i] = (*cells[i][:at], drawn, *cells[i][at + 1 :])
        shared = [(name, escape(words).replace("  ", "&emsp;", 1)) for name, words in self._shared()]
        alone = self.elements[0]._repr_html_() if len(self.elements) == 1 and self.elements[0] else ""
        return rows_html(self._title, shared) + cells_html(cells, (at,)) + alone + escape(self.note)


def _text(value: float) -> str:
    return str(np.float32(value)).removesuffix(".0")


#: numbers that no array holds
EXACT = (str, Fraction, Decimal, int)


def _block(x: Any) -> Any:
    """One number, or those of one block, as an array; text and fractions are rounded to float32 once."""
    if isinstance(x, (list, tuple)):
        if any(isinstance(each, EXACT) for each in x):
            x = [quantize(each, "fp32") if isinstance(each, EXACT) else each for each in x]
    elif isinstance(x, EXACT) or np.ndim(x) == 0:
        x = [quantize(x, "fp32") if isinstance(x, EXACT) else x]
    if np.ndim(x) != 1 or not len(x):
        found = f"x has {np.ndim(x)} dimensions" if np.ndim(x) != 1 else "x is empty"
        raise TypeError(f"{found}; one number, or the numbers of one block, were expected")
    return x


def explain_block(x: Any, fmt: BlockFormat, given: Given, **options: Any) -> BlockExplanation:
    """`explain` for a block format."""
    alone = np.ndim(x) == 0
    x = _block(x)
    most = fmt.block[1]  # along the axis, of which x has no other
    if most is not None and len(x) > most:
        along, many = (" along the axis" if fmt.block[0] != 1 else ""), ("one" if most == 1 else f"at most {most}")
        raise ValueError(f"x has {len(x)} numbers{along}; a block of {fmt.name} has {many}")
    made = encode_blocks(
        x, fmt, tensor_amax=given.tensor_amax, scale=given.scale, eps=given.eps, amax_history=given.amax_history,
        **options,
    )  # fmt: skip
    ready = Prepared(adapt(x), fmt, -1, options.get("rounding"), options.get("rng"), given)
    scaling, bits = ready.scaling, np.array(ready.blocks).reshape(1, -1)
    numbers = bits.view(np.float32).reshape(-1)[: len(x)]
    steps: list[tuple[str, str, float]] = []
    roundings: dict[str, tuple[tuple[str, float], ...]] = {}

    def inside(name: str, expression: str, environment: Mapping[str, Any], without: str = "") -> None:
        parts = operations(expression, environment, without)
        roundings[name] = tuple((part, float(np.max(value))) for part, value in parts)

    with np.errstate(all="ignore"):
        if fmt.z:
            steps.append(("G", "the tensor's amax", float(np.max(scaling.G))))
            steps.append(("z", fmt.z, float(np.max(scaling.z))))
            inside("z", fmt.z, scaling.block_environment(0, 1))
        p: Any = 0
        s: Any = None
        if fmt.zero_point:
            level = {name: float(value[0]) for name, value in affine_levels(scaling, ready.blocks).items()}
            expressions = {"lo": "the least number, or 0", "hi": "the largest number, or 0", "v": fmt.v}
            steps += [(name, how, level[name]) for name, how in expressions.items()]
            s, p = np.array([level["s"]], np.float32), np.float32(level["p"])
            numbers32 = {name: np.float32(value) for name, value in level.items()}
            for name, expression in (("v", fmt.v), ("p", fmt.zero_point)):
                inside(name, expression, scaling.block_environment(0, 1, **numbers32))
        elif scaling.given is None:
            a = np.array([amax_of(bits, fmt.amax_nan)]) if scaling.amax is None else np.array([np.max(scaling.amax)])
            a = a.astype(np.float32)
            v = evaluate(fmt.v, scaling.block_environment(0, 1, a=a))
            inside("v", fmt.v, scaling.block_environment(0, 1, a=a))
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
            inside("stored", fmt.stored, scaling.block_environment(0, 1, s=s))
        environment = scaling.block_environment(0, 1, x=numbers, s=s, p=p)
        inside("y", fmt.y, environment, "x")
        t = decode_scales(fmt, stored)
        inside("value", fmt.q, scaling.block_environment(0, 1, s=t, t=t, p=p), "q")
        y = np.broadcast_to(np.asarray(evaluate(fmt.y, environment), np.float32), numbers.shape)
    codes, values = made.codes.reshape(-1), made.decode().reshape(-1)
    rows = zip(numbers, y, codes, decode(codes, fmt.element), values, strict=True)
    upto = "as many as the tensor has" if most is None else f"up to {most}"
    note = f"one number is a block of its own; give the numbers of the block as a list, {upto}"
    return BlockExplanation(
        fmt,
        tuple(steps),
        tuple(
            {"x": float(n), "y": float(w), "code": int(code), "q": float(q), "value": float(value)}
            for n, w, code, q, value in rows
        ),
        roundings,
        tuple(_element(ready.scaling, float(w), int(code)) for w, code in zip(y, codes, strict=True)),
        note if alone and most != 1 else "",
    )


def _element(scaling: Scaling, y: float, code: int) -> Explanation | None:
    """How y becomes its code, where rounding is all that happens to it."""
    rules = scaling.recipe.rules
    if ROUNDINGS[rules.rounding].random_bits:
        return None
    told = walked(y, scaling.element, rules, source="fp32", others=False)
    return told if told.code == code else None
