"""quantize, encode, decode, convert: the public casts.

This file looks at arguments; `plan` chooses the stages and `engine` runs them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import reference
from .arrays import Adapted, adapt, element_format
from .block_format import BlockFormat
from .execute import check_out, run_plan, same_memory
from .format import Format
from .plan import Plan, code_dtype, decode_plan, encode_one_plan, encode_plan, holds, quantize_plan
from .profiles import profile_rules
from .randomness import random_words, with_bits
from .registry import get as get_any
from .registry import get_element as get
from .rounding import NAN_RULES, OVERFLOWS, ROUNDINGS, SUBNORMALS, Rules
from .rounding import rounding as rounding_row
from .scalars import as_scalar, exact_integers
from .short import Short
from .tables import valid_codes

__all__ = ["convert", "decode", "encode", "quantize", "recipe_rounding", "refuse_given"]

Array = NDArray[Any]
_FP32, _FP64 = get("fp32"), get("fp64")
_DEFAULTS = Rules()


@lru_cache(maxsize=1024)
def rules_for(
    fmt: Format, rounding: str, overflow: str | None, nan: str, subnormals: str, via: Any, profile: str | None
) -> Rules:
    """The arguments as one checked row."""
    if profile is not None:
        given = {"rounding": rounding, "overflow": overflow, "nan": nan, "subnormals": subnormals, "via": via}
        for key, value in given.items():
            if value != getattr(_DEFAULTS, key):
                raise ValueError(f"profile={profile!r} already decides {key}; {key}={value!r} cannot be given with it")
        return profile_rules(profile, fmt)
    rounding_row(rounding)
    tables = {"overflow": (overflow, OVERFLOWS), "nan": (nan, NAN_RULES), "subnormals": (subnormals, SUBNORMALS)}
    for key, (value, table) in tables.items():
        if value not in table and not (key == "overflow" and value is None):
            raise ValueError(f"{key}={value!r}: one of {', '.join(table)} was expected")
    return Rules(rounding, overflow, nan, subnormals, None if via is None else get(via).name)


@lru_cache(maxsize=1024)
def _result_format(source: Format | None, fmt: Format) -> Format:
    """What holds the values: the source's own type where it can, else binary32.

    Integers become binary32 where that holds every value of the format, else binary64.
    """
    if source is None:
        return _FP32 if holds(_FP32, fmt) else _FP64
    if source.name in ("fp32", "fp64") or holds(source, fmt):
        return source
    return _FP32


# --- the way of an array ------------------------------------------------------------------------
def _source(adapted: Adapted, fmt: Format) -> tuple[Array | None, Format, Format | None]:
    """Raw bits, the format the kernels read, and the format the caller's elements are."""
    if adapted.format is not None:
        source = get(adapted.format)
        return adapted.data, source, source
    return exact_integers(adapted.data, fmt), _FP64, None


def _apply(x: Any, fmt: Format, rules: Rules, rng: Any, out: Any, *, codes: bool) -> Any:
    """The general way: any container, any out."""
    adapted = adapt(x)
    bits, source, own = _source(adapted, fmt)
    rules, seeded = with_bits(rules, rng), _seeded(rng, rules)
    if bits is None:  # integers too wide for one exact float
        return _wide_integers(adapted, fmt, rules, rng, out, codes=codes)
    result = None if codes else _result_format(own, fmt)
    plan = encode_plan(source, fmt, rules, seeded) if codes else quantize_plan(source, fmt, rules, result, seeded)
    name = None if codes else result.name  # type: ignore[union-attr]
    if out is not None:
        dtype = np.dtype(plan.result) if codes else adapted.wrap(np.empty(0, plan.result), name).dtype
        check_out(out, bits.shape, dtype, x if isinstance(x, np.ndarray) else bits)
        if out.flags.c_contiguous and out.dtype.isnative and not _partial_alias(bits, out):
            run_plan(plan, bits, out.view(plan.result), rng)
            return out
    made = np.empty(bits.shape, dtype=plan.result)
    run_plan(plan, bits, made, rng)
    if out is None:
        return adapted.wrap(made, name)
    out[...] = made if codes else adapted.wrap(made, name)
    return out


def _partial_alias(bits: Array, out: Array) -> bool:
    return np.may_share_memory(bits, out) and not same_memory(bits, out)


def _wide_integers(adapted: Adapted, fmt: Format, rules: Rules, rng: Any, out: Any, *, codes: bool) -> Any:
    """Integers that no double holds exactly, into a format with more than 51 mantissa bits."""
    flat = adapted.data.reshape(-1)
    made = np.empty(flat.shape, dtype=code_dtype(fmt) if codes else np.float64)
    for i, value in enumerate(flat.tolist()):
        code = reference.encode(value, fmt, rules)
        made[i] = code if codes else float(reference.decode(code, fmt))
    result = made.reshape(adapted.data.shape)
    if out is None:
        return adapted.wrap(result if codes else result.view(np.uint64), None if codes else "fp64")
    check_out(out, result.shape, result.dtype, adapted.data)
    out[...] = result
    return out


def _seeded(rng: Any, rules: Rules) -> bool:
    explicit = rng[0] if isinstance(rng, tuple) else rng
    return rules.words == "plain" and isinstance(explicit, (int, np.integer))


# --- public -------------------------------------------------------------------------------------
_fast: dict[Any, Short | None] = {}
#: codes that are looked at and decoded at a time
_PART = 1 << 20
_array = np.array


def quantize(
    x: Any, fmt: str | Format | BlockFormat, /, *,
    rounding: str = "nearest_even", overflow: str | None = None, nan: str = "raise", subnormals: str = "keep",
    via: str | Format | None = None, profile: str | None = None, axis: int = -1, rng: Any = None, out: Any = None,
    tensor_amax: Any = None, scale: Any = None, eps: float | None = None, amax_history: Any = None,
) -> Any:  # fmt: skip
    """Round every element to a value of the format, and keep it as a float.

    With a block format, every block is scaled, rounded and scaled back as its recipe says.

    Parameters
    ----------
    x : array_like or number
        Floats of any width (NumPy, ml_dtypes, torch, jax), integers and bools (exactly, beyond 2**53
        too), lists; as single numbers also `fractions.Fraction`, `decimal.Decimal` and decimal
        strings. Any shape and strides.
    fmt : str, Format or BlockFormat
        Target format.
    rounding : str
        ``nearest_even``, ``nearest_away``, ``nearest_zero``, ``toward_zero``, ``away_from_zero``,
        ``toward_positive``, ``toward_negative``, ``to_odd``, ``stochastic`` (and P3109's
        ``stochastic_b``, ``stochastic_c``).
    overflow : str, optional
        ``saturate``, ``propagate`` or ``nonfinite``; by default a format with an infinity overflows
        to it and a format without saturates.
    nan : str
        NaN into a format that has none: ``raise``, ``max`` or ``zero``.
    subnormals : str
        ``keep``, ``flush_inputs``, ``flush_before_rounding``, ``flush_after_rounding``.
    via : str or Format, optional
        Round to this format first (two-step hardware).
    profile : str, optional
        A named implementation (see `profiles`) that decides all of the above.
    axis : int
        For block formats only, the axis along which blocks run; element formats ignore it.
    rng : int, array of integers, or (either, number of bits), optional
        For the stochastic modes: a seed, or explicit random bits, one integer an element. A seed
        gives 32 bits an element from Philox4x32-10, of which ``(seed, N)`` uses the top N; an array
        gives as many bits as its type has.
    out : numpy.ndarray, optional
        Where to write; may be `x` itself.
    tensor_amax, scale, eps, amax_history : optional
        For block formats only, what the recipe takes in place of what the array says: see `encode_blocks`.

    Returns
    -------
    array or number
        The same container, shape and device. float32 and float64 keep their type; narrower floats
        keep theirs where it holds every value of the format, else float32; integers become float32
        (float64 where the format needs it); Python numbers become float.

    Raises
    ------
    ValueError
        Unknown names, NaN into a format without one, a bad `rng` or `out`, or `profile` together
        with what it decides.
    TypeError
        Objects, complex numbers and strings in arrays.

    Notes
    -----
    Each element is rounded exactly once (IEEE 754-2019 clause 4.3; OCP OFP8; IEEE P3109 4.7).
    Gradients are not tracked.

    A block format's recipe decides everything but `rounding` (where the default means the recipe's own), `rng` and what
    it is given. Its result is float32, cast to the container's type: a value
    beyond float16 becomes infinite there.

    Examples
    --------
    >>> quantize([0.1, 1.06, 449.0, 1e9], "e4m3").tolist()
    [0.1015625, 1.0, 448.0, 448.0]
    >>> quantize(3.1, "e2m1"), quantize(1e9, "e5m2"), quantize(1e9, "e5m2", overflow="saturate")
    (3.0, inf, 57344.0)
    >>> quantize([0.01, 0.02, 0.035, 0.06], "mxfp4").tolist()
    [0.01171875, 0.0234375, 0.03125, 0.046875]
    """
    number = type(x) is float and x == x and out is None
    alone = rng is tensor_amax is scale is eps is amax_history is None
    if alone and (number or (type(x) is np.ndarray and x.flags.c_contiguous)):
        array = _array([x]) if number else x
        key = (array.dtype, fmt, rounding, overflow, nan, subnormals, via, profile)
        hit = _fast.get(key)
        if hit is None and key not in _fast and not isinstance(get_any(fmt), BlockFormat):
            hit = _remember(key, array, fmt, rounding, overflow, nan, subnormals, via, profile, codes=False)
        if hit is not None:
            return hit(array, out).item() if number else hit(array, out)
    if isinstance(row := get_any(fmt), BlockFormat):
        from .blocks.encode import quantize_blocks
        from .blocks.given import Given

        own = recipe_rounding(row, rounding=rounding, overflow=overflow, nan=nan, subnormals=subnormals, via=via,
                              profile=profile)  # fmt: skip
        given = Given(tensor_amax, scale, eps, amax_history)
        return quantize_blocks(x, row, axis=axis, rng=rng, out=out, given=given, **own)
    if not alone:
        refuse_given(row, {"tensor_amax": tensor_amax, "scale": scale, "eps": eps, "amax_history": amax_history})
    rules = rules_for(row, rounding, overflow, nan, subnormals, via, profile)
    return _any(x, row, rules, rng, out, codes=False)


def encode(
    x: Any, fmt: str | Format, /, *,
    rounding: str = "nearest_even", overflow: str | None = None, nan: str = "raise", subnormals: str = "keep",
    via: str | Format | None = None, profile: str | None = None, axis: int = -1, rng: Any = None, out: Any = None,
) -> Any:  # fmt: skip
    """The codes that the elements become: unsigned integers, one a value, never packed.

    Parameters are those of `quantize`.

    Returns
    -------
    array of uint8, uint16, uint32 or uint64, or int
        The narrowest of those types that holds a code of the format; an int for a single number.

    Raises
    ------
    ValueError, TypeError
        As `quantize`.

    Notes
    -----
    A NaN becomes the format's canonical quiet NaN, its sign kept where the format can; payloads
    are dropped. Profiles may differ, bit for bit.

    Examples
    --------
    >>> encode([1.0, -0.0, 449.0], "e4m3")
    array([ 56, 128, 126], dtype=uint8)
    >>> hex(encode(float("nan"), "e4m3")), hex(encode(1e9, "e4m3", overflow="nonfinite"))
    ('0x7f', '0x7f')
    """
    number = type(x) is float and x == x and out is None
    if (number or (type(x) is np.ndarray and x.flags.c_contiguous)) and rng is None:
        array = _array([x]) if number else x
        key = (array.dtype, fmt, rounding, overflow, nan, subnormals, via, profile, number)
        hit = _fast.get(key)
        if hit is None and key not in _fast:
            hit = _remember(key, array, fmt, rounding, overflow, nan, subnormals, via, profile, codes=True, one=number)
        if hit is not None:
            return hit(array, out).item() if number else hit(array, out)
    rules = rules_for(get(fmt), rounding, overflow, nan, subnormals, via, profile)
    return _any(x, get(fmt), rules, rng, out, codes=True)


def decode(codes: Any, fmt: str | Format, /, *, dtype: Any = np.float32, out: Any = None) -> Any:
    """The values of codes.

    Parameters
    ----------
    codes : array_like of integers, or int
        Codes of the format, one a value.
    fmt : str or Format
        Their format.
    dtype : dtype
        float16, float32, float64 or an ml_dtypes float. A value that it cannot hold is rounded to
        nearest even.
    out : numpy.ndarray, optional
        Where to write.

    Returns
    -------
    array of `dtype`, or float

    Raises
    ------
    ValueError
        A code outside the format, with its index.
    TypeError
        Codes that are no integers.

    Examples
    --------
    >>> decode([0x38, 0x7E, 0xFE], "e4m3")
    array([   1.,  448., -448.], dtype=float32)
    """
    if type(codes) is np.ndarray and codes.flags.c_contiguous:
        key = (codes.dtype, fmt, dtype)
        hit = _fast.get(key)
        if hit is None and key not in _fast:
            hit = _remember_codes(key, codes, get(fmt), dtype)
        if hit is not None:
            return hit(codes, out)
    fmt = get(fmt)
    if isinstance(codes, (int, np.integer)) and not isinstance(codes, bool):
        if out is not None:
            raise TypeError("out is for arrays; codes is a single number")
        value = reference.decode(int(codes), fmt)
        if dtype is np.float32:
            return _as_float(value)
        _, target = _decode_plan(fmt, dtype)
        container = get(element_format(target) or "")
        code = reference.encode(value, container, Rules(nan="max"))
        return np.array(code, code_dtype(container)).view(target)[()]
    adapted = adapt(codes)
    if adapted.format is not None or adapted.data.dtype.kind not in "iu":
        raise TypeError(f"codes {_what(codes, adapted)}; integers were expected")
    raw = _checked_codes(adapted.data, fmt)
    plan, target = _decode_plan(fmt, dtype)
    result = element_format(target)
    if out is not None:
        check_out(out, raw.shape, target, raw)
        if out.flags.c_contiguous and out.dtype.isnative:
            run_plan(plan, raw, out.view(plan.result), None)
            return out
    made = np.empty(raw.shape, dtype=plan.result)
    run_plan(plan, raw, made, None)
    if out is None:
        return adapted.wrap(made, result)
    out[...] = made.view(target)
    return out


def _what(codes: Any, adapted: Adapted) -> str:
    """The type of codes that are none, in an error's words."""
    return (
        f"have dtype {codes.dtype}"
        if hasattr(codes, "dtype")
        else f"are {adapted.format or adapted.data.dtype} numbers"
    )


def _decode_plan(fmt: Format, dtype: Any) -> tuple[Plan, np.dtype[Any]]:
    result = element_format(np.dtype(dtype))
    if result is None:
        raise TypeError(f"dtype={dtype!r}: a float type was expected")
    return decode_plan(fmt, get(result)), np.dtype(dtype)


def _checked_codes(codes: Array, fmt: Format) -> Array:
    """Codes in the format's own unsigned type, each inside the format."""
    dtype = np.dtype(code_dtype(fmt))
    bad: Any = None
    if codes.dtype.kind == "i" and codes.size and codes.min() < 0:
        bad = codes < 0
    elif codes.dtype.itemsize * 8 > fmt.bits and codes.size and int(codes.max()) >> fmt.bits:
        bad = codes > (1 << fmt.bits) - 1
    elif (valid := valid_codes(fmt)) is not None:
        known = valid[codes]
        bad = None if known.all() else ~known
    if bad is not None:
        index = np.unravel_index(int(bad.argmax()), codes.shape) if codes.ndim else ()
        where = f"codes[{', '.join(str(int(i)) for i in index)}]" if index else "the code"
        raise ValueError(f"{where} = {int(codes[index])} is no code of {fmt.name} ({fmt.bits} bits)")
    return np.ascontiguousarray(codes, dtype=dtype).reshape(codes.shape)


def convert(
    codes: Any, from_fmt: str | Format, to_fmt: str | Format, /, *,
    rounding: str = "nearest_even", overflow: str | None = None, nan: str = "raise", subnormals: str = "keep",
    via: str | Format | None = None, profile: str | None = None, rng: Any = None, out: Any = None,
) -> Any:  # fmt: skip
    """Codes of one format to codes of another, with one rounding.

    Parameters are those of `encode`; `codes` those of `decode`.

    Examples
    --------
    >>> [hex(code) for code in convert([0x7E, 0x7F], "e4m3", "e5m2")]
    ['0x5f', '0x7e']
    """
    source, fmt = get(from_fmt), get(to_fmt)
    rules = rules_for(fmt, rounding, overflow, nan, subnormals, via, profile)
    if isinstance(codes, (int, np.integer)) and not isinstance(codes, bool):
        if out is not None:
            raise TypeError("out is for arrays; codes is a single number")
        return int(convert(np.array([codes]), source, fmt, rounding=rounding, overflow=overflow, nan=nan,
                           subnormals=subnormals, via=via, profile=profile, rng=rng)[0])  # fmt: skip
    adapted = adapt(codes)
    if adapted.format is not None or adapted.data.dtype.kind not in "iu":
        raise TypeError(f"codes {_what(codes, adapted)}; integers were expected")
    raw = _checked_codes(adapted.data, source)
    plan = encode_plan(source, fmt, with_bits(rules, rng), _seeded(rng, rules))
    if out is not None:
        check_out(out, raw.shape, np.dtype(plan.result), raw)
    made = out if out is not None and out.flags.c_contiguous else np.empty(raw.shape, dtype=plan.result)
    run_plan(plan, raw, made, rng)
    if out is None:
        return adapted.wrap(made, None)
    if made is not out:
        out[...] = made
    return out


# --- the short way: contiguous NumPy floats, plans kept by their arguments ----------------------
def _remember(key: Any, x: Array, fmt: Any, *options: Any, codes: bool, one: bool = False) -> Short | None:
    """The short way for this kind of call; None where there is none."""
    fmt = get(fmt)
    rules = rules_for(fmt, *options)
    hit = None
    if x.dtype.isnative and x.dtype.kind in "fV" and not ROUNDINGS[rules.rounding].random_bits:
        source = get(element_format(x.dtype) or "")
        if codes:
            plan = encode_one_plan(fmt, rules) if one else encode_plan(source, fmt, rules)
            dtype = np.dtype(plan.result)
        else:
            result = _result_format(source, fmt)
            plan = quantize_plan(source, fmt, rules, result)
            dtype = x.dtype if result is source else np.dtype(np.float32)
        hit = Short(plan, dtype, check_out, run_plan)
    _keep(key, hit)
    return hit


def _remember_codes(key: Any, codes: Array, fmt: Format, dtype: Any) -> Short | None:
    """The short way for codes in the format's own unsigned type, where their size alone says which are valid."""
    hit = None
    if codes.dtype == code_dtype(fmt) and valid_codes(fmt) is None:
        whole = 8 * codes.dtype.itemsize == fmt.bits
        run = run_plan if whole else _run_checked
        hit = Short(*_decode_plan(fmt, dtype), check_out, run, limit=(1 << fmt.bits) - 1)
    _keep(key, hit)
    return hit


def _run_checked(plan: Plan, codes: Array, out: Array) -> None:
    """`run_plan` on codes that may be none: part by part, so that the second pass finds them in cache."""
    flat, target = codes.reshape(-1), out.reshape(-1)
    if np.may_share_memory(codes, out):
        _checked_codes(codes, plan.source_format)  # before any is overwritten
    for start in range(0, flat.size, _PART):
        part = flat[start : start + _PART]
        if int(part.max()) >> plan.source_format.bits:
            _checked_codes(codes, plan.source_format)
        run_plan(plan, part, target[start : start + _PART])


def _keep(key: Any, hit: Short | None) -> None:
    if len(_fast) > 4096:
        _fast.clear()
    _fast[key] = hit


def refuse_given(fmt: Format, given: dict[str, Any]) -> None:
    """ValueError where an element format is given what only block formats take."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name}: {fmt.name} is not a block format")


def recipe_rounding(
    fmt: BlockFormat, /, *, rounding: str = "nearest_even", overflow: str | None = None, nan: str = "raise",
    subnormals: str = "keep", via: str | Format | None = None, profile: str | None = None, **others: Any,
) -> dict[str, Any]:  # fmt: skip
    """`quantize`'s options as `encode_blocks` takes them: a recipe decides all but the elements' rounding.

    Raises
    ------
    ValueError
        For an option that the recipe decides.
    """
    decided = {"overflow": overflow, "nan": nan, "subnormals": subnormals, "via": via, "profile": profile}
    for name, value in decided.items():
        if value != getattr(_DEFAULTS, name, None):
            raise ValueError(f"{fmt.name}: the recipe decides {name}; {name}={value!r} cannot be given with it")
    return {"rounding": None if rounding == "nearest_even" else rounding, **others}


# --- single numbers -----------------------------------------------------------------------------
def _any(x: Any, fmt: Format, rules: Rules, rng: Any, out: Any, *, codes: bool) -> Any:
    scalar = as_scalar(x)
    if scalar is None:
        return _apply(x, fmt, rules, rng, out, codes=codes)
    if out is not None:
        raise TypeError("out is for arrays; x is a single number")
    number, back = scalar
    if isinstance(number, np.ndarray):
        if ROUNDINGS[rules.rounding].random_bits and not isinstance(rng, (int, np.integer, tuple, type(None))):
            rng = np.asarray(rng).reshape(())
        made = _apply(number, fmt, rules, rng, None, codes=codes)
        return back(made) if not codes else int(made)
    random = (0, 32)
    if ROUNDINGS[rules.rounding].random_bits:
        rules = with_bits(rules, rng)
        words, seed = random_words(rules, rng, ())
        random = (_first_word(words, seed, rules), rules.random_bits or 32)
    code = reference.encode(number, fmt, rules, random=random)
    if codes:
        return code
    return _as_float(reference.decode(code, fmt))


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _first_word(words: Array | None, seed: int, rules: Rules) -> int:
    if words is not None:
        return int(words[0])
    from .kernels.philox import philox

    block = np.empty(4, dtype=np.uint32)
    philox(block, seed, 0)
    return int(block[0]) >> (32 - (rules.random_bits or 32))
