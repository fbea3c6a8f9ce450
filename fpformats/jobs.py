"""What the command line does with the tensors of a file: measure them, or write them quantized."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .compare import Accumulator, Comparison, Row
from .convert import decode, encode, quantize
from .files import FileError, Tensor, read
from .files_out import Output, write
from .format import Format

__all__ = ["check", "measure", "select", "write_quantized"]

Advance = Callable[[int], None]


def select(path: Path, names: Sequence[str]) -> tuple[list[Tensor], list[str]]:
    """The tensors of a file that are to be used, and the names of those passed over.

    Without `names` these are the floating-point ones; all, when none is.
    """
    found = {tensor.name: tensor for tensor in read(path)}
    if missing := [name for name in names if name not in found]:
        raise FileError(f"{path}: no tensor {missing[0]!r}; it holds {_some(list(found))}")
    floating = [tensor for tensor in found.values() if tensor.floating]
    chosen = [found[name] for name in dict.fromkeys(names)] or floating or list(found.values())
    if not sum(tensor.size for tensor in chosen):
        raise FileError(f"{path}: holds no values ({chosen[0].name} has shape {chosen[0].shape})")
    return chosen, [] if names else [tensor.name for tensor in found.values() if tensor not in chosen]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def check(fmt: str | Format, options: Mapping[str, Any]) -> None:
    """ValueError where `quantize` would refuse these options whatever the data."""
    quantize(np.ones(1, np.float32), fmt, **options)


def measure(tensors: Sequence[Tensor], formats: Sequence[Format], options: Mapping[str, Any], advance: Advance) -> Comparison:
    """Quantize every tensor to every format, keep the report alone."""
    parts = [Accumulator(fmt) for fmt in formats]
    for tensor in tensors:
        for x in tensor.chunks():
            for part in parts:
                part.update(x, quantize(x, part.format, **options))
                advance(x.size)
    return Comparison(tuple(part.result() for part in parts))


def write_quantized(
    tensors: Sequence[Tensor],
    fmt: Format,
    options: Mapping[str, Any],
    path: Path,
    codes: bool,
    advance: Advance,
) -> Row:
    """Quantize every tensor to one format, into a file of values or of codes; the report of it."""
    part = Accumulator(fmt)

    def results(tensor: Tensor) -> Iterator[np.ndarray]:
        for x in tensor.chunks():
            if codes:
                result = encode(x, fmt, **options)
                part.update(x, decode(result, fmt, dtype=np.float64))
            else:
                result = quantize(x, fmt, **options)
                part.update(x, result)
            advance(x.size)
            yield result

    convert = encode if codes else quantize
    write(
        path,
        [
            Output(tensor.name, tensor.shape, convert(np.zeros(1, tensor.dtype), fmt, **options).dtype, results(tensor))
            for tensor in tensors
        ],
    )
    return part.result()
