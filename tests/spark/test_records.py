"""Events out of records as Kafka has them: those of Spark's connector are bytes, those of our own source text.

No broker and no connector: records at rest.
"""

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

import few_events
from comparable_rows import in_order
from headgate.kafka.stream import events_in
from headgate.workloads.json_rows import json_rows
from headgate.workloads.nexmark.source import NexmarkSource, auctions, bids, persons
from headgate.workloads.sentences import SentencesSource
from workload_streams import ready_for_workloads

KINDS = pytest.mark.parametrize("kind", ["binary", "string"])


@pytest.fixture(scope="module")
def ready(spark):
    with ready_for_workloads(spark):
        yield spark


def records(spark, texts, kind):
    """As a topic's, each with nothing but its value."""
    values = [(text if text is None or kind == "string" else bytearray(text.encode()),) for text in texts]
    return spark.createDataFrame(values, f"value {kind}")


def as_json(table):
    return [text for batch in table.to_batches() for text in json_rows(batch).to_pylist()]


@KINDS
def test_events_come_out_of_records_as_they_were(ready, kind):
    found = events_in(records(ready, as_json(few_events.table()), kind), NexmarkSource)
    assert found.columns == ["number", "event_type", "person", "auction", "bid", "dateTime"]
    assert in_order(persons(found).collect()) == in_order(few_events.PERSONS)
    assert in_order(auctions(found).collect()) == in_order(few_events.AUCTIONS)
    assert in_order(bids(found).collect()) == in_order(few_events.BIDS)


@KINDS
def test_sentences_come_out_of_records_as_they_were(ready, kind):
    rows = [{"number": 0, "sentence": 'w1 "w2"', "key": 7}, {"number": 1, "sentence": "", "key": 0}]
    found = events_in(records(ready, as_json(pa.Table.from_pylist(rows)), kind), SentencesSource)
    assert [row.asDict() for row in found.orderBy("number").collect()] == rows


@KINDS
@pytest.mark.parametrize(("value", "said"), [('{"other":1}', r'\{"other":1\}'), (None, "null")])
def test_a_record_that_is_no_event_fails_and_is_shown(ready, kind, value, said):
    found = events_in(records(ready, [value], kind), NexmarkSource)
    with pytest.raises(PySparkException, match=f"a record is no event of nexmark: {said}"):
        found.collect()


@KINDS
def test_what_is_no_json_fails(ready, kind):
    # PySpark passes on what Java says here, as it is.
    with pytest.raises((PySparkException, Py4JJavaError), match="MALFORMED_RECORD"):
        events_in(records(ready, ["no event"], kind), NexmarkSource).collect()
