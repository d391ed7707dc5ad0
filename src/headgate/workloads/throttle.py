"""An operator that takes a known time per record, without using the processor: it waits.

On a machine with two cores this is what lets a job scale to more slots than there are cores, and what makes its cost
per record known beforehand.
"""

import time
from collections.abc import Callable, Iterator

import pyarrow as pa

Batches = Iterator[pa.RecordBatch]


def throttle(
    seconds_per_record: float,
    work: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None,
    *,
    clock: Callable[[], float] = time.perf_counter,
    sleep: Callable[[float], object] = time.sleep,
) -> Callable[[Batches], Batches]:
    """For `mapInArrow`: pass batches through `work` and take so long for each record that comes in.

    The time `work` itself takes is part of it, and that of handing on its result; what one batch overruns the next
    makes up for. So the time for all records of a task is what was asked for, as long as the work is not slower than
    that; waiting for input comes on top. In Spark's plans it bears the name of the work.
    """

    def run(batches: Batches) -> Batches:
        due = clock()  # when all records so far should be done
        while True:
            asked = clock()
            batch = next(batches, None)
            if batch is None:
                return
            due += clock() - asked  # waiting for input is not time spent on records
            result = batch if work is None else work(batch)
            due += seconds_per_record * batch.num_rows
            ahead = due - clock()
            if ahead > 0:
                sleep(ahead)
            yield result

    # Only the name: functools.wraps would also say that it takes what the work takes.
    run.__name__ = getattr(work, "__name__", "throttle")
    return run
