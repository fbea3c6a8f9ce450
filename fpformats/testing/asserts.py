"""assert_same_codes and assert_quantized: one line in a test, and a message that says what went wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..block_format import BlockFormat
from ..casts import encode, refuse_given, rules_for
from ..format import Format
from ..registry import get
from ..rounding import ROUNDINGS, Rules
from .case import Case
from .lines import Codes, as_codes, same, valid
from .message import describe
from .search import infer_rules
from .source import Source

__all__ = ["NAN", "assert_quantized", "assert_same_codes"]

#: How NaN are compared.
NAN = {"class": "any two NaN are equal", "exact": "codes of NaN are compared bit for bit"}


def check_nan(nan: str, argument: str = "nan_codes") -> None:
    """ValueError for anything but a name in `NAN`."""
    if nan not in NAN:
        raise ValueError(f"{argument}={nan!r}: one of {', '.join(NAN)} was expected")


def _shapes(actual: Codes, other: tuple[int, ...], what: str, fmt: Format) -> None:
    if actual.shape == other:
        return
    hint = ""
    per_byte = 8 // fmt.bits
    if per_byte > 1 and actual.flat.size * per_byte == int(np.prod(other)):
        hint = f"; {per_byte} codes a byte? fpformats.unpack takes them apart"
    raise ValueError(f"actual has shape {actual.shape}, {what} has {other}{hint}")


def _compare(actual: Codes, expected: np.ndarray[Any, Any], source: Source | None, fmt: Format, rules: Rules | None,
             nan: str, title: str) -> None:  # fmt: skip
    if actual.problem:
        raise AssertionError(actual.problem)
    if np.array_equal(actual.flat, expected):
        return
    equal = same(actual.flat, expected, fmt, nan)
    if equal.all():
        return
    if rules is None:
        rules = infer_rules(source, expected, fmt) if source is not None else Rules()
    case = Case(fmt, actual.flat, expected, rules, source, actual.shape)
    raise AssertionError(describe(case, equal, nan, title=title)[0])


def assert_same_codes(actual: Any, expected: Any, fmt: str | Format, *, source: Any = None, nan: str = "class") -> None:
    """Raise AssertionError unless two arrays hold the same codes, and say what the difference looks like.

    Parameters
    ----------
    actual, expected : array_like
        Codes (integers), arrays of the format's own dtype (ml_dtypes, torch), or floats that are values of the format.
        The same shape.
    fmt : str or Format
        An element format.
    source : array_like, optional
        The numbers that were cast, in the same shape: the message then has them, and more causes can be told.
    nan : str
        ``class``: any two NaN are equal; ``exact``: bit for bit.

    Raises
    ------
    AssertionError
        Codes differ, or `actual` holds what the format cannot. The message has how many, the first few, and the likely
        cause when one explains them all.
    ValueError, TypeError
        Shapes that differ, types that hold no codes, unknown names.

    Examples
    --------
    >>> import numpy as np
    >>> from fpformats.testing import assert_same_codes
    >>> assert_same_codes(np.uint8([0x38, 0x7F]), np.uint8([0x38, 0xFF]), "e4m3")
    >>> x = np.float32([1, 17, -17, 19, 17.1, 16.5])
    >>> right = np.uint8([0x38, 0x58, 0xD8, 0x5A, 0x59, 0x58])
    >>> assert_same_codes(np.uint8([0x38, 0x59, 0xD9, 0x5A, 0x59, 0x58]), right, "e4m3", source=x)
    Traceback (most recent call last):
        ...
    AssertionError: e4m3: 2 of 6 codes differ, 33.3%
      likely cause: ties away from zero (rounding='nearest_away'); it explains every difference and agrees elsewhere
      element [1]: x = 17 = 0x41880000 (fp32)
        got       0x59 = 0 1011 001 = 18
        expected  0x58 = 0 1011 000 = 16
        1 ulp apart; x lies between 16 and 18: a tie
      element [2]: x = -17 = 0xc1880000 (fp32)
        got       0xd9 = 1 1011 001 = -18
        expected  0xd8 = 1 1011 000 = -16
        1 ulp apart; x lies between -16 and -18: a tie
    """
    row = _element(fmt, "assert_same_codes")
    check_nan(nan, "nan")
    got, due = as_codes("actual", actual, row), as_codes("expected", expected, row)
    if due.problem:
        raise ValueError(due.problem)
    if not valid(due.flat, row).all():
        bad = int(due.flat[int(valid(due.flat, row).argmin())])
        raise ValueError(f"expected holds code {bad:#x}, which stands for no value of {row.name}")
    _shapes(got, due.shape, "expected", row)
    seen = None
    if source is not None:
        seen, shape = Source.of(source, row)
        if shape != due.shape:
            raise ValueError(f"source has shape {shape}, expected has {due.shape}")
    _compare(got, due.flat, seen, row, None, nan, row.name)


def _element(fmt: str | Format, name: str) -> Format:
    row = get(fmt)
    if isinstance(row, BlockFormat):
        raise TypeError(
            f"{name} compares codes of an element format; for {row.name} compare its codes as {row.element} and its "
            f"scales as {row.scale}, or use assert_quantized"
        )
    return row


def assert_quantized(
    actual: Any, x: Any, fmt: str | Format | BlockFormat, *,
    rounding: str = "nearest_even", overflow: str | None = None, nan: str = "raise", subnormals: str = "keep",
    via: str | Format | None = None, profile: str | None = None, rng: Any = None, axis: int = -1,
    tensor_amax: Any = None, scale: Any = None, eps: float | None = None, amax_history: Any = None,
    nan_codes: str = "class",
) -> None:  # fmt: skip
    """Raise AssertionError unless `actual` is what `x` becomes in the format, and say what went wrong.

    Parameters
    ----------
    actual : array_like, BlockArray or (codes, scales)
        What the code under test made of `x`: codes (integers), an array of the format's own dtype, or values (floats).
        For a block format a `BlockArray`, a pair of codes and scales, or values.
    x : array_like
        The numbers that were cast.
    fmt : str, Format or BlockFormat
    rounding, overflow, nan, subnormals, via, profile, rng, axis, tensor_amax, scale, eps, amax_history
        As for `fpformats.encode` and `fpformats.encode_blocks`.
    nan_codes : str
        ``class``: any two NaN are equal; ``exact``: bit for bit, as the format or the profile has them.

    Raises
    ------
    AssertionError
        Codes, values or scales differ. See `assert_same_codes` for what the message has.
    ValueError, TypeError
        As `fpformats.encode`; shapes that differ.

    Notes
    -----
    What is expected comes from `fpformats.encode`, which follows IEEE 754-2019 clause 4.3, OFP8 and P3109 4.7.

    Examples
    --------
    >>> import numpy as np
    >>> from fpformats.testing import assert_quantized
    >>> x = np.float32([1.0, 3.1, 500.0])
    >>> assert_quantized(np.float32([1.0, 3.0, 448.0]), x, "e4m3")
    >>> assert_quantized(np.uint8([0x38, 0x44, 0x7F]), x, "e4m3", profile="ml_dtypes")
    >>> assert_quantized(np.uint8([0x38, 0x44, 0x7F]), x, "e4m3")
    Traceback (most recent call last):
        ...
    AssertionError: e4m3, nearest_even, saturate: 1 of 3 codes differ, 33.3% (x: 1 beyond the largest value)
      likely cause: overflow rule 'nonfinite' (overflow='nonfinite'); it explains every difference and agrees elsewhere
        what fits as well: finite x that overflow become NaN; what profile 'torch<=2.12' does; 4 more
      element [2]: x = 500 = 0x43fa0000 (fp32)
        got       0x7f = 0 1111 111 = nan
        expected  0x7e = 0 1111 110 = 448
        NaN against a number; x is beyond 448, the largest value
    """
    row = get(fmt)
    check_nan(nan_codes)
    given = {"tensor_amax": tensor_amax, "scale": scale, "eps": eps, "amax_history": amax_history}
    options: dict[str, Any] = {
        "rounding": rounding,
        "overflow": overflow,
        "nan": nan,
        "subnormals": subnormals,
        "via": via,
        "profile": profile,
    }
    if isinstance(row, BlockFormat):
        from .block_asserts import assert_blocks

        assert_blocks(actual, x, row, nan_codes, axis=axis, rng=rng, **given, **options)
        return
    refuse_given(row, given)
    rules = rules_for(row, **options)
    got = as_codes("actual", actual, row)
    source, shape = Source.of(x, row)
    _shapes(got, shape, "x", row)
    if ROUNDINGS[rules.rounding].random_bits:
        expected = np.asarray(encode(x, row, rng=rng, **options)).reshape(-1)
    else:
        if rng is not None:
            raise ValueError(f"rng is for the stochastic modes, not for rounding={rules.rounding!r}")
        expected = source.encode(row, rules)
    _compare(got, expected, source, row, rules, nan_codes, rules_title(row, rules, profile))


def rules_title(fmt: Format, rules: Rules, profile: str | None) -> str:
    """The format and the rules that are not the default's, in words."""
    if profile is not None:
        return f"{fmt.name}, profile {profile}"
    said = [rules.rounding, rules.overflow_of(fmt.has_inf)]
    said += [rules.subnormals] if rules.subnormals != "keep" else []
    said += [f"via {rules.via}"] if rules.via is not None else []
    return ", ".join([fmt.name, *said])
