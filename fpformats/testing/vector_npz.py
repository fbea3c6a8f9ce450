"""Vectors as .npz: an array for each field, the flags, and the header as JSON text. The same bytes every time.

Arrays go through temporary files, so that no column is ever held; a zip file has one column after the other.
"""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..plan import code_dtype
from .layout import Field
from .vector_json import check_header
from .vector_sets import Job, Part, parts

__all__ = ["read_npz", "write_npz"]

#: vectors that are read, and bytes that are copied, at a time
VECTORS, BYTES = 1 << 16, 1 << 20
EPOCH = (1980, 1, 1, 0, 0, 0)


def _member(archive: zipfile.ZipFile, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], data: IO[bytes]) -> None:
    info = zipfile.ZipInfo(f"{name}.npy", EPOCH)
    info.create_system, info.external_attr = 3, 0o644 << 16
    descr = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    with archive.open(info, "w", force_zip64=True) as member:
        np.lib.format.write_array_header_1_0(member, descr)
        data.seek(0)
        while piece := data.read(BYTES):
            member.write(piece)


def write_npz(job: Job, how: str) -> Iterator[bytes]:
    """The file, in pieces."""
    types = {field.name: np.dtype(code_dtype(field.format)).newbyteorder("<") for field in job.fields}
    types["flags"] = np.dtype("<u2")
    counts = {field.name: field.count for field in job.fields} | {"flags": 1}
    with ExitStack() as stack:
        columns = {name: stack.enter_context(tempfile.TemporaryFile()) for name in types}
        total = 0
        for part in parts(job, flags=True):
            total += len(part["input"])
            for name, dtype in types.items():
                columns[name].write(np.ascontiguousarray(part[name], dtype).tobytes())
        whole = stack.enter_context(tempfile.TemporaryFile())
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as archive:
            for name, dtype in types.items():
                shape = (total,) if counts[name] == 1 else (total, counts[name])
                _member(archive, name, dtype, shape, columns[name])
            text = np.array(json.dumps(job.header()))
            text = text.astype(text.dtype.newbyteorder("<"))
            _member(archive, "metadata", text.dtype, (), io.BytesIO(text.tobytes()))
        whole.seek(0)
        while piece := whole.read(BYTES):
            yield piece


# --- reading --------------------------------------------------------------------------------------------
def _metadata(archive: zipfile.ZipFile, name: str) -> Any:
    try:
        with archive.open("metadata.npy") as member:
            text: NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
        return json.loads(str(text))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name}: metadata: {error}; the header as JSON text was expected") from None


def _opened(
    archive: zipfile.ZipFile, stack: ExitStack, name: str, field: Field
) -> tuple[IO[bytes], np.dtype[Any], int]:
    """(the numbers of an array, their type, how many vectors)."""
    wanted = f"{field.count} codes of {field.format.bits} bits in each vector were expected"
    try:
        member = stack.enter_context(archive.open(f"{field.name}.npy"))
    except KeyError:
        raise ValueError(f"{name}: no array {field.name}; {wanted}") from None
    try:
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(member)
    except ValueError as error:
        raise ValueError(f"{name}: {field.name}: {error}; {wanted}") from None
    if (
        dtype.kind not in "iu"
        or fortran
        or shape[1:] not in ((field.count,), () if field.count == 1 else None)
        or not shape
    ):
        raise ValueError(f"{name}: {field.name} has shape {shape} and dtype {dtype}; {wanted}")
    return member, dtype, shape[0]


def read_npz(file: IO[bytes], name: str, job: Job) -> Iterator[Part]:
    """The vectors of a file that can be searched, some at a time.

    Raises
    ------
    ValueError
        What is no such file; another format, source or rules than the job's.
    """
    try:
        with zipfile.ZipFile(file) as archive, ExitStack() as stack:
            if "metadata.npy" in archive.namelist():
                check_header(_metadata(archive, name), job, name)
            columns = {field: _opened(archive, stack, name, field) for field in job.fields}
            if len({count for *_, count in columns.values()}) > 1:
                counts = ", ".join(f"{count} of {field.name}" for field, (*_, count) in columns.items())
                raise ValueError(f"{name}: arrays of one length were expected, not {counts}")
            total = next(iter(columns.values()))[2]
            for start in range(0, total, VECTORS):
                size = min(VECTORS, total - start)
                yield {field.name: _codes(_read(member, size * field.count * dtype.itemsize, f"{name}: {field.name}"),
                                          dtype, field, start, name)
                       for field, (member, dtype, _) in columns.items()}  # fmt: skip
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:  # the last: cannot unpack
        raise ValueError(f"{name}: {error}; an .npz file was expected") from None


def _read(member: IO[bytes], size: int, place: str) -> bytes:
    """So many bytes of an array."""
    data = member.read(size)
    if len(data) < size:
        raise ValueError(f"{place} is shorter than its own header says")
    return data


def _codes(data: bytes, dtype: np.dtype[Any], field: Field, start: int, name: str) -> NDArray[Any]:
    codes = np.frombuffer(data, dtype).reshape(-1, field.count)
    if dtype.kind == "i" or dtype.itemsize * 8 != field.format.bits:
        bad = (codes < 0) | (codes.astype(np.uint64) >> np.uint64(field.format.bits) > 0)
        if bad.any():
            first = int(bad.any(axis=1).argmax())
            raise ValueError(
                f"{name}, vector {start + first + 1}: the {field.name} {int(codes[first][bad[first]][0]):#x} has more "
                f"than {field.format.bits} bits"
            )
    return codes.astype(code_dtype(field.format))
