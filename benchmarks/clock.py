"""Interleaved rounds: every runner once a round, so that a ratio pairs times taken moments apart."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Ratio", "Runner", "Stopwatch"]

Clock = Callable[[], float]

#: a call that takes longer (seconds) warms its own caches
WARMS_ITSELF = 5e-3
#: what one runner may cost in all, seconds, where its calls are slow; it gets two rounds at least
PATIENCE = 0.4


@dataclass(frozen=True)
class Runner:
    """Something to time. `before` runs ahead of each batch, untimed."""

    name: tuple[str, ...]
    call: Callable[[], object]
    before: Callable[[], object] | None = None


@dataclass(frozen=True)
class Ratio:
    """A ratio, and how far the rounds disagree about it (relative)."""

    value: float
    spread: float


@dataclass(frozen=True)
class Stopwatch:
    """How a race is run.

    Parameters
    ----------
    clock
        `time.process_time` for one thread (it charges hidden threads, and other work on the machine
        does not count), `time.perf_counter` for more.
    rounds : int
        Rounds of a race.
    batch : float
        Seconds that one reading of the clock should last at least.
    """

    clock: Clock = time.process_time
    rounds: int = 7
    batch: float = 4e-3

    def race(self, runners: Sequence[Runner], rounds: int | None = None) -> dict[tuple[str, ...], list[float]]:
        """Seconds a call of every runner, one number a round; slow runners leave after fewer rounds."""
        plans = []
        for runner in runners:
            repeat, most = self._plan(runner, rounds or self.rounds)
            plans.append((runner, repeat, most))
        times: dict[tuple[str, ...], list[float]] = {runner.name: [] for runner in runners}
        collecting = gc.isenabled()
        gc.disable()
        try:
            for i in range(rounds or self.rounds):
                # every other round runs backwards: no runner always follows the same one
                for runner, repeat, most in plans if i % 2 == 0 else reversed(plans):
                    if i < most:
                        times[runner.name].append(self._read(runner, repeat))
        finally:
            if collecting:
                gc.enable()
        return times

    def _plan(self, runner: Runner, rounds: int) -> tuple[int, int]:
        """Calls a batch and rounds, from a look at how long a call takes."""
        if runner.before:
            runner.before()
        if self._once(runner.call) > PATIENCE / 2 and self._once(runner.call) > PATIENCE / 4:
            return 1, min(rounds, 2)
        seconds = min(self._once(runner.call) for _ in range(2))
        repeat = max(1, math.ceil(self.batch / max(seconds, 1e-7)))
        return repeat, max(2, min(rounds, round(PATIENCE / max(seconds, self.batch))))

    def _once(self, call: Callable[[], object]) -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    def _read(self, runner: Runner, repeat: int) -> float:
        if runner.before:
            runner.before()
        call, clock = runner.call, self.clock
        start = time.perf_counter()
        call()
        if repeat > 1 or time.perf_counter() - start < WARMS_ITSELF:
            for _ in range(repeat // 4):
                call()
        turns = range(repeat)
        start = clock()
        for _ in turns:
            call()
        return (clock() - start) / repeat


def paired(over: Sequence[float], under: Sequence[float]) -> Ratio:
    """Median of the rounds' ratios; the spread is the distance of their quartiles."""
    ratios = sorted(a / b for a, b in zip(over, under, strict=False))
    middle = statistics.median(ratios)
    if len(ratios) < 4:
        return Ratio(middle, (ratios[-1] - ratios[0]) / middle)
    low, _, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return Ratio(middle, (high - low) / middle)


def smallest(over: Sequence[float], under: Sequence[float]) -> Ratio:
    """Ratio of the minima; the spread is how far the second best lies, on the noisier side.

    For sizes that fill DRAM, where a stray page or a neighbour slows some rounds a lot.
    """

    def gap(times: Sequence[float]) -> float:
        ordered = sorted(times)
        return ordered[1] / ordered[0] - 1 if len(ordered) > 1 else 0.0

    return Ratio(min(over) / min(under), max(gap(over), gap(under)))
