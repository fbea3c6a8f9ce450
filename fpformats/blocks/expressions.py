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

__all__ = ["Factor", "evaluate", "factor", "names", "operations"]

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
    return _program(text)(environment)


@lru_cache(maxsize=512)
def names(text: str) -> frozenset[str]:
    """What an expression names."""
    return frozenset(node.id for node in ast.walk(_parsed(text)) if isinstance(node, ast.Name))


def operations(text: str, environment: Environment, without: str = "") -> list[tuple[str, Value]]:
    """What rounds inside an expression, innermost first, and what each gives; the whole expression is not among them.

    Those that name `without` are left out. What ``f64(...)`` does inside itself is one rounding.

    >>> operations("a * (1 / 6)", {"a": np.float32(3)})
    [('1 / 6', np.float32(0.16666667))]
    """
    found: dict[str, Value] = {}

    def walk(node: ast.expr, whole: bool) -> None:
        call = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        if call != "f64":
            for part in ast.iter_child_nodes(node):
                if isinstance(part, ast.expr) and not (call and part is node.func):  # type: ignore[attr-defined]
                    walk(part, False)
        rounds = call in ("f64", "d") or (isinstance(node, ast.BinOp) and type(node.op) in OPERATORS)
        if rounds and not whole and without not in names(ast.unparse(node)):
            found[ast.unparse(node)] = evaluate(ast.unparse(node), environment)

    walk(_parsed(text), True)
    return list(found.items())


Program = Callable[[Environment], Value]


@lru_cache(maxsize=512)
def _program(text: str) -> Program:
    return _compiled(_parsed(text), np.float32)


def _compiled(node: ast.expr, kind: Any) -> Program:
    """What gives a node's value in an environment; a node without names has only one."""
    program = _steps(node, kind)
    if names(ast.unparse(node)) - FUNCTIONS.keys():
        return program
    with np.errstate(all="ignore"):
        value = program({})
    return lambda environment: value


def _steps(node: ast.expr, kind: Any) -> Program:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):  # an exact power of two
        power = kind(ast.literal_eval(node.left) ** ast.literal_eval(node.right))
        return lambda environment: power
    if isinstance(node, ast.BinOp):
        operate, left, right = OPERATORS[type(node.op)], _compiled(node.left, kind), _compiled(node.right, kind)
        return lambda environment: operate(left(environment), right(environment))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        operand = _compiled(node.operand, kind)
        return lambda environment: np.negative(operand(environment))
    if isinstance(node, ast.Constant):
        constant = kind(node.value)
        return lambda environment: constant
    if isinstance(node, ast.Name):
        name = node.id
        if kind is np.float32:
            return lambda environment: environment[name]
        return lambda environment: np.asarray(environment[name]).astype(kind)
    if isinstance(node, ast.BoolOp):
        first, second = (_compiled(value, kind) for value in node.values)
        return lambda environment: _or(first(environment), second(environment))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _call(node.func.id, node.args, kind)
    raise ValueError(f"{ast.unparse(node)!r} cannot stand in a recipe")


def _or(first: Value, second: Value) -> Value:
    return np.where(first == 0, second, first)


def _call(function: str, arguments: list[ast.expr], kind: Any) -> Program:
    if function == "f64":
        inner = _compiled(arguments[0], np.float64)
        return lambda environment: np.asarray(inner(environment)).astype(np.float32)
    if function == "d":
        inner = _compiled(arguments[0], np.float32)
        if kind is np.float32:
            return lambda environment: environment["d"](inner(environment))
        return lambda environment: environment["d"](inner(environment)).astype(kind)
    apply, programs = FUNCTIONS[function], [_compiled(argument, kind) for argument in arguments]
    return lambda environment: apply(*[program(environment) for program in programs])


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
