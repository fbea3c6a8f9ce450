"""Tensors into files, the counterpart of `files`: complete or not at all, one chunk in memory.

CSV is the exception: its lines need whole rows, so the tensor is put together first.
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from .files import SAFETENSORS, FileError, by_suffix

__all__ = ["Output", "write", "write_with"]


@dataclass(frozen=True)
class Output:
    """A tensor to be written: its chunks are consumed once, in C order."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: Iterator[np.ndarray]


def write(path: Path, tensors: Sequence[Output]) -> None:
    """Write tensors to a file of the kind its suffix says.

    The file appears complete or not at all.
    """
    writer = by_suffix(path, _WRITERS)
    if len(tensors) != 1 and path.suffix.lower() in (".npy", ".csv"):
        raise FileError(f"{path}: holds one tensor and {len(tensors)} are to be written; use .npz or .safetensors")

    def write_all(temporary: Path) -> None:
        with temporary.open("wb") as file:
            writer(file, tensors)

    write_with(path, write_all)


def write_with(path: Path, write_all: Callable[[Path], None]) -> None:
    """A file that `write_all` writes, complete or not at all: it is written beside its place and renamed.

    A link stays and its file is written; a pipe or a device is written to, not replaced.
    """
    if path.is_dir():
        raise FileError(f"{path}: is a directory; a file's name was expected")
    if path.exists() and not path.is_file():
        write_all(path)
        return
    path = Path(os.path.realpath(path))
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror}") from error
    os.close(handle)
    temporary = Path(name)
    try:
        write_all(temporary)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp's files are private
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _npy_stream(file: IO[bytes], tensor: Output) -> None:
    descr = np.lib.format.dtype_to_descr(tensor.dtype)
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": tensor.shape})
    for chunk in tensor.chunks:
        file.write(np.ascontiguousarray(chunk, tensor.dtype).data)


def _write_npy(file: IO[bytes], tensors: Sequence[Output]) -> None:
    _npy_stream(file, tensors[0])


def _write_npz(file: IO[bytes], tensors: Sequence[Output]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for tensor in tensors:
            with archive.open(f"{tensor.name}.npy", "w", force_zip64=True) as member:
                _npy_stream(member, tensor)


def _write_safetensors(file: IO[bytes], tensors: Sequence[Output]) -> None:
    names = {np.dtype(descr): name for name, (descr, codes) in SAFETENSORS.items() if codes is None}
    header, at = {}, 0
    for tensor in tensors:
        end = at + prod(tensor.shape) * tensor.dtype.itemsize
        header[tensor.name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for tensor in tensors:
        little = tensor.dtype.newbyteorder("<")
        for chunk in tensor.chunks:
            file.write(np.ascontiguousarray(chunk, little).data)


def _write_csv(file: IO[bytes], tensors: Sequence[Output]) -> None:
    tensor = tensors[0]
    values = np.concatenate([np.zeros(0, tensor.dtype), *tensor.chunks])
    table = values.reshape(-1, tensor.shape[-1] if tensor.shape else 1)
    # enough digits that reading the file back gives the same number
    text = {2: "%.5g", 4: "%.9g", 8: "%.17g"}[tensor.dtype.itemsize] if tensor.dtype.kind == "f" else "%d"
    np.savetxt(file, table, fmt=text, delimiter=",")


_WRITERS: dict[str, Callable[[IO[bytes], Sequence[Output]], None]] = {
    ".npy": _write_npy,
    ".npz": _write_npz,
    ".safetensors": _write_safetensors,
    ".csv": _write_csv,
}
