"""encode_blocks and the block formats' quantize: arguments, containers, the second level."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import reference
from ..arrays import Adapted, adapt
from ..block_format import BlockFormat
from ..elements import encode32
from ..execute import check_out
from ..randomness import drawn_words, random_words, with_bits
from ..registry import get_element
from ..rounding import ROUNDINGS, Rules
from ..rounding import rounding as rounding_row
from ..scalars import as_scalar
from .affine import decode_affine, run_affine
from .array import BlockArray, block_format
from .expressions import evaluate
from .given import Given
from .means import mean_of
from .numbers import binary32
from .recipe import recipe
from .run import CHUNK, amax_of, amaxes_of, run_encode, run_quantize
from .scaling import Scaling
from .tiles import ALONE, Tiling, tiling

__all__ = ["Prepared", "encode_blocks", "quantize_blocks", "tensor_amax"]

Array = NDArray[Any]
#: of what the array says
NOTHING = Given()


def tensor_amax(x: Any, fmt: str | BlockFormat = "nvfp4") -> np.float32:
    """The largest magnitude of an array as a recipe takes it; of chunks, the maximum of theirs.

    Parameters
    ----------
    x : array_like
        Of any shape; converted to float32 first.
    fmt : str or BlockFormat
        Says whether a NaN counts.

    Returns
    -------
    numpy.float32
        To be given as ``tensor_amax=``. Chunks combine by `numpy.maximum` (by `numpy.fmax` where NaN does not count).

    Examples
    --------
    >>> import fpformats as fp, numpy as np
    >>> x = np.linspace(-3, 5, 64, dtype=np.float32).reshape(2, 32)
    >>> whole = fp.encode_blocks(x, "nvfp4")
    >>> amax = max(fp.tensor_amax(row) for row in x)
    >>> parts = [fp.encode_blocks(row, "nvfp4", tensor_amax=amax) for row in x]
    >>> [part.codes.tolist() for part in parts] == whole.codes.tolist()
    True
    """
    bits, _ = binary32(adapt(x))
    return amax_of(np.ascontiguousarray(bits), block_format(fmt).amax_nan)


def _number(x: Any) -> tuple[Array, Any] | None:
    """(0-d array, way back) of a single number, which is a block of its own; None for arrays."""
    scalar = as_scalar(x)
    if scalar is None:
        return None
    number, back = scalar
    if isinstance(number, np.ndarray):
        return number, back
    code = reference.encode(number, get_element("fp32"), Rules())  # rounded once
    return np.array(code, np.uint32).view(np.float32), back


class Prepared:
    """An array and a recipe, ready to run."""

    def __init__(
        self, adapted: Adapted, fmt: BlockFormat, axis: int, rounding: str | None, rng: Any, given: Given
    ) -> None:
        bits, source = binary32(adapted)
        self.tiling: Tiling = tiling(fmt, bits.shape, axis)
        self.fmt, self._bits = fmt, bits
        self.turns = ALONE if fmt.zero_point or fmt.select or fmt.statistic == "mean" else self.tiling.turns
        self.rows = self.tiling.rows_of(bits, self.turns)
        self.second: Any = None
        given.check(fmt, self.tiling.count)
        level: dict[str, Any] = {}
        amaxes: Array | None = None
        if fmt.z:
            amaxes = self._amaxes(given)
            G = self._amax(given, amaxes)
            with np.errstate(all="ignore"):
                z = evaluate(fmt.z, {**recipe(fmt, source).environment, "G": G})
            z = np.asarray(z, np.float32)
            self.second = G if fmt.second == "G" else z
            level = {
                "G": self.tiling.per_block(G) if np.ndim(G) else G,
                "z": self.tiling.per_block(z) if z.ndim else np.float32(z),
            }
        amax: Any = None if fmt.z or given.tensor_amax is None else given.one_amax()
        if fmt.statistic == "mean":
            amax = np.array([mean_of(row) for row in self.rows], np.float32)
        eps, rounding = given.least(fmt), rounding or ""
        scale = given.scales(fmt, self.tiling, Scaling(recipe(fmt, source), eps=eps))
        self.random_bits: int | None = None
        words, seed = self._random(fmt, rounding, rng)
        self.scaling = Scaling(
            recipe(fmt, source, rounding, self.random_bits, seed >= 0), eps=eps, given=scale, words=words, seed=seed,
            amax=amax, amaxes=amaxes, **level,
        )  # fmt: skip
        self.stored = np.empty(self.tiling.count, np.float32 if fmt.scale == "fp32" else np.uint8)
        self.zero_points = np.empty(self.tiling.count, np.int8) if fmt.zero_point else None

    @cached_property
    def blocks(self) -> Array:
        """(blocks, numbers), as bits."""
        return self.rows if self.turns is ALONE else self.tiling.cut(self._bits)

    @property
    def in_order(self) -> bool:
        """Whether `rows` are in the array's own order."""
        return self.tiling.in_order(self.turns)

    def encode(self, out: Array | None = None) -> Array:
        """Codes of `rows`; the scales and zero points are filled in."""
        codes = np.empty(self.rows.shape, np.uint8) if out is None else out
        if self.zero_points is None:
            run_encode(self.scaling, self.rows, codes, self.stored, self.turns)
        else:
            run_affine(self.scaling, self.rows, codes, self.stored, self.zero_points)
        return codes

    def quantize(self, out: Array) -> None:
        """Values of `rows`, as binary32 bits."""
        if self.zero_points is None:
            run_quantize(self.scaling, self.rows, out, self.stored, self.turns)
        else:
            decode_affine(self.scaling, self.encode(), self.stored, self.zero_points, out)

    def _amaxes(self, given: Given) -> Array | None:
        """The blocks' amaxes, where their second level is made of them."""
        return amaxes_of(self.rows, self.fmt.amax_nan, self.turns) if given.tensor_amax is None else None

    def _amax(self, given: Given, amaxes: Array | None) -> Any:
        """The second level's, one or one a row."""
        if self.fmt.second_of != "tensor":
            return given.row_amaxes(self.tiling.lines) if amaxes is None else self.tiling.line_amaxes(amaxes)
        # as bits, a NaN is the largest
        return given.one_amax() if amaxes is None else amaxes.view(np.uint32).max(initial=0).view(np.float32)

    def _random(self, fmt: BlockFormat, rounding: str, rng: Any) -> tuple[Any, int]:
        if rounding:
            rounding_row(rounding)
        if not ROUNDINGS[rounding or fmt.rounding].random_bits:
            if rng is not None:
                raise ValueError(f"rng is for the stochastic modes, not for rounding={rounding or fmt.rounding!r}")
            return None, -1
        rules = with_bits(Rules(rounding or fmt.rounding), rng)
        self.random_bits = rules.random_bits
        words, seed = random_words(rules, rng, self.tiling.shape)
        if words is None:
            # counter-based words come in fours: where parts of the work begin between them, all are drawn at once
            strip = self.tiling.size * self.turns.across
            if self.in_order and (strip % 4 == 0 or (self.turns is ALONE and strip <= CHUNK // 4)):
                return None, seed
            words = drawn_words(seed, math.prod(self.tiling.shape)) >> np.uint32(32 - (rules.random_bits or 32))
        return self.tiling.rows_of(words.reshape(self.tiling.shape), self.turns).reshape(-1), -1


def encode_blocks(
    x: Any, fmt: str | BlockFormat, /, *, axis: int = -1, rounding: str | None = None, rng: Any = None,
    tensor_amax: Any = None, scale: Any = None, eps: float | None = None, amax_history: Any = None,
    out: Any = None,
) -> BlockArray:  # fmt: skip
    """Codes and scales of an array in a block format.

    Parameters
    ----------
    x : array_like
        Floats, integers or bools of any library, any shape. A recipe sees float32, bfloat16 or float16; float64 and
        integers are rounded to float32 first.
    fmt : str or BlockFormat
        A recipe's name, such as ``mxfp8``, ``nvfp4_torchao`` or ``fp8_e4m3_128x128_deepgemm``: ``fp.formats("block")``
        lists them.
    axis : int
        The axis along which blocks run; rows of a two-dimensional block run along the one before it.
    rounding : str, optional
        Of the elements, in place of the recipe's own; ``stochastic`` with `rng`.
    rng : int or array of integers, optional
        As for `quantize`.
    tensor_amax : float, optional
        The second level's amax (one a row for row-scaled recipes), in place of the array's own: for tensors in parts.
    scale : float or array_like, optional
        For recipes with float32 scales: the scale that `format.y` calls s, in place of the amax's. With delayed
        scaling, the scale that is kept where the history gives none.
    eps : float, optional
        The smallest amax, for recipes that have one.
    amax_history : array_like, optional
        For recipes with delayed scaling: the amaxes of the steps before, in any order; none at the first step. See
        `DelayedScaling`, which keeps one.
    out : numpy.ndarray of uint8, optional
        Where the codes go: of the shape of `x`. It becomes the result's `codes`.

    Returns
    -------
    BlockArray

    Raises
    ------
    ValueError, TypeError
        As `quantize`; an axis that `x` does not have; a second level or scale that the recipe does not take.

    Notes
    -----
    A last block that is shorter is a block of its own. NaN, infinities and zeros act as the recipe's row says.

    Examples
    --------
    >>> import fpformats as fp, numpy as np
    >>> x = np.float32([[6, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5] * 4])
    >>> fp.encode_blocks(x, "mxfp4").codes[0, :8].tolist()
    [7, 0, 2, 2, 4, 4, 6, 6]
    >>> fp.encode_blocks(x, "mxfp4_modelopt").codes[0, :8].tolist()
    [7, 0, 1, 2, 3, 4, 5, 6]
    >>> fp.encode_blocks(x, "fp8_e4m3_delayed_te", amax_history=[3.5, 7, 0.25]).scales.item()
    0.015625
    """
    fmt = block_format(fmt)
    if (scalar := _number(x)) is not None:
        x = scalar[0]
    adapted = adapt(x)
    if out is not None:
        out = np.asarray(out) if isinstance(out, np.ndarray) else out
        check_out(out, adapted.data.shape, np.dtype(np.uint8), x if isinstance(x, np.ndarray) else adapted.data)
    ready = Prepared(adapted, fmt, axis, rounding, rng, Given(tensor_amax, scale, eps, amax_history))
    tiles = ready.tiling
    straight = out is not None and out.flags.c_contiguous and ready.in_order
    codes = tiles.array_of(ready.encode(out.reshape(ready.rows.shape) if straight else None), ready.turns)
    if out is not None and not straight:
        out[...] = codes
    points = None if ready.zero_points is None else tiles.join_scales(ready.zero_points)
    return BlockArray._trusted(
        codes if out is None else out, tiles.join_scales(ready.stored), fmt, ready.second, tiles, points
    )


def quantize_blocks(
    x: Any, fmt: BlockFormat, *, axis: int = -1, rounding: str | None = None, rng: Any = None, out: Any = None,
    given: Given = NOTHING,
) -> Any:  # fmt: skip
    """What `encode_blocks` decodes to, in the caller's container and type."""
    if (scalar := _number(x)) is not None:
        number, back = scalar
        if out is not None:
            raise TypeError("out is for arrays; x is a single number")
        return back(quantize_blocks(number, fmt, axis=axis, rounding=rounding, rng=rng, given=given))
    adapted, wanted = adapt(x), out
    out = np.asarray(out) if isinstance(out, np.ndarray) else out  # a subclass may have shapes of its own
    ready = Prepared(adapted, fmt, axis, rounding, rng, given)
    own = adapted.format or "fp32"
    straight = own == "fp32" and isinstance(out, np.ndarray) and out.flags.c_contiguous and ready.in_order
    if out is not None:
        dtype = adapted.wrap(np.empty(0, adapted.data.dtype if adapted.format else np.uint32), own).dtype
        check_out(out, adapted.data.shape, dtype, x if isinstance(x, np.ndarray) else adapted.data)
        straight = straight and out.dtype.isnative
    made = out.view(np.uint32).reshape(ready.rows.shape) if straight else np.empty(ready.rows.shape, np.uint32)
    ready.quantize(made)
    if straight:
        return wanted
    values = ready.tiling.array_of(made, ready.turns)
    if own == "fp64":
        values = values.view(np.float32).astype(np.float64).view(np.uint64)
    elif own != "fp32":
        values = encode32(values.view(np.float32), own, Rules(nan="max"))
    if out is None:
        return adapted.wrap(values, own)
    out[...] = adapted.wrap(values, own)
    return wanted
