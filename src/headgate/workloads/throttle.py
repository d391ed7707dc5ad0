"""An operator that takes a known time per record, without using the processor: it waits.

On a machine with two cores this is what lets a job scale to more slots than there are cores, and what makes its cost
per record known beforehand.
"""

import time
from collections.abc import Callable, Iterator

import pyarrow as pa

Batches = Iterator[pa.RecordBatch]


def throttle(
    seconds_per_record: float, work: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None
) -> Callable[[Batches], Batches]:
    """For `mapInArrow`: pass batches through `work` and take so long for each record that comes in.

    The time `work` itself takes is part of it, and what one batch overruns the next makes up for: the time for
    all records of a task is what was asked for, as long as the work is not slower than that. In Spark's plans it bears
    the name of the work.
    """

    def run(batches: Batches) -> Batches:
        started, owed = time.perf_counter(), 0.0
        for batch in batches:
            idle = time.perf_counter() - started - owed
            if idle > 0:
                started += idle  # waiting for input is not time spent on records
            result = batch if work is None else work(batch)
            owed += seconds_per_record * batch.num_rows
            ahead = started + owed - time.perf_counter()
            if ahead > 0:
                time.sleep(ahead)
            yield result

    # Only the name: functools.wraps would also say that it takes what the work takes.
    run.__name__ = getattr(work, "__name__", "throttle")
    return run
