"""A virtual job as a real streaming query: every operator is a stage whose tasks wait for as long as the job says.

    reads the stream      the source's own tasks wait
    is fed                an exchange by key into its partitions, whose tasks wait
    keeps state           the same, by `applyInPandasWithState`: a count for each key

What waits holds its slot and leaves the processor to others, so a job for forty slots runs on two cores. Tasks wait for
`fixed`, then for `per_record` with each record, on top of what Spark itself takes for them.

Records are numbers. Those that go on are numbered anew, without gaps, so that exactly `selectivity` of them come; and
each has a key of the partition it is meant for, so that partitions get the shares that the job says, not what a hash
makes of them.
"""

import math
import time
from collections.abc import Callable, Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from headgate.model.columns import Floats, Ints
from headgate.simulation.batch_arithmetic import shares_of
from headgate.simulation.virtual_job import VirtualJob, VirtualOperator
from headgate.workloads.load import Load
from headgate.workloads.throttle import Batches, throttle

if TYPE_CHECKING:
    import pandas as pd

_Frames: TypeAlias = "Iterator[pd.DataFrame]"
_COLUMNS = "number bigint, key bigint"
_GOING_ON = "number bigint, goes_to bigint"
"""What a count puts out; `key` would be taken for the key it is kept by."""
_BINS = "spark.sql.shuffle.partitions"
_KEYS_EACH = 2
"""Keys of a partition."""


class Route(NamedTuple):
    """Where records go: partitions by their shares, and keys that Spark's hash puts there.

    Neighbours in number are spread by a step that never comes round: any stretch of numbers falls into the partitions
    as evenly as can be, which chance would not do.
    """

    up_to: Floats
    keys: Ints
    """A row for each partition."""
    step: float

    def key(self, numbers: Ints) -> Ints:
        """One for each number."""
        places = np.searchsorted(self.up_to, np.modf(numbers * self.step)[0], side="right")
        chosen: Ints = self.keys[np.minimum(places, len(self.keys) - 1), numbers % self.keys.shape[1]]
        return chosen


def going_on(numbers: Ints, selectivity: float) -> Ints:
    """The records that come out, numbered without gaps over the whole stream.

    >>> going_on(np.array([0, 1, 2]), 2.0).tolist(), going_on(np.array([0, 1, 2, 3]), 0.5).tolist()
    ([0, 1, 2, 3, 4, 5], [0, 1])
    """
    first = np.floor(numbers * selectivity).astype(np.int64)
    counts = np.floor((numbers + 1) * selectivity).astype(np.int64) - first
    ends = np.cumsum(counts)
    out: Ints = np.repeat(first - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)
    return out


class Out(NamedTuple):
    """What an operator does with numbers: those that go on, with the keys that lead them to the next one."""

    selectivity: float
    route: Route | None
    """None at the end."""

    def of(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Numbers and keys."""
        out = going_on(numbers, self.selectivity)
        return out, out if self.route is None else self.route.key(out)


def start_real_job(spark: SparkSession, job: VirtualJob, load: Load, checkpoint: str) -> StreamingQuery:
    """The query, under way; what it puts out goes nowhere. Needs the source `sentences` to be registered."""
    writer = real_job(spark, job, load).writeStream.format("noop").outputMode("append").queryName("lab")
    writer = writer.option("checkpointLocation", checkpoint)
    if job.trigger is not None:
        writer = writer.trigger(processingTime=f"{round(1000 * job.trigger)} milliseconds")
    bins = next((one.partitions for one in job.operators if one.stateful), None)
    before = str(spark.conf.get(_BINS))
    spark.conf.set(_BINS, before if bins is None else bins)  # a query takes the settings that are there when it starts
    try:
        return writer.start()
    finally:
        spark.conf.set(_BINS, before)


def real_job(spark: SparkSession, job: VirtualJob, load: Load) -> DataFrame:
    """What comes out of the last operator."""
    feeds = {up: place for place, one in enumerate(job.operators) for up in one.feeders}
    loads = iter(parts_of(job, load))
    weights = sum(one.weight for one in job.operators if not one.feeders)
    frames: list[DataFrame] = []
    for place, one in enumerate(job.operators):
        follows = feeds.get(place)
        step = 0.0 if follows is None else math.sqrt(_prime(follows))
        out = Out(one.selectivity, None if follows is None else route_to(spark, job.operators[follows], step))
        if one.feeders:
            came = reduce(DataFrame.union, (frames[up] for up in one.feeders))
            frames.append(_counted(came, one, out) if one.stateful else _waited(came, one, out))
        else:
            part = next(loads)
            read = _read(spark, one, part, None if job.limit is None else round(job.limit * one.weight / weights))
            frames.append(read.mapInArrow(waiting(one, out), _COLUMNS))
    return frames[-1]


def parts_of(job: VirtualJob, load: Load) -> list[Load]:
    """What each operator reads that nothing feeds."""
    weights = [one.weight for one in job.operators if not one.feeders]
    return [load] if len(weights) == 1 else [load * (weight / sum(weights)) for weight in weights]


def _read(spark: SparkSession, one: VirtualOperator, load: Load, limit: int | None) -> DataFrame:
    reader = spark.readStream.format("sentences").option("words", "1").option("partitions", str(one.partitions))
    reader = reader.option("load", str(load))
    if limit is not None:
        reader = reader.option("rows_per_batch", str(max(1, limit)))
    return reader.load().select("number", "key")


def _waited(came: DataFrame, one: VirtualOperator, out: Out) -> DataFrame:
    return came.repartition(one.partitions, "key").mapInArrow(waiting(one, out), _COLUMNS)


def _counted(came: DataFrame, one: VirtualOperator, out: Out) -> DataFrame:
    by_key = came.groupBy("key")
    put_out = by_key.applyInPandasWithState(counting(one, out), _GOING_ON, "seen bigint", "append", "NoTimeout")
    return put_out.withColumnRenamed("goes_to", "key")


def route_to(spark: SparkSession, operator: VirtualOperator, step: float) -> Route:
    """Asks Spark which keys fall into which partition."""
    count = operator.partitions
    keys: list[list[int]] = [[] for _ in range(count)]
    first = 0
    while any(len(some) < _KEYS_EACH for some in keys):
        some = spark.range(first, first + 64 * count, 1, 1)
        for key, place in some.select("id", f.pmod(f.hash("id"), f.lit(count))).collect():
            keys[place].append(key)
        first += 64 * count
    return Route(np.cumsum(shares_of(operator)), np.array([some[:_KEYS_EACH] for some in keys], np.int64), step)


def waiting(one: VirtualOperator, out: Out) -> Callable[[Batches], Batches]:
    """An operator without state, for `mapInArrow`."""

    def work(batch: pa.RecordBatch) -> pa.RecordBatch:
        numbers, keys = out.of(batch.column(0).to_numpy())
        return pa.RecordBatch.from_arrays([pa.array(numbers), pa.array(keys)], names=["number", "key"])

    passed = throttle(one.per_record, work)

    def run(batches: Batches) -> Batches:
        time.sleep(one.fixed)
        yield from passed(batches)

    run.__name__ = "_".join(one.name.split())  # its name in Spark's plans
    return run


def counting(one: VirtualOperator, out: Out) -> Callable[[Any, _Frames, Any], _Frames]:
    """An operator that keeps a count for each key, for `applyInPandasWithState`; called once for each of its keys."""
    begun = False

    def run(key: Any, frames: _Frames, state: Any) -> _Frames:
        import pandas as pd  # noqa: PLC0415 - only on executors

        nonlocal begun
        del key
        if not begun:  # each task is sent a function of its own
            begun = True
            time.sleep(one.fixed)
        seen = state.get[0] if state.exists else 0
        for frame in frames:
            time.sleep(one.per_record * len(frame))
            seen += len(frame)
            numbers, keys = out.of(frame["number"].to_numpy())
            yield pd.DataFrame({"number": numbers, "goes_to": keys})
        state.update((seen,))

    run.__name__ = "_".join(one.name.split())
    return run


def _prime(place: int) -> int:
    """Another one for each place: the square roots of primes have nothing in common.

    >>> [_prime(place) for place in range(5)]
    [2, 3, 5, 7, 11]
    """
    found: list[int] = []
    number = 2
    while len(found) <= place:
        if all(number % one for one in found):
            found.append(number)
        number += 1
    return found[-1]
