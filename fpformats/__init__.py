"""fpformats: the bit-exact reference for small floating-point formats.

>>> import fpformats as fp
>>> fp.quantize([0.1, 1.06, 449.0], "e4m3").tolist()
[0.1015625, 1.0, 448.0]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .block_format import BlockFormat
from .casts import convert, decode, encode, quantize
from .engine import warmup
from .format import Format
from .profiles import profiles
from .registry import FORMATS as _FORMATS
from .registry import UnknownFormatError, formats, get

if TYPE_CHECKING:
    from . import testing, widget
    from .blocks.array import BlockArray
    from .blocks.delayed import DelayedScaling
    from .blocks.encode import encode_blocks, tensor_amax
    from .blocks.hadamard import hadamard
    from .blocks.layouts import pack, unpack
    from .explore.compare import compare
    from .explore.explain import explain

__version__ = "0.1.0"

_LAZY = {
    "BlockArray": "blocks.array",
    "DelayedScaling": "blocks.delayed",
    "compare": "explore.compare",
    "encode_blocks": "blocks.encode",
    "explain": "explore.explain",
    "hadamard": "blocks.hadamard",
    "pack": "blocks.layouts",
    "tensor_amax": "blocks.encode",
    "unpack": "blocks.layouts",
}
#: folders that are loaded on first use
_MODULES = ("testing", "widget")
_CONSTANTS = {name.upper(): row for name, row in _FORMATS.items()}

__all__ = [
    "BlockArray",
    "BlockFormat",
    "DelayedScaling",
    "Format",
    "compare",
    "convert",
    "decode",
    "encode",
    "encode_blocks",
    "explain",
    "formats",
    "get",
    "hadamard",
    "pack",
    "profiles",
    "quantize",
    "tensor_amax",
    "testing",
    "unpack",
    "warmup",
    "widget",
]


def __getattr__(name: str) -> Any:
    """Formats under their names (`fp.E4M3`), and what is loaded on first use."""
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    if name.isupper():
        try:
            return get(name.lower())
        except UnknownFormatError:
            pass
    if name in _LAZY:
        from importlib import import_module

        value = getattr(import_module(f".{_LAZY[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        from importlib import import_module

        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_CONSTANTS, *_MODULES})
