"""The jobs on arrays: each format, size and kind of data raced against `copyto` and the peers."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

import fpformats as fp
from fpformats.rounding import ROUNDINGS, SUBNORMALS

from . import data
from .clock import Runner
from .peers import Peer, Task
from .plan import LARGE, Plan
from .results import Measurement, Results

__all__ = ["ARRAY_JOBS", "Case", "copyto", "noise", "run_job"]

#: other deterministic modes, and the ways to flush
MODES: tuple[dict[str, Any], ...] = (
    *({"rounding": name} for name, mode in ROUNDINGS.items() if name != "nearest_even" and not mode.random_bits),
    *({"subnormals": name} for name in SUBNORMALS if name != "keep"),
)


@dataclass(frozen=True)
class Case:
    """One thing to time: a public function, a format, its arguments."""

    job: str
    fmt: str
    size: int
    options: dict[str, Any] = field(default_factory=dict)
    dtype: str = "float32"
    against_peers: bool = False

    @property
    def verb(self) -> str:
        return self.job if self.job in ("encode", "decode") else "quantize"

    @property
    def what(self) -> str:
        return " ".join([self.fmt, *(v for v in self.options.values() if isinstance(v, str))])

    def x(self, kind: str) -> np.ndarray[Any, Any]:
        if self.verb == "decode":
            return data.codes(kind, self.size, self.fmt)
        return data.values(kind, self.size, self.dtype, nan=fp.get(self.fmt).has_nan)

    def call(self, kind: str, out: bool = True) -> Callable[[], object]:
        """Our public function with its default checks, into given memory or a new array."""
        function, x = getattr(fp, self.verb), self.x(kind)
        if not out:
            return partial(function, x, self.fmt, **self.options)
        result = data.memory("result", x.size, function(x[:1], self.fmt, **self.options).dtype.name)
        return partial(function, x, self.fmt, **self.options, out=result)

    @property
    def bytes_moved(self) -> int:
        """Bytes read and written by the job."""
        x = self.x("plain")
        return (x.itemsize + getattr(fp, self.verb)(x[:1], self.fmt).itemsize) << self.size


def copyto(bytes_moved: int) -> Callable[[], object]:
    """`np.copyto` that reads and writes that many bytes in all."""
    source, result = (data.memory(use, bytes_moved // 2, "uint8") for use in ("copyto from", "copyto to"))
    return partial(np.copyto, result, source)


def _cases(job: str, plan: Plan, size: int) -> Iterator[Case]:
    if job == "modes":
        yield from (Case(job, fmt, size, options) for fmt in plan.few_formats for options in MODES)
    elif job == "stochastic":
        yield from (Case(job, fmt, size, {"rounding": "stochastic", "rng": 1}) for fmt in plan.few_formats)
    elif job == "float64":
        yield from (Case(job, fmt, size, dtype="float64", against_peers=True) for fmt in plan.formats)
    else:
        yield from (Case(job, fmt, size, against_peers=True) for fmt in plan.formats)


def _peer_runner(peer: Peer, case: Case, kind: str, layout: str, results: Results) -> Runner | None:
    """The peer's call, tried once; a note where it fails."""
    try:
        call = peer.make(Task(case.verb, case.fmt, case.x(kind), layout))
        if call is None:
            return None
        call()
    except Exception as error:  # whatever another library raises, it is a remark in the table
        results.note(f"{peer.name} {case.job} {case.fmt}: {type(error).__name__}: {str(error).splitlines()[0][:100]}")
        return None
    return Runner((peer.name, kind), call)


def _race(case: Case, plan: Plan, results: Results) -> None:
    """One interleaved race: us on every kind of data, copyto, and each peer on the same data."""
    runners = [Runner(("ours", kind, "out"), case.call(kind)) for kind in plan.kinds]
    runners.append(Runner(("copyto",), copyto(case.bytes_moved)))
    rivals: list[tuple[Peer, str, str]] = []
    if case.against_peers:
        for peer in plan.peers:
            layout = plan.layout(peer, case.job, case.size)
            # at large sizes one kind of data is enough: rows there cost minutes
            for kind in plan.kinds if case.size <= 20 else plan.kinds[:1]:
                if layout and (runner := _peer_runner(peer, case, kind, layout, results)):
                    runners.append(runner)
                    rivals.append((peer, kind, layout))
    for kind in {kind for _, kind, layout in rivals if layout == "new"}:
        runners.append(Runner(("ours", kind, "new"), case.call(kind, out=False)))
    times = plan.watch.race(runners, plan.rounds(case.size))
    compare = plan.compare(case.size)

    def measured(against: str, kind: str, over: list[float], under: list[float], **more: Any) -> Measurement:
        ratio = compare(over, under)
        ours = min(times["ours", kind, "out"])
        return Measurement(
            case.job, case.what, against, ratio.value, case.size, kind, spread=ratio.spread, seconds=ours, **more
        )

    for kind in plan.kinds:
        results.add([measured("copyto", kind, times["ours", kind, "out"], times["copyto",])])
    if {"wide", "plain"} <= set(plan.kinds):
        results.add([measured("plain data", "wide", times["ours", "wide", "out"], times["ours", "plain", "out"])])
    for peer, kind, layout in rivals:
        results.add([measured(peer.name, kind, times[peer.name, kind], times["ours", kind, layout], faster=True)])


def _race_formats(cases: Sequence[Case], plan: Plan, results: Results) -> None:
    """The formats of a job against each other, those that move the same bytes, on the same data."""
    by_bytes: dict[int, list[Case]] = {}
    for case in cases:
        by_bytes.setdefault(case.bytes_moved, []).append(case)
    kind = plan.kinds[0]
    for group in by_bytes.values():
        if len(group) < 2:
            continue
        job, size = group[0].job, group[0].size
        runners = [Runner((case.fmt,), call) for case, call in _shared(group, kind)]
        times = plan.watch.race(runners, plan.rounds(size))
        middle = min if size >= LARGE else statistics.median
        ordered = sorted(times, key=lambda name: middle(times[name]))
        fastest, slowest = ordered[0], ordered[-1]
        ratio = plan.compare(size)(times[slowest], times[fastest])
        what = f"{slowest[0]} over {fastest[0]} ({group[0].bytes_moved >> size} bytes)"
        seconds = middle(times[slowest])
        results.add(
            [Measurement(job, what, "fastest format", ratio.value, size, kind, "×", False, ratio.spread, seconds)]
        )


def _shared(group: Sequence[Case], kind: str) -> Iterator[tuple[Case, Callable[[], object]]]:
    """Calls that share source and result; the source is one that every format of the group takes."""
    asks = "bits" if group[0].job == "decode" else "has_nan"
    strictest = min((case.fmt for case in group), key=lambda name: getattr(fp.get(name), asks))
    x = replace(group[0], fmt=strictest).x(kind)
    function = getattr(fp, group[0].verb)
    result = data.memory("result", x.size, function(x[:1], group[0].fmt).dtype.name)
    for case in group:
        yield case, partial(function, x, case.fmt, **case.options, out=result)


def noise(plan: Plan, size: int, results: Results) -> None:
    """`copyto` against itself: what a ratio of equals reads in this run."""
    calls = [copyto(8 << size) for _ in range(2)]
    times = plan.watch.race([Runner((str(i),), call) for i, call in enumerate(calls)], plan.rounds(size))
    ratio = plan.compare(size)(times["0",], times["1",])
    seconds = min(times["0",])
    results.add(
        [Measurement("noise", "copyto itself", "copyto", ratio.value, size, spread=ratio.spread, seconds=seconds)]
    )


def run_job(job: str, plan: Plan, size: int, results: Results) -> None:
    """One job at one size, every format."""
    cases = list(_cases(job, plan, size))
    for case in cases:
        plan.progress(f"2^{size} {job} {case.what}")
        _race(case, plan, results)
    if job in ("quantize", "encode", "decode"):
        plan.progress(f"2^{size} {job}: formats against each other")
        _race_formats(cases, plan, results)


ARRAY_JOBS = ("quantize", "encode", "decode", "modes", "float64", "stochastic")
