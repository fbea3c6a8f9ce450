"""What `check_cast` found."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..block_format import BlockFormat
from ..format import Format
from ..rounding import Rules

__all__ = ["Report"]


@dataclass(frozen=True)
class Report:
    """What `check_cast` found. True where nothing differs; prints as text.

    Attributes
    ----------
    format : Format or BlockFormat
    rules : Rules or None
        Rounding, overflow and the rest that were expected; None of a block format, whose recipe says it.
    source : Format
        Of the inputs.
    inputs : int
        How many numbers, or blocks, were tried.
    wrong : int
        How many of them differ.
    left_out : int
        NaN that were not tried, because the format has none and ``nan="raise"``.
    causes : tuple of str
        The likely cause, or several that explain all differences together.
    first : int or None
        The bits of the first number that differs; of blocks, which is the first.
    seconds : float
    text : str
    """

    format: Format | BlockFormat
    rules: Rules | None
    source: Format
    inputs: int
    wrong: int
    left_out: int
    causes: tuple[str, ...]
    first: int | None
    seconds: float
    text: str = field(repr=False)

    def __bool__(self) -> bool:
        return not self.wrong

    def __str__(self) -> str:
        return self.text

    def check(self) -> None:
        """Raise AssertionError with the report where anything differs.

        Examples
        --------
        >>> import fpformats as fp
        >>> from fpformats.testing import check_cast
        >>> check_cast(lambda x: fp.encode(x, "e4m3"), "e4m3").check()
        """
        if self.wrong:
            raise AssertionError(self.text)
