"""From a real run to what is said of it: pipelines whose truth is known."""

import json
import re

import msgspec
import numpy as np
import pytest

from headgate.model.inspection import Question, inspection
from headgate.spark.probe import Probe
from headgate.workloads.load import Constant
from headgate.workloads.sentences import Text
from headgate.workloads.throttle import throttle

ROWS, WORDS, PARTITIONS, SECONDS_PER_RECORD = 12, 20, 4, 0.008
BATCHES = 8


@pytest.fixture(scope="module")
def skewed_run(spark, event_logs, tmp_path_factory):
    """Sentences of 20 words; half of all have one key, by which words are shuffled; behind it, a word takes 8 ms."""

    def split(batches):  # in here, because executors cannot import this file
        import pyarrow as pa
        import pyarrow.compute as pc

        for batch in batches:
            words = pc.split_pattern(batch.column("sentence"), " ")
            keys = pc.take(batch.column("key"), pc.list_parent_indices(words))
            yield pa.RecordBatch.from_arrays([words.flatten(), keys], names=["word", "key"])

    stream = (
        spark.readStream.format("sentences").option("load", str(Constant(1e6))).option("partitions", "2")
        .option("words", WORDS).option("keys", "1000").option("hot", "0.5").option("rows_per_batch", ROWS).load()
    )  # fmt: skip
    words = stream.mapInArrow(split, "word string, key bigint").repartition(PARTITIONS, "key")
    with Probe(spark) as probe:
        query = (
            words.mapInArrow(throttle(SECONDS_PER_RECORD), "word string, key bigint").writeStream.format("noop")
            .queryName("skewed").option("checkpointLocation", str(tmp_path_factory.mktemp("checkpoint"))).start()
        )  # fmt: skip
        live = [batch for _, batch in zip(range(BATCHES), probe.batches(timeout=60), strict=False)]
        query.stop()
    spark.range(1).count()  # the log is written in order: what came before is in it now
    (log,) = (path for path in event_logs.iterdir() if spark.sparkContext.applicationId in path.name)
    return log, live


@pytest.fixture(scope="module")
def log_of_skewed_run(skewed_run):
    return skewed_run[0]


@pytest.fixture(params=["live", "from the log"])
def found(request, headgate, skewed_run):
    """What is said of the run, by either way of looking."""
    log, live = skewed_run
    if request.param == "live":
        return json.loads(msgspec.json.encode(inspection(live, Question())))
    return inspected(headgate, log)


@pytest.fixture(scope="module")
def hot_partition(spark):
    """Where Spark's own hash puts key 0, and the share of words that fall there: the truth, by another path."""
    number = spark.range(1).selectExpr(f"pmod(hash(id), {PARTITIONS})").first()[0]
    # The first three batches do not count.
    rows = np.arange(3 * ROWS, BATCHES * ROWS, dtype=np.uint64)
    keys = Text(words=1, vocabulary=1000, keys=1000, hot=0.5).key(rows).tolist()
    placed = spark.createDataFrame([(key,) for key in keys], "key bigint").selectExpr(f"pmod(hash(key), {PARTITIONS})")
    return number, sum(row[0] == number for row in placed.collect()) / len(keys)


def inspected(headgate, *arguments):
    ran = headgate("inspect", *arguments, "--query", "skewed", "--format", "json")
    assert ran.code == 0
    (found,) = json.loads(ran.out)
    return found


def test_a_real_run_gives_fan_out_cost_skew_and_the_limit(found, hot_partition):
    scan, behind = found["profile"]["operators"]
    assert (scan["tasks"], scan["records_in"], scan["fan_out"], scan["records_out"]) == (2, 12, 20, 240)
    assert (behind["tasks"], behind["records_in"], behind["feeders"]) == (4, 240, [scan["name"]])
    assert behind["record_cost"]["value"] == pytest.approx(SECONDS_PER_RECORD, rel=0.1)
    number, share = hot_partition
    assert behind["largest_partition"] == number
    assert behind["largest_share"] == pytest.approx(share, abs=0.05)
    limit = found["limits"][0]["limit"]
    assert (limit["limit"], limit["operator"], limit["partition"]) == ("skew", behind["name"], number)
    assert limit["share"] == pytest.approx(share, abs=0.05)


def test_the_url_of_a_running_application_leads_to_its_log(headgate, spark, log_of_skewed_run):
    port = re.search(r":(\d+)", spark.sparkContext.uiWebUrl.removeprefix("http://"))[1]
    by_url = inspected(headgate, f"http://127.0.0.1:{port}")
    assert by_url["profile"] == inspected(headgate, log_of_skewed_run)["profile"]


def test_an_address_where_no_application_answers_is_refused_in_one_line(headgate):
    ran = headgate("inspect", "http://127.0.0.1:9")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert "no answer" in ran.err


def test_twice_the_slots_do_not_help_a_skewed_query_and_the_least_is_found(headgate, log_of_skewed_run):
    found = inspected(headgate, log_of_skewed_run, "--slots", "8")
    now, then = found["profile"]["seconds"], found["answer"]["prospect"]["batch"]["value"]
    assert then == pytest.approx(now, rel=0.15)
