"""Which batches say something about the next ones.

The first batches of a run start JVMs and Python workers and load state; so do the first after executors came or
went. They are left out wherever others are left. Where batches are long, fewer are cold: what begins half a minute
after the first of them that had records is warm, whichever batch it is. (One without records warms nothing up: on a
slow machine the first batch is a minute of starting JVMs, and the two after it are as cold as ever, and large.)
"""

from collections.abc import Sequence

from headgate.model.microbatch import MicroBatch

WARM_UP = 3
"""Batches that are not counted at the start of a run and after each change of executors."""
WARM_AFTER = 30_000
"""Milliseconds after the beginning of the first of them that had records after which a batch counts even so."""


def warm(batches: Sequence[MicroBatch]) -> list[MicroBatch]:
    """Without the cold batches of each run and each set of executors, if that leaves any."""
    counted: list[MicroBatch] = []
    stretch: list[MicroBatch] = []
    for batch in batches:
        if stretch and not _same_pool(stretch[-1], batch):
            counted.extend(warm_of_one_pool(stretch))
            stretch = []
        stretch.append(batch)
    counted.extend(warm_of_one_pool(stretch))
    return counted or list(batches)


def warm_of_one_pool(stretch: Sequence[MicroBatch]) -> list[MicroBatch]:
    """The warm ones of batches of one run on the same executors; there may be none."""
    if not stretch:
        return []
    first = next((batch for batch in stretch if batch.input_rows), stretch[-1])
    warm_from = first.began + WARM_AFTER
    return [batch for place, batch in enumerate(stretch) if place >= WARM_UP or batch.began >= warm_from]


def present_pool(batches: Sequence[MicroBatch]) -> list[MicroBatch]:
    """The last batches, as far back as run and executors are the same."""
    same: list[MicroBatch] = []
    for batch in reversed(batches):
        if same and not _same_pool(batch, same[-1]):
            break
        same.append(batch)
    return same[::-1]


def on_the_last_pool(batches: Sequence[MicroBatch]) -> list[MicroBatch]:
    """Those that ran on as many slots as the last one, and were cut into as many tasks."""
    last = batches[-1]
    return [batch for batch in batches if batch.slots == last.slots and _cut_alike(batch, last)]


def _cut_alike(one: MicroBatch, other: MicroBatch) -> bool:
    """Within a run nobody changes the number of partitions; a restart may."""
    if one.run == other.run:
        return True
    now = {operator.id: operator.instances for operator in other.dataflow.operators}
    return all(now.get(operator.id, operator.instances) == operator.instances for operator in one.dataflow.operators)


def _same_pool(one: MicroBatch, other: MicroBatch) -> bool:
    if one.run != other.run:
        return False
    # Most often the very same tuple: of a thousand executors no id need be looked at then.
    return one.executors is other.executors or [e.id for e in one.executors] == [e.id for e in other.executors]
