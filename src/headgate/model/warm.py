"""Which batches say something about the next ones.

The first batches of a run start JVMs and Python workers and load state; so do the first after executors came or
went. They are left out wherever others are left.
"""

from collections.abc import Sequence

from headgate.model.microbatch import MicroBatch

WARM_UP = 3
"""Batches that are not counted at the start of a run and after each change of executors."""


def warm(batches: Sequence[MicroBatch]) -> list[MicroBatch]:
    """Without the first batches of each run and each set of executors, if that leaves any."""
    since_change = 0
    before: tuple[object, ...] = ()
    counted = []
    for batch in batches:
        now = (batch.run, *(executor.id for executor in batch.executors))
        since_change = since_change + 1 if now == before else 1
        before = now
        if since_change > WARM_UP:
            counted.append(batch)
    return counted or list(batches)


def on_the_last_pool(batches: Sequence[MicroBatch]) -> list[MicroBatch]:
    """Those that ran on as many slots as the last one."""
    return [batch for batch in batches if batch.slots == batches[-1].slots]
