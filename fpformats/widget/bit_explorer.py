"""The bit explorer as a Jupyter widget. Only this file needs anywidget."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise ImportError("BitExplorer needs anywidget: pip install 'fpformats[widget]'") from error

from ..explore.words import Exact, text
from ..format import Format
from ..registry import FORMATS as ROWS
from ..registry import get_element
from .facts import default_code, exact, exact_value, html_table, row_data, same, unwire, wire
from .page import FORMATS, module, outside, style

__all__ = ["BitExplorer"]


class _Code(traitlets.Int):
    """An integer, NumPy's too; hexadecimal text on its way to JavaScript, whose numbers end at 2^53."""

    def validate(self, obj: Any, value: Any) -> Any:
        """The plain int."""
        return super().validate(obj, value if isinstance(value, bool) else getattr(value, "__index__", lambda: value)())


class _Number(traitlets.TraitType):
    """One number, exactly: a float where that holds it, else a `Fraction`. Text on its way to JavaScript."""

    info_text = "a number or a decimal string"

    def validate(self, obj: Any, value: Any) -> Any:
        """The float or the Fraction."""
        try:
            return _plain(exact(value))
        except (TypeError, ValueError):
            self.error(obj, value)


class _Name(traitlets.TraitType):
    """A format, kept as its name."""

    info_text = "a format or its name"

    def validate(self, obj: Any, value: Any) -> Any:
        """The name; the explorer knows the format from here on."""
        return obj.know(value)


def _plain(number: Exact) -> Exact:
    """The float that is the same number, or the number."""
    try:
        return float(number) if isinstance(number, float) or Fraction(float(number)) == number else number
    except OverflowError:
        return number


class BitExplorer(anywidget.AnyWidget):
    """A number in a small format, to click and to type: its bits, its neighbours, and what other formats make of it.

    Parameters
    ----------
    format : str or Format
        The format whose bits are shown; a format of one's own too.
    value : number or str
        The number to look at, taken exactly: ``"0.1"`` is one tenth, ``0.1`` is not.
    code : int, optional
        In place of `value`: the number that this code stands for.
    formats : iterable of str or Format
        What `format` is compared with.

    Attributes
    ----------
    format : str
        Name of the format. When it changes, `value` stays and `code` is what `encode` makes of it there (0 for NaN
        where there is none).
    code : int
        When it changes, `value` becomes what it stands for.
    value : float or Fraction
        When it changes, `code` becomes what `encode` makes of it. It is not rounded: `decode` of `code` is.
    formats : list of str

    Raises
    ------
    ImportError
        Without anywidget, the extra ``widget``.
    TypeError
        For a block format.
    ValueError
        For a name that no format has, and for `value` and `code` together.
    traitlets.TraitError
        For a code outside the format's, for NaN where the format has none, and for what is not a number.

    Notes
    -----
    All four attributes can be set, observed and linked; the browser's changes arrive in them. Where JavaScript does not
    run, the widget shows as a table of the same facts.

    Examples
    --------
    >>> from fpformats.widget import BitExplorer
    >>> explorer = BitExplorer("e4m3", value="3.1")
    >>> explorer.value, hex(explorer.code)
    (Fraction(31, 10), '0x44')
    >>> explorer.code = 0x7E
    >>> explorer.value
    448.0
    >>> explorer.format = "e2m1"
    >>> explorer.value, explorer.code
    (448.0, 7)
    """

    _esm = module()
    _css = style()
    _rows = traitlets.Dict().tag(sync=True)
    format = _Name("e4m3").tag(sync=True)
    code = _Code(0).tag(sync=True, to_json=lambda code, _: hex(code), from_json=lambda code, _: int(code, 16))
    value = _Number(0.0).tag(sync=True, to_json=lambda x, _: wire(x), from_json=lambda x, _: unwire(x))
    formats = traitlets.List(_Name()).tag(sync=True)

    def __init__(
        self,
        format: str | Format = "e4m3",
        *,
        value: Any = None,
        code: int | None = None,
        formats: Iterable[str | Format] = FORMATS,
        **options: Any,
    ) -> None:
        if value is not None and code is not None:
            raise ValueError(f"value={value!r} and code={code!r}: one of the two was expected")
        self._known = dict(ROWS)
        self._rows = row_data(ROWS.values())
        super().__init__(format=self.know(format), formats=[self.know(fmt) for fmt in formats], **options)
        if code is not None:
            self.code = code
        else:
            self.value = "3.1" if value is None else value

    def know(self, fmt: str | Format) -> str:
        """Add a format to those that can be chosen: its name."""
        row = self._known[fmt] if isinstance(fmt, str) and fmt in self._known else get_element(fmt)
        if self._known.get(row.name) != row:
            self._known[row.name] = row
            self._rows = row_data(self._known.values())
        return row.name

    @property
    def _row(self) -> Format:
        return self._known[self.format]

    @traitlets.validate("code")
    def _check_code(self, proposal: Any) -> int:
        code, row = proposal["value"], self._row
        if not 0 <= code < 1 << row.bits:
            raise traitlets.TraitError(outside(code, row))
        return int(code)

    @traitlets.validate("value")
    def _check_value(self, proposal: Any) -> Exact:
        x: Exact = proposal["value"]
        here = exact_value(self.code, self._row)
        if default_code(x, self._row) is None and here == here:  # NaN is also what a code that means nothing stands for
            raise traitlets.TraitError(f"value={x!r}: {self._row.name} has no NaN")
        return x

    @traitlets.observe("format", "code", "value")
    def _follow(self, change: Any) -> None:
        """Make the other two fit the one that was set; a change from the browser fits already."""
        row, x = self._row, exact(self.value)
        here, made = exact_value(self.code, row), default_code(x, row)
        if made == self.code or (self.code < 1 << row.bits and same(here, x)):
            return
        if change["name"] == "code":
            self.value = here
        elif made is not None:
            self.code = made
        else:  # NaN, which the new format has not
            with self.hold_trait_notifications():
                self.code, self.value = 0, exact_value(0, row)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        made: Any = super()._repr_mimebundle_(**options)
        bundle, metadata = made
        return {**bundle, "text/html": self._repr_html_()}, metadata

    def _repr_html_(self) -> str:
        """The table that is seen where no JavaScript runs."""
        names = [self.format, *(name for name in self.formats if name != self.format)]
        table = html_table(exact(self.value), [self._known[name] for name in names], self.code)
        return f'<div class="fx"><style>\n{style()}</style>\n{table}\n</div>'

    def __repr__(self) -> str:
        return f"<BitExplorer {self.format}: {text(exact(self.value))} as code {self.code:#x}>"
