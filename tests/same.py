"""Two arrays of codes are equal, or the message has the first input for which they are not."""

from __future__ import annotations

import numpy as np

__all__ = ["same_codes"]


def same_codes(
    what: str, x: np.ndarray, got: np.ndarray, expected: np.ndarray, *, nan: np.ndarray | None = None
) -> None:
    """Assert that `got` equals `expected`.

    Parameters
    ----------
    what : str
        The format, the mode and whatever else the message should say.
    x : ndarray
        The inputs: floats, or bit patterns.
    got, expected : ndarray of unsigned integers
        Codes.
    nan : ndarray of bool, optional
        Whether each code of the format is a NaN; if given, all of these count as one.
    """
    equal = np.equal(got, expected)
    if nan is not None:
        equal |= nan[got] & nan[expected]
    if not equal.all():
        i = int(equal.argmin())
        bits = int(x[i : i + 1].view(f"u{x.itemsize}")[0])
        raise AssertionError(
            f"{what}: {int((~equal).sum())} of {x.size} differ; x = 0x{bits:0{2 * x.itemsize}x} ({x.dtype}) gives "
            f"0x{int(got[i]):x}, 0x{int(expected[i]):x} was expected"
        )
