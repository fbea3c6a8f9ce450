"""What the command line does with the tensors of a file: measure them, or write them quantized."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..casts import decode, encode, quantize, rules_for
from ..explore.compare import Accumulator, Comparison, Row
from ..format import Format
from ..rounding import ROUNDINGS, Rules
from .files import FileError, Tensor, read
from .files_out import Output, write

__all__ = ["check", "listed", "measure", "select", "write_quantized"]

Advance = Callable[[int], None]

#: Values a chunk.
CHUNK = 1 << 20


def select(path: Path, names: Sequence[str]) -> tuple[list[Tensor], list[str]]:
    """The tensors of a file that are to be used, and the names of those passed over.

    Without `names` these are the floating-point ones; all, when none is.
    """
    found = {tensor.name: tensor for tensor in read(path)}
    if missing := [name for name in names if name not in found]:
        raise FileError(f"{path}: no tensor {missing[0]!r}; it holds {listed(list(found))}")
    floating = [tensor for tensor in found.values() if tensor.floating]
    chosen = [found[name] for name in dict.fromkeys(names)] or floating or list(found.values())
    if not sum(tensor.size for tensor in chosen):
        raise FileError(f"{path}: holds no values ({chosen[0].name} has shape {chosen[0].shape})")
    return chosen, [] if names else [tensor.name for tensor in found.values() if tensor not in chosen]


def listed(names: Sequence[str]) -> str:
    """Some of the names, so that a line stays a line."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def check(fmt: str | Format, options: Mapping[str, Any]) -> None:
    """ValueError where `quantize` would refuse these options whatever the data."""
    quantize(np.ones(1, np.float32), fmt, **options)


def _pieces(tensor: Tensor, fmts: Sequence[Format], options: Mapping[str, Any]) -> Iterator[tuple[int, np.ndarray]]:
    """A tensor's chunks with the index each starts at.

    Where random bits are drawn the tensor is one chunk: its bits belong to places in the whole.
    """
    random = any(ROUNDINGS[_rules(fmt, options).rounding].random_bits for fmt in fmts)
    start = 0
    for x in tensor.chunks(max(tensor.size, 1) if random else CHUNK):
        yield start, x
        start += x.size


def _rules(fmt: Format, options: Mapping[str, Any]) -> Rules:
    return rules_for(fmt, **{name: value for name, value in options.items() if name != "rng"})


def _cast(
    cast: Callable[..., np.ndarray], tensor: Tensor, start: int, x: np.ndarray, fmt: Format, options: Mapping[str, Any]
) -> np.ndarray:
    try:
        return cast(x, fmt, **options)
    except ValueError:
        if x.dtype.kind != "f" or not np.isnan(x).any():
            raise
    # `cast` knows the place in the chunk only
    where = np.unravel_index(start + int(np.isnan(x).argmax()), tensor.shape) if tensor.shape else ()
    index = ", ".join(map(str, where))
    raise FileError(
        f"{tensor.name}[{index}] is NaN, which {fmt.name} cannot hold; --nan max or --nan zero chooses a value"
    )


def measure(
    tensors: Sequence[Tensor], formats: Sequence[Format], options: Mapping[str, Any], advance: Advance
) -> Comparison:
    """Quantize every tensor to every format, keep the report alone."""
    parts = [Accumulator(fmt) for fmt in formats]
    for tensor in tensors:
        for start, x in _pieces(tensor, formats, options):
            for part in parts:
                part.update(x, _cast(quantize, tensor, start, x, part.format, options))
                advance(x.size)
    return Comparison(tuple(part.result() for part in parts))


def write_quantized(
    tensors: Sequence[Tensor], fmt: Format, options: Mapping[str, Any], path: Path, codes: bool, advance: Advance
) -> Row:
    """Quantize every tensor to one format, into a file of values or of codes; the report of it."""
    part = Accumulator(fmt)
    cast = encode if codes else quantize

    def results(tensor: Tensor) -> Iterator[np.ndarray]:
        for start, x in _pieces(tensor, [fmt], options):
            result = _cast(cast, tensor, start, x, fmt, options)
            part.update(x, decode(result, fmt, dtype=np.float64) if codes else result)
            advance(x.size)
            yield result

    outputs = [
        Output(tensor.name, tensor.shape, cast(np.ones(1, tensor.dtype), fmt, **options).dtype, results(tensor))
        for tensor in tensors
    ]
    write(path, outputs)
    return part.result()
