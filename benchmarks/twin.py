"""The simulator against reality: three real runs on a local cluster, and their twins.

A word count whose map mostly waits, every 8 seconds, under `capacity`:

* constant: one rate, from one executor too few;
* step: the rate doubles after three minutes, and the policy moves once more;
* sine: up and down once in ten minutes.

Each run is watched; its batches make a twin (`headgate twin`), and the twin is run on the virtual Spark under the same
load by the same controller with the same settings, from the same number of executors, which come as late as the real
ones did. Compared are batch times (each warm batch with the twin's batch at that moment, where both ran on as many
executors, which must be half of them at the least; the median of how far they are apart), slot-seconds, and what was
decided, which must be something.

    make bench-twin                 (or: python benchmarks/twin.py --runs step --seconds 300)
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import headgate
from headgate.control.actions import SetExecutors
from headgate.control.settings import Settings
from headgate.lab.job_table import job_from_table
from headgate.lab.twin import twin
from headgate.model.microbatch import MicroBatch
from headgate.model.warm import warm
from headgate.policies.capacity import CapacityPolicy
from headgate.runtime.entries import Cluster, Entry, Intent, Seen
from headgate.simulation.closed_loop import ControlledLoop
from headgate.simulation.virtual_spark import VirtualSpark
from headgate.spark.local_cluster import LocalCluster
from headgate.spark.state_store_settings import ROCKSDB
from headgate.workloads.load import Constant, Load, Sine, Step
from headgate.workloads.sentences import SentencesSource
from headgate.workloads.throttle import throttle
from verdicts import exit_code, verdict

MOST = 8
TRIGGER = 8.0
OBJECTIVE = headgate.KeepUp(0.2)
SETTLING = {"down_stretch": 60.0, "cool_down": 20.0, "anew": 30.0}
BATCHES_APART, SLOTS_APART = 0.15, 0.10
COMPARED = 0.5
"""Part of the warm batches that must have run on as many executors in both: a few that agree say nothing."""


class Run(NamedTuple):
    """A load that needs a move, how long it is watched, and the executors it begins with."""

    load: Load
    seconds: float
    executors: int


RUNS = {
    "constant": Run(Constant(66.0), 300.0, 2),
    "step": Run(Step(33.0, 66.0, at=180.0), 420.0, 2),
    "sine": Run(Sine(60.0, 25.0, period=600.0), 600.0, 4),
}


class Watched(NamedTuple):
    """What a run came to; seconds since its load began."""

    batches: list[MicroBatch]
    began: list[float]
    decided: list[int]
    joining: float

    @property
    def slot_seconds(self) -> float:
        """Slots that were there, from batch to batch."""
        gaps = [after - before for before, after in zip(self.began, self.began[1:], strict=False)]
        return sum(gap * batch.slots for gap, batch in zip(gaps, self.batches, strict=False))


def start(spark: SparkSession, load: Load) -> StreamingQuery:
    """25 ms a record, then a count by key."""
    reader = spark.readStream.format("sentences").option("load", str(load))
    taken = reader.option("partitions", "8").option("words", "1").load()
    counts = taken.mapInArrow(throttle(0.025), "number bigint, sentence string, key bigint").groupBy("key").count()
    writer = counts.writeStream.format("noop").outputMode("update").queryName("twin")
    writer = writer.option("checkpointLocation", tempfile.mkdtemp())
    return writer.trigger(processingTime=f"{TRIGGER:g} seconds").start()


def real(cluster: LocalCluster, run: Run) -> Watched:
    """On the cluster, left alone with the policy."""
    conf = {"spark.sql.shuffle.partitions": "8", "spark.ui.enabled": "false", **ROCKSDB}
    spark = cluster.session("twin", executors=run.executors, memory="512m", most=MOST, conf=conf)
    spark.sparkContext.setLogLevel("OFF")
    spark.dataSource.register(SentencesSource)
    batches: list[MicroBatch] = []
    decided: list[tuple[float, int]] = []
    waits: list[float] = []
    there, asked = run.executors, (0.0, 0)

    def look(entry: Entry | Seen) -> None:
        nonlocal there, asked
        if isinstance(entry, Seen):
            batches.append(entry.batch)
        elif isinstance(entry, Intent) and isinstance(entry.action, SetExecutors):
            decided.append((entry.at, entry.action.executors))
            asked = (entry.at, entry.action.executors if entry.action.executors > there else 0)
        elif isinstance(entry, Cluster):
            there = len(entry.executors)
            if there == asked[1]:  # they have joined; who leaves tells nothing of that
                waits.append(entry.at - asked[0])
                asked = (0.0, 0)

    query = start(spark, run.load)
    began = time.time()
    scaler = headgate.attach(
        spark, query, objective=OBJECTIVE, executors=(1, MOST), policy="capacity", watch=look, **SETTLING
    )
    with scaler:
        while time.time() < began + run.seconds:
            if query.awaitTermination(1):
                raise SystemExit(f"the query ended: {query.exception()}")
    query.stop()
    spark.stop()
    moments = [batch.began / 1000 - began for batch in batches]
    return Watched(batches, moments, [count for _, count in decided], statistics.median(waits or [10.0]))


def copied(seen: Watched, run: Run) -> Watched:
    """The twin, under the same load and the same controller."""
    job = replace(job_from_table(twin(seen.batches, "twin")), trigger=TRIGGER)
    settings = Settings(objective=OBJECTIVE, least=1, most=MOST, **SETTLING)
    spark = VirtualSpark(job, run.load.records, executors=run.executors, joining=seen.joining)
    loop, batches = ControlledLoop(spark, settings, CapacityPolicy()), []
    while spark.now < run.seconds:
        batches.append(loop.turn().batch)
    decided = [count for _, count in loop.moves]
    return Watched(batches, [batch.began / 1000 for batch in batches], decided, seen.joining)


def apart(real_run: Watched, copy: Watched) -> tuple[float, float]:
    """How far batch times are apart: the median over the warm batches that ran on as many executors in both.

    And the part of the warm batches that these are.
    """
    warm_ones = {id(batch) for batch in warm(real_run.batches)}
    found = []
    for batch, at in zip(real_run.batches, real_run.began, strict=True):
        if id(batch) in warm_ones:
            nearest = min(range(len(copy.began)), key=lambda place: abs(copy.began[place] - at))
            other = copy.batches[nearest]
            if len(other.executors) == len(batch.executors):
                found.append(abs(other.duration / batch.duration - 1))
    return statistics.median(found) if found else float("inf"), len(found) / max(1, len(warm_ones))


def compare(name: str, run: Run, cluster: LocalCluster) -> bool:
    """One run and its twin; whether they agree."""
    seen = real(cluster, run)
    copy = copied(seen, run)
    times, compared = apart(seen, copy)
    lasted = min(seen.began[-1], copy.began[-1])
    slots = until(copy, lasted) / until(seen, lasted) - 1
    same = bool(seen.decided) and seen.decided == copy.decided  # two that decide nothing agree, and say nothing
    print(
        f"{name}: batch times {times:.1%} apart ({compared:.0%} of them compared), slot-seconds {slots:+.1%}, decided "
        f"{said(seen.decided)}, the twin {said(copy.decided)}",
        flush=True,
    )
    return times <= BATCHES_APART and compared >= COMPARED and abs(slots) <= SLOTS_APART and same


def until(watched: Watched, end: float) -> float:
    """Slot-seconds up to this moment."""
    few = [place for place, at in enumerate(watched.began) if at <= end]
    return Watched(
        [watched.batches[place] for place in few], [watched.began[place] for place in few], [], 0
    ).slot_seconds


def said(decided: Sequence[int]) -> str:
    """Executors asked for, one after the other."""
    return " -> ".join(map(str, decided)) or "nothing"


def main() -> int:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", default=",".join(RUNS))
    parser.add_argument("--seconds", type=float, help="of each run, instead of what it usually lasts")
    given = parser.parse_args()
    agree = []
    with tempfile.TemporaryDirectory() as folder:
        for name in given.runs.split(","):
            run = RUNS[name] if given.seconds is None else RUNS[name]._replace(seconds=given.seconds)
            with LocalCluster(workers=1, slots=MOST, memory="8g", folder=Path(folder) / name, late=True) as cluster:
                agree.append(compare(name, run, cluster))
    what = (
        f"batch times within {BATCHES_APART:.0%}, {COMPARED:.0%} of them compared, slot-seconds within "
        f"{SLOTS_APART:.0%}, same decisions"
    )
    print(verdict(what, all(agree)))
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
