"""A format's facts as text, for the terminal."""

from __future__ import annotations

from fractions import Fraction

from ..block_format import BlockFormat
from ..explore.facts import layout, number
from ..explore.words import dyadic
from ..format import Format
from ..reference import decode
from ..registry import ALIASES

__all__ = ["BLOCK_TITLES", "TITLES", "block_row", "description", "table_row"]

TITLES = ("name", "bits", "layout", "bias", "max", "smallest normal", "smallest", "eps", "inf", "NaN", "-0")

BLOCK_TITLES = ("name", "element", "block", "scale", "bits", "source")

#: Formats with no more magnitudes than this have them all listed.
FEW = 32


def _short(value: Fraction) -> str:
    """One of a list of values: plain digits for those of ordinary size."""
    return number(float(value)) if not value or Fraction(1, 1 << 64) < value < 1 << 64 else dyadic(value)


def block_row(fmt: BlockFormat) -> tuple[str, ...]:
    """The cells under `BLOCK_TITLES`."""
    return fmt.name, fmt.element, fmt.block_text, fmt.scale, f"{fmt.bits_per_value:g}", fmt.clause


def table_row(fmt: Format) -> tuple[str, ...]:
    """The cells under `TITLES`."""
    return (
        fmt.name,
        str(fmt.bits),
        layout(fmt),
        str(fmt.bias),
        f"{fmt.max:g}" if isinstance(fmt.max, float) else dyadic(fmt.max),
        dyadic(fmt.smallest_normal) if fmt.exponent_bits else "-",
        dyadic(fmt.smallest_subnormal),
        "-" if fmt.eps is None else dyadic(fmt.eps),
        *("yes" if has else "-" for has in (fmt.has_inf, fmt.has_nan, fmt.has_negative_zero)),
    )


def description(fmt: Format) -> str:
    """All about one format, a line a fact."""

    def both(value: int | float | Fraction | None) -> str:
        if value is None:
            return "none"
        text, exact = number(value), dyadic(value)
        return text if text == exact else f"{text} = {exact}"

    def code(value: int | None) -> str:
        return "none" if value is None else f"{value:#0{2 + (fmt.bits + 3) // 4}x}"

    half_line = fmt.max_line - fmt.min_line + 1
    if fmt.signed:
        sign_only = "-0" if fmt.has_negative_zero else "NaN" if fmt.nan_at_sign else both(fmt.min)
    else:
        sign_only = "no sign"
    lines = [
        ("source", fmt.clause),
        ("layout", f"{layout(fmt)} = {fmt.bits} bits"),
        ("bias", str(fmt.bias)),
        ("max", both(fmt.max)),
        ("min", both(fmt.min)),
        ("smallest normal", both(fmt.smallest_normal) if fmt.exponent_bits else "none, no exponent field"),
        ("smallest", both(fmt.smallest_subnormal) + ("" if fmt.subnormals else " (no subnormals)")),
        ("eps", f"{both(fmt.eps)} above 1, {both(fmt.epsneg)} below"),
        ("magnitudes", f"{half_line} finite ones, codes {code(0)} to {code(fmt.max_code)}"),
        ("sign bit alone", sign_only),
        ("infinity", code(fmt.inf_code)),
        ("NaN", code(fmt.nan_code)),
        ("aliases", ", ".join(alias for alias, name in ALIASES.items() if name == fmt.name) or "none"),
    ]
    if half_line <= FEW:
        lines.append(("values", ", ".join(_short(Fraction(decode(code, fmt))) for code in range(fmt.max_code + 1))))
    return "\n".join([fmt.name, *(f"  {title:<16} {text}" for title, text in lines)])
