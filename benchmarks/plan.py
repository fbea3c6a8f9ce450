"""What a run is asked to do, and the stopwatches it uses."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import fpformats as fp

from .clock import Ratio, Stopwatch, paired, smallest
from .peers import PEERS, Peer, installed

__all__ = ["FORMATS", "LARGE", "Plan"]

#: every element format that a float32 can be rounded to, and two of the P3109 family
FORMATS = (
    *(name for name in fp.formats("element") if not name.startswith("binary") and name not in ("fp64", "fp32")),
    "binary8p4se",
    "binary6p3uf",
)
#: one format of each kind of kernel, for jobs with many variants
FEW = ("e4m3", "fp16", "bf16", "e2m1")
QUICK = ("e4m3", "bf16", "e2m1")

#: log2 of the size from which results are written into given memory and minima are compared:
#: fresh pages cost more than the arithmetic there
LARGE = 22


@dataclass(frozen=True)
class Plan:
    """The options of the command line, with their defaults worked out."""

    sizes: tuple[int, ...] = (14, 17, 20, 26)
    kinds: tuple[str, ...] = ("wide", "plain")
    jobs: tuple[str, ...] = ()
    chosen_formats: tuple[str, ...] = ()
    peer_names: tuple[str, ...] | None = None
    threads: int = 1
    quick: bool = False
    #: rounds of a race; None: 7 (5 at large sizes, 9 of wall time, 3 when quick)
    wanted_rounds: int | None = None
    progress: Callable[[str], None] = lambda text: None

    @property
    def formats(self) -> tuple[str, ...]:
        return self.chosen_formats or (QUICK if self.quick else FORMATS)

    @property
    def few_formats(self) -> tuple[str, ...]:
        return self.chosen_formats or (QUICK[:1] if self.quick else FEW)

    @property
    def peers(self) -> tuple[Peer, ...]:
        names = PEERS if self.peer_names is None else self.peer_names
        return tuple(PEERS[name] for name in names if installed(PEERS[name]))

    @property
    def watch(self) -> Stopwatch:
        """CPU time for one thread, wall time for more."""
        clock = time.process_time if self.threads == 1 else time.perf_counter
        return Stopwatch(clock, 3, 5e-4) if self.quick else Stopwatch(clock)

    @property
    def wall(self) -> Stopwatch:
        return Stopwatch(time.perf_counter, 3, 5e-4) if self.quick else Stopwatch(time.perf_counter, 9)

    @property
    def fresh_runs(self) -> int:
        """Fresh interpreters a row."""
        return self.wanted_rounds or (1 if self.quick else 7)

    def rounds(self, size: int) -> int | None:
        """Rounds of a race at this size; None for the stopwatch's own number."""
        return self.wanted_rounds or (None if size < LARGE or self.quick else 5)

    def compare(self, size: int) -> Callable[[list[float], list[float]], Ratio]:
        """How two lists of times become a ratio at this size."""
        return paired if size < LARGE else smallest

    def layout(self, peer: Peer, job: str, size: int) -> str | None:
        """How the peer returns results at this size; None where it is not asked."""
        if job not in peer.jobs or size > peer.largest:
            return None
        return "out" if "out" in peer.layouts and (size >= LARGE or "new" not in peer.layouts) else "new"
