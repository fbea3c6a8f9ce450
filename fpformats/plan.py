"""A cast as a short list of stages, and the loop that runs them.

    source bits -> [decode] -> [widen] -> [round through] -> round -> [narrow] -> [encode] -> result bits

Most casts are one stage over the whole array. Where there are more, they run chunk by chunk on
buffers that stay in cache, so peak memory is input + output. A plan depends on types, format and
rules only; it is built once and kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import engine
from .compile_row import MODES, WIDTHS, Width, adjacent_ends, build_row, fit, plain_ends, simple_ends
from .format import Format
from .kernels import rows as R
from .registry import get_element as get
from .rounding import ROUNDINGS, Rules
from .tables import decode_table

__all__ = ["Plan", "Stage", "code_dtype", "decode_plan", "encode_one_plan", "encode_plan", "holds", "quantize_plan"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Stage:
    """One step over a chunk: bits in, bits out."""

    #: a kernel's name, or a NumPy step `(x, out) -> None`
    what: str | Callable[[Array, Array], None]
    #: type of the bits that come out
    out: Any
    kind: int = 0
    row: Array | None = None


@dataclass(frozen=True, eq=False)
class Plan:
    """The stages, and what to do about NaN afterwards."""

    stages: tuple[Stage, ...]
    source: Any
    result: Any
    fmt: Format
    rules: Rules
    source_format: Format
    #: None: the stages have done it; "raise"; or the (positive, negative) result bits
    nan: str | tuple[int, int] | None = None
    #: one element at a time, by the definition: formats beyond binary64
    by_definition: bool = False
    #: the result is a code, not a value
    codes: bool = False
    #: what holds the values, where the definition has to write them
    result_format: Format | None = None


def code_dtype(fmt: Format) -> Any:
    """The unsigned type that holds one code."""
    return next(np.dtype(f"uint{bits}").type for bits in (8, 16, 32, 64) if fmt.bits <= bits)


def holds(container: Format, fmt: Format) -> bool:
    """Whether every value of `fmt`, its infinity, NaN and -0 included, is one of `container`."""
    return (
        container.emin - container.mantissa_bits <= fmt.emin - fmt.mantissa_bits
        and container.mantissa_bits >= fmt.mantissa_bits
        and container.value_of_line(container.max_line) >= fmt.value_of_line(fmt.max_line + fmt.twos_complement)
        and container.has_inf >= fmt.has_inf
        and container.has_nan >= fmt.has_nan
        and container.signed >= fmt.signed
        and container.has_negative_zero >= fmt.has_negative_zero
        and container.has_zero >= fmt.has_zero
        and container.subnormals
    )


# --- stages -------------------------------------------------------------------------------------
def _widen(x: Array, out: Array) -> None:
    with np.errstate(all="ignore"):  # signalling NaN
        np.copyto(out.view(np.float64), x.view(np.float32))


def _narrow(x: Array, out: Array) -> None:
    with np.errstate(all="ignore"):
        np.copyto(out.view(np.float32), x.view(np.float64), casting="same_kind")


def _store(x: Array, out: Array) -> None:
    np.copyto(out, x, casting="unsafe")


def _shift(count: int) -> Callable[[Array, Array], None]:
    def step(x: Array, out: Array) -> None:
        np.right_shift(x, x.dtype.type(count), out=out)

    return step


def _shift_left(count: int) -> Callable[[Array, Array], None]:
    def step(x: Array, out: Array) -> None:
        np.left_shift(x, x.dtype.type(count), out=out)

    return step


def _look_up(table: Array) -> Callable[[Array, Array], None]:
    def step(x: Array, out: Array) -> None:
        np.take(table, x, out=out, mode="clip")

    return step


def _round_stage(fmt: Format, rules: Rules, width: Width, source: Format, seeded: bool = False) -> Stage:
    """Rounding to a value of `fmt`, held in the source's width."""
    kernel, kind = _choose(fmt, rules, width)
    prefix = "draw" if kernel == "random" and width.bits == 32 else kernel
    row = build_row(fmt, rules, width, codes=False, source=source, kernel=prefix, seeded=seeded)
    return Stage(f"{kernel}{width.bits}", width.uint, kind, row)


def _choose(fmt: Format, rules: Rules, width: Width) -> tuple[str, int]:
    """(kernel, kind) for rounding to a value."""
    how = fit(fmt, width)
    if ROUNDINGS[rules.rounding].random_bits:
        return "random", int(width.bits == 32 and how == "aligned")
    if how == "powers":
        return "modes", 11 if _steady(fmt, rules) else 7
    if how == "aligned":
        return ("round", 3) if _steady(fmt, rules) else ("modes", 4)
    if how == "narrow":
        if _steady(fmt, rules):
            return ("round", _kind(fmt)) if plain_ends(fmt) else ("modes", 10 if fmt.signed else 9)
        kind = MODES[rules.rounding][2]
        if plain_ends(fmt) and fmt.has_negative_zero and (rules.subnormals == "keep" or kind == 0):
            return "modes", kind
        return "modes", 5 if kind == 0 else 6
    return "general", 0


def _fits(fmt: Format, rules: Rules, width: Width) -> bool:
    """Whether some kernel of this width rounds to the format by these rules."""
    how = fit(fmt, width)
    if how == "powers":
        return not ROUNDINGS[rules.rounding].random_bits and rules.quirk is None and rules.subnormals == "keep"
    return how is not None


def _steady(fmt: Format, rules: Rules) -> bool:
    """Nearest-even with nothing else to look after."""
    return rules.rounding == "nearest_even" and rules.subnormals == "keep" and simple_ends(fmt, rules)


def _drawn_in_32(fmt: Format, rules: Rules, width: Width) -> bool:
    """Whether the short stochastic kernel serves; the other one works in binary64."""
    return (
        width.bits == 32
        and rules.rounding == "stochastic"
        and rules.subnormals == "keep"
        and rules.inf is None
        and fit(fmt, width) in ("narrow", "aligned")
        and plain_ends(fmt)
    )


def _kind(fmt: Format) -> int:
    """Which of the add-and-subtract loops: signed zero, no signed zero, or no NaN to look for."""
    return 2 if not fmt.has_nan else 0 if fmt.has_negative_zero else 1


def _encode_stage(fmt: Format, rules: Rules, source: Format) -> Stage:
    """Nearest-even and code in one step, from binary32."""
    row = build_row(fmt, rules, WIDTHS[32], codes=True, source=source, kernel="encode")
    how = fit(fmt, WIDTHS[32])
    kind = {"aligned": 3, "powers": 6}.get(how or "", _kind(fmt) if plain_ends(fmt) else 4 if fmt.signed else 5)
    dtype = code_dtype(fmt)
    return Stage(f"encode{np.dtype(dtype).itemsize * 8}", dtype, kind, row)


def _exact_encode_stages(fmt: Format) -> tuple[Stage, ...] | None:
    """Values of `fmt` in binary32 to codes; None where no kernel does it."""
    how, rules = fit(fmt, WIDTHS[32]), Rules(overflow="nonfinite")
    if how not in ("narrow", "aligned", "powers"):
        return None
    if fmt.bits <= 16:
        return (_encode_stage(fmt, rules, get("fp32")),) if adjacent_ends(fmt, rules) else None
    if how == "aligned" and _top_bits(fmt, "fp32"):
        return (Stage(_shift(32 - fmt.bits), np.uint32),) if fmt.bits < 32 else ()
    return None


def _top_bits(fmt: Format, of: str) -> bool:
    """Whether a code is the top bits of the container's code."""
    whole = get(of)
    return (
        fmt.exponent_bits == whole.exponent_bits
        and fmt.bias == whole.bias
        and fmt.signed
        and fmt.inf_codes == 1
        and fmt.nan_codes == (1 << fmt.mantissa_bits) - 1
    )


def _decode_stages(fmt: Format, width: Width) -> tuple[Stage, ...] | None:
    """Codes to values in the width; None where the values do not fit or no table is small enough."""
    if fmt == get(width.format):
        return ()
    w32 = WIDTHS[32]
    how = fit(fmt, w32)
    whole = (fmt.has_zero and fmt.subnormals and fmt.emax is None) or (how == "powers" and not fmt.has_inf)
    if whole and fmt.bits <= 32 and how is not None:
        row = build_row(fmt, Rules(overflow="nonfinite", nan="max"), w32, codes=False, source=fmt, kernel="decode")
        row[R.INF] = w32.inf
        row[R.SIGN_KEEP] = 1 << 31 if fmt.signed else 0
        kind = 4 if how == "powers" else 3 if fmt.twos_complement else 2 if fmt.nan_at_sign else int(fmt.has_inf)
        if _top_bits(fmt, "fp32"):
            kind = 5
        first = Stage(f"decode{np.dtype(code_dtype(fmt)).itemsize * 8}", np.uint32, kind, row)
        if fmt.bits > 16 and _top_bits(fmt, "fp32"):
            first = Stage(_shift_left(32 - fmt.bits), np.uint32)
        return (first,) if width is w32 else (first, Stage(_widen, np.uint64))
    if fmt.bits <= 16:
        with np.errstate(all="ignore"):  # rounded to the container
            table = decode_table(fmt).astype(width.float)
        return (Stage(_look_up(table.view(width.uint)), width.uint),)
    return None


# --- plans --------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Start:
    """The source as the kernels will see it."""

    stages: tuple[Stage, ...]
    width: Width


def _start(source: Format) -> _Start | None:
    if source.name == "fp64":
        return _Start((), WIDTHS[64])
    stages = _decode_stages(source, WIDTHS[32])
    return None if stages is None else _Start(stages, WIDTHS[32])


def _raise_width(start: _Start, wanted: bool) -> _Start:
    if wanted and start.width.bits == 32:
        return _Start((*start.stages, Stage(_widen, np.uint64)), WIDTHS[64])
    return start


def _via_stages(rules: Rules, width: Width, source: Format) -> tuple[Stage, ...]:
    if rules.via is None:
        return ()
    via = get(rules.via)
    if holds(via, source) or not _fits(via, Rules(), width):
        return ()
    return (_round_stage(via, replace(rules.first, nan="max"), width, source),)


def _after(fmt: Format, rules: Rules, result: Width | None) -> str | tuple[int, int] | None:
    """What is left to do about NaN once the stages have run."""
    if rules.nan_codes is not None:
        if result is None:
            return rules.nan_codes
        if fmt.has_nan:
            return None  # as values, one NaN is as good as another
        values = decode_table(fmt)[list(rules.nan_codes)].astype(result.float).view(result.uint)
        return int(values[0]), int(values[1])
    if fmt.has_nan:
        return None
    if rules.nan == "raise":
        return "raise"
    code = fmt.max_code if rules.nan == "max" else 0
    if result is None:
        return code, code
    bits = int(np.asarray(decode_table(fmt)[code], dtype=result.float).view(result.uint))
    return bits, bits


@lru_cache(maxsize=2048)
def quantize_plan(source: Format, fmt: Format, rules: Rules, result: Format, seeded: bool = True) -> Plan:
    """Value to value: `result` is the format of the container that comes back."""
    start = _start(source)
    random = ROUNDINGS[rules.rounding].random_bits
    width32 = result.name != "fp64"
    out_width = WIDTHS[32] if width32 else WIDTHS[64]
    if start is not None:
        wide = random and not _drawn_in_32(fmt, rules, start.width)
        start = _raise_width(start, wide or not _fits(fmt, rules, start.width))
    packed: tuple[Stage, ...] | None = ()
    if result.name not in ("fp32", "fp64"):
        packed = _exact_encode_stages(result)
    if start is None or not _fits(fmt, rules, start.width) or packed is None or (random and fmt.mantissa_bits > 19):
        return _definition(source, fmt, rules, result, codes=False)
    stages = [*start.stages, *_via_stages(rules, start.width, source)]
    stages.append(_round_stage(fmt, rules, start.width, source, seeded))
    if start.width.bits == 64 and width32:
        stages.append(Stage(_narrow, np.uint32))
    elif start.width.bits == 32 and not width32:
        stages.append(Stage(_widen, np.uint64))
    nan = _after(fmt, rules, out_width)
    if isinstance(nan, tuple) and packed:
        value = np.array(nan, dtype=np.uint32)
        coded = np.zeros(2, dtype=packed[-1].out)
        engine.run_stages(packed, value, coded, vector=True)
        nan = int(coded[0]), int(coded[1])
    return Plan((*stages, *packed), _dtype(source), _dtype(result), fmt, rules, source, nan)


@lru_cache(maxsize=2048)
def encode_plan(source: Format, fmt: Format, rules: Rules, seeded: bool = True) -> Plan:
    """Value to code."""
    start = _start(source)
    random = ROUNDINGS[rules.rounding].random_bits
    dtype = code_dtype(fmt)
    if start is not None:
        wide = random and not (_drawn_in_32(fmt, rules, start.width) and _exact_encode_stages(fmt) is not None)
        start = _raise_width(start, wide or not _fits(fmt, rules, start.width))
    if start is None or not _fits(fmt, rules, start.width) or (random and fmt.mantissa_bits > 19):
        return _definition(source, fmt, rules, source, codes=True)
    width = start.width
    stages = [*start.stages, *_via_stages(rules, width, source)]
    how = fit(fmt, width)
    plain = how in ("narrow", "aligned") and plain_ends(fmt)
    direct = how != "general" and width.bits == 32 and _steady(fmt, rules) and adjacent_ends(fmt, rules)
    exact = None if direct and fmt.bits <= 16 else _exact_encode_stages(fmt)
    by_value = _choose(fmt, rules, width)[0] != "general" and (not random or (plain and width.bits == 32))
    if direct and fmt.bits <= 16:
        stages.append(_encode_stage(fmt, rules, source))
    elif direct and how == "aligned" and _top_bits(fmt, "fp32"):
        row = build_row(fmt, rules, width, codes=True, source=source, kernel="modes")
        stages.append(Stage("modes32", np.uint32, 8, row))
    elif width.bits == 64 and how == "aligned" and _top_bits(fmt, "fp64"):
        stages.append(_round_stage(fmt, rules, width, source))
        if fmt.bits < 64:
            stages.append(Stage(_shift(64 - fmt.bits), np.uint64))
    elif by_value and exact is not None:
        stages.append(_round_stage(fmt, rules, width, source, seeded))
        if width.bits == 64:
            stages.append(Stage(_narrow, np.uint32))
        stages.extend(exact)
    else:
        name = "random" if random else "general"
        row = build_row(fmt, rules, width, codes=True, source=source, kernel=name, seeded=seeded)
        stages.append(Stage(f"{name}{width.bits}", width.uint, 1, row))
    if not stages or np.dtype(stages[-1].out) != np.dtype(dtype):
        stages.append(Stage(_store, dtype))
    return Plan(tuple(stages), _dtype(source), dtype, fmt, rules, source, _after(fmt, rules, None), codes=True)


@lru_cache(maxsize=1024)
def encode_one_plan(fmt: Format, rules: Rules) -> Plan:
    """Value to code for one binary64 number: one kernel and few calls, where `encode_plan` has quicker stages."""
    source, width = get("fp64"), WIDTHS[64]
    plan = encode_plan(source, fmt, rules)
    if plan.by_definition or not _fits(fmt, rules, width):
        return plan
    row = build_row(fmt, rules, width, codes=True, source=source, kernel="general")
    stages = (*_via_stages(rules, width, source), Stage("general64", np.uint64, 1, row))
    return replace(plan, stages=stages, result=np.uint64)


@lru_cache(maxsize=1024)
def decode_plan(fmt: Format, result: Format) -> Plan:
    """Code to value; what the container cannot hold is rounded to nearest even."""
    width = WIDTHS[64] if result.name == "fp64" else WIDTHS[32]
    stages = _decode_stages(fmt, width)
    if stages is None and width.bits == 32:
        wide = _decode_stages(fmt, WIDTHS[64])
        stages = None if wide is None else (*wide, Stage(_narrow, np.uint32))
    if result.name not in ("fp32", "fp64"):  # one rounding, to what the container can hold
        made = encode_plan(fmt, result, Rules(nan="max"))
        return replace(made, codes=False, result_format=result)
    if stages is None:
        return replace(_definition(fmt, fmt, Rules(nan="max"), result, codes=False), source=code_dtype(fmt))
    stages = stages or (Stage(_store, width.uint),)
    return Plan(stages, code_dtype(fmt), _dtype(result), fmt, Rules(), fmt)


def _dtype(fmt: Format) -> Any:
    return code_dtype(fmt)


def _definition(source: Format, fmt: Format, rules: Rules, result: Format, *, codes: bool) -> Plan:
    return Plan(
        (), code_dtype(source), code_dtype(fmt) if codes else code_dtype(result), fmt, rules, source,
        by_definition=True, codes=codes, result_format=result,
    )  # fmt: skip
