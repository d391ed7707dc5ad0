"""Plans cut into fragments, and fragments named."""

import pytest

from headgate.formats.eventlog.plan_names import node_name
from headgate.formats.eventlog.plans import parts
from headgate.formats.eventlog.sql import PlanMetric, PlanNode


def node(text, *children, metrics=()):
    return PlanNode(text.split("(")[0].split(" ")[0].split("[")[0], text, tuple(metrics), children)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("HashAggregate(keys=[word#4], functions=[partial_count(1)])", "count by word"),
        ("HashAggregate(keys=[word#4], functions=[merge_count(1)])", "count by word"),
        (
            "HashAggregate(keys=[window#9-T2000ms, key#3L], functions=[max(price#1), count(1)])",
            "max, count by window, key",
        ),
        ("HashAggregate(keys=[], functions=[sum(x#1)])", "sum"),
        ("SortAggregate(keys=[a#1], functions=[])", "distinct by a"),
        ("MicroBatchScan[number#0L, sentence#1] (Python)", "scan"),
        (
            "MicroBatchScan[key#7, value#8, topic#9] class org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaScan",
            "scan kafka",
        ),
        (
            "MicroBatchScan[value#1L] class org.apache.spark.sql.execution.streaming.sources.RateStreamTable$$anon$1",
            "scan rate",
        ),
        ("MicroBatchScan[value#1] class org.apache.spark.sql.execution.sources.TextSocketTable$$anon$1", "scan socket"),
        ("MicroBatchScan[text#1, rate#2, kafka#3] (Python)", "scan"),  # columns may be called anything
        ("MapInArrow split(number#0L, sentence#1)#3, [word#4], false", "mapInArrow split"),
        ("MapInPandas f(a#1)#2, [b#3]", "mapInPandas f"),
        ("ArrowEvalPython [slow(x#1)#9], [pythonUDF0#8], 200", "udf slow"),
        ("StreamingSymmetricHashJoin [a#1], [b#2], Inner", "stream join on a = b"),
        ("StreamingSymmetricHashJoin [key#1L, k#3], [key#2L, l#4], LeftOuter", "stream left outer join on key, k = l"),
        ("SortMergeJoin [a#1], [a#2], Inner", "join on a"),
        ("BroadcastNestedLoopJoin BuildRight, Inner, (a#1 > b#2)", "join"),
        ("Filter (x#1 > 3)", "filter"),
        ("Filter (isnotnull(x#1) AND (x#1 > 3))", "filter"),
        ("Filter (isnotnull(x#1) AND isnotnull(y#2))", ""),  # Spark put it there
        ("StreamingDeduplicate [key#2L], state info [ checkpoint = x ]", "deduplicate by key"),
        ("StreamingDeduplicateWithinWatermark [a#2L, b#3], state info [ x ]", "deduplicate by a, b"),
        ("StreamingGlobalLimit 70, state info [ checkpoint = x ]", "limit"),
        ("FlatMapGroupsInPandasWithState keep(a#0L, b#1)#4, [a#0L], [c#4L]", "applyInPandasWithState keep"),
        ("TransformWithStateInPySpark keep(a#0L)#4, [a#0L], [c#4L]", "transformWithState keep"),
        ("FlatMapGroupsInPandas [key#1], best(key#1, x#2)#3, [x#4]", "applyInPandas best"),
        ("BatchEvalPython [one(x#1)#9, two(max(x#1, y#2))#10], [pythonUDF0#8, pythonUDF1#9]", "udf one, two"),
        ("HashAggregate(keys=[a#1], functions=[partial_sum(coalesce(x#2, 0)), max(b#3[0])])", "sum, max by a"),
        ("Project [x#1]", ""),
    ],
)
def test_a_node_is_called_what_it_does(text, name):
    assert node_name(node(text)) == name


@pytest.mark.parametrize(
    ("kind", "text", "name"),
    [
        ("Scan parquet ", "FileScan parquet [json#1] Format: Parquet, Location: [file:/kafka/rate]", "scan parquet"),
        ("Scan json ", "FileScan json [a#1] Format: JSON, Location: [file:/parquet]", "scan json"),
        ("BatchScan orc file:/kafka", "BatchScan orc file:/kafka[a#1] OrcScan Location: [file:/kafka]", "scan orc"),
        ("Scan csv spark_catalog.default.rate", "FileScan csv spark_catalog.default.rate[a#1] Format: CSV", "scan csv"),
    ],
)
def test_files_are_called_by_their_format_wherever_they_are(kind, text, name):
    assert node_name(PlanNode(kind, text)) == name


def chain(*texts):
    """Nodes on top of one another, upstream first."""
    top = ()
    for text in texts:
        top = (node(text, *top),)
    return top[0]


def only_name(plan):
    (fragment,) = fragments(plan)
    return fragment.name


def fragments(plan):
    return [part.fragment for part in parts(plan)]


def test_what_is_said_once_is_not_said_again_and_state_is_marked_where_it_is_kept():
    count = (
        "HashAggregate(keys=[word#4], functions=[merge_count(1)])",
        "StateStoreRestore [word#4], state info [ checkpoint = x, opId = 0, ver = 3 ]",
        "StateStoreSave [word#4], state info [ checkpoint = x, opId = 0, ver = 3 ]",
        "HashAggregate(keys=[word#4], functions=[count(1)])",
    )
    assert only_name(chain(*count)) == "count by word [state]"
    partial = "HashAggregate(keys=[word#4], functions=[partial_count(1)])"
    assert only_name(chain("StreamingDeduplicate [id#1]", partial)) == "deduplicate by id [state] -> count by word"
    assert only_name(chain("SessionWindowStateStoreSave [k#1]", count[-1])) == "count by word [state]"
    assert only_name(chain(*count, "Filter (count#1 > 3)")) == "count by word [state] -> filter"


def test_branches_that_meet_in_one_stage_are_said_side_by_side():
    filtered = chain("MicroBatchScan[a#1]", "Filter (a#1 > 3)")
    assert only_name(node("Union", filtered, node("MicroBatchScan[b#1]"))) == "(scan -> filter) + scan -> union"


def test_what_fills_a_cache_and_what_reads_it_are_told_apart_by_what_their_tasks_count():
    scan = node("MicroBatchScan[a#1]", metrics=[PlanMetric("number of output rows", 1)])
    cache = node("InMemoryTableScan [a#1]", scan, metrics=[PlanMetric("number of output rows", 2)])
    count = node("HashAggregate(keys=[a#1], functions=[count(1)])", cache, metrics=[PlanMetric("x", 3)])
    assert {part.fragment.name: part.accumulators for part in parts(count)} == {
        "cached -> count by a": {2, 3},
        "scan -> cache": {1},
        "scan -> cache -> count by a": {1, 2, 3},
    }


def test_a_table_that_is_broadcast_is_no_source_but_what_it_is_joined_with_is():
    table = PlanNode("BroadcastExchange", "BroadcastExchange", (), (PlanNode("Scan csv ", "FileScan csv [k#1]"),))
    join, broadcast = fragments(node("BroadcastHashJoin [k#2], [k#1], Inner", node("MicroBatchScan[k#2]"), table))
    assert (join.name, join.reads, join.writes) == ("scan -> join on k", True, True)
    assert (broadcast.name, broadcast.reads, broadcast.writes) == ("scan csv -> broadcast", False, False)


def test_a_plan_nested_beyond_reason_has_no_fragments_and_does_no_harm():
    plan = node("MicroBatchScan[a#1]")
    for _ in range(5000):
        plan = PlanNode("Union", "Union", (), (plan, node("MicroBatchScan[b#1]")))
    assert parts(plan) == ()


def test_a_plan_is_cut_at_its_exchanges_and_the_numbers_of_a_batch_leave_no_trace():
    def plan(n):
        scan = node(f"MicroBatchScan[a#{n}L]", metrics=[PlanMetric("number of output rows", n)])
        exchange = PlanNode(
            "Exchange", f"Exchange hashpartitioning(a#{n}, 4), [plan_id={n}]",
            (PlanMetric("shuffle records written", n + 1), PlanMetric("records read", n + 2)), (scan,),
        )  # fmt: skip
        return node(f"HashAggregate(keys=[a#{n}L], functions=[count(1)])", exchange, metrics=[PlanMetric("x", n + 3)])

    reduce_side, map_side = parts(plan(100))
    assert (reduce_side.fragment.name, map_side.fragment.name) == ("count by a", "scan")
    assert reduce_side.fragment.inputs == ("scan",)
    assert map_side.accumulators == {100, 101}  # its own, and what the exchange counts where it is written
    assert reduce_side.accumulators == {102, 103}
    assert fragments(plan(100)) == fragments(plan(7000))


def test_the_sides_of_a_join_keep_their_names_when_one_of_them_has_nothing():
    def side(text):
        return PlanNode("Exchange", "Exchange", (), (node(text),))

    def names(left, right):
        return [one.name for one in fragments(node("SortMergeJoin [a#1], [a#2], Inner", side(left), side(right)))]

    assert names("MicroBatchScan[a#1]", "MicroBatchScan[a#2]") == ["join on a", "scan (left)", "scan (right)"]
    assert names("LocalTableScan <empty>, [a#1]", "MicroBatchScan[a#2]")[2] == "scan (right)"
    both = node("SortMergeJoin [a#1], [a#2], Inner", side("MicroBatchScan[a#1]"), side("MicroBatchScan[a#2]"))
    assert fragments(both)[0].inputs == ("scan (left)", "scan (right)")
    three = node("SortMergeJoin [a#1], [a#3], Inner", PlanNode("Exchange", "Exchange", (), (both,)), side("Range (0)"))
    assert {"scan (left of left)", "scan (right of left)", "range (right)"} < {one.name for one in fragments(three)}


def test_two_fragments_that_do_the_same_are_numbered():
    def side():
        return PlanNode("Exchange", "Exchange", (), (node("MicroBatchScan[a#1]"),))

    union, *_ = found = fragments(node("Union", side(), side()))
    assert [fragment.name for fragment in found] == ["union", "scan", "scan (2)"]
    assert union.inputs == ("scan", "scan (2)")
