"""One plan over one array: `out`, NaN, random bits, and the definition where no kernel reaches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import engine, reference
from .plan import Plan
from .randomness import random_words
from .rounding import ROUNDINGS, Rules

__all__ = ["check_out", "run_plan", "same_memory"]

Array = NDArray[Any]


def check_out(out: Any, shape: tuple[int, ...], dtype: np.dtype[Any], x: Array) -> None:
    """Raise for an `out` that cannot take the result."""
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is a {type(out).__name__}; a NumPy array was expected")
    if out.shape != shape:
        raise ValueError(f"out has shape {out.shape}; {shape} was expected")
    if out.dtype != dtype:
        raise TypeError(f"out has dtype {out.dtype}; {dtype} was expected")
    if not out.flags.writeable:
        raise ValueError("out is read-only; a writeable array was expected")
    if np.may_share_memory(out, x) and not same_memory(out, x) and np.shares_memory(out, x):
        raise ValueError("out overlaps x without being x; disjoint arrays or the same one were expected")


def same_memory(a: Array, b: Array) -> bool:
    """Whether both are the same elements in the same places."""
    start = [array.__array_interface__["data"] for array in (a, b)]
    steps = [[step for step, size in zip(array.strides, array.shape, strict=True) if size != 1] for array in (a, b)]
    return start[0] == start[1] and steps[0] == steps[1] and a.itemsize == b.itemsize


def run_plan(plan: Plan, bits: Array, out: Array, rng: Any = None) -> None:
    """One plan over one array: `bits` and `out` are contiguous and of the same shape."""
    flat, target = np.asarray(bits).reshape(-1), np.asarray(out).reshape(-1)
    words, seed = None, -1
    if ROUNDINGS[plan.rules.rounding].random_bits:
        words, seed = random_words(plan.rules, rng, bits.shape)
    elif rng is not None:
        raise ValueError(f"rng is for the stochastic modes, not for rounding={plan.rules.rounding!r}")
    if plan.by_definition:
        _by_definition(plan, flat, target, words, seed)
        return
    must_look = plan.nan is not None and plan.fmt.has_nan
    if plan.nan == "raise" and np.may_share_memory(flat, target):
        _raise_nan(plan, flat, bits.shape)  # before x is overwritten
    in_place = isinstance(plan.nan, tuple) and np.may_share_memory(flat, target)
    where = _nan_mask(plan, flat) if must_look or in_place else None
    original = flat[where] if where is not None else flat[:0]
    seen = engine.run_stages(plan.stages, flat, target, words=words, seed=seed)
    if plan.nan == "raise" and seen:
        _raise_nan(plan, flat, bits.shape)
    if isinstance(plan.nan, tuple) and (must_look or seen):
        if where is None:
            where = _nan_mask(plan, flat)
            original = flat[where]
        target[where] = _nan_codes(plan, original)


def _nan_mask(plan: Plan, flat: Array) -> NDArray[np.bool_]:
    source = plan.source_format
    if source.name in ("fp16", "fp32", "fp64"):
        return np.isnan(flat.view(f"f{flat.itemsize}"))
    if not source.has_nan:
        return np.zeros(flat.shape, dtype=bool)
    if source.nan_at_sign:
        return flat == source.sign_bit
    line = flat & flat.dtype.type(((1 << source.bits) - 1) & ~source.sign_bit)
    return line > source.max_code + source.inf_codes  # type: ignore[operator]


def _raise_nan(plan: Plan, flat: Array, shape: tuple[int, ...]) -> None:
    where = _nan_mask(plan, flat)
    if where.any():
        index = tuple(int(i) for i in np.unravel_index(int(where.argmax()), shape)) if shape else ()
        raise ValueError(
            f"x{list(index) if index else ''} is NaN, which {plan.fmt.name} cannot hold; "
            "nan='max' or nan='zero' would choose a value"
        )


def _nan_codes(plan: Plan, bits: Array) -> Array:
    """The result bits of these NaNs."""
    assert isinstance(plan.nan, tuple)
    positive, negative = plan.nan
    source = plan.source_format
    minus = (bits & bits.dtype.type(source.sign_bit)) != 0 if source.signed else np.zeros(bits.shape, dtype=bool)
    out = np.where(minus, plan.result(negative), plan.result(positive))
    if plan.codes and (width := plan.rules.nan_payload_bits):
        # the payload's top bits: all of it where the source has fewer
        kept = (bits.astype(np.uint64) & np.uint64((1 << source.mantissa_bits) - 1)) << np.uint64(width)
        kept >>= np.uint64(source.mantissa_bits)
        out = out | kept.astype(plan.result)
        line = out & plan.result(~plan.fmt.sign_bit & ((1 << plan.fmt.bits) - 1))
        out = np.where(line == plan.fmt.inf_code, out | plan.result(1), out)
    return out


def _by_definition(plan: Plan, flat: Array, target: Array, words: Array | None, seed: int) -> None:
    """Formats that no kernel's source can hold, one number at a time."""
    if words is None and seed >= 0:
        from .kernels.philox import philox

        words = np.empty(-(-flat.size // 4) * 4, dtype=np.uint32)
        philox(words, seed, 0)
        words >>= np.uint32(32 - (plan.rules.random_bits or 32))
    holder = Rules(nan="max")
    for i, bits in enumerate(flat.tolist()):
        random = (int(words[i]) if words is not None else 0, plan.rules.random_bits or 32)
        try:
            value = reference.decode(bits, plan.source_format)
            code = reference.encode(value, plan.fmt, plan.rules, random=random, source=plan.source_format)
        except ValueError as error:
            raise ValueError(f"x at flat index {i}: {error}") from None
        if plan.result_format is not None and not plan.codes:
            code = reference.encode(reference.decode(code, plan.fmt), plan.result_format, holder)
        target[i] = code
