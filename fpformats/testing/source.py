"""Numbers before a cast: raw bits and the format they are in."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import reference
from ..arrays import Adapted, adapt, element_format, to_dtype
from ..casts import decode
from ..execute import run_plan
from ..explore.words import text
from ..format import Format
from ..plan import encode_plan
from ..registry import get_element
from ..rounding import Rules
from ..scalars import as_scalar, exact_integers

__all__ = ["Source", "source_format"]

Array = NDArray[Any]
_FP64 = get_element("fp64")


def source_format(source: Any) -> Format:
    """The format of a source, given by name ("float32", "fp32"), NumPy dtype or torch dtype.

    Raises
    ------
    TypeError, ValueError
        For integers, and for types whose numbers no array holds.
    """
    if isinstance(source, Format):
        fmt = source
    elif isinstance(source, str):
        fmt = get_element(source)
    else:
        name = str(source).rsplit(".", 1)[-1] if type(source).__module__ == "torch" else None
        found = name or element_format(np.dtype(source))
        if found is None:
            raise TypeError(f"source={source!r} is an integer type; a float type was expected")
        fmt = get_element(found)
    try:
        to_dtype(fmt.name)
    except ImportError:
        raise ImportError(f"source={source!r}: arrays of {fmt.name} need ml_dtypes (pip install ml_dtypes)") from None
    except StopIteration:
        raise ValueError(
            f"source={source!r}: no NumPy or ml_dtypes type holds {fmt.name}; float32, float64, float16 or bfloat16 "
            "were expected"
        ) from None
    return fmt


@dataclass(frozen=True)
class Source:
    """A flat array of codes of `format`, which are the numbers to be cast."""

    bits: Array
    format: Format

    @classmethod
    def of(cls, x: Any, fmt: Format) -> tuple[Source, tuple[int, ...]]:
        """(numbers, shape) of any array or single number; integers become doubles that round to `fmt` as they would."""
        scalar = as_scalar(x)
        if scalar is not None:
            if not isinstance(scalar[0], np.ndarray):
                raise TypeError(f"x is a {type(x).__name__} that no array holds; floats or integers were expected")
            x = scalar[0]
        adapted: Adapted = adapt(x)
        data = np.ascontiguousarray(adapted.data)
        if adapted.format is not None:
            return cls(data.reshape(-1), get_element(adapted.format)), adapted.data.shape
        bits = exact_integers(data, fmt)
        if bits is None:
            raise TypeError(f"x holds integers beyond 2**53, which is more than can be compared in {fmt.name}")
        return cls(bits.reshape(-1), _FP64), adapted.data.shape

    @classmethod
    def of_doubles(cls, x: Array) -> Source:
        """The numbers of a float64 array."""
        return cls(np.ascontiguousarray(x, np.float64).view(np.uint64).reshape(-1), _FP64)

    def take(self, where: Any) -> Source:
        """Some of them, by any NumPy index."""
        return Source(np.ascontiguousarray(self.bits[where]), self.format)

    def array(self) -> Array:
        """As the type that a caller's function takes; the memory is shared."""
        return self.bits.view(to_dtype(self.format.name))

    def encode(self, fmt: Format, rules: Rules) -> Array:
        """Their codes in another format."""
        plan = encode_plan(self.format, fmt, rules)
        made = np.empty(self.bits.shape, plan.result)
        run_plan(plan, self.bits, made)
        return made

    def wide(self) -> Array:
        """As float64: exactly, up to that type's range."""
        with np.errstate(all="ignore"):
            if self.format.name in ("fp16", "fp32", "fp64"):
                return self.bits.view(f"f{self.bits.itemsize}").astype(np.float64)
            return decode(self.bits, self.format, dtype=np.float64)

    def exact(self, i: int) -> Fraction | float:
        """One of them, exactly."""
        return reference.decode(int(self.bits[i]), self.format)

    def text(self, i: int) -> str:
        """One of them, for a person: ``17 = 0x41880000 (fp32)``."""
        digits = -(-self.format.bits // 4)
        return f"{text(self.exact(i))} = 0x{int(self.bits[i]):0{digits}x} ({self.format.name})"
