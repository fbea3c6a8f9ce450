"""Hypothesis strategies: values, codes, numbers near ties, arrays and blocks of a format.

Hypothesis is imported when a strategy is made, and only then. Examples shrink towards simple values: 0, 1, 2, small
integers, then halves; never towards the smallest subnormal number.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import reference
from ..block_format import BlockFormat
from ..blocks.array import block_format
from ..format import Format
from ..registry import get, get_element
from .block_inputs import block_inputs
from .inputs import boundary_bits
from .source import Source, source_format

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["arrays", "blocks", "codes", "near_ties", "values"]

#: formats of up to so many bits have their codes in a table, simple ones first
TABLED = 16


def _hypothesis() -> Any:
    try:
        from hypothesis import strategies
    except ImportError:
        raise ImportError("fpformats.testing's strategies need hypothesis: pip install hypothesis") from None
    return strategies


def _plainness(code: int, fmt: Format) -> tuple[Any, ...]:
    """Sorts 0 first, then integers, halves, quarters, ..., each positive one before its negative; inf and NaN last."""
    value = reference.decode(code, fmt)
    if isinstance(value, float) and not math.isfinite(value):
        return (2, math.isnan(value), code)
    negative, magnitude = reference.exact(value)
    assert not isinstance(magnitude, str)
    return (0, magnitude.denominator, magnitude.numerator, negative)


@lru_cache(maxsize=64)
def _codes(fmt: Format) -> tuple[int, ...]:
    """Every code that stands for something, the plainest value first."""
    found = []
    for code in range(1 << fmt.bits):
        try:
            found.append((_plainness(code, fmt), code))
        except ValueError:
            continue
    return tuple(code for _, code in sorted(found))


def _number(code: int, fmt: Format) -> float:
    try:
        return float(reference.decode(code, fmt))
    except OverflowError:
        return math.inf if code < fmt.sign_bit or not fmt.sign_bit else -math.inf


def codes(fmt: str | Format) -> SearchStrategy[int]:
    """Codes of a format, each that stands for something.

    Parameters
    ----------
    fmt : str or Format
        An element format.

    Returns
    -------
    strategy of int
        Of formats up to 16 bits every code can come, plain values first: shrinking ends at 0 or 1.

    Raises
    ------
    ImportError
        Without hypothesis.

    Examples
    --------
    >>> import fpformats as fp
    >>> from hypothesis import given, settings
    >>> from fpformats.testing import codes
    >>> @settings(deadline=None)
    ... @given(codes("e2m1"))
    ... def comes_back(code):
    ...     assert fp.encode(fp.decode(code, "e2m1"), "e2m1") == code
    >>> comes_back()
    """
    st = _hypothesis()
    fmt = get_element(fmt)
    if fmt.bits <= TABLED:
        return st.sampled_from(_codes(fmt))
    one = fmt._line_of_one or 0
    plain = [fmt.min_line, *(line for line in (one, one + (1 << fmt.mantissa_bits)) if line <= fmt.max_line)]
    lines = st.sampled_from(plain) | st.integers(fmt.min_line, fmt.top_line)
    code = lines.map(lambda line: line - fmt.min_line)
    if fmt.signed:
        code = st.builds(lambda c, sign: c | sign, code, st.sampled_from([0, fmt.sign_bit]))
    return code.filter(lambda c: _stands(c, fmt))


def _stands(code: int, fmt: Format) -> bool:
    try:
        reference.decode(code, fmt)
    except ValueError:
        return False
    return True


def values(
    fmt: str | Format, *, min_value: float | None = None, max_value: float | None = None,
    allow_nan: bool | None = None, allow_infinity: bool | None = None,
) -> SearchStrategy[float]:  # fmt: skip
    """Numbers that a format holds, as Python floats.

    Parameters
    ----------
    fmt : str or Format
        An element format.
    min_value, max_value : float, optional
        Bounds, both included; with either, no NaN come, and no infinity beyond it.
    allow_nan, allow_infinity : bool, optional
        By default where the format has them.

    Returns
    -------
    strategy of float
        Shrinks to 0, or the plainest number within the bounds. -0.0 comes where the format has it.

    Raises
    ------
    ImportError
        Without hypothesis.
    ValueError
        Bounds between which the format has no value.

    Examples
    --------
    >>> import fpformats as fp
    >>> from hypothesis import given, settings
    >>> from fpformats.testing import values
    >>> @settings(deadline=None)
    ... @given(values("e4m3", min_value=0, max_value=400))
    ... def is_held(x):
    ...     assert fp.quantize(x, "e4m3") == x
    >>> is_held()
    """
    fmt = get_element(fmt)
    bounded = min_value is not None or max_value is not None
    nan = not bounded if allow_nan is None else allow_nan
    inf = True if allow_infinity is None else allow_infinity

    def wanted(x: float) -> bool:
        if math.isnan(x):
            return nan
        if math.isinf(x) and not inf:
            return False
        return (min_value is None or x >= min_value) and (max_value is None or x <= max_value)

    if fmt.bits > TABLED:
        return codes(fmt).map(lambda code: _number(code, fmt)).filter(wanted)
    kept = [x for x in (_number(code, fmt) for code in _codes(fmt)) if wanted(x)]
    if not kept:
        raise ValueError(f"{fmt.name} has no value from {min_value} to {max_value}")
    return _hypothesis().sampled_from(kept)


@lru_cache(maxsize=32)
def _near(fmt: Format, source: Format) -> tuple[float, ...]:
    """The finite boundary inputs, plain ones first."""
    x = Source(boundary_bits(fmt, source, 1), source).wide()
    x = x[np.isfinite(x)]
    mantissa, exponent = np.frexp(np.abs(x))
    digits = np.array([(int(m * 2.0**53) & -int(m * 2.0**53)).bit_length() for m in mantissa.tolist()])
    order = np.lexsort((np.signbit(x), np.abs(exponent), np.where(x == 0, 0, 54 - digits)))
    return tuple(x[order].tolist())


def near_ties(fmt: str | Format, *, source: Any = "float32") -> SearchStrategy[float]:
    """Finite numbers at which casts to a format go wrong: those of `boundary_inputs`.

    Parameters
    ----------
    fmt : str or Format
        An element format.
    source : str or dtype
        Whose numbers lie beside the midpoints and values; the floats that come are exactly of that type.

    Returns
    -------
    strategy of float
        Shrinks to numbers with few significant bits near 1: to values and ties, not to what is just beside them.

    Raises
    ------
    ImportError
        Without hypothesis.

    Examples
    --------
    >>> import fpformats as fp
    >>> from hypothesis import find
    >>> from fpformats.testing import near_ties
    >>> x = find(near_ties("e4m3"), lambda x: fp.encode(x, "e4m3") != fp.encode(x, "e4m3", rounding="nearest_away"))
    >>> fp.explain(x, "e4m3").tie
    True
    """
    return _hypothesis().sampled_from(_near(get_element(fmt), source_format(source)))


def arrays(fmt: str | Format, shape: Any, *, dtype: Any = np.float32, elements: Any = None, fill: Any = None,
           unique: bool = False) -> SearchStrategy[Any]:  # fmt: skip
    """Arrays of values of a format, as `hypothesis.extra.numpy.arrays` makes them.

    Parameters
    ----------
    fmt : str or Format
        An element format.
    shape : int, tuple of int, or strategy of such
    dtype : dtype
        A float type that holds the format's values, or an integer type: then codes come.
    elements : strategy, optional
        In place of ``values(fmt)`` or ``codes(fmt)``; ``near_ties(fmt)``, for instance.
    fill, unique
        As in `hypothesis.extra.numpy.arrays`.

    Returns
    -------
    strategy of numpy.ndarray

    Raises
    ------
    ImportError
        Without hypothesis.

    Examples
    --------
    >>> import numpy as np
    >>> from hypothesis import given, settings
    >>> from fpformats.testing import arrays, assert_quantized
    >>> @settings(deadline=None)
    ... @given(arrays("e5m2", (2, 3), dtype=np.float16))
    ... def upper_byte(x):
    ...     assert_quantized((x.view(np.uint16) >> 8).astype(np.uint8), x, "e5m2")
    >>> upper_byte()
    """
    _hypothesis()
    from hypothesis.extra import numpy as hnp

    wanted = np.dtype(dtype)
    if elements is None:
        elements = codes(fmt) if wanted.kind in "iu" else values(fmt)
    return hnp.arrays(wanted, shape, elements=elements, fill=fill, unique=unique)


def blocks(fmt: str | BlockFormat, *, count: Any = None) -> SearchStrategy[Any]:
    """Arrays of whole blocks for a block format: aligned to ties, at the edges of scale rules, degenerate, or scaled.

    Parameters
    ----------
    fmt : str or BlockFormat
    count : int or strategy of int, optional
        Blocks in the array, one below the other; 1 to 4 by default.

    Returns
    -------
    strategy of numpy.ndarray of float32
        Two-dimensional, as wide as a block. Half of the blocks are those of ``boundary_inputs(fmt)``; the others are
        values of the element format and ties between them, times a power of two.

    Raises
    ------
    ImportError
        Without hypothesis.
    TypeError
        For an element format.

    Examples
    --------
    >>> import fpformats as fp
    >>> from hypothesis import given, settings
    >>> from fpformats.testing import assert_quantized, blocks
    >>> @settings(deadline=None, max_examples=20)
    ... @given(blocks("mxfp4"))
    ... def as_decoded(x):
    ...     assert_quantized(fp.encode_blocks(x, "mxfp4").decode(), x, "mxfp4")
    >>> as_decoded()
    """
    st = _hypothesis()
    row = block_format(get(fmt))  # type: ignore[arg-type]
    from hypothesis.extra import numpy as hnp

    table = block_inputs(row, get_element("fp32"), 1)
    height = row.block[0] or 1
    width = table.shape[1]
    known = table.reshape(-1, height, width)
    element = get_element(row.element)
    numbers = values(element, allow_nan=False, allow_infinity=False) | near_ties(element).filter(
        lambda x: abs(x) <= 2 * float(element.max)
    )
    made = hnp.arrays(np.float32, (height, width), elements=numbers, fill=st.just(0.0))
    scaled = st.builds(lambda block, e: np.ldexp(block, e).astype(np.float32), made, st.integers(-20, 20))
    one = (
        st.just(np.zeros((height, width), np.float32)) | scaled | st.integers(0, len(known) - 1).map(lambda i: known[i])
    )
    number = st.integers(1, 4) if count is None else count
    number = st.just(number) if isinstance(number, int) else number
    return number.flatmap(lambda n: st.lists(one, min_size=n, max_size=n)).map(np.concatenate)
