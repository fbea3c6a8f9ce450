"""identify: which profile, rounding and overflow rule a black box follows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..block_format import BlockFormat
from ..casts import refuse_given
from ..format import Format
from ..profiles import PROFILES
from ..registry import get, get_element
from ..rounding import OVERFLOWS, ROUNDINGS, SUBNORMALS, Rules
from .block_identify import BlockIdentification, identify_blocks
from .call import Function, call
from .chunks import Chunk
from .inputs import boundary_bits
from .lines import is_nan, same
from .message import value_text
from .source import Source, source_format

__all__ = ["Identification", "identify"]

Array = NDArray[Any]
#: intermediate formats that a black box may round to first
THROUGH = (None, "fp32", "tf32", "bf16", "fp16")


@dataclass(frozen=True)
class Identification:
    """What a black box follows. Prints as text.

    Attributes
    ----------
    format, source : Format
    profiles : tuple of str
        Named implementations that give the same codes, those of NaN included; see `nan` for the rest.
    rules : dict or None
        Arguments of `fpformats.encode` that give the same codes for all that is no NaN; None where none do.
    nearest : dict
        Arguments that give the same for the most inputs.
    wrong : int
        For how many inputs the nearest rules differ.
    inputs : int
    nan : tuple of str
        What NaN becomes: each code that came.
    counterexamples : dict
        For each profile and each other rounding and overflow rule, the smallest input that tells it apart, as text.
    """

    format: Format
    source: Format
    profiles: tuple[str, ...]
    rules: dict[str, Any] | None
    nearest: dict[str, Any]
    wrong: int
    inputs: int
    nan: tuple[str, ...]
    counterexamples: dict[str, str] = field(repr=False)

    def __str__(self) -> str:
        """The whole report."""
        said = ", ".join(f"{key}={value!r}" for key, value in (self.rules or self.nearest).items())
        lines = [f"{self.format.name} from {self.source.name}, {self.inputs} inputs"]
        lines.append(f"  profiles  {', '.join(self.profiles) or 'none'}")
        lines.append(f"  rules     {said}" if self.rules is not None else
                     f"  rules     none; the nearest, {said}, differs for {self.wrong}")  # fmt: skip
        lines.append(f"  NaN       {'; '.join(self.nan) or 'not tried'}")
        lines += [f"  not {name}: {text}" for name, text in self.counterexamples.items()]
        return "\n".join(lines)


def _candidates(fmt: Format, source: Format) -> Iterator[Rules]:
    """Every combination of rules, the plain ones first."""
    default = Rules().overflow_of(fmt.has_inf)
    overflows = sorted(OVERFLOWS, key=lambda name: name != default)
    modes = [name for name, row in ROUNDINGS.items() if not row.random_bits]
    for via, subnormals, mode, overflow in product(THROUGH, SUBNORMALS, modes, overflows):
        if via is not None:
            middle = get_element(via)
            if not fmt.mantissa_bits < middle.mantissa_bits < source.mantissa_bits:
                continue
        yield Rules(mode, overflow, "max", subnormals, via)


def _arguments(rules: Rules, fmt: Format) -> dict[str, Any]:
    """Rules as arguments: those that are not the default's, and always the rounding and the overflow rule."""
    said: dict[str, Any] = {"rounding": rules.rounding, "overflow": rules.overflow_of(fmt.has_inf)}
    return said | {key: value for key, value, usual in
                   (("subnormals", rules.subnormals, "keep"), ("via", rules.via, None)) if value != usual}  # fmt: skip


def _smallest(source: Source, differ: NDArray[np.bool_], got: Array, due: Array, fmt: Format) -> str:
    """The differing input of the least magnitude, a positive one first, in words."""
    where = np.flatnonzero(differ)
    sign = np.uint64(source.format.sign_bit)
    bits = source.bits[where].astype(np.uint64)
    order = np.lexsort(((bits & sign) != 0, bits & ~sign))
    i = int(where[order[0]])
    return f"x = {source.text(i)} gives {value_text(int(got[i]), fmt)}, not {value_text(int(due[i]), fmt)}"


def identify(
    function: Function, fmt: str | Format | BlockFormat, /, *, source: Any = "float32", level: int = 1,
    tensor_amax: Any = None, scale: Any = None, eps: float | None = None, amax_history: Any = None,
) -> Identification | BlockIdentification:  # fmt: skip
    """Name what a black box does: profiles, rounding, overflow, subnormals, double rounding; or block recipes.

    Parameters
    ----------
    function : callable
        As for `check_cast`.
    fmt : str, Format or BlockFormat
        The format it casts to. For a block format all recipes with its elements, blocks and scale format are tried, on
        the blocks of `boundary_inputs` and on 2048 random ones.
    source : str or dtype
        Of the inputs. Only sources wider than an intermediate format can tell that it is there.
    level : int
        Of `boundary_inputs`.
    tensor_amax, scale, eps, amax_history
        What the black box of a block format takes into account, as for `fpformats.encode_blocks`.

    Returns
    -------
    Identification
        For a block format a `BlockIdentification`.

    Raises
    ------
    CastError, ValueError, TypeError
        As `check_cast`.

    Examples
    --------
    >>> import fpformats as fp
    >>> from fpformats.testing import identify
    >>> box = identify(lambda x: fp.encode(x, "e4m3", rounding="toward_zero", overflow="nonfinite"), "e4m3")
    >>> box.rules, box.profiles
    ({'rounding': 'toward_zero', 'overflow': 'nonfinite'}, ())
    >>> box.counterexamples["rounding='nearest_even'"]
    'x = ~0.000976562616415 = 0x3a800001 (fp32) gives 0x00 = 0 0000 000 = 0, not 0x01 = 0 0000 001 = 0.001953125'
    >>> identify(lambda x: fp.encode_blocks(x, "nvfp4_torchao"), "nvfp4").recipes
    ('nvfp4_torchao',)
    """
    row, kind = get(fmt), source_format(source)
    if level not in (1, 2):
        raise ValueError(f"level={level!r}: 1 or 2 was expected")
    given = {"tensor_amax": tensor_amax, "scale": scale, "eps": eps, "amax_history": amax_history}
    if isinstance(row, BlockFormat):
        return identify_blocks(function, row, kind, level, given)
    refuse_given(row, given)
    numbers = Source(boundary_bits(row, kind, level), kind)
    got = call(function, Chunk(kind, numbers.bits.copy), numbers.bits.copy(), row)
    nans = is_nan(numbers.bits, kind)
    here = numbers.take(~nans)
    mine = got[~nans]
    best: tuple[int, Rules] | None = None
    for rules in _candidates(row, kind):
        differ = int(here.bits.size - np.count_nonzero(same(here.encode(row, rules), mine, row, "class")))
        if best is None or differ < best[0]:
            best = differ, rules
        if not differ:
            break
    assert best is not None
    wrong, rules = best
    against = _against(row, rules, here, mine)
    profiles, more = _profiles(row, numbers, got)
    arguments = _arguments(rules, row)
    return Identification(row, kind, profiles, None if wrong else arguments, arguments, wrong, numbers.bits.size,
                          _nan_of(numbers, got, nans, row), more | against)  # fmt: skip


def _against(fmt: Format, found: Rules, source: Source, got: Array) -> dict[str, str]:
    """Counterexamples to each other rounding and overflow rule, all else equal."""
    said = {}
    rows = [("rounding", name) for name, row in ROUNDINGS.items() if not row.random_bits]
    rows += [("overflow", name) for name in OVERFLOWS] + [("subnormals", name) for name in SUBNORMALS]
    for key, name in rows:
        due = source.encode(fmt, replace(found, **{key: name}))  # type: ignore[arg-type]
        differ = ~same(due, got, fmt, "class")
        if differ.any() and getattr(found, key) != name:
            said[f"{key}={name!r}"] = _smallest(source, differ, got, due, fmt)
    return said


def _profiles(fmt: Format, source: Source, got: Array) -> tuple[tuple[str, ...], dict[str, str]]:
    """Profiles that give all the codes bit for bit, and what tells the others apart."""
    found, said = [], {}
    for profile in PROFILES.values():
        try:
            rules = profile.rules(fmt)
        except ValueError:
            continue
        if ROUNDINGS[rules.rounding].random_bits:
            continue
        keep = np.ones(source.bits.size, bool)
        if not fmt.has_nan and rules.nan_codes is None and rules.nan == "raise":
            keep = ~is_nan(source.bits, source.format)
        here, mine = source.take(keep), got[keep]
        due = here.encode(fmt, rules)
        differ = due != mine
        if not differ.any():
            found.append(profile.name)
        else:
            said[f"profile={profile.name!r}"] = _smallest(here, differ, mine, due, fmt)
    return tuple(found), said


def _nan_of(source: Source, got: Array, nans: NDArray[np.bool_], fmt: Format) -> tuple[str, ...]:
    said = []
    sign = source.bits.dtype.type(source.format.sign_bit)
    for name, mask in (("+NaN", (source.bits & sign) == 0), ("-NaN", (source.bits & sign) != 0)):
        codes = np.unique(got[nans & mask])
        if codes.size:
            shown = ", ".join(value_text(int(code), fmt) for code in codes[:2])
            more = f" and {codes.size - 2} more" if codes.size > 2 else ""
            said.append(f"{name} becomes {shown}{more}")
    return tuple(said)
