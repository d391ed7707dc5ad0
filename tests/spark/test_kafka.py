"""A real broker: what `headgate produce` writes is all there, once, and queries read it exactly though they are killed.

Where the jars of Kafka cannot be had (no Maven, no network) these tests say so and are skipped.
"""

import json
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable

from campaigns.kafka import check, produce
from headgate.jobs.build_function import load_build
from headgate.jobs.job_file import read_job
from headgate.jobs.job_settings import JobSettings
from headgate.kafka.address import Address, address_from_text
from headgate.kafka.jars import KAFKA, jars
from headgate.kafka.local_broker import LocalBroker
from headgate.kafka.topic import make_topic
from headgate.kafka.topic_source import TopicReader
from headgate.model.errors import InputError
from headgate.workloads.sentences import Text

JOBS = Path(__file__).parents[2] / "examples" / "jobs"


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    try:
        jars(*KAFKA)
    except InputError as problem:
        pytest.skip(f"Kafka cannot be had here: {problem}")
    with pytest.MonkeyPatch.context() as patch:
        # Of one cluster in 64 the id begins with a dash, which must not be taken for an option: so does this one.
        patch.setattr("uuid.uuid4", lambda: uuid.UUID(bytes=b"\xf8" + bytes(15), version=4))
        running = LocalBroker(folder=tmp_path_factory.mktemp("broker")).start()
    try:
        yield running
    finally:
        running.stop()


def records(address, count):
    """So many records of a topic: partition, key and value."""
    at = address_from_text(address)
    consumer = Consumer({"bootstrap.servers": at.servers, "group.id": "test", "auto.offset.reset": "earliest"})
    try:
        partitions = consumer.list_topics(at.topic, timeout=10).topics[at.topic].partitions
        consumer.assign([TopicPartition(at.topic, partition, 0) for partition in partitions])
        found, deadline = [], time.monotonic() + 60
        while len(found) < count and time.monotonic() < deadline:
            found += consumer.consume(count, timeout=1.0)
        assert not consumer.consume(1, timeout=0.5)
        return [(one.partition(), one.key().decode(), json.loads(one.value())) for one in found]
    finally:
        consumer.close()


def test_several_processes_write_each_event_once_and_what_belongs_together_to_one_partition(broker):
    address = f"kafka://{broker.servers}/once"
    command = [sys.executable, "-m", "headgate", "produce", "nexmark", "--to", address, "--load", "constant(2k)"]
    command += ["--for", "2s", "--processes", "2", "--option", "padding=false"]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split(" in ")[0]) == (0, "4,000 events"), done.stderr
    # The last event is due after 2 s; starting the processes and their ending are not in it.
    said = float(done.stdout.split(" in ")[1].split(" s,")[0])
    assert 1.9 < said < time.monotonic() - began
    found = records(address, 4_000)
    assert sorted(value["number"] for _, _, value in found) == list(range(4_000))
    homes = {}
    for partition, key, value in found:
        if "bid" in value:
            assert key == str(value["bid"]["auction"])
        homes.setdefault(key, set()).add(partition)
    assert all(len(partitions) == 1 for partitions in homes.values())
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "has 4,000 records; name another topic, or give --append to add to them" in again.stderr


def test_a_run_that_was_stopped_goes_on_with_the_event_it_is_told(broker):
    address = f"kafka://{broker.servers}/goes-on"
    command = [sys.executable, "-m", "headgate", "produce", "nexmark", "--to", address, "--option", "padding=false"]
    on = ["--append", "--first", "300", "--events", "200", "--load", "constant(2k)", "--processes", "2"]
    for words in (["--events", "300"], on):
        done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert sorted(value["number"] for _, _, value in records(address, 500)) == list(range(500))


def test_a_topic_that_is_not_there_or_was_made_anew_is_an_error_and_not_an_empty_stream(broker):
    with pytest.raises(InputError, match="nothing: there is no such topic"):
        TopicReader(Address(broker.servers, "nothing"), None).initialOffset()
    anew = Address(broker.servers, "anew")
    make_topic(anew, 2)
    reader = TopicReader(anew, None)
    assert reader.initialOffset() == reader.latestOffset({"0": 0, "1": 0}, ReadAllAvailable()) == {"0": 0, "1": 0}
    with pytest.raises(InputError, match="partition 1 was read up to record 9 and ends at 0; was the topic made anew"):
        reader.latestOffset({"0": 0, "1": 9}, ReadAllAvailable())
    with pytest.raises(InputError, match="partition 2 was read up to record 9 and is gone"):
        reader.latestOffset({"0": 0, "1": 0, "2": 9}, ReadAllAvailable())


def test_a_query_over_kafka_is_exact_though_its_driver_is_killed(broker, tmp_path):
    # Of one partition: with so few events, hot keys would put several out of order by more than queries wait for.
    address = produce(broker.servers, 20_000, processes=1, partitions=1)
    assert check(address, "q5", 20_000, tmp_path, kills=1, through="python", batches=4) > 5


def test_sentences_out_of_a_topic_are_counted_as_they_were_written(broker, spark, tmp_path):
    address = f"kafka://{broker.servers}/text"
    command = [sys.executable, "-m", "headgate", "produce", "sentences", "--to", address, "--events", "500"]
    done = subprocess.run([*command, "--option", "words=4"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    job = read_job(JOBS / "word_count.toml")
    options = {"from": address, "rows_per_batch": 200, "seconds_per_sentence": 1e-4, "output": "counts"}
    spark.sparkContext.addPyFile(job.module)  # as `headgate run` does
    writer = load_build(job)(spark, JobSettings(str(tmp_path), options, job.parallelism, {}))
    query = writer.trigger(availableNow=True).option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    assert query.awaitTermination(180)
    files = sorted((tmp_path / "counts").glob("*.json"))
    assert len(files) > 2  # 500 sentences, and no more than about 200 in a batch
    counts = {}
    for file in files:
        counts |= json.loads(file.read_text())
    assert counts == Text(words=4, vocabulary=1000, keys=64, hot=0.0).word_counts(500)
