"""identify for block formats: the recipes a black box follows, and a smallest block that tells each other one apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..block_format import BlockFormat
from ..blocks.array import BlockArray
from ..blocks.encode import tensor_amax
from ..format import Format
from ..registry import get_element
from .block_answer import Answer
from .block_case import BlockCase
from .block_causes import kin
from .block_check import block_array
from .block_inputs import block_shape
from .block_message import describe_blocks, describe_values, scale_text
from .call import CastError, Function, call_blocks
from .message import value_text
from .search import spread
from .source import Source

__all__ = ["BlockIdentification", "identify_blocks"]

Array = NDArray[Any]
#: random blocks beside the boundary ones, and blocks of which a smallest one is made for each recipe
RANDOM, TRIED = 2048, 4
#: of random numbers at most so many, and of numbers that are tried beside a block's amax
NUMBERS, BESIDE = 1 << 18, 64
#: small tensors that are tried, where a tensor has one scale
TENSORS = 128
#: numbers of a block that are printed
SHOWN = 6


@dataclass(frozen=True)
class BlockIdentification:
    """Which recipes a black box follows. Prints as text.

    Attributes
    ----------
    format : BlockFormat
        The one that was asked about: recipes with the same elements, blocks and scale format are tried.
    source : Format
    recipes : tuple of str
        Recipes that give the same codes and scales, or values.
    nearest : str
        The recipe that gives the most scales alike, and of such the most blocks.
    wrong : int
        For how many blocks the nearest one differs.
    inputs : int
        How many blocks were tried.
    causes : tuple of str
        Where no recipe fits: what would make the box of the nearest one.
    counterexamples : dict
        For each other recipe the smallest block that was found to tell it apart, as text.
    """

    format: BlockFormat
    source: Format
    recipes: tuple[str, ...]
    nearest: str
    wrong: int
    inputs: int
    causes: tuple[str, ...]
    counterexamples: dict[str, str] = field(repr=False)

    def __str__(self) -> str:
        """The whole report."""
        fmt = self.format
        kind = f"{fmt.element} elements, {fmt.block_text} blocks, {fmt.scale} scales"
        lines = [
            f"{kind}, from {self.source.name}, {self.inputs} blocks",
            f"  recipes   {', '.join(self.recipes) or 'none'}",
        ]
        if not self.recipes:
            lines.append(f"  nearest   {self.nearest}, differs for {self.wrong} blocks")
            lines += [f"  cause     {cause}" for cause in self.causes]
        lines += [f"  not {name}: {text}" for name, text in self.counterexamples.items()]
        return "\n".join(lines)


class _Box:
    """The black box's answer to an array of blocks, and what recipes give for the same."""

    def __init__(self, function: Function, fmt: BlockFormat, x: Array, options: dict[str, Any]) -> None:
        self.fmt, self.x, self.options = fmt, x, options
        blank = BlockCase(fmt, x, options, np.zeros(0, np.uint8))
        self.answer: Answer = call_blocks(function, x, blank, block_shape(fmt)[0])
        self.values = None if self.answer.values is None else self.answer.values.wide().reshape(x.shape)

    def case(self, row: BlockFormat) -> BlockCase:
        codes = np.zeros(self.x.shape, np.uint8) if self.answer.codes is None else self.answer.codes
        return BlockCase(row, self.x, self.options, codes, self.answer.scales)

    def differing(self, case: BlockCase) -> NDArray[np.bool_] | None:
        """Which blocks the recipe gives otherwise; None where it does not take the options."""
        try:
            due = case.due
        except (ValueError, TypeError):
            return None
        if self.values is None:
            return case.differing(due, "class")
        tiles, made = due._tiling, due.decode()
        return np.asarray(tiles.cut(~((made == self.values) | (np.isnan(made) & np.isnan(self.values)))).any(axis=1))


_Verdict = tuple[_Box, BlockCase, NDArray[np.bool_]]


def identify_blocks(
    function: Function, fmt: BlockFormat, source: Format, level: int, options: dict[str, Any]
) -> BlockIdentification:
    """`identify.identify` for a block format; its docstring says all."""
    boxes = [_Box(function, fmt, x, options) for x in _arrays(fmt, source, level)]
    rows = {row.name: row for row in (fmt, *kin(fmt))}
    found: dict[str, list[_Verdict]] = {}
    for name, row in rows.items():
        verdicts = [(box, box.case(row), box.differing(box.case(row))) for box in boxes]
        if all(differ is not None for _, _, differ in verdicts):
            found[name] = verdicts  # type: ignore[assignment]
    wrong = {name: sum(int(differ.sum()) for *_, differ in verdicts) for name, verdicts in found.items()}
    recipes = tuple(name for name, count in wrong.items() if not count)
    scales = {name: sum(int((~case.equal_scales(case.due)).sum()) for _, case, _ in verdicts)
              for name, verdicts in found.items()}  # fmt: skip
    nearest = min(wrong, key=lambda name: (scales[name], wrong[name]))
    total = sum(differ.size for *_, differ in found[nearest])
    causes = () if recipes else _causes(found[nearest])
    others = {name: verdicts for name, verdicts in found.items() if name not in recipes}
    return BlockIdentification(fmt, source, recipes, nearest, wrong[nearest], total, causes,
                               _counterexamples(function, fmt, others))  # fmt: skip


def _arrays(fmt: BlockFormat, source: Format, level: int) -> list[Array]:
    """The arrays of a box: boundary blocks and random ones together, or many tensors where each has one scale."""
    rows, columns = block_shape(fmt)
    count = min(RANDOM, max(NUMBERS // (rows * columns), 1))
    boundary, random = (block_array(fmt, source, level=level, x=None, random=n, seed=0) for n in (0, count))
    if fmt.block != (None, None):
        return [np.concatenate([boundary, random])]
    alone = random[:TENSORS].copy()
    alone[:, 1:] = 0
    return [boundary, *random[:TENSORS, None], *alone[:, None]]


def _causes(verdicts: list[_Verdict]) -> tuple[str, ...]:
    """What would make the box of a recipe."""
    box, case, _ = max(verdicts, key=lambda verdict: int(verdict[2].sum()))
    if box.answer.values is not None:
        return describe_values(case, box.answer.values, case.fmt.name)[1]
    return describe_blocks([case for _, case, differ in verdicts if differ.any()], "class", case.fmt.name)[1]


def _counterexamples(function: Function, fmt: BlockFormat, others: dict[str, list[_Verdict]]) -> dict[str, str]:
    """For each recipe the smallest of its blocks, made smaller where the box still differs on what is left."""
    said = {name: _smallest_text(*min((verdict for verdict in verdicts if verdict[2].any()), key=_numbers))
            for name, verdicts in others.items()}  # fmt: skip
    if fmt.block == (None, None) or not others:
        return said
    blocks = [_reductions(verdicts[0][1], verdicts[0][2]) for verdicts in others.values()]
    box = next(iter(others.values()))[0][0]
    try:
        again = _Box(function, fmt, np.concatenate([*blocks, _pin(box)]), box.options)
    except CastError:
        return said  # a box that takes some shapes only
    start, height = 0, block_shape(fmt)[0]
    for (name, verdicts), own in zip(others.items(), blocks, strict=True):
        here, count = again.case(verdicts[0][1].fmt), len(own) // height
        differ = again.differing(here)
        assert differ is not None
        differ[:start] = differ[start + count :] = False
        if differ.any():
            said[name] = _smallest_text(again, here, differ)
        start += count
    return said


def _numbers(verdict: _Verdict) -> int:
    """How many numbers of its array are not zero."""
    return int(np.count_nonzero(np.asarray(verdict[0].x) != 0)) or verdict[0].x.size + 1


def _pin(box: _Box) -> Array:
    """A block with the tensor's amax alone, which keeps the second level what it was."""
    height, width = block_shape(box.fmt)
    made = np.zeros((height, width), box.x.dtype)
    if box.fmt.z:
        made[0, 0] = tensor_amax(box.x, box.fmt)
    return made


def _rank(blocks: Array) -> NDArray[np.intp]:
    """Sorts blocks with few numbers first (with none at all last), finite ones, few ones in them, of sizes near 1."""
    with np.errstate(all="ignore"):
        wide = np.abs(blocks.astype(np.float64))
        finite = np.isfinite(wide)
        safe = np.where(finite & (wide > 0), wide, 1.0)
        mantissa, exponent = np.frexp(safe)
    fraction = (mantissa * 2.0**53).astype(np.int64)
    ones = 53 - np.frexp((fraction & -fraction).astype(np.float64))[1]
    count = ((wide > 0) | ~finite | np.signbit(blocks)).sum(axis=1)
    keys = [np.abs(exponent - 1).sum(axis=1), ones.sum(axis=1), (~finite).sum(axis=1), np.where(count, count, 1 << 30)]
    order: NDArray[np.intp] = np.lexsort(keys)
    return order


def _reductions(case: BlockCase, differ: NDArray[np.bool_]) -> Array:
    """Of a few blocks that differ: the amax alone, and the amax with one of the other numbers."""
    tiles = case.due._tiling
    wide = np.asarray(case.x)
    blocks = tiles.cut(np.ascontiguousarray(wide))[differ]
    made = []
    for block in blocks[_rank(blocks)[:TRIED]]:
        with np.errstate(all="ignore"):
            numbers = np.abs(block.astype(np.float64))
        top = int(np.argmax(np.where(np.isnan(numbers), np.inf, numbers)))
        beside = spread(np.arange(block.size), BESIDE)
        kept = np.zeros((beside.size + 1, block.size), block.dtype)
        kept[np.arange(beside.size), beside] = block[beside]
        kept[:, top] = block[top]
        made.append(kept)
    return np.concatenate(made).reshape(-1, case.fmt.block[1] or tiles.size)


def _smallest_text(box: _Box, case: BlockCase, differ: NDArray[np.bool_]) -> str:
    """The smallest of the blocks that differ, in words."""
    due, tiles = case.due, case.due._tiling
    blocks = tiles.cut(np.ascontiguousarray(box.x))
    where = np.flatnonzero(differ)
    i = int(where[int(_rank(blocks[where])[0])])
    block = blocks[i]
    numbers = Source.of(block, get_element("fp32"))[0]
    shown = [j for j in range(block.size) if block[j] != 0 or np.signbit(block[j])]
    said = ", ".join(f"x[{j}] = {numbers.text(j)}" for j in shown[:SHOWN])
    more = f", {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    zeros = "; the others are 0" if 0 < len(shown) < block.size else ""
    level = f", in a tensor whose amax is {float(tensor_amax(box.x, case.fmt)):.9g}" if case.fmt.z else ""
    return f"{said or 'a block of zeros'}{more}{zeros}{level}: {_difference(box, case, due, i)}"


def _difference(box: _Box, case: BlockCase, due: BlockArray, i: int) -> str:
    tiles = due._tiling
    if box.values is not None:
        got, wanted = tiles.cut(np.ascontiguousarray(box.values))[i], tiles.cut(due.decode())[i]
        j = int((~((got == wanted) | (np.isnan(got) & np.isnan(wanted)))).argmax())
        return f"value [{j}] is {got[j]:.9g}, not {wanted[j]:.9g}"
    if not (equal := tiles.cut_scales(case.equal_scales(due)))[i] and case.scales is not None:
        assert equal.size
        got, wanted = tiles.cut_scales(case.scales)[i], tiles.cut_scales(due.scales)[i]
        return f"the scale is {scale_text(got, case.fmt)}, not {scale_text(wanted, case.fmt)}"
    element = get_element(case.fmt.element)
    codes, right = tiles.cut(case.codes)[i], tiles.cut(due.codes)[i]
    j = int((~tiles.cut(case.equal_codes(due, "class"))[i]).argmax())
    return f"element [{j}] is {value_text(int(codes[j]), element)}, not {value_text(int(right[j]), element)}"
