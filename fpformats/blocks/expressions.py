"""A recipe's expressions: read once, then evaluated on arrays, every operator one rounding.

Only what `FUNCTIONS` and `OPERATORS` name can stand in them. Numbers are constants of the precision around them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["Factor", "evaluate", "factor"]

Value = Any
Environment = Mapping[str, Any]

#: one IEEE operation each
OPERATORS: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Add: np.add,
    ast.Sub: np.subtract,
}


#: none of them rounds but `rint`; a NaN among what is compared stays
FUNCTIONS: dict[str, Callable[..., Value]] = {
    "min": np.minimum,
    "max": np.maximum,
    "noinf": lambda x, other: np.where(np.isinf(x), other, x),
    "finite": lambda x, other: np.where(np.isfinite(x), x, other),
    "rint": np.rint,  # to a whole number, ties to even
    "unless_below": lambda x, least, other: np.where(x < least, other, x),
    "unless_zero": lambda s, value: np.where(s == 0, np.float32(0), value),
}


@lru_cache(maxsize=512)
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def evaluate(text: str, environment: Environment) -> Value:
    """The expression's value; the caller has seen to `numpy.errstate`.

    Parameters
    ----------
    text : str
    environment : mapping
        binary32 arrays and scalars by name; ``d`` is a function that rounds to the input's type.

    Examples
    --------
    >>> evaluate("(a / 6) * z", {"a": np.float32(1.5), "z": np.float32(2)})
    np.float32(0.5)
    """
    return _evaluate(_parsed(text), environment, np.float32)


def _evaluate(node: ast.expr, environment: Environment, kind: Any) -> Value:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):  # an exact power of two
        return kind(ast.literal_eval(node.left) ** ast.literal_eval(node.right))
    if isinstance(node, ast.BinOp):
        operate = OPERATORS[type(node.op)]
        return operate(_evaluate(node.left, environment, kind), _evaluate(node.right, environment, kind))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return np.negative(_evaluate(node.operand, environment, kind))
    if isinstance(node, ast.Constant):
        return kind(node.value)
    if isinstance(node, ast.Name):
        value = environment[node.id]
        return value if kind is np.float32 else np.asarray(value).astype(kind)
    if isinstance(node, ast.BoolOp):
        first, second = (_evaluate(value, environment, kind) for value in node.values)
        return np.where(first == 0, second, first)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "f64":
            return np.asarray(_evaluate(node.args[0], environment, np.float64)).astype(np.float32)
        arguments = [
            _evaluate(argument, environment, np.float32 if node.func.id == "d" else kind) for argument in node.args
        ]
        if node.func.id == "d":
            return environment["d"](arguments[0]) if kind is np.float32 else environment["d"](arguments[0]).astype(kind)
        return FUNCTIONS[node.func.id](*arguments)
    raise ValueError(f"{ast.unparse(node)!r} cannot stand in a recipe")


@dataclass(frozen=True)
class Factor:
    """``x * f`` or ``x / f``, rounded to binary32 and perhaps again to the input's type."""

    divide: bool
    expression: str
    again: bool


@lru_cache(maxsize=512)
def factor(text: str) -> Factor | None:
    """Take apart ``x * (...)`` or ``x / (...)``; None for anything else.

    Examples
    --------
    >>> factor("d(x / (s * z))")
    Factor(divide=True, expression='s * z', again=True)
    """
    node = _parsed(text)
    again = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "d"
    if again:
        node = node.args[0]  # type: ignore[attr-defined]
    if not (isinstance(node, ast.BinOp) and isinstance(node.left, ast.Name)):
        return None
    return Factor(isinstance(node.op, ast.Div), ast.unparse(node.right), again)
