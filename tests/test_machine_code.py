"""The hot loops keep their vector instructions, and there are a dozen compilations at most."""

from __future__ import annotations

import re

import llvmlite.binding as llvm
import numba
import pytest

from fpformats.kernels import compiled

FEATURES = llvm.get_host_cpu_features()
#: LLVM keeps to 256 bits on processors where it thinks them faster, whatever they have
REGISTER = re.compile("[yz]mm") if FEATURES.get("avx2") else None
#: kernel -> (loops, the most vector instructions for one vector of results)
HOT = {"round": (4, 16), "encode": (7, 24), "decode": (6, 20), "modes": (12, 50), "random": (2, 40)}


def loops(assembly: str) -> list[str]:
    """Basic blocks that jump back to themselves."""
    out = []
    for block in re.split(r"\n(?=\.LBB)", assembly):
        label = block.partition(":")[0]
        if re.search(rf"\tj\w+\t{re.escape(label)}\n", block + "\n"):
            out.append(block)
    return out


def fresh(name: str) -> str:
    """Assembly of a kernel compiled now: Numba keeps no text for kernels from the cache."""
    what, source, result = compiled.SIGNATURES[name]
    width = 64 if 64 in (source, result) else 32
    kernel = numba.njit(**compiled._KERNEL)(getattr(compiled._loops(width), what))
    extra = (compiled._array(32), numba.types.int64, numba.types.int64) if what == "random" else ()
    signature = (compiled._array(source), compiled._array(result), compiled._array(width), numba.types.int64, *extra)
    kernel.compile(signature)
    return next(iter(kernel.inspect_asm().values()))


@pytest.mark.skipif(REGISTER is None, reason="this processor has neither AVX2 nor AVX-512")
@pytest.mark.parametrize(
    "name", ["round32", "round64", "encode8", "encode16", "decode8", "decode16", "modes32", "modes64", "random32"]
)
def test_hot_loops_are_vectorised(name):
    count, most = HOT[name.rstrip("0123456789")]
    vectorised = [block for block in loops(fresh(name)) if REGISTER.search(block)]
    assert len(vectorised) >= count, f"{name}: {len(vectorised)} of {count} loops are vectors"
    for block in vectorised:
        assert "gather" not in block, f"{name}: a table look-up crept in"
        used = [line for line in block.splitlines() if REGISTER.search(line)]
        stores = sum("mov" in line and line.rstrip().endswith(")") for line in used)
        if stores:  # none: LLVM split the loop's block
            assert len(used) <= most * stores, f"{name}: {len(used)} vector instructions for {stores} stores"


def test_a_dozen_compilations():
    assert len(compiled.SIGNATURES) <= 12


def test_losing_vectorisation_would_be_seen():
    """The same loop with a branch that cannot be vectorised shows no such block."""

    @numba.njit
    def scalar(x, out):
        carry = 0
        for i in range(x.size):
            carry = (carry * 31 + x[i]) & 255
            out[i] = carry

    scalar.compile((compiled._array(32), compiled._array(32)))
    assert not [
        block for block in loops(next(iter(scalar.inspect_asm().values()))) if REGISTER and REGISTER.search(block)
    ]
