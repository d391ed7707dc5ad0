"""Plans cut into fragments, and fragments named."""

import pytest

from headgate.formats.eventlog.plan_names import fragment_name, node_name
from headgate.formats.eventlog.plans import fragments
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
            "max, count by window-T2000ms, key",
        ),
        ("HashAggregate(keys=[], functions=[sum(x#1)])", "sum"),
        ("SortAggregate(keys=[a#1], functions=[])", "distinct by a"),
        ("MicroBatchScan[number#0L, sentence#1] (Python)", "scan"),
        ("MicroBatchScan[value#1] class org.apache.spark.sql.kafka010.KafkaScan", "scan kafka"),
        ("MapInArrow split(number#0L, sentence#1)#3, [word#4], false", "mapInArrow split"),
        ("MapInPandas f(a#1)#2, [b#3]", "mapInPandas f"),
        ("ArrowEvalPython [slow(x#1)#9], [pythonUDF0#8], 200", "udf slow"),
        ("StreamingSymmetricHashJoin [a#1], [b#2], Inner", "stream join"),
        ("SortMergeJoin [a#1], [b#2], Inner", "join"),
        ("Filter (x#1 > 3)", "filter"),
        ("Project [x#1]", ""),
    ],
)
def test_a_node_is_called_what_it_does(text, name):
    assert node_name(node(text)) == name


def test_what_is_said_once_is_not_said_again_and_state_is_marked():
    nodes = [
        node("HashAggregate(keys=[word#4], functions=[merge_count(1)])"),
        node("StateStoreRestore [word#4], state info [ checkpoint = x, opId = 0, ver = 3 ]"),
        node("StateStoreSave [word#4], state info [ checkpoint = x, opId = 0, ver = 3 ]"),
        node("HashAggregate(keys=[word#4], functions=[count(1)])"),
    ]
    assert fragment_name(nodes) == "count by word [state]"


def test_a_plan_is_cut_at_its_exchanges_and_the_numbers_of_a_batch_leave_no_trace():
    def plan(n):
        scan = node(f"MicroBatchScan[a#{n}L]", metrics=[PlanMetric("number of output rows", n)])
        exchange = PlanNode(
            "Exchange", f"Exchange hashpartitioning(a#{n}, 4), [plan_id={n}]",
            (PlanMetric("shuffle records written", n + 1), PlanMetric("records read", n + 2)), (scan,),
        )  # fmt: skip
        return node(f"HashAggregate(keys=[a#{n}L], functions=[count(1)])", exchange, metrics=[PlanMetric("x", n + 3)])

    reduce_side, map_side = fragments(plan(100))
    assert (reduce_side.name, map_side.name) == ("count by a", "scan")
    assert reduce_side.inputs == ("scan",)
    assert map_side.accumulators == {100, 101}  # its own, and what the exchange counts where it is written
    assert reduce_side.accumulators == {102, 103}
    assert [f.name for f in fragments(plan(100))] == [f.name for f in fragments(plan(7000))]


def test_two_fragments_that_do_the_same_are_numbered():
    def side():
        return PlanNode("Exchange", "Exchange", (), (node("MicroBatchScan[a#1]"),))

    names = [fragment.name for fragment in fragments(node("SortMergeJoin [a#1], [a#2], Inner", side(), side()))]
    assert names == ["join", "scan", "scan (2)"]
    assert fragments(node("SortMergeJoin [a#1]", side(), side()))[0].inputs == ("scan", "scan (2)")
