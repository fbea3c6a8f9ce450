"""The job `testing`: what the kit for other people's suites costs. See goals.py for what is promised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import fpformats as fp
from fpformats import testing
from fpformats.registry import FORMATS
from fpformats.rounding import Rules
from fpformats.testing import vectors
from fpformats.testing.inputs import boundary_bits

from .clock import Runner
from .peers import torch_module
from .plan import Plan
from .results import Measurement, Results

__all__ = ["kit"]

#: codes that are compared, vectors that are written, and inputs of check_cast's race
CODES, VECTORS, INPUTS = 10**7, 1 << 20, 1 << 24
QUICK = 1 << 12
SMALL = tuple(name for name, row in FORMATS.items() if row.bits <= 8)


def _times(plan: Plan, what: str, call: Callable[[], object], *, unit: str = "ms", of: float = 1e3) -> Measurement:
    """One call by itself: the best of the rounds."""
    times = plan.watch.race([Runner((what,), call)], 2 if plan.quick else None)[what,]
    best = min(times)
    value = of / best if unit.endswith("/s") else of * best
    spread = sorted(times)[1] / best - 1
    return Measurement("testing", what, "", value, unit=unit, faster=unit.endswith("/s"), spread=spread, seconds=best)


def _inputs(name: str, level: int) -> object:
    boundary_bits.cache_clear()
    return testing.boundary_inputs(name, level=level)


def _written(job: vectors.Job, how: str) -> int:
    return sum(map(len, vectors.write_vectors(job, how)))


def _alone(plan: Plan) -> Iterator[Measurement]:
    size = QUICK if plan.quick else CODES
    codes = np.random.default_rng(0).integers(0, 0x7F, size, dtype=np.uint8)
    x = fp.decode(codes, "e4m3")
    yield _times(plan, "assert_same_codes", partial(testing.assert_same_codes, codes, codes.copy(), "e4m3"))
    yield _times(plan, "assert_quantized", partial(testing.assert_quantized, codes, x, "e4m3"))
    for name in SMALL[:1] if plan.quick else SMALL:
        for level in (1, 2):
            yield _times(plan, f"boundary_inputs level={level} {name}", partial(_inputs, name, level))
    count = QUICK if plan.quick else VECTORS
    job = vectors.Job(fp.get("e4m3"), fp.get("fp32"), Rules(), which="random", count=count)
    for how in vectors.FORMATS:
        yield _times(plan, f"vectors {how}", partial(_written, job, how), unit="M/s", of=count / 1e6)


def _beside_torch(plan: Plan) -> Iterator[Measurement]:
    """check_cast of torch's cast over that cast of the same inputs: consecutive ones, as exhaustive=True takes them."""
    torch = torch_module()
    from fpformats.testing.check import CHUNK, Tally
    from fpformats.testing.chunks import Chunk, expected_codes

    size = QUICK if plan.quick else INPUTS
    starts = range(0x3C000000, 0x3C000000 + size, CHUNK)
    row, source, rules = fp.get("e4m3"), fp.get("fp32"), Rules()
    base = np.arange(min(CHUNK, size), dtype=np.uint32)

    def cast(x: Any) -> Any:
        return torch.from_numpy(x).to(torch.float8_e4m3fn).view(torch.uint8).numpy()

    def alone() -> None:
        for start in starts:
            cast((base + np.uint32(start)).view(np.float32))

    def checked() -> None:
        room = np.empty(base.size, np.uint8)
        tally = Tally(1 << 32 >> 20, row, source, rules, "class")  # as many parts as a whole sweep has
        for start in starts:
            chunk = Chunk(source, lambda start=start: base + np.uint32(start), consecutive=True)
            bits = chunk.make()
            due = expected_codes(chunk, bits, row, rules, room)
            tally.add(chunk.make, testing.call.call(cast, chunk, bits, row), due)
            del bits, due
        assert not tally.wrong

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        times = plan.watch.race([Runner(("checked",), checked), Runner(("alone",), alone)], 2 if plan.quick else 5)
    finally:
        torch.set_num_threads(threads)
    ours, theirs = times["checked",], times["alone",]
    spread = sorted(ours)[1] / min(ours) - 1
    yield Measurement(
        "testing",
        "check_cast exhaustive e4m3",
        "torch's cast",
        min(ours) / min(theirs),
        spread=spread,
        seconds=min(ours),
    )


def kit(plan: Plan, results: Results) -> None:
    """Everything the goals of the job speak of."""
    fp.warmup()
    plan.progress("testing")
    results.add(_alone(plan))
    if any(peer.name == "torch" for peer in plan.peers):
        results.add(_beside_torch(plan))
    else:
        results.note("testing: torch is not among the peers, so that check_cast ran beside nothing")
