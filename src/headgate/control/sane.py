"""Measurements that cannot be: clocks that jump, counts below zero, times that are no numbers."""

import numpy as np

from headgate.model.microbatch import MicroBatch

CLOCK_JUMP = 3600.0
"""Seconds: clocks that differ by so much do not show the same time."""


def problem_with(batch: MicroBatch, before: MicroBatch | None, at: float) -> str | None:
    """What is wrong with a batch that was seen at this time, in words; None if nothing is."""
    wrong = _in_itself(batch) or _by_the_clock(batch, at) or (_after(batch, before) if before is not None else None)
    return None if wrong is None else f"batch {batch.number} of {batch.name} {wrong}"


def _in_itself(batch: MicroBatch) -> str | None:
    tasks = batch.tasks
    if batch.duration <= 0 or batch.input_rows < 0:
        return f"reports {batch.duration} ms and {batch.input_rows} records"
    if not tasks.operator.size:
        return "has no task"
    columns = (tasks.launched, tasks.finished, tasks.running, tasks.records_in, tasks.records_out, tasks.cpu_ns)
    if any((column < 0).any() for column in columns) or (tasks.finished < tasks.launched).any():
        return "has tasks with negative counts or times"
    if not np.isfinite([source.rows_per_second for source in batch.sources if source.rows]).all():
        return "reports a rate that is no number"
    return None


def _by_the_clock(batch: MicroBatch, at: float) -> str | None:
    off = (batch.began + batch.duration) / 1000 - at
    if abs(off) <= CLOCK_JUMP:
        return None
    return f"ended {abs(off) / 60:,.0f} minutes {'after' if off > 0 else 'before'} it was seen: a clock is wrong"


def _after(batch: MicroBatch, before: MicroBatch) -> str | None:
    return f"comes after batch {before.number}" if batch.run == before.run and batch.number <= before.number else None
