"""The rate that was asked for, and the rate that came: of `headgate produce`, and of the source `nexmark` in Spark.

For a constant load, a step and a recorded trace, each for a minute. Over ten seconds the events that came are compared
with those that were due: the worst of these is the figure. What is due comes a little later, so that moments are set
back by the median of these delays, which is told beside the figure; an event or a batch that comes sooner or later than
the others counts against whoever brought it.

Of the producer what counts is the time at which the broker took each event, and the ten seconds are any: they begin
every tenth of a second, and the last end with the last event. It is what `headgate produce` runs, in this process,
because it tells when its load began.

Of the source it is the rows that Spark counted, not the offsets that the source announced, and the moment at which the
last task that reads a batch was done. A batch brings the rows of a second at once, so the ten seconds are not any: they
go from one such moment to the first that is ten seconds later. What lies in between they cannot show; the longest gap
between two such moments does, and is held to two triggers: a batch that ends before the next is due has been read
within a trigger of when it began, so that two are less than two triggers apart. The query keeps the cores busy, by
0.2 ms of processor time for each event in a stage behind the one that reads.

    make bench-load                     (or: python benchmarks/load.py --seconds 60 --only source)
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition

from headgate.kafka.address import Address
from headgate.kafka.jars import KAFKA, jars
from headgate.kafka.local_broker import LocalBroker
from headgate.kafka.produce_plan import ProducePlan
from headgate.kafka.producing import produce
from headgate.kafka.topic import make_topic, records_in
from headgate.model.errors import InputError
from headgate.model.microbatch import MicroBatch
from headgate.spark.local_cluster import LocalCluster
from headgate.spark.probe import Probe
from headgate.workloads.load import Load, due_at, load_from_text
from headgate.workloads.nexmark.source import NexmarkSource
from verdicts import exit_code, verdict

WINDOW = 10.0
STEP = 0.1
MOST = 0.01
PROCESSES = 2
TRACE = "second,rate\n0,2000\n10,5000\n20,3500\n30,3500\n40,6000\n50,1500\n60,2500\n90,2500\n"
SETTLED = 2.0
"""Seconds after the beginning that do not count: the first batch finds nothing due."""
TRIGGER = 1.0
LONGEST_GAP = 2 * TRIGGER
LEAST = SETTLED + WINDOW + LONGEST_GAP
"""Seconds that are needed for ten of them to be seen."""
BUSY = 0.0002
"""Seconds of processor time for each event: at 6,000 a second, the most there is, more than half of two cores."""


class Came(NamedTuple):
    """How many events had come by which moments since the beginning of the load."""

    seconds: npt.NDArray[np.float64]
    events: npt.NDArray[np.float64]
    behind: float
    """Seconds by which the moments are set back."""
    gap: float | None = None
    """Seconds between two of the moments, at the longest; None where they are not those at which something came."""


def loads(folder: Path) -> dict[str, str]:
    """What is asked for."""
    trace = folder / "trace.csv"
    trace.write_text(TRACE)
    return {"constant": "constant(4k)", "step": "step(2k -> 6k @ 25s)", "trace": f"trace({trace})"}


def produced(broker: LocalBroker, name: str, load: str, lasting: float) -> Came:
    """Written as `headgate produce` does; by the broker's clock, which is this machine's."""
    at = Address(broker.servers, name)
    make_topic(at, 4, {"message.timestamp.type": "LogAppendTime"})
    asked = load_from_text(load)
    plan = ProducePlan("nexmark", at, load, int(asked.records(lasting)), PROCESSES)
    began: list[float] = []
    produce(plan, lambda progress: began.append(time.time() - progress.seconds), lambda: False)
    # The earliest is the best: whoever is held up after looking at one clock looks at the other one later.
    return taken_by_broker(np.array(_timestamps(at), dtype=np.float64) / 1000 - min(began), asked, lasting)


def taken_by_broker(moments: npt.NDArray[np.float64], load: Load, lasting: float) -> Came:
    """Events that a broker had taken, every tenth of a second up to the last of them, less the delay that is usual."""
    taken = np.sort(moments)
    behind = float(np.median(taken - due_moments(load, len(taken), lasting)))
    looks = np.arange(0.0, min(lasting, taken[-1] - behind), STEP)
    return Came(looks, np.searchsorted(taken - behind, looks, side="right").astype(np.float64), behind)


def due_moments(load: Load, events: int, lasting: float) -> npt.NDArray[np.float64]:
    """When each of the first events was due, to a millisecond."""
    moments = np.arange(round(lasting * 1000) + 1) / 1000
    due = np.array([load.records(moment) for moment in moments.tolist()])
    places = np.searchsorted(due, np.arange(1, events + 1) - 1e-6)  # a sum of parts may be less than 1 by a hair
    return moments[np.minimum(places, len(moments) - 1)]


def _timestamps(at: Address) -> list[int]:
    consumer = Consumer({"bootstrap.servers": at.servers, "group.id": "bench", "auto.offset.reset": "earliest"})
    try:
        partitions = consumer.list_topics(at.topic, timeout=10).topics[at.topic].partitions
        consumer.assign([TopicPartition(at.topic, one, 0) for one in partitions])
        found: list[int] = []
        while len(found) < records_in(at):
            found += [record.timestamp()[1] for record in consumer.consume(10_000, timeout=5.0)]
        return found
    finally:
        consumer.close()


def busy(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow`: compute for a while on each event."""
    for batch in batches:
        until = time.thread_time() + BUSY * batch.num_rows
        while time.thread_time() < until:
            pass
        yield batch


def handed_to_spark(cluster: LocalCluster, name: str, load: str, lasting: float) -> Came:
    """Read by a query that is busy; by what its tasks say of each batch."""
    spark = cluster.session("load", cores=2)
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(NexmarkSource)
    stream = spark.readStream.format("nexmark").option("load", load).load().repartition(2, "number")
    stream = stream.mapInArrow(busy, stream.schema)
    with tempfile.TemporaryDirectory() as checkpoint, Probe(spark) as probe:  # before the query: it sees all batches
        writer = stream.writeStream.format("noop").queryName(name).option("checkpointLocation", checkpoint)
        query = writer.trigger(processingTime=f"{TRIGGER:g} seconds").start()
        time.sleep(lasting + SETTLED)
        query.stop()
        batches = list(probe.batches(timeout=2.0))
    spark.stop()
    return counted(batches, load_from_text(load), lasting)


def counted(batches: Sequence[MicroBatch], load: Load, lasting: float) -> Came:
    """Rows that Spark has counted up to each batch, by when it had been read, less the delay that is usual."""
    numbers = [batch.number for batch in batches]
    if numbers != list(range(len(numbers))):
        raise SystemExit(f"some batches were not seen, only {numbers}: what came is not known; run it again")
    with_rows = [batch for batch in batches if batch.input_rows]
    events = np.cumsum([batch.input_rows for batch in with_rows]).astype(np.float64)
    seconds = np.array([read_at(batch) for batch in with_rows])
    delays = [moment - due_at(load, count, moment) for moment, count in zip(seconds, events, strict=True)]
    behind = statistics.median(delays)
    return Came(seconds - behind, events, behind, longest_gap(seconds - behind, lasting))


def longest_gap(seconds: npt.NDArray[np.float64], lasting: float) -> float:
    """Between two moments, from when it has settled up to the end: a source that stopped before has a gap there."""
    within = seconds[(seconds > SETTLED) & (seconds < lasting)]
    return float(np.diff([SETTLED, *within, lasting]).max())


def read_at(batch: MicroBatch) -> float:
    """When the last task that reads was done, in seconds after the stream began."""
    reading = [batch.dataflow.index[operator] for operator in batch.reading]
    done = batch.tasks.finished[np.isin(batch.tasks.operator, reading)].max()
    return float(done / 1000 - json.loads(batch.sources[0].end)["began"])


def worst(came: Came, load: Load, lasting: float) -> float:
    """How far off the events of ten seconds were, at the worst, as a part of those that were due.

    Ten seconds go from one of the moments to the first that is so much later.
    """
    off = []
    for first, begin in enumerate(came.seconds):
        last = int(np.searchsorted(came.seconds, begin + WINDOW - 1e-6))
        if begin >= SETTLED and last < len(came.seconds) and came.seconds[last] <= lasting:
            due = load.records(came.seconds[last]) - load.records(begin)
            off.append(abs(came.events[last] - came.events[first] - due) / due)
    if not off:
        raise SystemExit(f"of {lasting:g} s no ten after the first {SETTLED:g} were seen whole; give more time")
    return max(off)


def report(kind: str, measure: Callable[[str, str, float], Came], asked: dict[str, str], lasting: float) -> None:
    """All loads, one after the other."""
    for name, load in asked.items():
        came = measure(name, load, lasting)
        off = worst(came, load_from_text(load), lasting)
        told = f"{came.events[-1]:9,.0f} events  {came.behind:6.2f} s  {off:7.2%}  at most {MOST:.0%}"
        if came.gap is not None:
            told += f"  {came.gap:5.2f} s  at most {LONGEST_GAP:g} s"
        met = off <= MOST and (came.gap is None or came.gap <= LONGEST_GAP)
        print(verdict(f"{kind:9}  {name:9}  {told}", met), flush=True)


def a_broker_can_be_had() -> bool:
    """Or say why not."""
    try:
        jars(*KAFKA)
    except InputError as problem:
        print(f"producer: SKIPPED, the broker's jars cannot be had here: {problem}", flush=True)
        return False
    return True


def long_enough(text: str) -> float:
    """Seconds in which ten can be seen."""
    seconds = float(text)
    if not seconds >= LEAST:
        raise argparse.ArgumentTypeError(f"{text} s are too few to see ten of them; give at least {LEAST:g}")
    return seconds


def main(words: Sequence[str] | None = None) -> int:
    """Both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=long_enough, default=60.0)
    parser.add_argument("--only", choices=["producer", "source"])
    given = parser.parse_args(words)
    of_producer, of_source = given.only != "source" and a_broker_can_be_had(), given.only != "producer"
    print("who        load       came              delay     worst ten seconds    longest gap")
    with tempfile.TemporaryDirectory() as folder:
        asked = loads(Path(folder))
        if of_producer:
            with LocalBroker(folder=f"{folder}/broker") as broker:
                report("producer", lambda *one: produced(broker, *one), asked, given.seconds)
        if of_source:
            with LocalCluster(slots=2, folder=f"{folder}/cluster") as cluster:
                report("source", lambda *one: handed_to_spark(cluster, *one), asked, given.seconds)
    return exit_code() if of_producer or of_source else 1


if __name__ == "__main__":
    sys.exit(main())
