"""What the bit explorer says about a number: as data for its JavaScript, and as the same words without it."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from .. import reference
from ..explore.decimals import shortest_decimal
from ..explore.line import Ranks, exact_ranks
from ..explore.words import Exact, fields, text
from ..format import Format
from ..rounding import Rules

__all__ = [
    *("COLUMNS", "default_code", "exact", "exact_value", "facts", "html_table", "row_data", "same", "step"),
    *("unwire", "wire"),
]

#: The columns of the table, as in explorer.js.
COLUMNS = ("format", "code", "bits", "value", "kind", "how", "error", "below", "above", "midpoints", "spacing")
NONE = "none"
_FACTS = (
    *("name", "exponent_bits", "mantissa_bits", "emin", "signed", "has_zero", "has_negative_zero", "nan_at_sign"),
    *("subnormals", "twos_complement", "nan_codes", "min_line", "max_line", "nan_code", "inf_code"),
)  # fmt: skip
_WIDE = ("min_line", "max_line", "nan_code", "inf_code")


def row_data(rows: Iterable[Format]) -> dict[str, list[Any]]:
    """Formats as JSON: names of facts, and a list of them for each format. Codes and lines are hexadecimal text."""
    made = []
    for fmt in rows:
        facts: dict[str, Any] = {key: getattr(fmt, key) for key in _FACTS}
        facts |= {key: int(value) for key, value in facts.items() if isinstance(value, bool)}
        facts |= {key: None if facts[key] is None else hex(facts[key]) for key in _FACTS if key in _WIDE}
        made.append([*facts.values(), Rules().overflow_of(fmt.has_inf), Rules().negative_of(fmt.has_inf)])
    return {"facts": [*_FACTS, "overflow", "negative"], "rows": made}


def exact(x: Any) -> Exact:
    """One number as a `Fraction`; inf, nan and -0.0 as floats."""
    negative, magnitude = reference.exact(x.item() if hasattr(x, "item") else x)
    if isinstance(magnitude, str):
        return -float(magnitude) if negative else float(magnitude)
    return (-magnitude if magnitude else -0.0) if negative else magnitude


def wire(x: Exact) -> str:
    """A number as text for JavaScript, and back by `unwire`. Hexadecimal: decimal digits have a limit in Python.

    >>> wire(Fraction(-31, 10)), wire(-0.0), wire(math.nan)
    ('-0x1f/0xa', '-0x0/0x1', 'nan')
    """
    if x != x or abs(x) == math.inf:
        return str(x)
    return f"{'-' if _negative(x) else ''}{abs(Fraction(x).numerator):#x}/{Fraction(x).denominator:#x}"


def unwire(text: str) -> Exact:
    """The number that `wire` wrote.

    >>> unwire("-0x1f/0xa"), unwire("-0x0/0x1"), unwire("-inf")
    (Fraction(-31, 10), -0.0, -inf)
    """
    if "/" not in text:
        return float(text)
    over, under = text.split("/")
    return Fraction(int(over, 16), int(under, 16)) or (-0.0 if text.startswith("-") else Fraction(0))


def same(a: Exact, b: Exact) -> bool:
    """Whether two numbers are one, NaN and the zeros' signs included."""
    return (a != a and b != b) or (a == b and _negative(a) == _negative(b))


def exact_value(code: int, fmt: Format) -> Exact:
    """The value of a code; NaN for a code that stands for nothing."""
    try:
        return reference.decode(code, fmt)
    except ValueError:
        return math.nan


def default_code(x: Exact, fmt: Format) -> int | None:
    """What `encode` makes of x; None for NaN where there is none."""
    if x != x and not fmt.has_nan:
        return None
    return reference.encode(x, fmt)


def _negative(value: Exact) -> bool:
    return math.copysign(1, value) < 0 if isinstance(value, float) else value < 0


def _line(value: Exact, fmt: Format) -> int:
    return reference.line_and_fraction(abs(Fraction(value)), fmt)[0]


def step(code: int, fmt: Format, by: int) -> int | None:
    """The code of the next value up (``by=1``) or down (``-1``); None at the ends and for NaN.

    >>> import fpformats as fp
    >>> step(0x7E, fp.E4M3, -1), step(0x7E, fp.E4M3, 1), step(0, fp.E4M3, -1)
    (125, None, 129)
    """
    value = exact_value(code, fmt)
    if value != value:
        return None
    found, ranks = exact_ranks(value, fmt), Ranks(fmt)
    assert found is not None
    rank = found[0] + by
    return reference.encode(ranks.exact(rank), fmt) if ranks.low <= rank <= ranks.high else None


def _nearest(x: Fraction, fmt: Format) -> int:
    """The line that a magnitude rounds to; it may lie beyond the format's last."""
    line, v, up = reference.line_and_fraction(x, fmt)
    away = v > Fraction(1, 2) or (v == Fraction(1, 2) and bool((line - fmt.min_line) & 1))
    return max(fmt.min_line, line + up * away)


def _gap(line: int, fmt: Format) -> Fraction:
    """The distance from a line to the next one away from zero."""
    up = 1 << fmt.mantissa_bits if not line and not fmt.subnormals else 1
    return fmt.value_of_line(line + up) - fmt.value_of_line(line)


def _middle(code: int, fmt: Format, by: int) -> Fraction | None:
    """The midpoint to the next value; an infinity begins half a step beyond the largest value."""
    other = step(code, fmt, by)
    if other is None:
        return None
    here, there = exact_value(code, fmt), exact_value(other, fmt)
    if abs(here) == math.inf:
        return _middle(other, fmt, -by)
    if abs(there) == math.inf:
        return Fraction(here) + by * _gap(fmt.max_line, fmt) / 2
    return (Fraction(here) + Fraction(there)) / 2


def _kind(code: int, fmt: Format) -> str:
    value = exact_value(code, fmt)
    if value != value:
        try:
            reference.decode(code, fmt)
        except ValueError:
            return "unused: the code stands for nothing"
        return "NaN"
    negative = _negative(value)
    if not value or abs(value) == math.inf:
        return ("negative " if negative else "") + ("infinity" if value else "zero")
    line = _line(value, fmt)
    words = ["subnormal" if line < 1 << fmt.mantissa_bits else "normal"] if fmt.exponent_bits else ["fixed point"]
    if line == fmt.max_line + (negative and fmt.twos_complement):
        words.append("the lowest" if negative else "the largest")
    if abs(value) == fmt.smallest_subnormal:
        words.append("the smallest magnitude")
    return ", ".join(words)


def _how(x: Exact, value: Exact, fmt: Format) -> str:
    """How x came to this value."""
    if x == value or (x != x and value != value):
        return "exact"
    if x != x:
        return "no NaN here"
    negative = x < 0 and not fmt.signed
    if abs(x) == math.inf or value != value or abs(value) == math.inf:
        if negative:
            return f"no sign here: {text(value)}"
        return "beyond the largest: infinity" if abs(value) == math.inf else "no infinity here: the largest"
    if negative:
        return "no sign here: the smallest"
    if _nearest(abs(Fraction(x)), fmt) > fmt.max_line + (fmt.twos_complement and x < 0):
        return "beyond the largest: it stays the largest"
    if not value:
        return "rounded to zero"
    if reference.line_and_fraction(abs(Fraction(x)), fmt)[1] == Fraction(1, 2):
        return "a tie: to the even line"
    return f"rounded {'up' if value > x else 'down'}"


def _digits(code: int, fmt: Format) -> str:
    """A value in digits: all of them, or after "~" the shortest decimal that names it."""
    made = text(exact_value(code, fmt))
    return f"~{shortest_decimal(exact_value(code, fmt), fmt)}" if made.startswith("~") else made


def facts(x: Exact, fmt: Format, code: int | None = None) -> dict[str, str]:
    """One row of the table: what a format makes of x. A given code stands for itself, NaN's many codes included.

    >>> import fpformats as fp
    >>> row = facts(exact("3.1"), fp.E4M3)
    >>> row["code"], row["value"], row["how"], row["midpoints"]
    ('0x44', '3', 'rounded down', '2.875, 3.125')
    """
    made = dict.fromkeys((*COLUMNS, "formula"), NONE) | {"format": fmt.name}
    code = default_code(x, fmt) if code is None else code
    if code is None:
        return made | {"how": "no NaN here"}
    value, kind = exact_value(code, fmt), _kind(code, fmt)
    made |= {"code": hex(code), "bits": fields(code, fmt), "kind": kind}
    if kind.startswith("unused"):
        return made
    made |= {"value": _digits(code, fmt), "how": _how(x, value, fmt)}
    if value == value and abs(value) != math.inf:
        line, m = _line(value, fmt), fmt.mantissa_bits
        exponent = max((line >> m) - 1, 0) + fmt.emin
        digits = f".{line & ((1 << m) - 1):0{m}b}" if m else ""
        sign = "-" if _negative(value) else "+"
        made |= {"formula": f"{sign}2^{exponent} * {int(line >= 1 << m)}{digits}", "spacing": text(_gap(line, fmt))}
        if x == x and abs(x) != math.inf:
            made["error"] = text(Fraction(value) - Fraction(x))
    for name, by in (("below", -1), ("above", 1)):
        other = step(code, fmt, by)
        if other is not None:
            made[name] = _digits(other, fmt)
    middles = [_middle(code, fmt, by) for by in (-1, 1)]
    made["midpoints"] = ", ".join(text(v) for v in middles if v is not None) or NONE
    return made


def html_table(x: Exact, rows: Iterable[Format], code: int | None = None) -> str:
    """The table as HTML, for viewers without JavaScript; `code` is the first row's."""
    body = []
    for fmt in rows:
        made = facts(x, fmt, code)
        code = None
        body.append("".join(f'<td data-name="{name}">{html.escape(made[name])}</td>' for name in COLUMNS))
    head = "".join(f'<th scope="col">{name}</th>' for name in COLUMNS)
    lines = "\n".join(f"<tr>{cells}</tr>" for cells in body)
    return f'<table class="fx-table">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}\n</tbody>\n</table>'
