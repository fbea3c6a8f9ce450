"""A format's facts as data and as text, for the terminal and for generated tables."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..block_format import BlockFormat
from ..explore.explanation import dyadic
from ..format import Format
from ..reference import decode
from ..registry import ALIASES

__all__ = ["BLOCK_TITLES", "TITLES", "block_row", "description", "facts", "layout", "table_row"]

TITLES = ("name", "bits", "layout", "bias", "max", "smallest normal", "smallest", "eps", "inf", "NaN", "-0")

BLOCK_TITLES = ("name", "element", "block", "scale", "bits", "source")

#: Formats with no more magnitudes than this have them all listed.
FEW = 32


def layout(fmt: Format) -> str:
    """The fields of a code: ``s1 e4 m3``, without the fields that are empty."""
    widths = (("s", int(fmt.signed)), ("e", fmt.exponent_bits), ("m", fmt.mantissa_bits))
    return " ".join(f"{field}{width}" for field, width in widths if width)


def _number(value: int | float | Fraction) -> str:
    """A fact as text: the float's shortest digits, or a power of two where float64 ends."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else dyadic(value)


def _short(value: Fraction) -> str:
    """One of a list of values: plain digits for those of ordinary size."""
    return _number(float(value)) if not value or Fraction(1, 1 << 64) < value < 1 << 64 else dyadic(value)


def facts(fmt: Format) -> dict[str, Any]:
    """Every fact as plain data. Numbers beyond float64 are text, such as ``2^16383``."""
    data: dict[str, Any] = {"name": fmt.name}
    for key in (
        "bits", "signed", "exponent_bits", "mantissa_bits", "bias", "minexp", "maxexp", "max", "min", "smallest_normal",
        "smallest_subnormal", "eps", "epsneg", "has_zero", "has_negative_zero", "has_inf", "has_nan", "subnormals",
        "twos_complement", "max_line", "max_code", "inf_code", "nan_code", "clause",
    ):  # fmt: skip
        value = getattr(fmt, key)
        wide = isinstance(value, Fraction) or (isinstance(value, int) and abs(value) >= 1 << 64)
        data[key] = dyadic(value) if wide else value
    return data


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
        text, exact = _number(value), dyadic(value)
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
