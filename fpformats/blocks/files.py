"""BlockArray in files: NumPy's npz, or safetensors with the names in its metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

if TYPE_CHECKING:
    from .array import BlockArray

__all__ = ["load_block_array", "save_block_array"]

VERSION = 1


def save_block_array(array: BlockArray, path: Path) -> None:
    """Write; the file's ending chooses the kind."""
    parts: dict[str, Any] = {"codes": array.codes, "scales": array.scales}
    if array.tensor_scale is not None:
        parts["tensor_scale"] = array.tensor_scale
    if array.zero_points is not None:
        parts["zero_points"] = array.zero_points
    # safetensors writes memory as it lies
    parts = {name: np.ascontiguousarray(part).reshape(np.shape(part)) for name, part in parts.items()}
    about = json.dumps({"fpformats": VERSION, "format": array.format.name, "axis": array.axis})
    if path.suffix == ".npz":
        np.savez_compressed(path, about=np.array(about), **parts)
    elif path.suffix == ".safetensors":
        _safetensors().save_file(parts, path, metadata={"fpformats": about})
    else:
        raise ValueError(f"{path.name}: a name that ends in .npz or .safetensors was expected")


def load_block_array(path: Path) -> dict[str, Any]:
    """`BlockArray`'s arguments."""
    if path.suffix == ".npz":
        try:
            with np.load(path) as data:
                parts = dict(data)
        except (ValueError, BadZipFile, EOFError):
            raise ValueError(f"{path.name} cannot be read as .npz") from None
        if "about" not in parts:
            raise ValueError(f"{path.name} was not written by BlockArray.save: it has no 'about'")
        about = str(parts.pop("about"))
    elif path.suffix == ".safetensors":
        parts = _safetensors()
        from safetensors import SafetensorError, safe_open

        try:
            parts = parts.load_file(path)
            with safe_open(path, framework="numpy") as file:
                about = (file.metadata() or {}).get("fpformats", "")
        except SafetensorError:
            raise ValueError(f"{path.name} cannot be read as .safetensors") from None
        if not about:
            raise ValueError(f"{path.name} was not written by BlockArray.save: its metadata say nothing of it")
    else:
        raise ValueError(f"{path.name}: a name that ends in .npz or .safetensors was expected")
    said = json.loads(about)
    if said.get("fpformats") != VERSION:
        raise ValueError(f"{path.name} is of version {said.get('fpformats')!r}; {VERSION} was expected")
    return {**parts, "format": said["format"], "axis": said["axis"]}


def _safetensors() -> Any:
    try:
        from safetensors import numpy as safetensors
    except ImportError as error:
        raise ImportError(
            "files in .safetensors need the package safetensors: pip install 'fpformats[files]'"
        ) from error
    return safetensors
