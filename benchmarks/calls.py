"""What a call costs before any element counts: n = 1, a format never seen before, and threads."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

import fpformats as fp

from .arrays import Case
from .clock import Runner
from .peers import torch_module
from .plan import Plan
from .results import Measurement, Results

__all__ = ["calls", "threads"]

VERBS = ("quantize", "encode", "decode")
THREAD_COUNT = "FPFORMATS_NUM_THREADS"  # read by fpformats at every call


def calls(plan: Plan, results: Results) -> None:
    """Microseconds a call of one element, ours and the nearest peers'; a custom format's first call."""
    fp.warmup()
    one = np.ones(1, np.float32)
    for verb in VERBS:
        plan.progress(f"n = 1 {verb}")
        function = getattr(fp, verb)
        x = fp.encode(one, "e4m3") if verb == "decode" else one
        result = np.zeros(1, function(x, "e4m3").dtype)
        runners = [
            Runner(("array with out=",), partial(function, x, "e4m3", out=result)),
            Runner(("array without out=",), partial(function, x, "e4m3")),
            Runner(("Python int" if verb == "decode" else "Python float",), partial(function, x.item(), "e4m3")),
            *_peers_of_one(verb, plan),
        ]
        for (name,), times in plan.watch.race(runners).items():
            middle = statistics.median(times)
            spread = (max(times) - min(times)) / middle
            what = f"{name} {verb}"
            results.add([Measurement("calls", what, "", middle * 1e6, 0, unit="µs", spread=spread, seconds=middle)])
        results.add([_custom_format(verb, plan)])


def _peers_of_one(verb: str, plan: Plan) -> list[Runner]:
    """The usual call of the two peers people would use instead, for the eye."""
    runners = []
    names = {peer.name for peer in plan.peers}
    if "ml_dtypes" in names:
        from ml_dtypes import float8_e4m3fn

        one = np.ones(1, np.float32)
        stored = one.astype(float8_e4m3fn)
        call: Callable[[], object] = {
            "quantize": lambda: one.astype(float8_e4m3fn).astype(np.float32),
            "encode": partial(one.astype, float8_e4m3fn),
            "decode": partial(stored.astype, np.float32),
        }[verb]
        runners.append(Runner(("(ml_dtypes astype)",), call))
    if "torch" in names:
        torch = torch_module()
        tensor = torch.ones(1)
        codes = tensor.to(torch.float8_e4m3fn)
        call = {
            "quantize": lambda: tensor.to(torch.float8_e4m3fn).to(torch.float32),
            "encode": partial(tensor.to, torch.float8_e4m3fn),
            "decode": partial(codes.to, torch.float32),
        }[verb]
        runners.append(Runner(("(torch .to)",), call))
    return runners


def _custom_format(verb: str, plan: Plan) -> Measurement:
    """The first call with a format never seen before, over the later calls; 2^10 elements, CPU time."""
    function = getattr(fp, verb)
    x = np.ones(1 << 10, np.float32) if verb != "decode" else np.zeros(1 << 10, np.uint8)
    result = np.zeros(1 << 10, function(x, "e4m3").dtype)
    extra = []
    for bias in range(-3, 2 if plan.quick else 12):
        fmt = fp.Format(f"custom {verb} {bias}", exponent_bits=4, mantissa_bits=3, bias=bias)
        times = []
        for _ in range(12):
            start = time.process_time()
            function(x, fmt, out=result)
            times.append(time.process_time() - start)
        extra.append(times[0] - statistics.median(times[1:]))
    middle = statistics.median(extra)
    low, _, high = statistics.quantiles(extra, n=4)
    spread = (high - low) / abs(middle) if middle else 0.0
    return Measurement("calls", f"custom format {verb}", "", middle * 1e6, 10, unit="µs", spread=spread, seconds=middle)


def threads(plan: Plan, size: int, results: Results) -> None:
    """Our wall time with all threads over that with one, in alternating batches of one process."""
    before = os.environ.get(THREAD_COUNT)
    count = str(plan.threads if plan.threads > 1 else os.cpu_count() or 1)
    try:
        for job in (*VERBS, "stochastic"):
            plan.progress(f"2^{size} {job} with {count} threads and with one")
            options = {"rounding": "stochastic", "rng": 1} if job == "stochastic" else {}
            call = Case(job, "e4m3", size, options).call(plan.kinds[0])
            runners = [
                Runner((number,), call, partial(os.environ.__setitem__, THREAD_COUNT, number))
                for number in dict.fromkeys(("1", count))
            ]
            times = plan.wall.race(runners, plan.rounds(size))
            ratio = plan.compare(size)(times[count,], times["1",])
            what, seconds = f"{job} e4m3, {count} threads", min(times[count,])
            results.add(
                [Measurement("threads", what, "one thread", ratio.value, size, "", "×", False, ratio.spread, seconds)]
            )
    finally:
        os.environ.pop(THREAD_COUNT, None) if before is None else os.environ.__setitem__(THREAD_COUNT, before)
