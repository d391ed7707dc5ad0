"""Measurements that cannot be: clocks that jump, counts below zero, times that are no numbers."""

import numpy as np

from headgate.model.microbatch import MicroBatch

_CLOCK_JUMP = 3600_000
"""Milliseconds: a batch that began so long before its predecessor shows a clock that was set back."""


def problem_with(batch: MicroBatch, before: MicroBatch | None) -> str | None:
    """What is wrong with a batch, in words; None if nothing is."""
    wrong = _in_itself(batch) or (_after(batch, before) if before is not None else None)
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


def _after(batch: MicroBatch, before: MicroBatch) -> str | None:
    if batch.run != before.run:
        return None
    if batch.number <= before.number:
        return f"comes after batch {before.number}"
    if batch.began < before.began - _CLOCK_JUMP:
        return f"began before batch {before.number}: the clock was set back"
    return None
