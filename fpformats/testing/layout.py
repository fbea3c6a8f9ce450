"""What stands in one test vector: its fields, each some codes of one format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..block_format import BlockFormat
from ..format import Format
from ..registry import get_element
from .block_inputs import block_shape

__all__ = ["Field", "layout"]


@dataclass(frozen=True)
class Field:
    """Some codes of a vector, in their order; ``given`` where the code under test takes them."""

    name: str
    format: Format
    what: str
    count: int = 1
    given: bool = False

    @property
    def digits(self) -> int:
        """Hexadecimal digits of one code."""
        return -(-self.format.bits // 4)

    def facts(self) -> dict[str, Any]:
        """The field, for a file's header."""
        return {"name": self.name, "what": self.what, "format": self.format.name, "bits": self.format.bits,
                "count": self.count, "given": self.given}  # fmt: skip

    def __str__(self) -> str:
        codes = "one code" if self.count == 1 else f"{self.count} codes"
        return f"{self.name} ({codes} of {self.digits} digit{'s' * (self.digits > 1)})"


def layout(fmt: Format | BlockFormat, source: Format) -> tuple[Field, ...]:
    """The fields of a vector: a number and its code; or a block, its codes, its scale, and what else a recipe has.

    A block's codes are in rows, the first number first. Where a recipe has a second level, each vector says the
    tensor's amax, of which it is made, so that every vector stands for itself.
    """
    if isinstance(fmt, Format):
        return (Field("input", source, "the number", given=True), Field("output", fmt, "its code"))
    rows, columns = block_shape(fmt)
    element, wide, size = get_element(fmt.element), get_element("fp32"), rows * columns
    fields = [Field("input", source, "the numbers of a block, row by row", size, given=True)]
    of = "row" if fmt.second_of == "row" else "tensor"
    if fmt.z:
        fields.append(Field("tensor_amax", wide, f"the amax of the {of} that the block is part of", given=True))
    fields.append(Field("output", element, "the codes of the numbers", size))
    fields.append(Field("scale", get_element(fmt.scale), "the scale as it is stored"))
    if fmt.zero_point:
        fields.append(Field("zero_point", element, "the integer that stands for 0, in two's complement"))
    if fmt.second:
        fields.append(Field("second_level", wide, f"the second level as it is stored: {fmt.second_text}"))
    return tuple(fields)
