"""The table of expected differences, asked by peer and by format."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..format import Format
from ..registry import get_element
from .difference import Difference, Peer
from .difference_rows import PEERS, ROWS
from .seen import Numbers
from .words import AS_MAGNITUDE

__all__ = ["differences", "expected_codes", "peers"]


def peers() -> tuple[Peer, ...]:
    """The implementations that fpformats is compared with.

    Returns
    -------
    tuple of Peer
        With the versions that were compared and the casts (``.casts``) that were tried.

    Examples
    --------
    >>> from fpformats.testing import peers
    >>> [peer.name for peer in peers() if peer.live][:4]
    ['torch', 'ml_dtypes', 'numpy', 'jax']
    """
    return tuple(PEERS.values())


def differences(peer: str | None = None, fmt: str | Format | None = None) -> tuple[Difference, ...]:
    """Where other implementations differ from `encode` without further arguments, and why.

    The table is complete for the casts in ``peer.casts``: tests hold that a peer differs on the inputs of its rows,
    that it differs nowhere else, and that it gives what the rows say, on `boundary_inputs` and on every float16 and
    bfloat16.

    Parameters
    ----------
    peer : str, optional
        A name of `peers`.
    fmt : str or Format, optional
        The target of the cast.

    Returns
    -------
    tuple of Difference
        All rows for these.

    Raises
    ------
    ValueError
        No peer or format has that name.

    Examples
    --------
    >>> from fpformats.testing import differences
    >>> for row in differences("torch", "e5m2"):
    ...     print(row.inputs, "|", row.theirs, "|", row.ours)
    float64 that float32 takes to a midpoint, from the other side | nearest value to float32(x) | nearest value
    NaN | (127, 255) | quiet NaN
    >>> any(row.where(1 + 2**-3 + 2**-40, "e5m2").item() for row in differences("torch", "e5m2"))
    True
    """
    if peer is not None and peer not in PEERS:
        raise ValueError(f"peer={peer!r}: one of {', '.join(PEERS)} was expected")
    name = None if fmt is None else get_element(fmt).name
    return tuple(
        row for row in ROWS if (peer is None or row.peer.name == peer) and (name is None or name in row.formats)
    )


def expected_codes(peer: Peer, numbers: Numbers, rows: Sequence[Difference] | None = None) -> NDArray[np.int64]:
    """What the rows say that a peer gives: our default, and what each row says where it holds. -1 is an error."""
    rows = differences(peer.name, numbers.fmt) if rows is None else rows
    codes = numbers.default
    for row in rows:
        there = row.holds(numbers)
        if there.any() and row.theirs == AS_MAGNITUDE:
            others = [other for other in rows if other.theirs != AS_MAGNITUDE]
            codes = np.where(there, expected_codes(peer, numbers.absolute, others), codes)
        elif there.any():
            codes = np.where(there, row.codes(numbers), codes)
    return codes.astype(np.int64)
