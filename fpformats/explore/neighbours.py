"""`spacing`, `next_up` and `next_down`: what lies beside a number in a format."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import reference
from ..arrays import Adapted, adapt
from ..casts import decode, encode
from ..format import Format, pow2
from ..plan import holds
from ..registry import get_element
from ..scalars import as_scalar, exact_integers
from .line import Ranks, exact_ranks

__all__ = ["next_down", "next_up", "spacing"]

Array = NDArray[Any]
_FP32, _FP64 = get_element("fp32"), get_element("fp64")


def next_up(x: Any, fmt: str | Format, /) -> Any:
    """The least number of the format above x; the format's greatest where there is none above.

    Parameters
    ----------
    x : array_like or number
        Anything that `quantize` takes, each exactly; it need not be a value of the format.
    fmt : str or Format
        An element format.

    Returns
    -------
    array or number
        The same container, shape and device. A float type that holds every number of the format stays; else the result
        is float32 where that does, else float64. Python numbers become float.

    Raises
    ------
    TypeError
        For what `quantize` refuses, and for a block format.

    See Also
    --------
    next_down, spacing, values

    Notes
    -----
    IEEE 754-2019 clause 5.3.1, nextUp, for formats that have no infinity as well:

    * Both zeros are one number: the next is the smallest value. Below zero the next of the last one is -0 where the
      format has it, else 0.
    * Infinities are numbers of the formats that have them: next_up(max) is inf, next_up(inf) is inf, next_up(-inf) is
      the most negative finite value.
    * A format without infinity ends at its largest value, which is its own next, as inf is where there is one.
      (ml_dtypes' and LLVM's go on to the NaN.)
    * NaN gives NaN, whether the format has one or not.
    * Subnormal values are neighbours like all others; where a format has none, zero's neighbour is the smallest normal.

    Formats whose range exceeds float64's (P3109 with 11 exponent bits or more) are exact too, but for results beyond
    float64, which become inf or 0, as `decode` makes them.

    Examples
    --------
    >>> import numpy as np
    >>> import fpformats as fp
    >>> fp.next_up([1.0, 3.1, 0.0, 448.0], "e4m3").tolist()
    [1.125, 3.25, 0.001953125, 448.0]
    >>> fp.next_up(np.float32(57344), "e5m2"), fp.next_up(float("-inf"), "e5m2")
    (np.float32(inf), -57344.0)
    """
    return _beside(x, get_element(fmt), up=True)


def next_down(x: Any, fmt: str | Format, /) -> Any:
    """The greatest number of the format below x; the format's least where there is none below.

    Parameters, results and errors are those of `next_up`, of which it is the mirror image:
    ``next_down(x) = -next_up(-x)`` in a format whose ends are mirrored. An unsigned format ends at its smallest value:
    next_down(0) is 0, and E8M0, which has no zero, ends at 2^-127.

    Examples
    --------
    >>> import fpformats as fp
    >>> fp.next_down([1.0, 3.1, 0.0, 448.0], "e4m3").tolist()
    [0.9375, 3.0, -0.001953125, 416.0]
    >>> fp.next_down("0.1", "e2m1"), fp.next_down(0, "ue4m3"), fp.next_down(1, "e8m0")
    (0.0, 0.0, 0.5)
    """
    return _beside(x, get_element(fmt), up=False)


def spacing(x: Any, fmt: str | Format, /) -> Any:
    """The step of the format at x: 2^(e - M), with M mantissa bits and e the exponent of x, or emin if that is larger.

    Parameters, result types and errors are those of `next_up`.

    Notes
    -----
    This is the unit in the last place, as `math.ulp` defines it: the distance from a value to the next one away from
    zero. It is positive, also for negative x (`numpy.spacing` has the sign of x). At the largest value and beyond, it
    is what it would be if exponents went on (numpy: inf or NaN). Of 0 and of subnormal values it is the smallest
    subnormal value; formats without subnormals have the same step from their smallest normal value on, and their gap
    around zero is larger. inf for infinities, NaN for NaN.

    Rounding to nearest is off by at most half of it.

    Examples
    --------
    >>> import numpy as np
    >>> import fpformats as fp
    >>> fp.spacing([0.0, 1.0, -3.1, 448.0], "e4m3").tolist()
    [0.001953125, 0.125, 0.25, 32.0]
    >>> x = np.float32([1, 2, 1000])
    >>> bool((fp.spacing(x, "fp32") == np.spacing(x)).all())
    True
    """
    fmt = get_element(fmt)

    def one(number: Any) -> float:
        _, size = reference.exact(number)
        if isinstance(size, str):
            return math.inf if size == "inf" else math.nan
        e = max(reference.floor_log2(size), fmt.emin) if size else fmt.emin
        return _as_float(pow2(e - fmt.mantissa_bits))

    return _each(x, fmt, Ranks(fmt).step, one)


def _beside(x: Any, fmt: Format, *, up: bool) -> Any:
    ranks = Ranks(fmt)

    def many(numbers: Array) -> Array:
        floor, ceil = ranks.around(numbers)
        beside = np.clip(floor + 1 if up else ceil - 1, ranks.low, ranks.high)
        made = ranks.numbers(beside)
        if up and fmt.has_negative_zero:
            made = np.where(beside == 0, -0.0, made)
        return np.where(np.isnan(numbers), numbers, made)

    def one(number: Any) -> float:
        found = exact_ranks(number, fmt)
        if found is None:
            return math.nan
        beside = min(max(found[0] + 1 if up else found[1] - 1, ranks.low), ranks.high)
        if not beside and up and fmt.has_negative_zero:
            return -0.0
        return _as_float(ranks.exact(beside))

    return _each(x, fmt, many, one)


def _as_float(value: Any) -> float:
    """The nearest float64; beyond its range an infinity."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _result(source: Format | None, fmt: Format) -> Format:
    """The type of results: the caller's where it holds all of the format, else the narrower of two that does."""
    return next((kind for kind in (source, _FP32) if kind is not None and holds(kind, fmt)), _FP64)


def _each(x: Any, fmt: Format, many: Callable[[Array], Array], one: Callable[[Any], float]) -> Any:
    """Every number of any container: `many` for float64 arrays, `one` for what those cannot do exactly."""
    scalar = as_scalar(x)
    if scalar is None:
        return _array(adapt(x), fmt, many, one)
    number, back = scalar
    return back(_array(adapt(number), fmt, many, one)) if isinstance(number, np.ndarray) else one(number)


def _array(adapted: Adapted, fmt: Format, many: Callable[[Array], Array], one: Callable[[Any], float]) -> Any:
    if adapted.format is None:
        source, bits = None, exact_integers(adapted.data, fmt)
        numbers = adapted.data if bits is None else bits.view(np.float64)
    else:
        source = get_element(adapted.format)
        numbers = decode(adapted.data, source, dtype=np.float64)
    if numbers.dtype == np.float64 and holds(_FP64, fmt):
        made = many(numbers)
    else:
        made = np.array([one(number) for number in numbers.reshape(-1).tolist()], np.float64).reshape(numbers.shape)
    target = _result(source, fmt)
    return adapted.wrap(np.asarray(encode(made, target)), target.name)
