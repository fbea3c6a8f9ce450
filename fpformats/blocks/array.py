"""BlockArray: codes, scales and second level of an array in a block format."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import element_format
from ..block_format import BlockFormat
from ..execute import check_out
from ..registry import get, get_element
from .affine import decode_affine
from .files import load_block_array, save_block_array
from .layouts import pack, swizzled
from .recipe import recipe
from .run import run_decode
from .scaling import Scaling
from .tiles import ALONE, Tiling, tiling

__all__ = ["BlockArray", "block_format"]

Array = NDArray[Any]


def block_format(fmt: str | BlockFormat) -> BlockFormat:
    """`registry.get`, for a block format only."""
    found = get(fmt)
    if not isinstance(found, BlockFormat):
        raise TypeError(f"{found.name} is an element format; a block format such as mxfp8 or nvfp4 was expected here")
    return found


@dataclass(frozen=True, eq=False)
class BlockArray:
    """An array in a block format, as the package of its recipe stores it.

    Parameters
    ----------
    codes : array_like of uint8
        One element code a value, in the array's shape.
    scales : array_like
        One scale a block: codes (uint8) of the recipe's scale format, or float32. Its shape is the array's with blocks
        in place of values: ``(m, n / 16)`` for 1x16 blocks of an ``(m, n)`` array.
    format : str or BlockFormat
    tensor_scale : float or array_like, optional
        The second level as the package stores it: Transformer Engine's amax, torchao's and ModelOpt's decode scale,
        compressed-tensors' and FlashInfer's encode scale. One number, or one a row for row-scaled recipes.
    axis : int
        The axis along which blocks run.
    zero_points : array_like of int8, optional
        For recipes that have them, the integers that stand for 0, one a block, in the shape of `scales`.

    Raises
    ------
    TypeError, ValueError
        Codes or scales of another type, shape or range than the recipe's; a second level missing or not wanted.

    Notes
    -----
    Whether decoding multiplies or divides is the recipe's business: see ``format.q``.

    Examples
    --------
    >>> import fpformats as fp
    >>> q = fp.encode_blocks([[1.0, -3.0] + [0.0] * 30], "mxfp4")
    >>> q
    <BlockArray mxfp4: shape (1, 32), 1x32 blocks along axis 1, 17 bytes, 4.25 bits a value>
    >>> q.decode()[0, :2].tolist(), q.scales.tolist()
    ([1.0, -3.0], [[126]])
    """

    codes: Array
    scales: Array
    format: BlockFormat  # a name is looked up
    tensor_scale: Any = None
    axis: int = -1
    zero_points: Any = None

    def __post_init__(self) -> None:
        fmt = block_format(self.format)
        put = object.__setattr__
        put(self, "format", fmt)
        codes, element = np.asarray(self.codes), get_element(fmt.element)
        if codes.dtype.kind not in "iu":
            raise TypeError(f"codes has dtype {codes.dtype}; uint8, one code a value, was expected")
        if codes.size and (int(codes.min()) < 0 or int(codes.max()) >= 1 << element.bits):
            lowest, highest = int(codes.min()), int(codes.max())
            raise ValueError(f"codes hold {lowest} ... {highest}; codes of {element.name} have {element.bits} bits")
        put(self, "codes", codes.astype(np.uint8, copy=False))
        put(self, "axis", tiling(fmt, codes.shape, self.axis).axis)
        scales, wanted = np.asarray(self.scales), np.dtype("float32" if fmt.scale == "fp32" else "uint8")
        if scales.dtype != wanted:
            raise TypeError(
                f"scales has dtype {scales.dtype}; {wanted} was expected for {fmt.name} ({fmt.scale} scales)"
            )
        if scales.shape != self._tiling.grid:
            raise ValueError(
                f"scales has shape {scales.shape}; {self._tiling.grid} was expected for codes of shape {codes.shape} "
                f"in {fmt.block_text} blocks"
            )
        put(self, "scales", scales)
        if (self.zero_points is None) != (not fmt.zero_point):
            wanted_text = "a zero point for every block" if fmt.zero_point else "no zero points"
            raise ValueError(f"{fmt.name} has {wanted_text}; zero_points={self.zero_points!r}")
        if fmt.zero_point:
            points = np.asarray(self.zero_points)
            if points.dtype.kind not in "iu" or points.shape != scales.shape:
                raise ValueError(
                    f"zero_points has dtype {points.dtype} and shape {points.shape}; integers in the shape of scales, "
                    f"{scales.shape}, were expected"
                )
            low, high = int(element.min), int(element.max)
            if points.size and not low <= int(points.min()) <= int(points.max()) <= high:
                raise ValueError(f"zero_points hold {points.min()} ... {points.max()}; {low} ... {high} were expected")
            put(self, "zero_points", points.astype(np.int8))
        if (self.tensor_scale is None) != (not fmt.second):
            wanted_text = f"its second level as stored ({fmt.second_text})" if fmt.second else "no tensor_scale"
            raise ValueError(f"{fmt.name} has {wanted_text}; tensor_scale={self.tensor_scale!r}")
        if fmt.second:
            second = np.asarray(self.tensor_scale, np.float32)
            rows = self._second_shape()
            if second.size != int(np.prod(rows)):
                raise ValueError(f"tensor_scale has {second.size} numbers; shape {rows} was expected for {fmt.name}")
            if second.ndim > 1 and second.shape != rows:
                raise ValueError(f"tensor_scale has shape {second.shape}; {rows} was expected for {fmt.name}")
            put(self, "tensor_scale", second.reshape(rows))

    @classmethod
    def _trusted(
        cls, codes: Array, scales: Array, fmt: BlockFormat, second: Any, tiles: Tiling, zero_points: Any = None
    ) -> BlockArray:
        """Of what a recipe made, with nothing to look at."""
        made = object.__new__(cls)
        second = None if second is None else np.asarray(second, np.float32)
        made.__dict__.update(
            codes=codes, scales=scales, format=fmt, tensor_scale=second, axis=tiles.axis, zero_points=zero_points,
            _tiling=tiles,
        )  # fmt: skip
        if second is not None:
            made.__dict__["tensor_scale"] = second.reshape(made._second_shape())
        return made

    @cached_property
    def _tiling(self) -> Tiling:
        return tiling(self.format, self.codes.shape, self.axis)

    def _second_shape(self) -> tuple[int, ...]:
        if self.format.second_of == "tensor":
            return ()
        return tuple(n for i, n in enumerate(self.codes.shape) if i != self.axis)

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self.codes.shape

    @property
    def nbytes(self) -> int:
        """Bytes of packed codes, scales, zero points (as many bits as an element) and second level."""
        bits = get_element(self.format.element).bits
        second = 0 if self.tensor_scale is None else self.tensor_scale.nbytes
        points = 0 if self.zero_points is None else -(-self.zero_points.size * bits // 8)
        return -(-self.codes.size * bits // 8) + self.scales.nbytes + points + second

    @property
    def bits_per_value(self) -> float:
        """`nbytes` in bits, shared out among the values."""
        return 8 * self.nbytes / max(self.codes.size, 1)

    def __repr__(self) -> str:
        return (
            f"<BlockArray {self.format.name}: shape {self.shape}, {self.format.block_text} blocks along axis "
            f"{self.axis}, {self.nbytes} bytes, {self.bits_per_value:.4g} bits a value>"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BlockArray):
            return NotImplemented
        return (
            self.format == other.format
            and self.axis == other.axis
            and np.array_equal(self.codes, other.codes)
            and self.scales.shape == other.scales.shape
            and self.scales.tobytes() == other.scales.tobytes()
            and (self.zero_points is None or np.array_equal(self.zero_points, other.zero_points))
            and (self.tensor_scale is None or self.tensor_scale.tobytes() == other.tensor_scale.tobytes())
        )

    __hash__ = None  # type: ignore[assignment]

    def decode(self, *, dtype: Any = np.float32, out: Any = None) -> Array:
        """The values, by the recipe's own arithmetic.

        Parameters
        ----------
        dtype : dtype
            float32, or a wider or narrower float, to which float32 is then cast.
        out : numpy.ndarray, optional
            Where to write: of the array's shape and `dtype`.

        Returns
        -------
        numpy.ndarray

        Raises
        ------
        TypeError, ValueError
            An `out` that cannot take the values.

        Examples
        --------
        >>> import fpformats as fp
        >>> fp.encode_blocks([0.5, 6.0] * 8, "nvfp4").decode()[:2]
        array([0.5, 6. ], dtype=float32)
        """
        turns = ALONE if self.format.zero_point else self._tiling.turns
        rows = self._tiling.rows_of(self.codes, turns)
        stored = self._tiling.cut_scales(self.scales)
        scaling = Scaling(recipe(self.format, get_element("fp32")), **self._second())
        wanted = np.dtype(dtype)
        if element_format(wanted) is None:
            raise TypeError(f"dtype={dtype!r}: a float type was expected")
        if out is not None:
            for part in (self.codes, self.scales, self.tensor_scale):  # the constructor copies zero points
                if part is not None:
                    check_out(out, self.shape, wanted, part)
        straight = out is not None and wanted == np.float32 and out.flags.carray and self._tiling.in_order(turns)
        made = out.view(np.uint32).reshape(rows.shape) if straight else np.empty(rows.shape, np.uint32)
        if self.zero_points is None:
            run_decode(scaling, rows, stored, made, turns)
        else:
            decode_affine(scaling, rows, stored, self._tiling.cut_scales(self.zero_points), made)
        if straight:
            return out
        values = self._tiling.array_of(made, turns).view(np.float32)
        if out is None:
            return values if wanted == np.float32 else values.astype(wanted)
        np.copyto(out, values, casting="unsafe")
        return out

    def _second(self) -> dict[str, Any]:
        """What the recipe's expressions call G and z, from what is stored."""
        if not self.format.second:
            return {}
        value = self.tensor_scale
        value = self._tiling.per_block(value) if value.ndim else np.float32(value)
        return {self.format.second: value}

    def packed(self) -> Array:
        """The codes as bytes, in the order in which the recipe's package stores them; along ``axis``.

        Returns
        -------
        numpy.ndarray of uint8
            4-bit codes two a byte, 6-bit codes four in three bytes, 8-bit codes as they are.

        Raises
        ------
        ValueError
            An axis whose length does not fill whole bytes.

        Examples
        --------
        >>> import fpformats as fp
        >>> q = fp.encode_blocks([1.0, -6.0] * 16, "mxfp4")
        >>> q.codes[:2].tolist(), hex(q.packed()[0])
        ([2, 15], '0xf2')
        """
        codes = np.moveaxis(np.atleast_1d(self.codes), self.axis, -1)
        if self.format.order == "ggml":
            half = (self.format.block[1] or 0) // 2
            if codes.shape[-1] % (2 * half):
                raise ValueError(
                    f"{self.format.name}: the axis of {codes.shape[-1]} values is no multiple of {2 * half}"
                )
            parts = codes.reshape(*codes.shape[:-1], codes.shape[-1] // (2 * half), 2, half)
            made = (parts[..., 0, :] | parts[..., 1, :] << 4).reshape(*codes.shape[:-1], codes.shape[-1] // 2)
        else:
            made = pack(codes, get_element(self.format.element).bits, order=self.format.order)
        return np.ascontiguousarray(np.moveaxis(made, -1, self.axis))

    def swizzled_scales(self) -> Array:
        """The scales in the 128x4 layout that cuBLAS, Transformer Engine, torchao and FlashInfer hand to tensor cores.

        Returns
        -------
        numpy.ndarray of uint8
            Flat; rows are padded with zeros to a multiple of 128 and columns to one of 4.

        Examples
        --------
        >>> import fpformats as fp, numpy as np
        >>> fp.encode_blocks(np.ones((2, 64), np.float32), "mxfp8").swizzled_scales().size
        512
        """
        if self.scales.dtype != np.uint8:
            raise ValueError(f"{self.format.name}: only scale codes of one byte are swizzled")
        return swizzled(np.moveaxis(np.atleast_1d(self.scales), self.axis, -1))

    def save(self, path: str | Path) -> None:
        """Write to ``.npz`` or ``.safetensors`` (extra `files`): codes, one a byte, scales, second level, and names.

        Examples
        --------
        >>> import fpformats as fp, tempfile, pathlib
        >>> q = fp.encode_blocks([1.0] * 32, "mxfp6")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     q.save(pathlib.Path(folder) / "q.npz")
        ...     fp.BlockArray.load(pathlib.Path(folder) / "q.npz") == q
        True
        """
        save_block_array(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> BlockArray:
        """Read what `save` wrote."""
        return cls(**load_block_array(Path(path)))
