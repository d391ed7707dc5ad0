"""Where the bins of a query live, and putting them elsewhere.

A bin is one partition of a query's state: all stores of all its stateful operators with that number. Placing one only
says where it lives from now on; it takes effect with the next batch if it is said before that batch's stages begin.
Whether it did is seen from where the bin's task really ran.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.model.microbatch import Executor, MicroBatch
from headgate.spark.internals.state_stores import place_bin, state_stores


def homes(batch: MicroBatch) -> dict[int, str]:
    """Bin -> the executor its task ran on in this batch."""
    found: dict[int, str] = {}
    for name in batch.stateful:
        for row in np.flatnonzero(batch.tasks.operator == batch.dataflow.index[name]):
            found[int(batch.tasks.partition[row])] = batch.tasks.executor[row]
    return found


def evenly(bins: Mapping[int, str], executors: Sequence[Executor]) -> dict[int, str]:
    """A home for every bin so that each slot has as many, or one more, with as few moves as that takes.

    >>> a, b = Executor("a", "h", 1), Executor("b", "h", 1)
    >>> evenly({0: "a", 1: "a", 2: "a", 3: "gone"}, [a, b])
    {0: 'a', 1: 'a', 2: 'b', 3: 'b'}
    """
    slots = {executor.id: executor.slots for executor in executors}
    total = sum(slots.values())
    share = {id: len(bins) * held // total for id, held in slots.items()}
    # What does not divide goes to those that hold most: they need not give it away.
    holding = Counter(home for home in bins.values() if home in slots)
    for id in sorted(slots, key=lambda id: share[id] - holding[id])[: len(bins) - sum(share.values())]:
        share[id] += 1
    placed: dict[int, str] = {}
    left = dict(share)
    for number, home in sorted(bins.items()):
        if left.get(home, 0) > 0:
            placed[number] = home
            left[home] -= 1
    free = [id for id, count in left.items() for _ in range(count)]
    for number in sorted(bins):
        if number not in placed:
            placed[number] = free.pop(0)
    return dict(sorted(placed.items()))


def place(spark: SparkSession, query: StreamingQuery, moves: Mapping[int, str], executors: Sequence[Executor]) -> None:
    """Say where these bins live from now on."""
    hosts = {executor.id: executor.host for executor in executors}
    for stores in state_stores(spark, query):
        for number, executor in moves.items():
            if number < stores.partitions:
                place_bin(spark, query, stores, number, hosts[executor], executor)
