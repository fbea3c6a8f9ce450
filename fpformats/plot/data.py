"""The caller's numbers as float64, and the complaints about those that make no picture."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import adapt
from ..block_format import BlockFormat
from ..casts import decode
from ..format import Format
from ..registry import get

__all__ = ["AnyFormat", "array_of", "checked_formats", "drawable", "float64", "magnitudes"]

AnyFormat = str | Format | BlockFormat


def array_of(x: Any) -> Any:
    """What a cast takes: a number becomes an array of one."""
    return [x] if np.isscalar(x) else x


def float64(x: Any) -> NDArray[np.float64]:
    """Any array's values, in its shape."""
    adapted = adapt(x)
    if adapted.format is None:
        return np.asarray(adapted.data).astype(np.float64)
    values: NDArray[np.float64] = decode(adapted.data, adapted.format, dtype=np.float64)
    return values


def magnitudes(x: Any, name: str) -> NDArray[np.float64]:
    """|x| of all that are finite and not zero, flat.

    Raises
    ------
    ValueError
        When there are none; the argument is called `name`.
    """
    values = np.abs(float64(array_of(x)).reshape(-1))
    kept = values[np.isfinite(values) & (values > 0)]
    if not values.size:
        raise ValueError(f"{name} is empty; at least one number was expected")
    if not kept.size:
        what = "NaN" if np.isnan(values).all() else "zero" if not values.any() else "zero, infinite or NaN"
        raise ValueError(
            f"{name}: all {values.size} values are {what}; at least one finite number other than zero was expected"
        )
    return kept


def checked_formats(formats: Iterable[AnyFormat] | AnyFormat) -> list[Format | BlockFormat]:
    """The formats of a list of names, or of one.

    Raises
    ------
    ValueError
        An empty list.
    """
    found = [get(fmt) for fmt in ([formats] if isinstance(formats, (str, Format, BlockFormat)) else formats)]
    if not found:
        raise ValueError("formats is empty; at least one format name was expected")
    return found


def drawable(fmt: Format) -> Format:
    """The format, if Matplotlib's float64 can hold all its values.

    Raises
    ------
    ValueError
    """
    if not isinstance(fmt.max, float) or not isinstance(fmt.smallest_subnormal, float):
        raise ValueError(
            f"{fmt.name} reaches beyond float64, in which pictures are drawn; a narrower format was expected"
        )
    return fmt
