"""The job `testing`: what the kit for other people's suites costs. See goals.py for what is promised."""

from __future__ import annotations

import time
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

#: codes that are compared, and vectors that are written
CODES, VECTORS = 10**7, 1 << 20
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
    """check_cast of torch's cast of every float32 (quick: every float16), over the time inside that cast."""
    torch = torch_module()
    source = "float16" if plan.quick else "float32"
    inside = 0.0

    def cast(x: Any) -> Any:
        nonlocal inside
        start = time.perf_counter()
        codes = torch.from_numpy(x).to(torch.float8_e4m3fn).view(torch.uint8).numpy()
        inside += time.perf_counter() - start
        return codes

    threads, rounds = torch.get_num_threads(), []
    torch.set_num_threads(1)
    try:
        for _ in range(2 if plan.quick else 3):
            inside = 0.0
            report = testing.check_cast(cast, "e4m3", source=source, exhaustive=True, progress=False)
            assert report
            rounds.append((report.seconds / inside, report.seconds))
    finally:
        torch.set_num_threads(threads)
    ratios = sorted(ratio for ratio, _ in rounds)
    yield Measurement(
        "testing",
        "check_cast exhaustive e4m3",
        "torch's cast",
        ratios[0],
        spread=ratios[1] / ratios[0] - 1,
        seconds=min(seconds for _, seconds in rounds),
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
