"""What the tasks of each operator did in a batch, taken apart once: whoever asks again gets the same arrays."""

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
    cuts = np.searchsorted(tasks.operator[order], np.arange(len(batch.dataflow.ids) + 1))
    occupied = tasks.occupied_seconds
    found = {}
    for place, name in enumerate(batch.dataflow.ids):
        rows = order[cuts[place] : cuts[place + 1]]
        if rows.size:
            records, seconds = tasks.records_in[rows], occupied[rows]
            found[name] = Work(
                rows,
                records,
                seconds,
                int(records.sum()),
                int(tasks.records_out[rows].sum()),
                float(seconds.mean()),
                frozenset(tasks.executor[row] for row in rows.tolist()),
            )
    return found
