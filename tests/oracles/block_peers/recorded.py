"""What the packages of the block-scaling recipes answered, for suites that have none of them.

The files in ``tests/data/blocks`` are written by ``tests/record_blocks.py``: the inputs once, in ``inputs.npz``, and a file
for each package. To be small, the answers of a package are strung together in few arrays, and equal ones are kept once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..block_result import BlockResult

__all__ = ["DIRECTORY", "Case", "inputs", "load", "packages", "save"]

DIRECTORY = Path(__file__).resolve().parents[2] / "data" / "blocks"


@dataclass(frozen=True)
class Case:
    """One package's answer for one recipe, input and dtype.

    Attributes
    ----------
    package, versions
        The key of `block_peers.MODULES`, and the versions asked, torch's or NumPy's included.
    recipe, dtype
        The key of `block_peers.PEERS`, and what `x` was taken as: "float32" or "bfloat16".
    input, x
        The input's name and the input: float32, or bfloat16 as float32. NaN payloads count: look at the bits.
    result
        The answer.
    """

    package: str
    versions: dict[str, str]
    recipe: str
    dtype: str
    input: str
    x: NDArray[np.float32]
    result: BlockResult


def packages(directory: Path = DIRECTORY) -> list[str]:
    """The packages that something is recorded of."""
    return sorted(path.stem for path in directory.glob("*.npz") if path.stem != "inputs")


def inputs(directory: Path = DIRECTORY) -> dict[str, NDArray[np.float32]]:
    """The inputs, by name."""
    with np.load(directory / "inputs.npz", allow_pickle=False) as file:
        return {name: file[name].view(np.float32) for name in file.files}


def _bits(values: NDArray[np.float32] | None) -> bytes:
    return b"" if values is None else np.ascontiguousarray(values).tobytes()


def save(cases: list[Case], directory: Path = DIRECTORY) -> None:
    """Write the inputs and a file for each package; cases of the same input name must have the same input."""
    directory.mkdir(parents=True, exist_ok=True)
    xs: dict[str, NDArray[np.uint32]] = {}
    for case in cases:
        # Bit patterns, not floats: no reader can quieten a signalling NaN.
        bits = case.x.view(np.uint32)
        if not np.array_equal(xs.setdefault(case.input, bits), bits):
            raise ValueError(f"{case.recipe} {case.dtype}: the input {case.input} differs between cases")
    np.savez_compressed(directory / "inputs.npz", allow_pickle=False, **xs)
    for package in sorted({case.package for case in cases}):
        chosen = [case for case in cases if case.package == package]
        streams: dict[str, list[bytes]] = {"codes": [], "scales8": [], "scales32": [], "second": [], "undefined": []}
        rows: list[list[object]] = []
        answers: list[list[object]] = []
        known: dict[tuple[object, ...], int] = {}
        for case in chosen:
            codes, scales, second, undefined = case.result
            masked = codes if undefined is None else np.where(undefined, 0, codes).astype(np.uint8)
            marks = b"" if undefined is None else np.packbits(undefined).tobytes()
            number = None if second is None else second.size
            answer = [list(codes.shape), list(scales.shape), scales.dtype.name, number, undefined is not None]
            key = (json.dumps(answer), masked.tobytes(), scales.tobytes(), _bits(second), marks)
            if key not in known:
                known[key] = len(answers)
                answers.append(answer)
                streams["codes"].append(masked.tobytes())
                streams["scales32" if scales.dtype == np.float32 else "scales8"].append(scales.tobytes())
                streams["second"].append(_bits(second))
                streams["undefined"].append(marks)
            rows.append([case.recipe, case.dtype, case.input, known[key]])
        facts = {"versions": chosen[0].versions, "rows": rows, "answers": answers}
        arrays = {name: np.frombuffer(b"".join(parts), np.uint8) for name, parts in streams.items()}
        arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
        np.savez_compressed(directory / f"{package}.npz", allow_pickle=False, **arrays)


def _answers(answers: list[list[object]], streams: dict[str, NDArray[np.uint8]]) -> Iterator[BlockResult]:
    at = dict.fromkeys(streams, 0)

    def take(name: str, size: int) -> NDArray[np.uint8]:
        at[name] += size
        return streams[name][at[name] - size : at[name]].copy()

    for shape, grid, kind, number, marked in answers:
        codes = take("codes", int(np.prod(shape))).reshape(shape)
        if kind == "float32":
            scales = take("scales32", 4 * int(np.prod(grid))).view(np.float32).reshape(grid)
        else:
            scales = take("scales8", int(np.prod(grid))).reshape(grid)
        second = None if number is None else take("second", 4 * number).view(np.float32)
        undefined = None
        if marked:
            undefined = np.unpackbits(take("undefined", -(-codes.size // 8)), count=codes.size).astype(bool)
            undefined = undefined.reshape(shape)
        yield BlockResult(codes, scales, second, undefined)
    if any(at[name] != stream.size for name, stream in streams.items()):
        raise ValueError("the recorded answers are longer than their list says")


def load(package: str, directory: Path = DIRECTORY) -> list[Case]:
    """All recorded cases of a package. Undefined element codes are 0."""
    xs = inputs(directory)
    with np.load(directory / f"{package}.npz", allow_pickle=False) as file:
        facts = json.loads(file["facts"].tobytes())
        streams = {name: file[name] for name in file.files if name != "facts"}
    answers = list(_answers(facts["answers"], streams))
    return [
        Case(package, facts["versions"], recipe, dtype, name, xs[name], answers[index])
        for recipe, dtype, name, index in facts["rows"]
    ]
