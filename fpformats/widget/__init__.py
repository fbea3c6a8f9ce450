"""The bit explorer: `BitExplorer` in a notebook, `page` as a file that needs nothing but a browser.

`BitExplorer` is loaded on first use and needs the extra ``widget``; `page` and `fragment` need none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .page import fragment, page

if TYPE_CHECKING:
    from .bit_explorer import BitExplorer

__all__ = ["BitExplorer", "fragment", "page"]


def __getattr__(name: str) -> Any:
    if name == "BitExplorer":
        from .bit_explorer import BitExplorer

        return BitExplorer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
