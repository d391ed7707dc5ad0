"""What the tasks of each operator did in a batch, taken apart once: whoever asks again gets the same arrays."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from headgate.model.columns import Floats, Ints
from headgate.model.microbatch import MicroBatch
from headgate.model.once import once_a_batch


class Work(NamedTuple):
    """The tasks of one operator in one batch, in their order in the batch."""

    rows: Ints
    """Where they are in the columns of the batch."""
    records: Ints
    """Records in, one a task."""
    seconds: Floats
    """Slot time, one a task."""
    taken: int
    put_out: int
    """Records in and out, over all tasks."""
    mean_seconds: float
    held_by: frozenset[str]
    """Executors that ran them."""


_NOTHING = Work(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), 0, 0, 0.0, frozenset())


def work(name: str, batch: MicroBatch) -> Work:
    """Of this operator; no tasks where it did not run."""
    return _taken_apart(batch).get(name, _NOTHING)


@once_a_batch
def _taken_apart(batch: MicroBatch) -> dict[str, Work]:
    tasks = batch.tasks
    order = np.argsort(tasks.operator, kind="stable")
    cuts = np.searchsorted(tasks.operator[order], np.arange(len(batch.dataflow.ids) + 1)).tolist()
    # In order once, and then by slices: to pick the rows of one operator after the other takes three times as long.
    records, put_out, seconds = tasks.records_in[order], tasks.records_out[order], tasks.occupied_seconds[order]
    executors = [tasks.executor[row] for row in order.tolist()]
    found = {}
    for name, (start, end) in zip(batch.dataflow.ids, pairwise(cuts), strict=True):
        if start < end:
            mine = slice(start, end)
            found[name] = Work(
                order[mine],
                records[mine],
                seconds[mine],
                int(records[mine].sum()),
                int(put_out[mine].sum()),
                float(seconds[mine].mean()),
                frozenset(executors[mine]),
            )
    return found
