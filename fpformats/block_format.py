"""BlockFormat: a recipe's facts, as data. `recipes` has the rows, `blocks` runs them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property

__all__ = ["BITS", "BlockFormat"]

#: bits of the formats that elements and scales have
BITS = {"e4m3": 8, "e5m2": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4, "int8": 8, "mxint4_element": 4}
BITS |= {"s8": 8, "s4": 4, "s2": 2, "e8m0": 8, "fp32": 32}

WORDS = """\
Every operator is one float32 operation to nearest even; d(...) rounds to the input's type as well; f64(...)
computes in float64 and rounds once; 'a or b' is b where a is 0. MAX is float32's largest, DMAX the input's."""


@dataclass(frozen=True)
class BlockFormat:
    """Elements that share a scale: how they are cut, scaled, rounded and stored, each rounding in its place.

    The arithmetic is in expressions. Every operator in them is one IEEE operation in binary32, rounded to nearest
    even; ``d(...)`` rounds once more to the input's own type, and ``f64(...)`` computes inside in binary64 and rounds
    once to binary32. Their names:

    ==========  ==========================================================================================
    a           the block's `statistic`: its amax, the largest magnitude
    lo, hi      the least and the largest number, 0 among them, of a block that has a zero point
    p           its zero point
    G           the tensor's amax (or a row's)
    z           the second level's scalar, made of G
    v           what the scale is made of
    s           the scale as `y` uses it: the decoded code, or v where scales are binary32
    t           the scale as it is stored
    x, q        an element on its way in; an element's value on its way out
    eps         an argument of the caller's; 0 by default
    MAX         the largest binary32 number
    DMAX, DEPS  the largest number and the epsilon of the input's type
    DROOT       the square root of the smallest normal number of the input's type
    ==========  ==========================================================================================

    Attributes
    ----------
    name : str
    element : str
        Element format.
    block : (int or None, int or None)
        Rows and columns of a block; None for all. Columns run along ``axis``.
    scale : str
        Format of the stored scale: ``e8m0``, ``e4m3`` or ``fp32``.
    v : str
        Expression over a, z, eps.
    rule : str
        How v (or a, for rules that read its exponent) becomes a scale: a name in `blocks.scales.RULES`.
    s : str
        Rule by which v becomes `s`, where that is not the value of the code that is stored; or "".
    y : str
        Expression over x, s, z: what is rounded to the element.
    y_at : tuple of (float, float)
        Magnitudes of y that are rounded as if they were others.
    q : str
        Expression over q, s, t, z: the value that an element decodes to.
    z : str
        Expression over G, or "" where there is one level.
    zero_point : str
        Expression over lo, hi, v, s: what is rounded to the element, as the integer that stands for 0; or "".
    second : str
        What is stored of the second level: ``G`` or ``z``, or "".
    second_of : str
        Whose amax G is: ``tensor`` or ``row``.
    stored : str
        Expression over s: the stored scale, where it is not s itself.
    statistic : str
        What `a` is: ``amax``, or ``mean``: of the magnitudes, their exact sum over their number, rounded once to
        binary32. (Packages add up in an order that they do not state.)
    amax_from : str
        Where an amax comes from: the ``block`` itself, or the ``history`` that the caller gives: the largest of the
        steps before.
    amax_nan : str
        Whether a NaN counts in an amax: ``propagate`` or ``ignore``.
    special : tuple of (condition, code, s)
        What an amax that is "zero", "inf", "nan" or "nonfinite" becomes, as a code and as the number that `y` uses;
        None leaves it to the rule. A condition may name the one type of the input for which it holds: "nan bf16".
    code_at, scale_at : tuple of (code, code), of (code, float)
        Codes stored in place of others, and scales that `y` uses in place of a code's value.
    rounding : str
        Of the elements.
    overflow : str
        Rule for a y beyond the element format: ``saturate``, or another of `rounding.OVERFLOWS`.
    nan_code : int or None
        The element code of a NaN; None where the package leaves it undefined (then it is the largest number's).
    zero : str
        ``keep`` signs of zeros; ``drop_exact`` those of zeros before rounding, ``drop`` all, or ``minus_exact``.
    symmetric : bool
        Whether the most negative number of two's complement is unused.
    argmin : bool
        Whether an element is the first of the values with the least binary32 difference: another one than the nearest
        only where x is so large beside its scale that the differences are rounded to one.
    argmin_of : str
        What the differences are taken from: ``x`` for ``|q s - x|``, ``y`` for ``|q - y|``.
    select : str
        4over6: what the two candidates' errors are made of, ``mae`` or ``mse``.
    order : str
        Of the nibbles that hold 4-bit codes: ``low_first``, ``high_first`` or ``ggml``.
    tier : int
        1: in the first tier; 2: further recipes.
    clause : str
        Which implementation and version this is.

    Examples
    --------
    >>> import fpformats as fp
    >>> fmt = fp.get("nvfp4_te")
    >>> fmt.element, fmt.block, fmt.scale, fmt.bits_per_value
    ('e2m1', (1, 16), 'e4m3', 4.5)
    >>> fmt.v, fmt.z
    ('a * (z * (1 / 6))', 'min(2688 / G, MAX) or 1')
    """

    name: str
    element: str
    block: tuple[int | None, int | None]
    scale: str
    v: str
    rule: str
    y: str
    q: str
    z: str = ""
    zero_point: str = ""
    second: str = ""
    second_of: str = "tensor"
    s: str = ""
    stored: str = ""
    statistic: str = "amax"
    amax_from: str = "block"
    amax_nan: str = "propagate"
    special: tuple[tuple[str, int | None, float], ...] = ()
    code_at: tuple[tuple[int, int], ...] = ()
    scale_at: tuple[tuple[int, float], ...] = ()
    rounding: str = "nearest_even"
    overflow: str = "saturate"
    nan_code: int | None = None
    zero: str = "keep"
    symmetric: bool = False
    argmin: bool = False
    argmin_of: str = "x"
    y_at: tuple[tuple[float, float], ...] = ()
    select: str = ""
    order: str = "low_first"
    tier: int = 1
    clause: str = ""

    def __post_init__(self) -> None:
        # tuples compare a NaN by its identity
        for name in ("special", "scale_at"):
            rows = tuple((*row[:-1], math.nan if row[-1] != row[-1] else row[-1]) for row in getattr(self, name))
            object.__setattr__(self, name, rows)

    def __getstate__(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # no hash: it is this process's

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, field.name) for field in fields(self)))

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.element} elements, {self.block_text} blocks, {self.scale} scales; "
            f"{self.bits_per_value:g} bits a value"
        )

    def __repr__(self) -> str:
        return f"<BlockFormat {self}>"

    @property
    def block_text(self) -> str:
        """The block's shape in words: ``1x16``, ``row``, ``column``, ``tensor``."""
        rows, columns = self.block
        if rows is None and columns is None:
            return "tensor"
        if columns is None:
            return "row" if rows == 1 else f"{rows} rows"
        return "column" if rows is None else f"{rows}x{columns}"

    @property
    def second_text(self) -> str:
        """What is stored of the second level, in words."""
        return {"": "nothing", "G": "the amax", "z": f"z = {self.z}"}[self.second]

    @property
    def size(self) -> int | None:
        """Elements in a whole block; None where that depends on the array."""
        rows, columns = self.block
        return None if rows is None or columns is None else rows * columns

    @property
    def bits_per_value(self) -> float:
        """Bits a value with its share of a whole block's scale; one scale of a whole tensor or row counts nothing."""
        bits = float(BITS[self.element])
        if self.size is None:
            return bits
        return bits + (BITS[self.scale] + (bits if self.zero_point else 0)) / self.size

    def explain(self) -> str:
        """Each rounding of the recipe, in the order in which it happens.

        Examples
        --------
        >>> import fpformats as fp
        >>> print(fp.get("nvfp4_te").explain())
        nvfp4_te: e2m1 elements, 1x16 blocks, e4m3 scales; 4.5 bits a value
          source   Transformer Engine >= 2.14 reference_nvfp4.py
          G        the tensor's amax; a NaN makes it NaN
          z        min(2688 / G, MAX) or 1
          stored   G, as the second level
          a        the block's amax; a NaN makes it NaN
          v        a * (z * (1 / 6))
          scale    v to e4m3 by: rne
          y        x * min(1 / (s * (1 / z)), MAX)
          element  y to e2m1 by nearest_even, saturate; NaN is 0x0; zeros: drop_exact
          value    q * (s * G * (1 / 2688))
        Every operator is one float32 operation to nearest even; d(...) rounds to the input's type as well; f64(...)
        computes in float64 and rounds once; 'a or b' is b where a is 0. MAX is float32's largest, DMAX the input's.
        """
        counts = {"propagate": "a NaN makes it NaN", "ignore": "a NaN does not count"}[self.amax_nan]
        lines = [str(self)]

        def say(what: str, text: str) -> None:
            lines.append(f"  {what:<8} {text}")

        say("source", self.clause)
        if self.z:
            say("G", f"the {self.second_of}'s amax; {counts}")
            say("z", self.z)
            say("stored", f"{self.second}, as the second level")
        if self.amax_from == "history":
            say("a", f"the largest amax of the steps before, 0 at the first; {counts}")
        of = {"amax": "the block's amax", "mean": "the mean of the block's magnitudes, rounded once"}[self.statistic]
        if self.zero_point:
            say("lo, hi", f"the block's least number or 0, and its largest or 0; {counts}")
        elif self.amax_from == "block":
            say("a", f"{of}; {counts}")
        say("v", self.v)
        say("scale", f"v to {self.scale} by: {self.rule}")
        for condition, code, value in self.special:
            stored = "" if code is None else f"the code is {code}, "
            say("", f"where a is {condition}: {stored}s = {value:g}")
        for old, new in self.code_at:
            say("", f"the code {new} instead of {old}")
        for code, value in self.scale_at:
            say("", f"where the code is {code}: s = {value:g}")
        if self.zero_point:
            say("p", f"{self.zero_point}, to {self.element} by nearest_even, saturate; of NaN 0")
        if self.s:
            say("s", f"v by: {self.s}")
        if self.stored:
            say("stored", self.stored)
        if self.select:
            say("select", f"of v and v * 1.5 the one with the smaller {self.select}, v of two that are equal")
        say("y", self.y)
        for old_y, new_y in self.y_at:
            say("", f"where |y| is {old_y!r}: {new_y!r}, with the sign of y")
        nan = "undefined" if self.nan_code is None else f"{self.nan_code:#x}"
        difference = {"x": "|q s - x|", "y": "|q - y|"}[self.argmin_of]
        say(
            "element",
            f"y to {self.element} by {self.rounding}, {self.overflow}; NaN is {nan}; zeros: {self.zero}"
            + ("; the most negative code is unused" if self.symmetric else "")
            + (f"; the first of those with the least {difference} in float32" if self.argmin else ""),
        )
        say("value", self.q)
        return "\n".join([*lines, WORDS])
