"""A query of a workload on a stream that ends, stopped and started again in the middle: all that it put out, and all
that it should have put out, by DuckDB over the same events at rest.

Rows that are final are compared as they are. Of a query whose rows take the place of earlier ones it is what stands
after each batch, with the batch's number in front, that is compared with the definition over the events up to there.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple

import ads_and_cars_reference
import nexmark_reference
import psm_reference
from comparable_rows import in_order
from headgate.spark.state_store_settings import ROCKSDB
from headgate.workloads.ads.events import Settings as AdsSettings
from headgate.workloads.cars.events import Settings as CarsSettings
from headgate.workloads.event_time import EventTime
from headgate.workloads.nexmark.events import Settings as NexmarkSettings
from headgate.workloads.psm.events import Settings as PsmSettings
from headgate.workloads.query import Query
from headgate.workloads.registry import WORKLOADS as KNOWN

WINDOW = 10_000_000
PATIENCE = 300

_NEEDS = {
    **ROCKSDB,  # operators of one's own keep their state in no other
    "spark.sql.session.timeZone": "UTC",  # days and minutes are those of the reference
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",  # folders are text, as they were written
}


class Workload(NamedTuple):
    """Where events come from, and what is asked of them."""

    source: type
    queries: Mapping[str, Query]
    reference: Mapping[str, str | Callable[[Any], Any]]
    """By query: SQL, or what makes rows of the database."""
    at_rest: Callable[[int, float, Mapping[str, int]], Any]
    """Events, events for each second of event time, and options of the source -> a database."""
    rate: Callable[[int, str], float]
    """How fast so many events come, by event time, for what a query asks to be there a few times."""
    options: Mapping[str, Mapping[str, int]]
    """Options of the source that some queries want."""


def _nexmark_rate(rows: int, query: str) -> float:
    if query in ("q10", "q14", "q15", "q16", "q17"):
        return 1.0  # days and hours take long: two of the first in 100,000 events
    if query in ("q3-bounded", "q20-bounded"):
        return 100.0  # a hundred auctions take 17 s: bids on the oldest of them come too late
    return 500.0  # a hundred persons take 10 s, so that a hot bidder or seller is near only for a while


WORKLOADS = {
    "nexmark": Workload(
        *KNOWN["nexmark"],
        nexmark_reference.REFERENCE,
        lambda rows, rate, options: nexmark_reference.at_rest(rows, NexmarkSettings(EventTime(rate), **options)),
        _nexmark_rate,
        {},
    ),
    "psm": Workload(
        *KNOWN["psm"],
        psm_reference.REFERENCE,
        lambda rows, rate, options: psm_reference.at_rest(rows, PsmSettings(EventTime(rate), **options)),
        lambda rows, query: rows / 2500,  # three windows of ten minutes
        {"q2": {"products": 2}},  # so that more clicks than a window has are on one
    ),
    "ads": Workload(
        *KNOWN["ads"],
        ads_and_cars_reference.ADS,
        lambda rows, rate, options: ads_and_cars_reference.ads_at_rest(rows, AdsSettings(EventTime(rate), **options)),
        lambda rows, query: 500.0,
        {},
    ),
    "cars": Workload(
        *KNOWN["cars"],
        ads_and_cars_reference.CARS,
        lambda rows, rate, options: ads_and_cars_reference.cars_at_rest(rows, CarsSettings(EventTime(rate), **options)),
        lambda rows, query: rows / 100,  # a car drives a kilometre or two
        {},
    ),
}


@contextmanager
def ready_for_workloads(spark):
    """A session in which all queries run, and that is as it was afterwards."""
    before = {name: spark.conf.get(name, None) for name in _NEEDS}
    for name, value in _NEEDS.items():
        spark.conf.set(name, value)
    for workload in WORKLOADS.values():
        spark.dataSource.register(workload.source)
    try:
        yield spark
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def streamed_and_true(spark, workload, query, folder, rows, partitions):
    """The rows a query put out, and those it should have."""
    options = workload.options.get(query.name, {})
    rate = workload.rate(rows, query.name)
    found = streamed(spark, workload, query, folder, rows, {"event_rate": rate, "partitions": partitions, **options})
    if query.name == "q12":
        return found, true_by_the_clock(workload.at_rest(rows, rate, options), folder)
    if not query.keys:
        return found, in_order(by_definition(workload, query, rows, rate, options))
    true = [
        (number, *row)
        for number, known in enumerate(events_known(query, batch_ends(folder)))
        for row in by_definition(workload, query, known, rate, options)
    ]
    return found, in_order(true)


def by_definition(workload, query, rows, rate, options):
    """What it should give on the first so many events."""
    if not rows:
        return []
    database, reference = workload.at_rest(rows, rate, options), workload.reference[query.name]
    return reference(database) if callable(reference) else database.execute(reference).fetchall()


def batch_ends(folder):
    """How many events were read by the end of each batch, by the query's log."""
    logs = sorted((folder / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    return [json.loads(log.read_text().splitlines()[2])["number"] for log in logs]


def events_known(query, ends):
    """How many events decide what stands after each batch.

    All that were read, where rows are counted as they come. A query that appends goes by the watermark instead, which
    is that of the batch before: the last batch of a run reads nothing, and brings what the watermark has passed.
    """
    return [0, *ends[:-1]] if query.mode == "append" else list(ends)


def standing(batches, keys):
    """What stands after each batch, the batch's number first, of rows that take the place of earlier ones."""
    stands, all_rows = {}, []
    for number, rows in sorted(batches.items()):
        changed = {row[:keys]: row for row in rows}
        assert len(changed) == len(rows), f"batch {number} has several rows of one key: which of them counts?"
        stands |= changed
        all_rows += [(number, *row) for row in stands.values()]
    return all_rows


def streamed(spark, workload, query, folder, rows, options, batches=4):
    """All rows a query put out, what stands after each batch where it has keys; stopped and started again in the
    middle."""
    put_out = {}

    def keep(changed, number):
        put_out[number] = [tuple(row) for row in changed.collect()]

    for end in (rows // 2, rows):
        reader = spark.readStream.format(workload.source.name()).option("rows_per_batch", rows // batches)
        stream = reader.options(rows=end, **options).load()
        writer = query.of(stream).writeStream.outputMode(query.mode)
        writer = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
        if query.folders:
            writer = writer.format("parquet").partitionBy(*query.folders).option("path", str(folder / "files"))
        else:
            writer = writer.foreachBatch(keep)
        running = writer.start()
        try:
            assert running.awaitTermination(PATIENCE), f"{query.name} was not done after {PATIENCE} s"
        finally:
            running.stop()
    if query.folders:
        return in_order(tuple(row) for row in spark.read.parquet(str(folder / "files")).collect())
    return in_order(standing(put_out, query.keys) if query.keys else chain.from_iterable(put_out.values()))


def true_by_the_clock(database, folder):
    """What NexMark's q12 should give after each batch: bids of each bidder in windows of the times at which, by the
    query's log, batches began."""
    counted, first, true = Counter(), 0, []
    for batch, last in enumerate(batch_ends(folder)):
        told = (folder / "checkpoint" / "offsets" / str(batch)).read_text().splitlines()[1]
        starts = json.loads(told)["batchTimestampMs"] * 1000 // WINDOW * WINDOW
        bids = "select bid.bidder, count(*) from stream where bid is not null and number >= ? and number < ? group by 1"
        for bidder, number in database.execute(bids, [first, last]).fetchall():
            counted[bidder, starts] += number
        first = last
        true += [(batch, bidder, starts, starts + WINDOW, number) for (bidder, starts), number in counted.items()]
    return in_order(true)
