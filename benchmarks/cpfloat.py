"""CPFloat as a peer. It is a C header, so it is compiled here, with the machine's own C compiler.

Set ``CPFLOAT_SRC`` to the directory that holds ``cpfloat_binary32.h``
(https://github.com/north-numerical-computing/cpfloat, ``src/``); one thread, no OpenMP.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["available", "round_call"]

SOURCE = """
#include "cpfloat_binary32.h"

int round32(float *result, const float *x, size_t n, optstruct *options) {
    return cpfloatf(result, x, n, options);
}

optstruct *options32(int precision, int emin, int emax, int infinity) {
    optstruct *options = init_optstruct();
    options->precision = precision;
    options->emin = emin;
    options->emax = emax;
    options->explim = CPFLOAT_EXPRANGE_TARG;
    options->infinity = infinity ? CPFLOAT_INF_USE : CPFLOAT_INF_NO;
    options->saturation = infinity ? CPFLOAT_SAT_NO : CPFLOAT_SAT_USE;
    options->round = CPFLOAT_RND_NE;
    options->subnormal = CPFLOAT_SUBN_USE;
    options->flip = CPFLOAT_SOFTERR_NO;
    return options;
}
"""


def _compiler() -> str | None:
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def available() -> bool:
    """Whether the header and a C compiler are at hand."""
    place = os.environ.get("CPFLOAT_SRC")
    return bool(place and (Path(place) / "cpfloat_binary32.h").is_file() and _compiler())


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    folder = Path(tempfile.mkdtemp(prefix="fpformats-cpfloat-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "peer.c").write_text(SOURCE)
    command = [str(_compiler()), "-O3", "-march=native", "-fPIC", "-shared", "-w", f"-I{os.environ['CPFLOAT_SRC']}"]
    subprocess.run([*command, "-o", str(folder / "peer.so"), str(folder / "peer.c"), "-lm"], check=True)
    library = ctypes.CDLL(str(folder / "peer.so"))
    library.options32.restype = ctypes.c_void_p
    library.round32.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    return library


def round_call(x: np.ndarray[Any, Any], precision: int, emin: int, emax: int, inf: bool) -> Callable[[], object]:
    """Rounding of float32 `x` into an array of its own."""
    library, result = _library(), np.zeros_like(x)
    options = ctypes.c_void_p(library.options32(precision, emin, emax, int(inf)))
    pointer = ctypes.c_void_p  # data_as keeps its array alive
    return partial(
        library.round32, result.ctypes.data_as(pointer), x.ctypes.data_as(pointer), ctypes.c_size_t(x.size), options
    )
