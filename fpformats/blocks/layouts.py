"""Codes narrower than a byte in bytes, and scales in the order of tensor cores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["pack", "swizzled", "unpack", "unswizzled"]

Array = NDArray[Any]
ORDERS = ("low_first", "high_first")


def _checked(bits: int, order: str) -> int:
    """How many codes share how many bytes: (codes)."""
    if bits not in range(1, 9) or isinstance(bits, bool):
        raise ValueError(f"bits={bits!r}: an int from 1 to 8 was expected")
    if order not in ORDERS:
        raise ValueError(f"order={order!r}: one of {', '.join(ORDERS)} was expected")
    return 8 // int(np.gcd(8, bits))


def pack(codes: Any, bits: int, *, order: str = "low_first") -> Array:
    """Codes of so many bits into bytes, along the last axis.

    Parameters
    ----------
    codes : array_like of integers
    bits : int
        1 to 8.
    order : str
        ``low_first``: the first code is in a byte's low bits, a later one in the next higher, across bytes too
        (little endian); ``high_first``: the first code is in the high bits (big endian).

    Returns
    -------
    numpy.ndarray of uint8

    Raises
    ------
    ValueError
        A code of more bits; a last axis that does not fill whole bytes.

    Examples
    --------
    >>> pack([1, 2, 3, 4], 4).tolist(), pack([1, 2, 3, 4], 4, order="high_first").tolist()
    ([33, 67], [18, 52])
    >>> pack([1, 2, 3, 4], 6).tolist()
    [129, 48, 16]
    """
    together = _checked(bits, order)
    codes = np.atleast_1d(codes)
    if codes.dtype.kind not in "iu":
        raise TypeError(f"codes has dtype {codes.dtype}; integers were expected")
    if codes.size and (int(codes.min()) < 0 or int(codes.max()) >= 1 << bits):
        raise ValueError(f"codes hold {int(codes.min())} ... {int(codes.max())}; codes of {bits} bits were expected")
    length = codes.shape[-1]
    if length % together:
        raise ValueError(
            f"the last axis has {length} codes; a multiple of {together} fills whole bytes of {bits}-bit codes"
        )
    if bits == 8:
        return codes.astype(np.uint8)
    parts = codes.astype(np.uint64).reshape(*codes.shape[:-1], length // together, together)
    width = together * bits
    places = np.arange(together, dtype=np.uint64) * np.uint64(bits)
    if order == "high_first":
        places = np.uint64(width - bits) - places
    words = np.bitwise_or.reduce(parts << places, axis=-1)
    steps = np.arange(width // 8, dtype=np.uint64) * np.uint64(8)
    if order == "high_first":
        steps = np.uint64(width - 8) - steps
    made = (words[..., None] >> steps).astype(np.uint8)
    return made.reshape(*codes.shape[:-1], length * bits // 8)


def unpack(data: Any, bits: int, size: int | None = None, *, order: str = "low_first") -> Array:
    """The way back.

    Parameters
    ----------
    data : array_like of uint8
        Bytes, packed along the last axis.
    bits : int
    size : int, optional
        How many codes to take along the last axis; all that there are by default.
    order : str

    Returns
    -------
    numpy.ndarray of uint8

    Examples
    --------
    >>> unpack([129, 48, 16], 6).tolist()
    [1, 2, 3, 4]
    """
    together = _checked(bits, order)
    data = np.atleast_1d(data)
    if data.dtype != np.uint8:
        if data.dtype.kind not in "iu" or (data.size and (int(data.min()) < 0 or int(data.max()) > 255)):
            raise TypeError(f"data has dtype {data.dtype}; bytes (uint8) were expected")
        data = data.astype(np.uint8)
    width = together * bits
    if data.shape[-1] % (width // 8):
        raise ValueError(
            f"the last axis has {data.shape[-1]} bytes; a multiple of {width // 8} was expected for {bits}-bit codes"
        )
    steps = np.arange(width // 8, dtype=np.uint64) * np.uint64(8)
    places = np.arange(together, dtype=np.uint64) * np.uint64(bits)
    if order == "high_first":
        steps, places = np.uint64(width - 8) - steps, np.uint64(width - bits) - places
    words = np.bitwise_or.reduce(
        data.reshape(*data.shape[:-1], data.shape[-1] * 8 // width, width // 8).astype(np.uint64) << steps, axis=-1
    )
    codes = ((words[..., None] >> places) & np.uint64((1 << bits) - 1)).astype(np.uint8)
    codes = codes.reshape(*data.shape[:-1], data.shape[-1] * 8 // bits)
    if size is None:
        return codes
    if not 0 <= size <= codes.shape[-1]:
        raise ValueError(f"size={size}: the data hold {codes.shape[-1]} codes along the last axis")
    return codes[..., :size]


def _order(rows: int, columns: int) -> Array:
    """Where scale (r, c) of a padded matrix goes: 512-byte tiles of 128x4, four rows 32 apart side by side."""
    r, c = np.arange(rows)[:, None], np.arange(columns)[None, :]
    return ((r // 128) * -(-columns // 4) + c // 4) * 512 + (r % 32) * 16 + (r % 128) // 32 * 4 + c % 4


def swizzled(scales: Array) -> Array:
    """Scale codes (..., rows, columns) in the 128x4 layout, each matrix flat."""
    scales = np.atleast_2d(scales)
    rows, columns = scales.shape[-2:]
    padded = (-(-rows // 128) * 128, -(-columns // 4) * 4)
    full = np.zeros((*scales.shape[:-2], *padded), np.uint8)
    full[..., :rows, :columns] = scales
    out = np.empty((*scales.shape[:-2], padded[0] * padded[1]), np.uint8)
    out[..., _order(*padded)] = full
    return out


def unswizzled(data: Array, rows: int, columns: int) -> Array:
    """The way back, to (..., rows, columns)."""
    padded = (-(-rows // 128) * 128, -(-columns // 4) * 4)
    return np.asarray(data)[..., _order(*padded)][..., :rows, :columns]
