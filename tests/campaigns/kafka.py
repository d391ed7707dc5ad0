"""NexMark through Kafka, the driver killed in the middle, and every row compared.

Events are written to a real broker by `headgate produce`. A driver of its own reads them, through Spark's connector or
by the source `kafka_topic`, asks a query and writes its rows to files; it is killed with SIGKILL after some batches,
started again, killed again, and started to the end. The rows must be those that the query's definition gives on the
same events at rest (DuckDB).

Files are a sink that can be exact: what a killed batch left there is not in the sink's own log. (Kafka as a sink is
not: a batch that is done again is written again.)

    make verify-kafka           (or: python tests/campaigns/kafka.py --events 1000000 --queries q1,q5 --kills 2)
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

import nexmark_reference
from campaigns.kills import kill_and_wait_for_all_it_started
from comparable_rows import in_order
from headgate.kafka.address import address_from_text
from headgate.kafka.jars import KAFKA, jars
from headgate.kafka.local_broker import LocalBroker
from headgate.kafka.stream import connector_jars
from headgate.model.errors import InputError
from headgate.workloads.event_time import EventTime
from headgate.workloads.nexmark.events import Settings

PATIENCE = 600.0
BATCHES = 10
EVENT_TIME = 40.0
"""Seconds from the first event to the last. Kafka's partitions bring them out of order: keys are hot for a while, so
that one partition is a few hundredths of the whole ahead of another, and queries wait for four seconds."""


def event_rate(events):
    """Events for each second of event time, the same where they are written and where they are at rest."""
    return events / EVENT_TIME


class KafkaError(AssertionError):
    """Something that must hold does not."""


def produce(servers, events, processes=2, partitions=4):
    """The address of a topic that has so many events."""
    to = f"kafka://{servers}/nexmark-{events}"
    command = [sys.executable, "-m", "headgate", "produce", "nexmark", "--to", to, "--events", str(events)]
    command += ["--processes", str(processes), "--partitions", str(partitions)]
    command += ["--option", f"event_rate={event_rate(events)!r}", "--option", "padding=false"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise KafkaError(done.stderr)
    return to


def drive(at, query, records_per_batch, folder, through):
    """The driver: the query over all that is in the topic, from where the checkpoint is; then its rows in one file."""
    from headgate.kafka.stream import events_by_connector, events_by_python
    from headgate.spark.local_cluster import LocalCluster
    from headgate.spark.state_store_settings import ROCKSDB
    from headgate.workloads.nexmark.queries.registry import QUERIES
    from headgate.workloads.nexmark.source import NexmarkSource

    asked = QUERIES[query]
    with LocalCluster(slots=2, folder=folder / "cluster") as cluster:
        conf = {**ROCKSDB, "spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC"}
        if through == "connector":
            conf["spark.jars"] = connector_jars()
        spark = cluster.session("kafka", cores=2, conf=conf)
        events_of = events_by_connector if through == "connector" else events_by_python
        stream = events_of(spark, NexmarkSource, address_from_text(at), records_per_batch)
        writer = asked.of(stream).writeStream.outputMode(asked.mode).trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(folder / "checkpoint")).format("parquet")
        writer.option("path", str(folder / "rows")).start().awaitTermination()
        spark.read.parquet(str(folder / "rows")).coalesce(1).write.parquet(str(folder / "all"))
        spark.stop()


class Driver:
    """`drive` in a process of its own."""

    def __init__(self, at, query, records_per_batch, folder, through):
        self.folder = folder
        command = [sys.executable, __file__, "--drive", at, "--queries", query, "--through", through]
        command += ["--records-per-batch", str(records_per_batch)]
        self.log = (folder / "driver.log").open("ab")
        self.process = subprocess.Popen(
            [*command, "--folder", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Nothing is left running, whatever happened."""
        if self.process.poll() is None:
            self.kill()
        self.log.close()

    def commits(self):
        """When the batches that are done were."""
        logs = (self.folder / "checkpoint" / "commits").glob("[0-9]*")
        return sorted(log.stat().st_mtime for log in logs)

    def kill_after(self, commits, chance):
        """SIGKILL somewhere in the batch that follows so many commits."""
        deadline = time.monotonic() + PATIENCE
        while len(done := self.commits()) < commits:
            if self.process.poll() is not None:
                raise KafkaError(f"the driver ended before it could be killed; see {self.folder / 'driver.log'}")
            if time.monotonic() > deadline:
                raise KafkaError(f"{commits} commits did not come within {PATIENCE:.0f} s")
            time.sleep(0.01)
        lasted = done[-1] - done[-2] if len(done) > 1 else 1.0
        time.sleep(lasted * chance.random())
        if self.process.poll() is not None:
            raise KafkaError("the driver was done before it could be killed; take more events")
        self.kill()

    def kill(self):
        """And wait until all it has started is gone."""
        if left := kill_and_wait_for_all_it_started(self.process):
            raise KafkaError(f"processes {left} of the killed driver are still running")

    def to_the_end(self):
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise KafkaError(f"the driver was not done after {PATIENCE:.0f} s") from None
        if code:
            raise KafkaError(f"the driver ended with {code}; see {self.folder / 'driver.log'}")


def check(at, query, events, folder, kills, through, batches=BATCHES):
    """Kill the driver so often, let it finish, compare; how many rows there were."""
    chance = random.Random(f"{query} {through}")  # the same moments each time, as far as batches take as long
    for kill in range(1, kills + 1):
        with Driver(at, query, events // batches, folder, through) as driver:
            driver.kill_after(batches * kill // (kills + 1), chance)
    with Driver(at, query, events // batches, folder, through) as driver:
        driver.to_the_end()
    with duckdb.connect() as database:
        database.execute("set TimeZone = 'UTC'")
        found = in_order(database.execute(f"select * from '{folder}/all/*.parquet'").fetchall())
    at_rest = nexmark_reference.at_rest(events, Settings(EventTime(event_rate(events)), padding=False))
    reference = nexmark_reference.REFERENCE[query]
    true = in_order(reference(at_rest) if callable(reference) else at_rest.execute(reference).fetchall())
    if not true:
        raise KafkaError(f"{query}: {events:,} events are too few for a row")
    if found != true:
        raise KafkaError(f"{query}: {len(found):,} rows, of {len(true):,} that should be there; they are in {folder}")
    return len(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--queries", default="q1,q5")
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--through", choices=["connector", "python"], action="append", help="default: both")
    parser.add_argument("--drive", metavar="ADDRESS", help=argparse.SUPPRESS)
    parser.add_argument("--records-per-batch", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive:
        drive(given.drive, given.queries, given.records_per_batch, given.folder, given.through[0])
        return 0
    try:
        jars(*KAFKA)
    except InputError as problem:
        print(f"SKIPPED, the broker's jars cannot be had here, and nothing was checked: {problem}")
        return 1
    place, held, checked = Path(tempfile.mkdtemp(prefix="kafka-")), True, 0
    with LocalBroker(folder=place / "broker") as broker:
        at = produce(broker.servers, given.events)
        print(f"{given.events:,} events in {at}", flush=True)
        for through in given.through or ("connector", "python"):
            try:
                connector_jars() if through == "connector" else None
            except InputError as problem:
                print(f"through Spark's connector: SKIPPED, it cannot be had here: {problem}", flush=True)
                continue
            for query in given.queries.split(","):
                folder, began = place / f"{through}-{query}", time.monotonic()
                folder.mkdir()
                checked += 1
                try:
                    rows = check(at, query, given.events, folder, given.kills, through)
                    said = f"{given.kills} kills, {rows:,} rows, all as they should be"
                except KafkaError as problem:
                    said, held = f"FAILED: {problem}", False
                print(f"{query} through {through}: {said} ({time.monotonic() - began:.0f} s)", flush=True)
    if held:
        shutil.rmtree(place)
    return 0 if held and checked else 1


if __name__ == "__main__":
    sys.exit(main())
