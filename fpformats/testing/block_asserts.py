"""assert_quantized for block formats."""

from __future__ import annotations

from typing import Any

from ..block_format import BlockFormat
from ..blocks.encode import encode_blocks
from ..casts import recipe_rounding
from .block_answer import as_answer
from .block_case import BlockCase
from .block_message import describe_blocks, describe_values, level_line

__all__ = ["assert_blocks"]


def assert_blocks(
    actual: Any, x: Any, fmt: BlockFormat, nan_codes: str, *, axis: int, rng: Any, tensor_amax: Any, scale: Any,
    eps: float | None, amax_history: Any, **rules: Any,
) -> None:  # fmt: skip
    """`asserts.assert_quantized` for a block format; its docstring says all."""
    own = recipe_rounding(fmt, **rules)
    options = {"axis": axis, "rng": rng, "tensor_amax": tensor_amax, "scale": scale, "eps": eps,
               "amax_history": amax_history, **own}  # fmt: skip
    due = encode_blocks(x, fmt, **options)
    answer = as_answer(actual, fmt, due)
    if answer.values is not None:
        text, _ = describe_values(BlockCase(fmt, x, options, due.codes), answer.values, fmt.name)
        if text:
            raise AssertionError(text)
        return
    assert answer.codes is not None
    case = BlockCase(fmt, x, options, answer.codes, answer.scales)
    if not case.agrees(case.due, nan_codes):
        raise AssertionError(describe_blocks([case], nan_codes, fmt.name)[0])
    if problem := level_line(case, answer):
        raise AssertionError(problem)
