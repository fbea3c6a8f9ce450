"""Where machine code is kept between processes.

Numba's own cache looks at one file's time stamp: a change in a callee of another file leaves stale
code behind, and two processes that save different signatures of one function at once can swap
them. Here the folder's name is a hash of every source in this package's kernels together with the
versions of Numba, llvmlite and NumPy; every kernel has a file of its own with one signature in it;
and Numba writes files by atomic rename. So nothing stale can be found, and processes that start
together write the same bytes.

``FPFORMATS_CACHE_DIR`` chooses the place; an empty value turns the cache off. A place that cannot
be written is not an error: the kernels are then compiled in every process.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import caching

__all__ = ["cached", "directory"]


@lru_cache(maxsize=1)
def _fingerprint() -> str:
    """A hash of all that decides what the machine code is."""
    digest = hashlib.sha256()
    for version in (numba.__version__, llvmlite.__version__, np.__version__, sys.version):
        digest.update(version.encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()[:20]


@lru_cache(maxsize=1)
def directory() -> Path | None:
    """The folder of this very version's machine code, or None where nothing can be kept."""
    chosen = os.environ.get("FPFORMATS_CACHE_DIR")
    if chosen == "":
        return None
    places = [Path(chosen)] if chosen else [
        Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "fpformats",
        Path(tempfile.gettempdir()) / f"fpformats-{os.getuid() if hasattr(os, 'getuid') else 'user'}",
    ]  # fmt: skip
    for place in places:
        folder = place / _fingerprint()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.TemporaryFile(dir=folder):
                pass
            # code is loaded from here: it has to be our own folder
            if not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid():
                return folder
        except (OSError, RuntimeError):
            continue
    return None


class _Locator(caching._CacheLocator):
    def __init__(self, py_func: FunctionType, py_file: str) -> None:
        self._folder = str(directory())

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> str:
        return _fingerprint()

    def get_disambiguator(self) -> str:
        return ""

    @classmethod
    def from_function(cls, py_func: FunctionType, py_file: str) -> _Locator:
        return cls(py_func, py_file)


class _Impl(caching.CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012


class _Cache(caching.FunctionCache):
    _impl_class = _Impl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a file cut short or from elsewhere, whatever it raises: compile anew
            return None

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        # the closure's contents are covered by the fingerprint
        return (sig, codegen.magic_tuple())


def cached(function: Callable[..., Any], name: str, signature: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """`function` compiled for exactly one signature, from the cache if it is there."""
    alone = FunctionType(function.__code__, function.__globals__, name, function.__defaults__, function.__closure__)
    alone.__qualname__ = name
    dispatcher = numba.njit(**options)(alone)
    if directory() is not None:
        dispatcher._cache = _Cache(alone)
    dispatcher.compile(signature)
    dispatcher.disable_compile()
    return dispatcher
