"""What a row of the table of differences is: a peer, some inputs as data, what it makes of them, and what we do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..format import Format
from ..registry import get_element
from .inputs import boundary_bits
from .seen import Numbers
from .source import Source
from .words import AS_MAGNITUDE, INPUTS, OUTCOMES, SOME_NAN

__all__ = ["Difference", "Peer", "every_number"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Peer:
    """An implementation that casts.

    Attributes
    ----------
    name : str
    what : str
        What of it is asked.
    version : str
        The version that the rows speak of.
    casts : mapping of str to tuple of str
        Each target format, with the source types that it was compared from.
    through_fp32 : tuple of str
        The targets to which float64 goes by way of float32.
    profile : str or None
        The profile that acts as this peer does, where there is one.
    unprofiled : tuple of (str, str)
        The casts (target, source type) of which this profile does not speak: its NaN codes are of other sources.
    live : bool
        Whether a test asks the peer itself; the others are known from the sources that their rows name.
    """

    name: str
    what: str
    version: str
    casts: Mapping[str, tuple[str, ...]] = field(hash=False)
    through_fp32: tuple[str, ...] = ()
    profile: str | None = None
    unprofiled: tuple[tuple[str, str], ...] = ()
    live: bool = True


@dataclass(frozen=True)
class Difference:
    """One way in which a peer's casts differ from ours by default, that is, from `encode` without further arguments.

    Attributes
    ----------
    peer : Peer
    formats : tuple of str
        The targets, by their names here.
    inputs : str
        Which inputs: a key of ``INPUTS``. See `where`.
    theirs, ours : str or tuple of int
        What the peer and what `encode` make of them: a key of ``OUTCOMES``, or the codes for positive and for negative
        inputs. ``"some NaN"`` is a NaN whose code depends on where in the array it stands, or on the machine;
        ``"ValueError"`` is no code.
    reason, source : str
        Why; and who says so.
    sources : tuple of str
        The types of the inputs, where the row speaks of some of the peer's only.
    profiled : bool
        Whether the peer's profile gives their codes too.
    """

    peer: Peer
    formats: tuple[str, ...]
    inputs: str
    theirs: str | tuple[int, int]
    ours: str | tuple[int, int]
    reason: str
    source: str
    sources: tuple[str, ...] = ()
    profiled: bool = True

    def __str__(self) -> str:
        return f"{self.peer.name}, {', '.join(self.formats)}: {self.inputs}"

    @property
    def profile(self) -> str | None:
        """The profile that reproduces the peer's codes, or None."""
        return self.peer.profile if self.profiled else None

    def speaks_of(self, fmt: str, source: str) -> bool:
        """Whether this row is about casts from `source` to `fmt`."""
        return fmt in self.formats and source in (self.sources or self.peer.casts[fmt])

    def where(self, x: Any, fmt: str | Format) -> NDArray[np.bool_]:
        """Which of these numbers the row speaks of.

        Parameters
        ----------
        x : array_like of floats
            NumPy, ml_dtypes or torch; its type is the source of the cast. Rows speak of float16, bfloat16, float32 and
            float64; numbers without a type count as float64.
        fmt : str or Format
            The target of the cast; of one that is not in `formats` nothing is meant.

        Returns
        -------
        numpy.ndarray of bool
            Flat.

        Raises
        ------
        TypeError
            x is nothing that an array of numbers holds.

        Examples
        --------
        >>> import numpy as np
        >>> from fpformats.testing import differences
        >>> row = differences("ml_dtypes", "e4m3")[1]
        >>> row.inputs, row.where(np.float32([1.0, 464.0, 465.0]), "e4m3").tolist()
        ('overflow, infinities included', [False, False, True])
        """
        return self.holds(self.numbers(x, fmt))

    def numbers(self, x: Any, fmt: str | Format) -> Numbers:
        """x as this row's peer sees it on the way into `fmt`."""
        target = get_element(fmt)
        source = Source.of(x, target)[0]
        return Numbers(source, target, target.name in self.peer.through_fp32)

    def holds(self, numbers: Numbers) -> NDArray[np.bool_]:
        """`where`, of numbers that are already seen."""
        source = source_name(numbers.source.format)
        if not self.speaks_of(numbers.fmt.name, source):
            return np.zeros(numbers.x.shape, bool)
        return INPUTS[self.inputs](numbers)

    def codes(self, numbers: Numbers, side: str = "theirs") -> Array:
        """The codes that the row says the peer gives; with ``side="ours"``, that `encode` gives.

        One code stands for any NaN under ``"some NaN"``, and -1 for an error. They mean something only where `holds`.
        """
        told = getattr(self, side)
        if isinstance(told, tuple):
            return np.asarray(np.where(numbers.negative, told[1], told[0]))
        if told == SOME_NAN:
            return numbers.quiet_nan()
        if told == AS_MAGNITUDE:
            raise ValueError(f"{self}: what |x| gives is told by the peer's other rows; see expected_codes")
        return OUTCOMES[told](numbers)


def source_name(fmt: Format) -> str:
    """The source type's name in the rows, which speak of four."""
    return next((name for name, kind in SOURCES.items() if kind == fmt), fmt.name)


def every_number(fmt: str | Format, source: str, level: int = 1) -> Source:
    """All numbers of a 16-bit source; of a wider one `boundary_inputs`. Needs no array type for them."""
    kind, target = SOURCES[source], get_element(fmt)
    if kind.bits == 16:
        return Source(np.arange(1 << 16, dtype=np.uint16), kind)
    return Source(boundary_bits(target, kind, level), kind)


SOURCES = {name: get_element(name) for name in ("float16", "float32", "float64", "bfloat16")}
