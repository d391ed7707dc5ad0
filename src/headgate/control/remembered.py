"""Which batches are worth remembering: the last ones, and of those before them what the last ones do not show.

Batches of another size tell fixed cost from cost per record; batches on other pools tell what contention does. Without
them a controller that has been steady for an hour would know less than one that has just started.
"""

from collections.abc import Sequence

from headgate.model.microbatch import MicroBatch

LAST = 40
_OF_OTHER_SIZE = 12
_OF_EACH_OTHER_POOL = 4
_ANOTHER_SIZE = 1.25


def worth_remembering(batches: Sequence[MicroBatch]) -> tuple[MicroBatch, ...]:
    """At most some eighty batches, oldest first."""
    if len(batches) <= LAST:
        return tuple(batches)
    before, last = batches[:-LAST], batches[-LAST:]
    sizes = [batch.input_rows for batch in last]
    small, large = min(sizes) / _ANOTHER_SIZE, max(sizes) * _ANOTHER_SIZE
    pool, slots = last[-1].executors, last[-1].slots
    kept, of_size, of_pool = [], 0, dict[int, int]()
    for batch in reversed(before):
        other_size = batch.input_rows < small or batch.input_rows > large
        if other_size and of_size < _OF_OTHER_SIZE:
            of_size += 1
            kept.append(batch)
        elif batch.executors is not pool and (then := batch.slots) != slots:
            of_pool[then] = of_pool.get(then, 0) + 1
            if of_pool[then] <= _OF_EACH_OTHER_POOL:
                kept.append(batch)
    return (*reversed(kept), *last)
