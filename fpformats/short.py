"""The short way: contiguous NumPy floats through one kernel, with nothing looked up twice.

It does what `casts` does at length, for the calls where a microsecond counts; whatever it does
not recognise it leaves to the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import engine
from .plan import Plan

__all__ = ["Short"]

_may_share_memory = np.may_share_memory
_empty = np.empty


def _related(x: NDArray[Any], out: NDArray[Any]) -> bool:
    """Whether `out` may share memory with `x`: not when each owns its own."""
    return (x.base is not None or out.base is not None or x is out) and _may_share_memory(x, out)


class Short:
    """One plan, ready for arrays of one dtype.

    Parameters
    ----------
    plan : Plan
        What to run.
    dtype : numpy.dtype
        Of the result.
    check_out : callable
        ``check_out(out, shape, dtype, x)`` raises for an `out` that cannot be written.
    run : callable
        ``run(plan, bits, out_bits)``: the long way, for contiguous arrays.
    limit : int, optional
        The largest magnitude (as bits) that needs no second look by the long way; by default an infinity's, where the
        plan cares about NaN.
    """

    __slots__ = ("_check_out", "_kernel", "_kind", "_limit", "_row", "_run", "dtype", "plan")

    def __init__(
        self, plan: Plan, dtype: np.dtype[Any], check_out: Callable[..., None], run: Callable[..., None],
        limit: int | None = None,
    ) -> None:  # fmt: skip
        self.plan, self.dtype, self._check_out, self._run = plan, dtype, check_out, run
        self._kernel: Any = None
        self._row: Any = None
        self._kind = 0
        if limit is None:
            inf = (0, 0x7F800000, 0x7FF0000000000000)[np.dtype(plan.source).itemsize // 4]
            limit = 1 << 64 if plan.nan is None else inf
        self._limit = limit

    def __call__(self, x: NDArray[Any], out: Any) -> NDArray[Any]:
        """The result for a C-contiguous `x`."""
        plan = self.plan
        if out is None:
            out = _empty(x.shape, self.dtype)
        elif (
            type(out) is not np.ndarray or out.dtype != self.dtype or out.shape != x.shape
            or not out.flags.carray or _related(x, out)
        ):  # fmt: skip
            return self._long(x, out)
        kernel = self._kernel or self._find_kernel()
        if kernel is None or x.size >= engine.WORTH_THREADS or not x.flags.carray:
            self._run(plan, x.view(plan.source), out.view(plan.result))
            return out
        # compiled kernels take any type of the same width
        bits, target = (x, out) if x.ndim == 1 else (x.reshape(-1), out.reshape(-1))
        if kernel(bits, target, self._row, self._kind) > self._limit:
            self._run(plan, x.view(plan.source), out.view(plan.result))  # the long way says where it is
        return out

    def _long(self, x: NDArray[Any], out: Any) -> NDArray[Any]:
        self._check_out(out, x.shape, self.dtype, x)
        made = out if out.flags.c_contiguous else _empty(x.shape, self.dtype)
        self._run(self.plan, x.view(self.plan.source), made.view(self.plan.result))
        if made is not out:
            out[...] = made
        return out

    def _find_kernel(self) -> Any:
        """Once the compiled kernels are there, a plan of one kernel is called directly."""
        plan = self.plan
        if engine.compiled() is None or len(plan.stages) != 1 or (plan.fmt.has_nan and plan.nan is not None):
            return None
        (stage,) = plan.stages
        if isinstance(stage.what, str):
            self._kind, self._row = stage.kind, stage.row
            self._kernel = getattr(engine.compiled(), stage.what)
        return self._kernel
