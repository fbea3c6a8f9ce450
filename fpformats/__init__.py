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
    from . import plot, testing, widget
    from .blocks.array import BlockArray
    from .blocks.delayed import DelayedScaling
    from .blocks.encode import encode_blocks, tensor_amax
    from .blocks.hadamard import hadamard
    from .blocks.layouts import pack, unpack
    from .explore.compare import compare
    from .explore.explain import explain
    from .explore.neighbours import next_down, next_up, spacing
    from .explore.table import table
    from .explore.values import values

__version__ = "0.1.0"

_LAZY = {
    "BlockArray": "blocks.array",
    "DelayedScaling": "blocks.delayed",
    "compare": "explore.compare",
    "encode_blocks": "blocks.encode",
    "explain": "explore.explain",
    "hadamard": "blocks.hadamard",
    "next_down": "explore.neighbours",
    "next_up": "explore.neighbours",
    "pack": "blocks.layouts",
    "spacing": "explore.neighbours",
    "table": "explore.table",
    "tensor_amax": "blocks.encode",
    "unpack": "blocks.layouts",
    "values": "explore.values",
}
#: folders that are loaded on first use
_MODULES = ("plot", "testing", "widget")
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
    "next_down",
    "next_up",
    "pack",
    "plot",
    "profiles",
    "quantize",
    "spacing",
    "table",
    "tensor_amax",
    "testing",
    "unpack",
    "values",
    "warmup",
    "widget",
]


def _repr_html_(self: Format | BlockFormat) -> str:
    """The layout and the facts, for notebooks."""
    from .explore.html import format_html

    return format_html(self)


# how a format is drawn is known above the layer that it is in; here all layers are known
for _kind in (Format, BlockFormat):
    _kind._repr_html_ = _repr_html_  # type: ignore[union-attr]


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
