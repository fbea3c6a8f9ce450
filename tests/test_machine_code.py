"""The hot loops keep their vector instructions, and there are a dozen compilations at most.

Code is made for two processors, whatever this one is: one with AVX2 and one with AVX-512.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys

import pytest

from fpformats.kernels import BLOCK_LOOPS, USUAL, compiled

WIDE = re.compile("[yz]mm")
VECTOR = re.compile("[xyz]mm")
#: processor -> kernel -> (its loops, the most vector instructions for one vector of results); or the most of each loop
HOT = {
    "haswell": {
        "round32": (4, 17),
        "round64": (4, 23),
        "encode8": (7, 54),
        "encode16": (7, 28),
        "decode8": (6, 28),
        "decode16": (6, 28),
        "modes32": (12, 68),
        "modes64": (12, 70),
        "random32": (2, 62),
        # sixteen codes are one vector, so are eight values
    },
    "znver4": {
        "round32": (4, 14),
        "round64": (4, 14),
        "encode8": (7, 24),
        "encode16": (7, 24),
        "decode8": (6, 20),
        "decode16": (6, 20),
        "modes32": (12, 50),
        "modes64": (12, 50),
        "random32": (2, 37),
    },
}
#: loop over blocks -> the same for haswell and znver4; of amaxes none is a store in the loop
BLOCKS = {
    "block times": (2, 2),
    "block over": (3, 3),
    "block value times times": (14, 13),
    "block value over times": (16, 15),
    "block code times": (34, 13),
    "block code over+0": (41, 15),
    "block integer_value times times": (18, 16),
    "block integer_code over": (49, 19),
    "block decoded times": (17, 13),
    "block decoded_with_inf times": (26, 15),
    "block decoded_twos_complement times": (18, 13),
    "block amax": (0, 16),
    "block amax_of_numbers": (0, 2),
    "single value times times": (16, 15),
    "single code times": (36, 14),
    "single decoded times": (17, 13),
    "single amax": (3, 3),
}
for name, costs in BLOCKS.items():
    for processor, most in zip(("haswell", "znver4"), costs, strict=True):
        HOT[processor][name] = (1, most)
PROCESSORS = list(HOT)


def loops(assembly: str) -> list[str]:
    """Basic blocks that jump back to themselves."""
    out = []
    for block in re.split(r"\n(?=\.LBB)", assembly):
        label = block.partition(":")[0]
        if re.search(rf"\tj\w+\t{re.escape(label)}\n", block + "\n"):
            out.append(block)
    return out


def vector_loops(assembly: str) -> list[str]:
    """Those with vectors, but for what only copies past the caches."""
    return [block for block in loops(assembly) if WIDE.search(block) and "movnt" not in block]


def cost(block: str) -> float:
    """Vector instructions for one vector of results; 0 where LLVM split the loop's block."""
    lines = block.splitlines()
    stores = sum(bool(VECTOR.search(line)) and "mov" in line and line.rstrip().endswith(")") for line in lines)
    return sum(bool(WIDE.search(line)) for line in lines) / stores if stores else 0.0


def fresh(name: str) -> str:
    """Assembly of a kernel compiled now: Numba keeps no text for kernels from the cache."""
    import numba

    kernel = numba.njit(**compiled._KERNEL)(compiled.source(name))
    kernel.compile(compiled.signature(name))
    return next(iter(kernel.inspect_asm().values()))


def report() -> dict[str, dict[str, object]]:
    """What `HOT` is about, for the processor that Numba was told to compile for."""
    out: dict[str, dict[str, object]] = {}
    for name in HOT["haswell"]:
        blocks = vector_loops(fresh(name))
        out[name] = {"costs": [cost(block) for block in blocks], "gather": any("gather" in block for block in blocks)}
    return out


@pytest.fixture(scope="module")
def reports():
    if platform.machine().lower() not in ("x86_64", "amd64"):
        pytest.skip("AVX is of x86-64 processors")
    runs = {
        cpu: subprocess.Popen(
            [sys.executable, __file__], env={**os.environ, "NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": ""},
            stdout=subprocess.PIPE, text=True,
        )
        for cpu in PROCESSORS
    }  # fmt: skip
    out = {}
    for cpu, run in runs.items():
        printed, _ = run.communicate()
        assert run.returncode == 0
        out[cpu] = json.loads(printed)
    return out


@pytest.mark.parametrize("cpu", PROCESSORS)
@pytest.mark.parametrize("name", HOT["haswell"])
def test_hot_loops_are_vectorised(name, cpu, reports):
    bounds, costs = HOT[cpu][name], sorted(reports[cpu][name]["costs"])
    if isinstance(bounds, tuple):
        count, most = bounds
        bounds = [most] * count
    assert len(costs) >= len(bounds), f"{name}: {len(costs)} of {len(bounds)} loops are vectors"
    for cost, most in zip(costs[-len(bounds) :], bounds, strict=True):
        assert cost <= most, f"{name}: {cost} vector instructions for a store, {most} before"
    assert max(costs) > 0 or "amax" in name
    assert not reports[cpu][name]["gather"], f"{name}: a table look-up crept in"


def test_a_dozen_compilations():
    """Beside loops over blocks, of which there is one for every way to go."""
    plain = [name for name in compiled.SIGNATURES if " " not in name]
    assert len(plain) <= 12
    assert sorted(set(compiled.SIGNATURES) - set(plain)) == sorted(
        f"{kind} {name}" for kind in ("block", "single") for name in BLOCK_LOOPS
    )
    assert set(USUAL) < set(BLOCK_LOOPS)


def test_loops_over_blocks_are_compiled_when_they_are_used(tmp_path):
    script = (
        "import fpformats as fp, numpy as np; x = np.ones((1024, 2048), np.float32);"
        "q = fp.encode_blocks(x, 'mxfp8'); fp.encode_blocks(x, 'mxfp6_e2m3'); q.decode(); fp.encode_blocks(x, 'mxfp8', axis=0)"
    )
    environment = {**os.environ, "FPFORMATS_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
    made = {path.name.partition("-")[0].partition(".")[-1] for path in tmp_path.rglob("*.nbi")}
    loops = {"block_amax", "block_code_times", "block_decoded_times", "single_amax", "single_code_times"}
    assert made == {*loops, "decode8"}  # of the scale's 256 codes


def test_losing_vectorisation_would_be_seen():
    """The same loop with a branch that cannot be vectorised shows no such block."""
    import numba

    @numba.njit
    def scalar(x, out):
        carry = 0
        for i in range(x.size):
            carry = (carry * 31 + x[i]) & 255
            out[i] = carry

    scalar.compile((compiled._array(32), compiled._array(32)))
    assert not vector_loops(next(iter(scalar.inspect_asm().values())))


if __name__ == "__main__":
    print(json.dumps(report()))
