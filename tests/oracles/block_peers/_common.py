"""What the adaptors share: exact versions, importing parts of a package, and NumPy arrays to tensors and back."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..block_result import BlockResult

if TYPE_CHECKING:
    import torch

__all__ = [
    "DTYPES",
    "TORCH",
    "Peer",
    "array",
    "bits",
    "blocks_with",
    "imported",
    "installed",
    "nibbles",
    "package_path",
    "partly",
    "quiet",
    "shell",
    "tensor",
    "unusable",
]

Peer = Callable[..., BlockResult]

#: What an input may be taken as.
DTYPES = ("float32", "bfloat16")

#: The torch that all peers but gguf compute with. Its float8 casts, its ``scalar / tensor`` and its log2 decide bits.
TORCH = "2.13.0"


# --- is it there, and the right one? -------------------------------------------------------------
def installed(package: str) -> str | None:
    """The version of a distribution without its local part ("2.13.0+cpu" is 2.13.0), or None."""
    try:
        return importlib.metadata.version(package).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


def unusable(packages: dict[str, str | None]) -> str | None:
    """The reason why not, unless all these distributions are installed in these versions (None: in any)."""
    for package, wanted in packages.items():
        found = installed(package)
        if found is None:
            return f"{package} is not installed"
        if wanted not in (None, found):
            return f"{package} {found} is not the {wanted} that is spoken of"
    return None


# --- importing -----------------------------------------------------------------------------------
@contextmanager
def quiet() -> Iterator[None]:
    """No warnings and no log lines of packages that miss a GPU while they are imported."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def imported(name: str) -> Any:
    """A module, imported quietly."""
    with quiet():
        return importlib.import_module(name)


def package_path(name: str) -> Path:
    """Where a top-level package lies, without importing it."""
    spec = PathFinder.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{name} is not installed")
    return Path(next(iter(spec.submodule_search_locations)))


def shell(name: str, root: Path, **contents: object) -> ModuleType:
    """A package whose ``__init__`` is not run: its modules are found, and it holds only `contents`."""
    module = ModuleType(name)
    module.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
    module.__dict__.update(contents)
    return module


@contextmanager
def partly(*stand_ins: ModuleType) -> Iterator[None]:
    """Import a package's modules beside stand-ins for others of its modules, and forget both afterwards.

    What was imported of the stand-ins' top-level packages before is put back, so that nobody else meets a stand-in.
    """
    roots = {module.__name__.split(".")[0] for module in stand_ins}

    def taken() -> dict[str, ModuleType]:
        return {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] in roots}

    before = taken()
    sys.modules.update({module.__name__: module for module in stand_ins})
    try:
        with quiet():
            yield
    finally:
        taken()
        sys.modules.update(before)


# --- arrays and tensors --------------------------------------------------------------------------
def tensor(x: NDArray[np.float32], dtype: str) -> torch.Tensor:
    """A torch tensor of `dtype` of its own; float32 is rounded to bfloat16 by torch (nearest even)."""
    import torch

    if dtype not in DTYPES:
        raise ValueError(f"one of {', '.join(DTYPES)} was expected, got {dtype!r}")
    if x.dtype != np.float32 or x.ndim != 2:
        raise TypeError(f"a matrix of float32 was expected, got {x.dtype} {x.shape}")
    return torch.from_numpy(x.copy()).to(getattr(torch, dtype))


def bits(codes: torch.Tensor) -> NDArray[np.uint8]:
    """The bytes of a tensor of one-byte elements."""
    import torch

    return codes.detach().contiguous().view(torch.uint8).numpy().copy()


def array(values: torch.Tensor, *shape: int) -> NDArray[np.float32]:
    """A float tensor as float32, exactly; of this shape where one is given."""
    import torch

    if values.dtype not in (torch.float32, torch.bfloat16):
        raise TypeError(f"float32 or bfloat16 was expected, got {values.dtype}")
    found = values.detach().to(torch.float32).contiguous().numpy().copy()
    return found.reshape(shape) if shape else found


def nibbles(packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """One code a byte out of two: the even element is in the low nibble."""
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(packed.shape[0], -1)


def blocks_with(lanes: NDArray[np.bool_], rows: int, columns: int) -> NDArray[np.bool_]:
    """True in every lane of the blocks of `rows` × `columns` that have a True lane."""
    height, width = lanes.shape
    grid = lanes.reshape(height // rows, rows, width // columns, columns).any(axis=(1, 3))
    return grid.repeat(rows, axis=0).repeat(columns, axis=1)
