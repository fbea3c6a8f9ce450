"""What the command line does with the tensors of a file: measure them, or write them quantized."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..block_format import BlockFormat
from ..blocks.array import BlockArray
from ..casts import decode, encode, quantize, rules_for
from ..explore.compare import Accumulator, Comparison, Row, block_array
from ..format import Format
from ..rounding import ROUNDINGS, Rules
from .files import FileError, Tensor, read
from .files_out import Output, write, write_with

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


def check(fmt: str | Format | BlockFormat, options: Mapping[str, Any]) -> None:
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


def _whole(tensor: Tensor) -> np.ndarray:
    """A tensor in its shape: what a block format needs."""
    return np.concatenate([np.zeros(0, tensor.dtype), *tensor.chunks(CHUNK)]).reshape(tensor.shape)


def _rules(fmt: Format, options: Mapping[str, Any]) -> Rules:
    return rules_for(fmt, **{name: value for name, value in options.items() if name not in ("rng", "axis")})


def _blocks(tensor: Tensor, x: np.ndarray, fmt: BlockFormat, options: Mapping[str, Any]) -> BlockArray:
    try:
        return block_array(x, fmt, options)
    except ValueError as error:
        raise FileError(f"{tensor.name}: {error}") from None


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
    tensors: Sequence[Tensor], formats: Sequence[Format | BlockFormat], options: Mapping[str, Any], advance: Advance
) -> Comparison:
    """Quantize every tensor to every format, keep the report alone."""
    parts = {fmt.name: Accumulator(fmt) for fmt in formats}
    elements = [fmt for fmt in formats if isinstance(fmt, Format)]
    recipes = [fmt for fmt in formats if isinstance(fmt, BlockFormat)]
    for tensor in tensors:
        for start, x in _pieces(tensor, elements, options) if elements else ():
            for fmt in elements:
                parts[fmt.name].update(x, _cast(quantize, tensor, start, x, fmt, options))
                advance(x.size)
        whole = _whole(tensor) if recipes else np.zeros(0)
        for recipe in recipes:
            parts[recipe.name].update_blocks(whole, _blocks(tensor, whole, recipe, options))
            advance(tensor.size)
    return Comparison(tuple(part.result() for part in parts.values()))


def write_quantized(
    tensors: Sequence[Tensor],
    fmt: Format | BlockFormat,
    options: Mapping[str, Any],
    path: Path,
    codes: bool,
    advance: Advance,
) -> Row:
    """Quantize every tensor to one format, into a file of values or of codes; the report of it."""
    if isinstance(fmt, BlockFormat):
        return _write_blocks(tensors, fmt, options, path, codes, advance)
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


def _write_blocks(
    tensors: Sequence[Tensor], fmt: BlockFormat, options: Mapping[str, Any], path: Path, codes: bool, advance: Advance
) -> Row:
    """Values; or the codes and scales of one tensor, as `BlockArray.load` reads them."""
    part = Accumulator(fmt)

    def made(tensor: Tensor) -> BlockArray:
        x = _whole(tensor)
        result = _blocks(tensor, x, fmt, options)
        part.update_blocks(x, result)
        advance(tensor.size)
        return result

    if not codes:
        dtypes = [quantize(np.ones(1, tensor.dtype), fmt).dtype for tensor in tensors]

        def values(tensor: Tensor, dtype: np.dtype[Any]) -> Iterator[np.ndarray]:
            yield made(tensor).decode(dtype=dtype).reshape(-1)

        write(path, [Output(t.name, t.shape, d, values(t, d)) for t, d in zip(tensors, dtypes, strict=True)])
        return part.result()
    if path.suffix not in (".npz", ".safetensors"):
        raise FileError(f"{path}: codes and scales of {fmt.name} go into .npz or .safetensors")
    if len(tensors) > 1:
        raise FileError(f"{path}: holds one tensor's codes and scales; --tensor chooses one of {len(tensors)}")
    write_with(path, made(tensors[0]).save)
    return part.result()
