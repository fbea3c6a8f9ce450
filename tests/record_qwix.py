"""Record what qwix 0.1.8 answers for NVFP4 on the inputs of ``tests/data/blocks``, into ``tests/data/qwix.npz``.

Run ``python tests/record_qwix.py`` where qwix and jax are installed, on a CPU. Operations run one by one, as they do outside
of ``jax.jit``: a compiled function may divide by multiplying with a reciprocal. The element codes of NaN are undefined.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from oracles.block_peers.recorded import inputs

FILE = Path(__file__).parent / "data" / "qwix.npz"
VERSION = "0.1.8"


def answer(x: NDArray[np.float32], dtype: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """(codes, scales as E4M3 codes) of blocks of 16 along the last axis."""
    import jax.numpy as jnp
    from qwix._src.core import qarray

    made = qarray.quantize_api(jnp.asarray(x, dtype), "nvfp4", channelwise_axes=[0], tiled_axes={1: 16})
    codes = np.asarray(made.qvalue).view(np.uint8) & 15
    scales = np.asarray(made.scale.astype(jnp.float8_e4m3fn)).view(np.uint8)
    return codes, scales


def chosen() -> dict[str, NDArray[np.float32]]:
    """The inputs of blocks of 16."""
    return {name: x for name, x in inputs().items() if "128" not in name and x.shape[1] % 16 == 0}


def holds(x: NDArray[np.float32]) -> bool:
    """Whether bfloat16 has all the numbers."""
    return not (x.view(np.uint32) & 0xFFFF).any()


def main() -> int:
    """Write the file."""
    from importlib.metadata import version

    if version("qwix") != VERSION:
        print(f"nothing recorded: qwix {version('qwix')} is not {VERSION}", file=sys.stderr)
        return 1
    found = {}
    for name, x in chosen().items():
        for dtype in ("float32", "bfloat16"):
            if dtype == "float32" or holds(x):
                found[f"{name}/{dtype}/codes"], found[f"{name}/{dtype}/scales"] = answer(x, dtype)
    np.savez_compressed(FILE, versions=np.array(f"qwix {VERSION}, jax {version('jax')}"), **found)
    print(f"{len(found) // 2} answers, {FILE.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
