"""Tensors in files: .npy, .npz, .safetensors and .csv, read and written in chunks.

Rules of this file

1. Nothing is unpickled, ever, and no file is changed before its successor is complete.
2. A file that is broken, truncated or of a kind we cannot use raises `FileError`, one line that
   names the file.
3. Memory holds one chunk. The exceptions are CSV and Fortran-ordered arrays, which are read whole.

safetensors' own NumPy interface returns bfloat16 only where ml_dtypes has been imported, and reads
whole tensors. Its layout is eight bytes of length, a JSON header and raw bytes, so it is read here;
bfloat16 and float8 are then just codes, and `decode` turns them into float32 without rounding.
"""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..casts import decode

__all__ = ["SAFETENSORS", "FileError", "Tensor", "by_suffix", "read"]

#: safetensors' dtype names. A string on the right is one of our formats: the tensor holds its codes.
SAFETENSORS: dict[str, tuple[str, str | None]] = {
    "F64": ("<f8", None),
    "F32": ("<f4", None),
    "F16": ("<f2", None),
    "BF16": ("<u2", "bf16"),
    "F8_E4M3": ("u1", "e4m3"),
    "F8_E5M2": ("u1", "e5m2"),
    "F8_E4M3FNUZ": ("u1", "e4m3fnuz"),
    "F8_E5M2FNUZ": ("u1", "e5m2fnuz"),
    "F8_E8M0": ("u1", "e8m0"),
    "I64": ("<i8", None),
    "U64": ("<u8", None),
    "I32": ("<i4", None),
    "U32": ("<u4", None),
    "I16": ("<i2", None),
    "U16": ("<u2", None),
    "I8": ("i1", None),
    "U8": ("u1", None),
    "BOOL": ("?", None),
}


class FileError(ValueError):
    """A file that cannot be used, and why, in one line."""


@dataclass(frozen=True)
class Tensor:
    """One tensor of a file; its values are read when `chunks` is iterated.

    Attributes
    ----------
    name : str
        Its name in the file; the file's stem where the file names nothing.
    shape : tuple of int
    dtype : numpy.dtype
        The type of the chunks.
    floating : bool
        Whether it holds floating-point numbers (rather than integers or booleans).
    chunks : callable
        Iterator over one-dimensional arrays of at most so many values, together all in C order.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    floating: bool
    chunks: Callable[[int], Iterator[np.ndarray]]

    @property
    def size(self) -> int:
        """Number of values."""
        return prod(self.shape)


def read(path: Path) -> list[Tensor]:
    """The tensors of a file.

    Parameters
    ----------
    path : Path
        A .npy, .npz, .safetensors or .csv file.

    Returns
    -------
    list of Tensor
        At least one; their values are not read yet.

    Raises
    ------
    FileError
        Missing, broken, of another kind, or holding something that is not a number.
    """
    reader = by_suffix(path, _READERS)
    if not path.is_file():
        raise FileError(f"{path}: {'is not a file' if path.exists() else 'no such file'}")
    try:
        tensors = reader(path)
    except FileError:
        raise
    except (OSError, ValueError, EOFError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise FileError(f"{path}: cannot be read as {path.suffix.lower()}: {error}") from error
    if not tensors:
        raise FileError(f"{path}: holds no tensor")
    return tensors


def by_suffix(path: Path, table: dict[str, Any]) -> Any:
    """The entry of a table of file kinds; `FileError` where it has none."""
    try:
        return table[path.suffix.lower()]
    except KeyError:
        raise FileError(f"{path}: {', '.join(table)} was expected, not {path.suffix or 'no suffix'}") from None


def _tensor(
    path: Path,
    name: str,
    shape: tuple[int, ...],
    label: str,
    dtype: np.dtype[Any],
    open_at: Callable[[], IO[bytes]],
    codes: str | None = None,
    fortran: bool = False,
) -> Tensor:
    """A tensor whose raw values `open_at` gives from the start."""
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise FileError(f"{path}: {name} is {label}; real numbers of up to 64 bits were expected")
    size = prod(shape)

    def chunks(step: int) -> Iterator[np.ndarray]:
        step = max(size, 1) if fortran else step
        with open_at() as file:
            for start in range(0, size, step):
                count = min(step, size - start)
                raw = file.read(count * dtype.itemsize)
                if len(raw) != count * dtype.itemsize:
                    raise FileError(
                        f"{path}: {name} ends early, after {start + len(raw) // dtype.itemsize} of {size} values"
                    )
                values = np.frombuffer(raw, dtype)
                if fortran:
                    values = values.reshape(shape, order="F").ravel()
                native = values.astype(dtype.newbyteorder("="), copy=False)
                yield native if codes is None else decode(native, codes)

    yielded = dtype.newbyteorder("=") if codes is None else np.dtype(np.float32)
    return Tensor(name, shape, yielded, yielded.kind == "f", chunks)


def _npy_tensor(path: Path, name: str, opened: Callable[[], IO[bytes]]) -> Tensor:
    def header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
        version = np.lib.format.read_magic(file)
        first = version == (1, 0)
        return (np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0)(file)

    def open_at() -> IO[bytes]:
        file = opened()
        header(file)
        return file

    with opened() as file:
        shape, fortran, dtype = header(file)
    return _tensor(path, name, shape, str(dtype), dtype, open_at, fortran=fortran and len(shape) > 1)


def _read_npy(path: Path) -> list[Tensor]:
    return [_npy_tensor(path, path.stem, lambda: path.open("rb"))]


def _read_npz(path: Path) -> list[Tensor]:
    def opener(member: str) -> Callable[[], IO[bytes]]:
        return lambda: zipfile.ZipFile(path).open(member)

    with zipfile.ZipFile(path) as archive:
        members = [name for name in archive.namelist() if name.endswith(".npy")]
    return [_npy_tensor(path, member.removesuffix(".npy"), opener(member)) for member in members]


def _read_safetensors(path: Path) -> list[Tensor]:
    total = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if total < 8 or length > total - 8:
            raise FileError(f"{path}: is not a safetensors file, or ends within its header")
        header = json.loads(file.read(length))
    if not isinstance(header, dict):
        raise FileError(f"{path}: its header is not a JSON object")
    header.pop("__metadata__", None)
    tensors = []
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        shape, (begin, end) = tuple(entry["shape"]), entry["data_offsets"]
        if entry["dtype"] not in SAFETENSORS:
            raise FileError(f"{path}: {name} is {entry['dtype']}; one of {', '.join(SAFETENSORS)} was expected")
        descr, codes = SAFETENSORS[entry["dtype"]]
        dtype = np.dtype(descr)
        if not 0 <= begin <= end <= total - 8 - length or end - begin != prod(shape) * dtype.itemsize:
            raise FileError(
                f"{path}: {name}'s bytes {begin} to {end} are not {list(shape)} of {entry['dtype']} in this file"
            )

        def open_at(offset: int = 8 + length + begin) -> IO[bytes]:
            file = path.open("rb")
            file.seek(offset)
            return file

        tensors.append(_tensor(path, name, shape, entry["dtype"], dtype, open_at, codes))
    return tensors


def _read_csv(path: Path) -> list[Tensor]:
    with path.open(encoding="utf-8-sig") as file:
        first = file.readline()
        try:
            [float(cell) for cell in first.split(",")]
            titles = 0
        except ValueError:
            titles = 1  # a row of column names
        file.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # an empty file: the caller says so
            values = np.loadtxt(file, delimiter=",", ndmin=2, skiprows=titles)
    flat = values.ravel()

    def chunks(step: int) -> Iterator[np.ndarray]:
        return (flat[start : start + step] for start in range(0, flat.size, step))

    return [Tensor(path.stem, values.shape, values.dtype, True, chunks)]


_READERS: dict[str, Callable[[Path], list[Tensor]]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".safetensors": _read_safetensors,
    ".csv": _read_csv,
}
