"""The goals, as one table. A new goal is a new entry of `GOALS`; the harness needs no change.

They are stated for float32, one thread, default arguments unless a row says otherwise, and for a
machine with AVX-512. Against `copyto` and other readings of our own the number is *our time over
theirs* and must be at most the limit; against other libraries it is *their time over ours* and must
be at least the limit. Absolute numbers (µs, s) must be at most the limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["FP4", "FP8", "GOALS", "Goal"]

FP8 = ("e4m3", "e5m2", "e4m3_ieee", "e3m4", "e4m3fnuz", "e5m2fnuz", "e4m3b11fnuz")
FP4 = ("e2m1",)

#: What two equal times may differ by, where a goal says "no slower" or "no more".
NOISE = 1.05


@dataclass(frozen=True)
class Goal:
    """One promise: measurements of `job` against `against` at the sizes of `limits`."""

    job: str
    against: str
    #: what the row of the table calls the measurements it speaks of
    label: str
    #: log2(number of elements), or None where there is no size -> the limit
    limits: Mapping[int | None, float]
    #: first words of `Measurement.what`; empty for all
    only: tuple[str, ...] = ()
    #: whether it also holds with more than one thread
    any_threads: bool = False

    def speaks_of(self, job: str, against: str, what: str) -> bool:
        if (self.job, self.against) != (job, against):
            return False
        return not self.only or any(what == name or what.startswith(f"{name} ") for name in self.only)


def _every_size(limit: float) -> Mapping[int | None, float]:
    return dict.fromkeys([None, *range(31)], limit)


def _same(jobs: str, against: str, label: str, limit: float) -> tuple[Goal, ...]:
    return tuple(Goal(job, against, label, _every_size(limit)) for job in jobs.split())


def _command(what: str, limit: float, job: str = "import", against: str = "") -> Goal:
    return Goal(job, against, what, {None: limit}, (what,), any_threads=True)


_ARRAY_JOBS = "quantize encode decode modes float64 stochastic"

GOALS: tuple[Goal, ...] = (
    # --- memory is the limit: our time over np.copyto's of the same bytes
    Goal("quantize", "copyto", "every format, out=", {14: 1.6, 20: 1.25, 26: 1.1}),
    Goal("encode", "copyto", "every format, out=", {20: 1.5, 26: 1.15}),
    Goal("decode", "copyto", "every format, out=", {20: 1.6, 26: 1.15}),
    Goal("modes", "copyto", "other modes and flush modes, out=", {20: 2.0, 26: 1.25}),
    Goal("float64", "copyto", "float64 sources, out=", {17: 1.3, 26: 1.2}),
    Goal("stochastic", "copyto", "32 counter-based bits, out=", {20: 6.0, 26: 4.0}),
    # --- our time over our own time
    *_same(_ARRAY_JOBS, "plain data", "wide data", 1.15),
    *_same("quantize encode decode", "fastest format", "slowest format of a code width", 1.3),
    Goal("threads", "one thread", "threads, no slower", _every_size(NOISE), any_threads=True),
    # --- other libraries: their time over ours
    Goal("encode", "ml_dtypes", "fp8", {20: 60.0}, FP8),
    Goal("encode", "ml_dtypes", "fp4", {20: 100.0}, FP4),
    Goal("encode", "ml_dtypes", "bf16", {20: 3.5}, ("bf16",)),
    Goal("decode", "ml_dtypes", "fp8", {20: 50.0}, FP8),
    Goal("quantize", "ml_dtypes", "fp8", {20: 100.0}, FP8),
    Goal("encode", "torch", "e4m3", {20: 5.0, 26: 2.5}, ("e4m3",)),
    Goal("decode", "torch", "e4m3", {20: 25.0}, ("e4m3",)),
    Goal("quantize", "torch", "e4m3", {20: 30.0}, ("e4m3",)),
    Goal("encode", "torch", "e5m2", {20: 3.0}, ("e5m2",)),
    Goal("decode", "torch", "e5m2", {20: 4.0}, ("e5m2",)),
    Goal("quantize", "torch", "e5m2", {20: 6.0}, ("e5m2",)),
    Goal("encode", "torch", "bf16, fp16", {20: 0.9}, ("bf16", "fp16")),
    Goal("quantize", "gfloat", "all it has", {20: 250.0}),
    Goal("quantize", "pychop (torch)", "all it has", {20: 150.0}),
    Goal("quantize", "apytypes", "all it has", {20: 50.0}),
    Goal("quantize", "CPFloat", "fp8", {20: 15.0}, FP8),
    # --- block formats
    *(
        Goal("block encode", "copyto", label, {26: limit}, only)
        for label, limit, only in (("mxfp8", 2.1, ("mxfp8_e4m3",)), ("nvfp4", 1.8, ("nvfp4_te",)))
    ),
    *(
        Goal("block quantize", "copyto", label, {26: 1.25}, only)
        for label, only in (("mxfp8", ("mxfp8_e4m3",)), ("nvfp4", ("nvfp4_te",)))
    ),
    Goal("block decode", "copyto", "all", {26: 1.3}),
    *(
        Goal(f"block {job}", "plain data", "zero, NaN, subnormal and huge blocks", _every_size(1.2))
        for job in ("encode", "quantize", "decode")
    ),
    *(
        Goal(f"block {job}", base, "first-tier recipes", _every_size(1.5))
        for job in ("encode", "quantize", "decode")
        for base in ("mxfp8_e4m3", "nvfp4_te")
    ),
    *(
        Goal(f"block {job}", "torchao", only, {20: limit}, (only,))
        for job, only, limit in (
            ("encode", "mxfp8_e4m3", 6.0),
            ("quantize", "mxfp8_e4m3", 20.0),
            ("encode", "nvfp4_torchao", 20.0),
            ("quantize", "nvfp4_torchao", 35.0),
        )
    ),
    # --- calls of one element, µs
    *(
        Goal("calls", "", f"n = 1, {how}", {0: limit}, (how,), any_threads=True)
        for how, limit in (("array with out=", 2.0), ("array without out=", 5.0), ("Python float", 5.0))
    ),
    Goal("calls", "", "custom format: first call over later ones", {10: 50.0}, ("custom format",), any_threads=True),
    # --- fresh interpreters
    _command("import fpformats", 1.15, against="import numpy"),
    _command("import and first small call", 1.5, against="import numpy"),
    _command("first large call, warm cache", 0.7),
    _command("first large call, cold cache", 1.5),
    *(_command(f"fpformats {name}", 0.3, job="cli") for name in ("formats", "info", "explain")),
    # --- the testing kit: ms, M vectors/s, and a ratio
    *(
        Goal("testing", "", label, {None: limit}, (label,))
        for label, limit in (
            ("assert_same_codes", 50.0),
            ("assert_quantized", 50.0),
            ("boundary_inputs level=1", 50.0),
            ("boundary_inputs level=2", 50.0),
            ("vectors hex", 5.0),
        )
    ),
    Goal("testing", "torch's cast", "check_cast exhaustive e4m3", {None: 1.5}),
    Goal("memory", "input + output", "peak of quantize(out=)", {None: NOISE}, any_threads=True),
)
