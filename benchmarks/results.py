"""What a run collects: one `Measurement` a comparison, gathered into the `Row`s of the table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from .goals import GOALS, Goal

__all__ = ["Measurement", "Results", "Row"]


#: job, against, label, size
Key = tuple[str, str, str, int | None]


@dataclass(frozen=True)
class Measurement:
    """One number: a ratio of two times of the same run, or a time or size by itself."""

    job: str
    #: format, format and mode, command: what told this measurement from others of the same row
    what: str
    #: the other side of a ratio; empty for a number with a unit of its own
    against: str
    value: float
    #: log2 of the number of elements
    size: int | None = None
    data: str = ""
    unit: str = "×"
    #: True where the ratio is their time over ours
    faster: bool = False
    #: how far the rounds disagree, relative to the value
    spread: float = 0.0
    #: our own time, seconds
    seconds: float | None = None


@dataclass(frozen=True)
class Row:
    """Measurements that one goal speaks of, at one size: the range, and the worst of them."""

    job: str
    against: str
    label: str
    size: int | None
    goal: Goal | None
    measurements: tuple[Measurement, ...]

    @property
    def worst(self) -> Measurement:
        return max(self.measurements, key=lambda m: -m.value if m.faster else m.value)

    @property
    def best(self) -> Measurement:
        return min(self.measurements, key=lambda m: -m.value if m.faster else m.value)

    @property
    def limit(self) -> float | None:
        return self.goal.limits.get(self.size) if self.goal else None

    @property
    def met(self) -> bool | None:
        """Whether the worst measurement meets the goal; None where there is no goal."""
        if self.limit is None:
            return None
        return self.worst.value >= self.limit if self.worst.faster else self.worst.value <= self.limit

    def as_dict(self) -> dict[str, object]:
        """The row for a JSON file."""
        return {
            "job": self.job,
            "against": self.against,
            "what": self.label,
            "size": self.size,
            "worst": asdict(self.worst),
            "best": asdict(self.best),
            "goal": self.limit,
            "goal_sense": None if self.limit is None else (">=" if self.worst.faster else "<="),
            "met": self.met,
        }


@dataclass
class Results:
    """Everything a run measured, in order, and remarks about what could not be measured."""

    measurements: list[Measurement] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: goals are stated for one thread; with more, ratios are printed without them
    judged: bool = True

    def add(self, measurements: Iterable[Measurement]) -> None:
        self.measurements.extend(measurements)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def rows(self, each: bool = False, goals: Sequence[Goal] = GOALS) -> list[Row]:
        """One row a goal and size, jobs in the order they ran; one row a measurement with `each`."""
        groups: dict[Key, list[Measurement]] = defaultdict(list)
        found: dict[Key, Goal | None] = {}
        for m in self.measurements:
            goal = next((g for g in goals if g.speaks_of(m.job, m.against, m.what)), None)
            label = f"{m.what} {m.data}".strip() if each else goal.label if goal else _label(m, goals)
            key = (m.job, m.against, label, m.size)
            groups[key].append(m)
            found[key] = goal if self.judged or (goal and goal.any_threads) else None
        rows = [Row(*key, found[key], tuple(members)) for key, members in groups.items()]
        first: dict[tuple[str, ...], int] = {}
        for i, row in enumerate(rows):
            for name in ((row.job,), (row.job, row.against), (row.job, row.against, row.label)):
                first.setdefault(name, i)

        def place(row: Row) -> tuple[int, ...]:
            names = ((row.job,), (row.job, row.against), (row.job, row.against, row.label))
            return (*(first[name] for name in names), row.size or 0)

        return sorted(rows, key=place)


def _label(m: Measurement, goals: Sequence[Goal]) -> str:
    """What a row without a goal is called: rows of a size gather the formats that no goal names."""
    if not m.size or m.job == "noise":
        return m.what
    some = any((goal.job, goal.against) == (m.job, m.against) for goal in goals)
    return "other formats" if some else "all it has"
