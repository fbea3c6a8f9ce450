"""`explain`: one number on its way into a format, every step exact; one block's into a block format."""

from __future__ import annotations

import operator
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .. import reference
from ..block_format import BlockFormat
from ..casts import recipe_rounding, refuse_given, rules_for
from ..format import Format
from ..registry import ALIASES, get
from ..rounding import ROUNDINGS
from .explanation import Explanation
from .walk import walked

if TYPE_CHECKING:
    from .explain_block import BlockExplanation

__all__ = ["explain", "scalar"]

#: Decimal exponents beyond this are refused: no format reaches them, and exact arithmetic would take for ever.
DECIMAL_EXPONENT = 20_000


def scalar(x: Any) -> tuple[Any, str | None]:
    """One number for `reference`, and the name of the format it came in where it has one."""
    if isinstance(x, str):
        try:
            decimal = Decimal(x.strip())
        except ArithmeticError:
            reference.exact(x)  # "1/3" and hexadecimal floats; ValueError for anything else
        else:
            if decimal.is_finite() and abs(decimal.adjusted()) > DECIMAL_EXPONENT:
                raise ValueError(f"{x!r}: a decimal exponent within {DECIMAL_EXPONENT} was expected")
        return x, None
    if isinstance(x, (bool, int, float, Fraction, Decimal)) and not hasattr(x, "dtype"):
        return x, "fp64" if isinstance(x, float) else None
    shape = getattr(x, "shape", None)
    if isinstance(x, (list, tuple)) or shape not in (None, ()):
        extent = f"shape {tuple(shape)}" if shape else f"length {len(x)}"
        raise TypeError(
            f"explain takes one number, got {type(x).__name__} of {extent}; explain one element, "
            "or see all at once with quantize or compare"
        )
    name = str(getattr(x, "dtype", "")).rsplit(".", 1)[-1]  # NumPy's float32, torch's torch.float32
    if shape == () and hasattr(x, "item"):
        x = x.item()
    try:
        if isinstance(x, (bytes, bytearray)):
            raise TypeError
        value = operator.index(x) if hasattr(x, "__index__") else _exactly(x)
    except (TypeError, ValueError):
        raise TypeError(f"explain takes one real number or decimal string, got {type(x).__name__}") from None
    return value, ALIASES.get(name, name) if name.startswith(("float", "bfloat")) else None


def _exactly(x: Any) -> Any:
    """A number of some other type: a long double, too, holds what a float does not."""
    try:
        return Fraction(*x.as_integer_ratio()) or float(x)  # a zero may be -0
    except (AttributeError, OverflowError, ValueError):  # none to ask; infinities; NaN
        return float(x)


def explain(
    x: Any,
    fmt: str | Format | BlockFormat,
    /,
    *,
    rounding: str = "nearest_even",
    overflow: str | None = None,
    nan: str = "raise",
    subnormals: str = "keep",
    via: str | Format | None = None,
    profile: str | None = None,
    random: tuple[int, int] | None = None,
    tensor_amax: Any = None,
    scale: Any = None,
    eps: float | None = None,
    amax_history: Any = None,
) -> Explanation | BlockExplanation:
    """Every step of one number's way into a format, in exact arithmetic; of one block's into a block format.

    Parameters
    ----------
    x : int, float, Fraction, Decimal, str or 0-d array
        One number; integers of any size are exact. A string is a decimal, read exactly: ``"0.1"`` is one tenth, ``0.1``
        is not. For a block format a list or a one-dimensional array: the numbers of one block; one number is a block of
        its own.
    fmt : str, Format or BlockFormat
        The target format.
    rounding, overflow, nan, subnormals, via, profile
        As for `quantize`.
    random : (int, int), optional
        The random bits R and their number N, which the stochastic modes need.
    tensor_amax, scale, eps, amax_history : optional
        For block formats only, as for `encode_blocks`.

    Returns
    -------
    Explanation or BlockExplanation
        Prints as text and shows as HTML in a notebook; the fields, and ``as_dict()``, which is ready for JSON, hold the
        same. Of an element format also the named implementations that give another code.

    Raises
    ------
    TypeError
        For an array or anything else that is not one real number.
    ValueError
        For unknown names, and for NaN into a format without one under ``nan="raise"``.

    Examples
    --------
    >>> import fpformats as fp
    >>> fp.explain("3.1", "e4m3")
    3.1 into e4m3
      exact value  3.1
      below        3 (line 68, code 0x44 = 0 1000 100)
      above        3.25 (line 69, code 0x45 = 0 1000 101)
      midpoint     3.125
      bits         1.100|01100110011001100110... * 2^1
      discarded    v = 0.4 of the step; guard 0, round 1, sticky 1
      rule         nearest_even, away from zero if: v > 1/2, or v = 1/2 and s odd
                   v = 0.4, s even (line 68), x > 0: toward zero
      result       3 = code 0x44 = 0 1000 100
      error        -0.1 = 0.4 ulp
    >>> fp.explain(17, "e4m3").tie
    True
    >>> fp.explain([3.1, -0.2], "mxfp4")
    2 numbers into mxfp4: OCP MX v1.0 section 6.3, floor rule; inf and NaN make a NaN block (torchao main FLOOR)
      a         the block's amax = 3.1
      v         a = 3.1
      code      floor 2, to e8m0 = 126
      s         the code's value = 0.5
      y         x * (1 / s)
                  1 / s = 2
      value     q * s
         x     y  below  above  code     q  value
       3.1   6.2      6      8   0x7     6      3
      -0.2  -0.4   -0.5     -0   0x9  -0.5  -0.25
    """
    fmt = get(fmt)
    given = {"tensor_amax": tensor_amax, "scale": scale, "eps": eps, "amax_history": amax_history}
    if isinstance(fmt, BlockFormat):
        from ..blocks.given import Given  # here, so that one number's explanation does without blocks
        from .explain_block import explain_block

        if random is not None:
            raise ValueError(f"random={random!r}: {fmt.name} is a block format; random bits are for element formats")
        options = recipe_rounding(fmt, rounding=rounding, overflow=overflow, nan=nan, subnormals=subnormals, via=via,
                                  profile=profile)  # fmt: skip
        return explain_block(x, fmt, Given(**given), **options)
    refuse_given(fmt, given)
    number, source = scalar(x)
    rules = rules_for(fmt, rounding, overflow, nan, subnormals, via, profile)
    mode = ROUNDINGS[rules.rounding]
    if mode.random_bits and random is None:
        raise ValueError(
            f"rounding={mode.name!r} has two outcomes; random=(R, N) chooses one by N random bits of value R"
        )
    bits = random or (0, 32)
    if not 0 <= bits[0] < 1 << bits[1]:
        raise ValueError(f"random={random!r}: R must lie in 0 .. 2**N - 1")
    return walked(number, fmt, rules, bits=bits, source=source, said=str(x))
