"""What benchmarks of the way to the right size share: the bounds, the least executors that do, and what a run came to.

The least is found by trying: fixed numbers of executors, at the rate of the run plus its headroom, and the fewest whose
batches end before the next is due. So a size that does is enough by the rule that the policy is given, measured instead
of predicted.
"""

import itertools
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.control.actions import SetExecutors, SpreadBins
from headgate.control.events import ActionFailed
from headgate.model.microbatch import MicroBatch
from headgate.runtime.entries import Entry, Intent, Seen
from headgate.spark.engine import SparkEngine

MOST = 8
"""Executors, of one slot each."""
TRIGGER = 8.0
HEADROOM = 0.2
SETTLING = {"down_stretch": 40.0, "cool_down": 10.0, "anew": 30.0}
"""Settings of the controller: shorter than the defaults, which are for jobs that run for weeks."""
SIDES = {"under": 1, "over": MOST}
"""Executors to begin with."""
ONE_STEP = 10 / 12
"""The part of runs that must take one step; none may take more than two."""

_COUNTED = 3
"""The last batches on a fixed number of executors, once they have settled."""
_MOST_SWEPT = 30
"""Batches in which they have; with a quarter to spare, what a cold start of a minute has piled up takes ten."""
_SHRINKING = 0.97
"""Batches get shorter if one takes no more than this part of the last but one before it."""
_COLD = 3
"""Batches that may take as long as they like."""
_FAR_TOO_LONG = 1.5
_PATIENCE = 300.0
"""Seconds in which executors have come or gone."""


class Outcome(NamedTuple):
    """What a run came to."""

    first: int
    """Executors that it began with."""
    moves: list[tuple[float, int]]
    """Seconds after its beginning, and the executors that were asked for."""
    executors: int
    """In the end."""
    batch: float
    """Seconds, median of the last batches."""

    @property
    def turns(self) -> int:
        """How often it moved up after it had moved down, or the other way round: settling needs none."""
        sizes = [self.first, *(count for _, count in self.moves)]
        ups = [after > before for before, after in itertools.pairwise(sizes)]
        return sum(one != other for one, other in itertools.pairwise(ups))

    @property
    def way(self) -> str:
        """In a line."""
        return " -> ".join([str(self.first), *(f"{count} (at {at:.0f} s)" for at, count in self.moves)])


def moves_in(entries: Iterable[Entry | Seen], began: float) -> list[tuple[float, int]]:
    """What was asked of the cluster, in seconds after the beginning."""
    return [
        (entry.at - began, entry.action.executors)
        for entry in entries
        if isinstance(entry, Intent) and isinstance(entry.action, SetExecutors)
    ]


def least_that_does(spark: SparkSession, start: Callable[[], StreamingQuery], expected: int | None = None) -> int:
    """By trying, in one application that has `MOST` executors: each size with a query of its own.

    The size that is expected comes first and the one below it next, which is enough where the expectation is right;
    otherwise half of what is left to try each time.
    """
    too_few, enough = 0, MOST + 1
    hunches = [] if expected is None else [expected, expected - 1]
    while enough - too_few > 1:
        likely = [size for size in hunches if too_few < size < enough]
        executors = likely[0] if likely else (too_few + enough) // 2
        took = batch_time(spark, start(), executors)
        print(f"  {executors} executors: {took:.2f} s a batch", flush=True)
        too_few, enough = (executors, enough) if took > TRIGGER else (too_few, executors)
    if enough > MOST:
        raise SystemExit(f"even {MOST} executors are too few: this machine is too slow, or too busy, for these rates")
    return enough


def batch_time(spark: SparkSession, query: StreamingQuery, executors: int) -> float:
    """Median time of a batch on so many executors, with the state spread over them; the first that is far too long."""
    engine = SparkEngine(spark, query).start()
    batches: list[MicroBatch] = []

    def more(count: int) -> None:
        wanted = len(batches) + count
        while len(batches) < wanted:
            still_active(query)
            batches.extend(seen.batch for seen in engine.seen(1.0))

    try:
        resize(engine, query, executors)
        more(2)
        engine.carry_out(SpreadBins(0, batches[-1].query))
        more(_COLD)
        while len(batches) < _MOST_SWEPT:
            more(1)
            times = [batch.duration / 1000 for batch in batches]
            if far_too_long(times):
                return times[-1]
            if settled(times[_COLD:]):
                break
        return statistics.median(times[-_COUNTED:])
    finally:
        engine.stop()
        query.stop()


def far_too_long(times: Sequence[float]) -> bool:
    """It falls behind, and each batch would be longer still; what a cold start has piled up gets less instead."""
    return times[-1] > _FAR_TOO_LONG * TRIGGER and times[-1] >= max(times[-3:-1])


def settled(times: Sequence[float]) -> bool:
    """The batches that count took what came in an interval, not what a late one had left; or it gets no less."""
    if len(times) <= _COUNTED:
        return False
    if max(times[-_COUNTED - 1 : -1]) <= TRIGGER:
        return True
    no_less = all(later > _SHRINKING * earlier for earlier, later in zip(times[-4:-2], times[-2:], strict=True))
    return times[-1] > TRIGGER and no_less


def resize(engine: SparkEngine, query: StreamingQuery, executors: int) -> None:
    """Ask for so many executors, and wait until they are there."""
    engine.carry_out(SetExecutors(0, executors))
    deadline = time.monotonic() + _PATIENCE
    while (there := len(engine.executors())) != executors:
        engine.seen(0.5)
        still_active(query)
        for one in engine.happened():
            if isinstance(one, ActionFailed):
                raise SystemExit(f"{executors} executors were asked for and cannot be had: {one.why}")
        if time.monotonic() > deadline:
            raise SystemExit(f"{executors} executors were asked for, {there} were there after {_PATIENCE:.0f} s")


def still_active(query: StreamingQuery) -> None:
    """Or say why not."""
    if not query.isActive:
        raise SystemExit(f"the query ended: {query.exception()}")
