"""The order of a run: sizes from small to large, jobs within, then what has no size."""

from __future__ import annotations

import fpformats as fp

from . import data
from .arrays import ARRAY_JOBS, noise, run_job
from .blocks import blocks
from .calls import calls, threads
from .fresh import command_line, imports, memory
from .kit import kit
from .plan import Plan
from .results import Results

__all__ = ["run"]


def run(plan: Plan) -> Results:
    """Measure everything the plan asks for."""
    results = Results(judged=plan.threads == 1)
    jobs = [job for job in ARRAY_JOBS if job in plan.jobs]
    if jobs or {"threads", "blocks"} & set(plan.jobs):
        plan.progress("loading the compiled kernels")
        fp.warmup()
    for size in plan.sizes:
        if jobs:
            noise(plan, size, results)
        for job in jobs:
            run_job(job, plan, size, results)
            data.forget()
        if "blocks" in plan.jobs:
            blocks(plan, size, results)
        if "threads" in plan.jobs:
            threads(plan, size, results)
            data.forget()
    for job, measure in (
        ("calls", calls),
        ("import", imports),
        ("cli", command_line),
        ("memory", memory),
        ("testing", kit),
    ):
        if job in plan.jobs:
            measure(plan, results)
    return results
