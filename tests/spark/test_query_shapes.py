"""Every shape of query that Spark knows, run for real, and what its log is read as.

Expected figures are worked out by hand, or from `Text`, which says what each row number holds; never from the reader.
All queries read sentences of four words with one of five keys. `two` has 100 rows in two batches (tasks take rows 0 to
24, 25 to 49; then 50 to 74, 75 to 99), `one` has the first 50 of them, `other` has 60, all in the first batch. They are
files, because a source in Python starts a process for each query; one query reads `sentences` itself.
"""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it

from headgate.formats.eventlog.batches import WANTED, read_batches
from headgate.formats.eventlog.reader import read_events
from headgate.workloads.load import Step
from headgate.workloads.sentences import Text
from headgate.workloads.throttle import throttle

TEXT = Text(words=4, vocabulary=1000, keys=5, hot=0.0)


def words_of(first, last):
    sentences = TEXT.sentences(np.arange(first, last, dtype=np.uint64)).to_pylist()
    return {word for sentence in sentences for word in sentence.split(" ")}


def keys_of(first, last):
    return set(TEXT.key(np.arange(first, last, dtype=np.uint64)).tolist())


class Queries:
    """Starts queries without waiting for them, so that they share the time that each spends on its driver."""

    def __init__(self, spark, folder):
        self.spark, self.folder, self.running = spark, folder, []

    def files(self, name, first, last, rows):
        """Rows of these numbers in files of so many, two of which make a batch and each of which makes a task."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        for start in range(first, last, rows):
            numbers = np.arange(start, start + rows, dtype=np.uint64)
            columns = [pa.array(numbers.astype(np.int64)), TEXT.sentences(numbers), pa.array(TEXT.key(numbers))]
            path = folder / f"{start:03d}.parquet"
            pq.write_table(pa.table(columns, names=["number", "sentence", "key"]), path)
            os.utime(path, (start, start))  # Spark takes the oldest first
        reader = self.spark.readStream.schema("number bigint, sentence string, key bigint")
        return reader.option("maxFilesPerTrigger", "2").parquet(str(folder))

    def sentences(self):
        """The source in Python: 50 rows, all of them due from the first moment on."""
        load = str(Step(50 * 1e6, 0.0, at=1e-6))
        options = {"words": 4, "keys": 5, "partitions": 2}
        return self.spark.readStream.format("sentences").options(load=load, **options).load()

    def start(self, name, stream, *, mode="append", action=None, checkpoint=None, **trigger):
        writer = stream.writeStream.queryName(name).outputMode(mode)
        writer = writer.option("checkpointLocation", str(self.folder / (checkpoint or name)))
        writer = writer.foreachBatch(action) if action else writer.format("noop")
        self.running.append((writer.trigger(**trigger) if trigger else writer).start())

    def finish(self):
        for query in self.running:
            query.processAllAvailable() if query.isActive else None
            query.stop()
        self.running.clear()


def with_time(stream):
    """A row a second, with a watermark 10 s behind."""
    return stream.select(F.timestamp_seconds("number").alias("at"), "number").withWatermark("at", "10 seconds")


def run_joins_and_unions(queries, one, two, other, table):
    queries.start("join", other.alias("o").join(two.alias("t"), F.expr("o.number = t.number")))
    queries.start("union", two.union(other))
    queries.finish()
    queries.start("shuffled union", one.union(other.filter("number % 2 = 0")).repartition(3))
    queries.start("half-shuffled union", one.repartition(2, "key").union(other))
    queries.start("broadcast", one.join(F.broadcast(table), "key"))
    queries.finish()


def run_others(queries, one, two):
    window = F.window("at", "20 seconds")
    queries.start("stateless", queries.sentences().repartition(3, "key"))
    queries.finish()
    queries.start("available now", two, availableNow=True)
    queries.start("window", with_time(two).groupBy(window).count())
    queries.finish()
    queries.start("two states", with_time(one).dropDuplicates(["number", "at"]).groupBy(window).count())
    queries.start("deduplicate", two.dropDuplicates(["key"]))
    queries.finish()


def run_python(queries, one):
    """Those with functions in Python. They are in here because executors cannot import this file."""

    def split(frames):
        import pandas as pd

        for frame in frames:
            yield pd.DataFrame({"word": [word for text in frame["sentence"] for word in text.split(" ")]})

    def remember(key, frames, state):
        import pandas as pd

        seen = sum(map(len, frames)) + (state.get[0] if state.exists else 0)
        state.update((seen,))
        yield pd.DataFrame({"key": [key[0]], "seen": [seen]})

    def stumble(frames):
        from pyspark import TaskContext

        if (TaskContext.get().attemptNumber(), TaskContext.get().partitionId()) == (0, 0):
            raise ValueError("the first attempt of the first task fails")
        yield from frames

    def count_keys(batch, _):
        batch.groupBy("key").count().write.format("noop").mode("overwrite").save()

    def write_and_count(batch, _):
        batch.persist()
        batch.write.format("noop").mode("overwrite").save()
        batch.groupBy("key").count().collect()
        batch.unpersist()

    def fail(batch, _):
        batch.count()
        raise ValueError("this query never finishes a batch")

    remembered = one.groupBy("key").applyInPandasWithState(
        remember, "key bigint, seen bigint", "seen bigint", "update", "NoTimeout"
    )
    longer = one.select("sentence", F.udf(lambda number: 2 * number, "bigint")("number"), F.udf(len, "int")("sentence"))
    queries.start("functions", longer.mapInPandas(split, "word string"))
    queries.start("applyInPandasWithState", remembered, mode="update")
    queries.start("retried", one.mapInPandas(stumble, one.schema))
    queries.finish()
    queries.start("one action", one, action=count_keys)
    queries.start("two actions", one, action=write_and_count)
    queries.finish()
    queries.start("failing", one, action=fail)
    queries.running.pop().exception()


def run_and_run_again(queries):
    """A word count over 100 rows, and again over 150 from the same checkpoint: one batch is left to do."""

    def split(batch):
        import pyarrow as pa
        import pyarrow.compute as pc

        return pa.RecordBatch.from_arrays([pc.split_pattern(batch.column("sentence"), " ").flatten()], names=["word"])

    for last in (100, 150):
        words = queries.files("restarted-input", 0, last, 25).mapInArrow(throttle(0.0, split), "word string")
        queries.start("restarted", words.groupBy("word").count(), mode="update", checkpoint="restarted")
        queries.finish()


@pytest.fixture(scope="module")
def shapes(spark, event_logs, tmp_path_factory):
    """Query name -> its batches."""
    queries = Queries(spark, tmp_path_factory.mktemp("shapes"))
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    try:
        one, two = queries.files("one", 0, 50, 25), queries.files("two", 0, 100, 25)
        table = spark.range(0, 4, 1, 1).selectExpr("id as key")
        run_joins_and_unions(queries, one, two, queries.files("other", 0, 60, 30), table)
        run_others(queries, one, two)
        run_python(queries, one)
        run_and_run_again(queries)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
    spark.range(1).count()  # the log is written in order: what came before is in it now
    (log,) = (path for path in event_logs.iterdir() if spark.sparkContext.applicationId in path.name)
    found = {}
    for batch in read_batches(read_events(str(log), wanted=WANTED)):
        found.setdefault(batch.name, []).append(batch)
    return found


def counts(batch):
    """Operator -> tasks, records in, records out."""
    tasks = batch.tasks
    return {
        name: (int(mine.sum()), int(tasks.records_in[mine].sum()), int(tasks.records_out[mine].sum()))
        for name in batch.dataflow.ids
        for mine in [tasks.operator == batch.dataflow.index[name]]
    }


def edges(batch):
    return {(edge.source, edge.target) for edge in batch.dataflow.edges}


def rows(batch, operator):
    """What its nodes put out, but for the sink's own count, which says the same once more."""
    return [(node.node, node.rows) for node in batch.nodes[operator] if node.node != "write"]


def test_a_stream_join_reads_both_sources_and_keeps_both_in_four_stores_a_partition(shapes):
    first, second = shapes["join"]
    join = "stream join on number [state]"
    assert counts(first) == {"scan parquet (left)": (2, 60, 60), "scan parquet (right)": (2, 50, 50), join: (2, 110, 0)}
    assert edges(first) == {("scan parquet (left)", join), ("scan parquet (right)", join)}
    assert (first.reading, first.writing, first.stateful) == (
        {"scan parquet (left)", "scan parquet (right)"},
        {join},
        {join},
    )
    assert [source.rows for source in first.sources] == [60, 50]
    assert rows(first, join) == [("stream join on number", 50)]  # numbers 0 to 49 are on both sides
    (state,) = first.state
    assert (state.operator, state.kind, state.rows, state.rows_updated) == (join, "symmetricHashJoin", 110, 110)
    assert (state.partitions, state.stores) == (2, 8)
    # Only the right has anything left, and keeps its name; 50 to 59 find a partner.
    assert counts(second) == {"scan parquet (right)": (2, 50, 50), join: (2, 50, 0)}
    assert rows(second, join) == [("stream join on number", 10)]
    assert second.state[0].rows == 160


def test_a_union_without_a_shuffle_is_one_operator_that_reads_both_sources(shapes):
    batch = shapes["union"][0]
    assert counts(batch) == {"scan parquet + scan parquet -> union": (4, 110, 0)}
    assert rows(batch, "scan parquet + scan parquet -> union")[-1] == ("union", 110)
    assert batch.reading == batch.writing == {"scan parquet + scan parquet -> union"}
    assert sorted(source.rows for source in batch.sources) == [50, 60]


def test_spark_plans_a_union_without_the_source_that_gave_nothing_so_that_batch_has_another_operator(shapes):
    assert counts(shapes["union"][1]) == {"scan parquet": (2, 50, 0)}


def test_a_union_before_a_shuffle_feeds_it_with_the_rows_of_both(shapes):
    batch = shapes["shuffled union"][0]
    union = "scan parquet + (scan parquet -> filter) -> union"
    assert counts(batch) == {union: (4, 110, 80), "write": (3, 80, 0)}  # of 60, the even half passes
    assert edges(batch) == {(union, "write")}


def test_a_union_of_a_shuffled_and_an_unshuffled_source_reads_one_and_is_fed_by_the_other(shapes):
    batch = shapes["half-shuffled union"][0]
    assert counts(batch) == {"scan parquet": (2, 50, 50), "scan parquet -> union": (4, 110, 0)}
    assert edges(batch) == {("scan parquet", "scan parquet -> union")}
    assert batch.reading == {"scan parquet", "scan parquet -> union"}


def test_adaptive_execution_runs_a_job_for_each_exchange_and_skips_what_ran_and_the_edge_is_there(shapes):
    (batch,) = shapes["stateless"]
    assert counts(batch) == {"scan": (2, 50, 50), "write": (3, 50, 0)}
    assert edges(batch) == {("scan", "write")}
    assert (batch.reading, batch.writing, batch.state) == ({"scan"}, {"write"}, ())
    assert [source.description for source in batch.sources] == ["PythonMicroBatchStreamWithTriggerAvailableNow"]


def test_available_now_runs_the_same_batches_and_ends(shapes):
    first, second = shapes["available now"]
    assert counts(first) == counts(second) == {"scan parquet": (2, 50, 0)}
    assert first.run == second.run


def test_a_window_in_append_mode_ends_with_a_batch_without_data_in_which_nobody_reads(shapes):
    first, second, last = shapes["window"]
    scan, window = "scan parquet -> count by window", "count by window [state]"
    # Each task sees two windows of 20 s: 0 to 24 the first two, 25 to 49 the second and the third, and so on.
    assert counts(first) == counts(second) == {scan: (2, 50, 4), window: (2, 4, 0)}
    assert rows(first, scan)[0] == ("scan parquet", 50)
    assert counts(last) == {window: (2, 0, 0)}
    assert (last.reading, last.input_rows, edges(last)) == (frozenset(), 0, set())
    # The watermark is 10 s behind: 39 after the first batch (one window is over), 89 after the second (four are).
    kept = [(batch.state[0].rows, batch.state[0].rows_removed) for batch in (first, second, last)]
    assert kept == [(3, 0), (4, 1), (1, 3)]


def test_two_stateful_operators_have_each_their_own_state(shapes):
    batch = shapes["two states"][0]
    deduplicate, window = "deduplicate by number, at [state] -> count by window", "count by window [state]"
    assert batch.dataflow.ids == ("scan parquet", deduplicate, window)
    assert batch.stateful == {deduplicate, window}
    assert {(state.operator, state.kind, state.rows) for state in batch.state} == {
        (deduplicate, "dedupe", 49),  # the row of second 0 is not after the first watermark, which is 0, and is dropped
        (window, "stateStoreSave", 3),
    }


def test_deduplication_passes_each_key_once(shapes):
    first, second = shapes["deduplicate"]
    assert counts(first) == counts(second) == {"scan parquet": (2, 50, 50), "deduplicate by key [state]": (2, 50, 0)}
    assert rows(first, "deduplicate by key [state]") == [("deduplicate by key", len(keys_of(0, 50)))]
    assert second.state[0].rows == len(keys_of(0, 100)) == 5


def test_a_table_that_is_broadcast_feeds_the_join_and_is_no_source_of_the_stream(shapes):
    batch = shapes["broadcast"][0]
    matching = int((TEXT.key(np.arange(50, dtype=np.uint64)) < 4).sum())
    assert set(batch.dataflow.ids) == {"range -> broadcast", "scan parquet -> join on key"}
    assert edges(batch) == {("range -> broadcast", "scan parquet -> join on key")}
    assert batch.reading == {"scan parquet -> join on key"}
    assert rows(batch, "scan parquet -> join on key")[-1] == ("join on key", matching)


def test_functions_in_python_are_called_by_their_names(shapes):
    (batch,) = shapes["functions"]
    assert batch.dataflow.ids == ("scan parquet -> udf <lambda>, len -> mapInPandas split",)
    assert rows(batch, batch.dataflow.ids[0])[-1] == ("mapInPandas split", 200)


def test_state_of_a_python_function_belongs_to_it(shapes):
    (batch,) = shapes["applyInPandasWithState"]
    remember = "applyInPandasWithState remember [state]"
    assert counts(batch) == {"scan parquet": (2, 50, 50), remember: (2, 50, 0)}
    assert rows(batch, remember) == [("applyInPandasWithState remember", len(keys_of(0, 50)))]
    assert (batch.state[0].operator, batch.state[0].rows) == (remember, len(keys_of(0, 50)))


def test_a_task_that_failed_once_is_counted_once_and_said_to_be_lost(shapes):
    (batch,) = shapes["retried"]
    assert counts(batch) == {"scan parquet -> mapInPandas stumble": (2, 50, 0)}
    assert rows(batch, "scan parquet -> mapInPandas stumble") == [("scan parquet", 50), ("mapInPandas stumble", 50)]
    assert batch.attempts_lost == 1


def test_an_action_of_foreach_batch_reads_the_stream_and_is_named_after_what_it_does(shapes):
    first = shapes["one action"][0]
    partial = len(keys_of(0, 25)) + len(keys_of(25, 50))
    # How many tasks adaptive execution makes of two small partitions is its own affair.
    assert counts(first)["scan parquet -> count by key"] == (2, 50, partial)
    assert counts(first)["count by key"][1:] == (partial, 0)
    assert edges(first) == {("scan parquet -> count by key", "count by key")}
    assert (first.reading, first.writing) == ({"scan parquet -> count by key"}, {"count by key"})


def test_of_two_actions_the_first_fills_the_cache_and_the_second_reads_it_in_blocks_not_records(shapes):
    first = shapes["two actions"][0]
    assert set(first.dataflow.ids) == {"scan parquet -> cache", "cached -> count by key", "count by key"}
    assert counts(first)["scan parquet -> cache"] == (2, 50, 0)
    # Spark counts a block of a cache as one record; how many rows came out of it is in the node.
    assert rows(first, "cached -> count by key")[0] == ("cached", 50)
    assert counts(first)["cached -> count by key"][1] == 2
    assert first.reading == {"scan parquet -> cache"}
    assert first.writing == {"scan parquet -> cache", "count by key"}


def test_a_query_that_fails_leaves_no_batch_behind(shapes):
    assert "failing" not in shapes


def test_partial_aggregation_hides_a_fan_out_that_the_rows_show(shapes):
    first = shapes["restarted"][0]
    scan = "scan parquet -> mapInArrow split -> count by word"
    left_each_task = len(words_of(0, 25)) + len(words_of(25, 50))
    assert counts(first)[scan] == (2, 50, left_each_task)
    assert rows(first, scan) == [("scan parquet", 50), ("mapInArrow split", 200), ("count by word", left_each_task)]
    assert first.state[0].rows == len(words_of(0, 50))


def test_a_restarted_query_has_the_same_operators_and_another_run(shapes):
    first, second, after = shapes["restarted"]
    assert [batch.number for batch in (first, second, after)] == [0, 1, 2]
    assert first.query == second.query == after.query
    assert first.run == second.run != after.run
    assert first.dataflow.ids == second.dataflow.ids == after.dataflow.ids
    assert edges(first) == edges(after)
    assert after.state[0].rows == len(words_of(0, 150))


def test_queries_that_ran_at_once_have_each_their_own_batches(shapes):
    union, join = shapes["union"], shapes["join"]
    assert {batch.query for batch in union}.isdisjoint(batch.query for batch in join)
    assert [[batch.input_rows for batch in query] for query in (union, join)] == [[110, 50], [110, 50]]
