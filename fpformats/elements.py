"""Element casts of plain binary32 arrays, for what is built on them: no arguments to look at, no containers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .execute import run_plan
from .format import Format
from .plan import decode_plan, encode_plan, quantize_plan
from .registry import get_element
from .rounding import Rules

__all__ = ["decode32", "encode32", "quantize32"]

Array = NDArray[Any]
_FP32 = get_element("fp32")


def _run(plan: Any, x: Array, out: Array) -> Array:
    run_plan(plan, x, out.view(plan.result))
    return out


def quantize32(x: Array, fmt: str | Format, rules: Rules) -> Array:
    """Contiguous binary32 numbers to values of the format."""
    plan = quantize_plan(_FP32, get_element(fmt), rules, _FP32)
    return _run(plan, x.view(np.uint32), np.empty(x.shape, np.float32))


def encode32(x: Array, fmt: str | Format, rules: Rules) -> Array:
    """Contiguous binary32 numbers to codes."""
    plan = encode_plan(_FP32, get_element(fmt), rules)
    return _run(plan, x.view(np.uint32), np.empty(x.shape, plan.result))


def decode32(codes: Array, fmt: str | Format) -> Array:
    """Contiguous codes, of the type that `encode32` makes, to binary32 numbers."""
    return _run(decode_plan(get_element(fmt), _FP32), codes, np.empty(codes.shape, np.float32))
