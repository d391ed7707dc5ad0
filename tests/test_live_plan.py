"""From the plan as Spark's status store draws it to operators: without Spark, on graphs small enough to see through."""

from headgate.formats.eventlog.plans import parts
from headgate.formats.eventlog.sql import PlanMetric
from headgate.spark.plan_graph import plan_tree
from headgate.spark.stage_match import StageScopes, match_stages
from headgate.spark.stored import GraphEdge, GraphNode, PlanGraph

NAMES = "total (min, med, max (stageId: taskId))\n"


def node(id, name, *metrics, inside=()):
    return GraphNode(id, name, name, tuple(PlanMetric(text, number) for text, number in metrics), tuple(inside))


def joined_plan(*, shared=False):
    """Two scans, shuffled and joined; or one scan whose shuffle both sides of the join read."""
    sides = [
        node(1, "WholeStageCodegen (3)", ("duration", 10), inside=[node(2, "StreamingSymmetricHashJoin")]),
        node(3, "Exchange", ("shuffle records written", 30), ("records read", 31)),
        node(4, "WholeStageCodegen (1)", ("duration", 40), inside=[node(5, "MicroBatchScan")]),
        node(6, "Exchange", ("shuffle records written", 60), ("records read", 61)),
        node(7, "WholeStageCodegen (2)", ("duration", 70), inside=[node(8, "MicroBatchScan")]),
    ]
    edges = [(2, 0), (3, 2), (5, 3)] + ([(3, 2)] if shared else [(6, 2), (8, 6)])
    return PlanGraph(
        (node(0, "WriteToDataSourceV2"), *sides[: 3 if shared else 5]), tuple(GraphEdge(*e) for e in edges)
    )


def outline(plan):
    return (plan.node_name, *map(outline, plan.children))


def test_a_box_of_generated_code_stands_above_its_topmost_node_and_inputs_keep_their_order():
    assert outline(plan_tree(joined_plan())) == (
        "WriteToDataSourceV2",
        (
            "WholeStageCodegen (3)",
            (
                "StreamingSymmetricHashJoin",
                ("Exchange", ("WholeStageCodegen (1)", ("MicroBatchScan",))),
                ("Exchange", ("WholeStageCodegen (2)", ("MicroBatchScan",))),
            ),
        ),
    )


def test_an_exchange_that_is_used_twice_stands_under_both_its_users():
    exchange = ("Exchange", ("WholeStageCodegen (1)", ("MicroBatchScan",)))
    assert outline(plan_tree(joined_plan(shared=True)))[1][1] == ("StreamingSymmetricHashJoin", exchange, exchange)


def test_a_plan_deeper_than_pythons_stack_is_no_trouble():
    depth = 5000
    graph = PlanGraph(
        tuple(GraphNode(id, "Project") for id in range(depth)),
        tuple(GraphEdge(id + 1, id) for id in range(depth - 1)),
    )
    plan, seen = plan_tree(graph), 1
    while plan.children:
        (plan,) = plan.children
        seen += 1
    assert seen == depth


def test_no_plan_is_no_tree():
    assert plan_tree(PlanGraph()) is None


def test_the_stage_that_a_metric_names_carries_out_the_metrics_fragment():
    join, left, right = parts(plan_tree(joined_plan()))
    text = NAMES + "9 ms (0 ms, 4 ms, 5 ms (stage {}.0: task 42))"
    values = {10: text.format(9), 40: text.format(8), 70: text.format(7)}
    stages = [StageScopes(id, ()) for id in (7, 8, 9)]
    assert match_stages(stages, (join, left, right), values) == {7: right, 8: left, 9: join}


def test_stages_of_a_single_task_are_known_by_their_generated_code():
    join, left, right = parts(plan_tree(joined_plan()))
    stages = [
        StageScopes(7, ("WholeStageCodegen (2)", "Exchange")),
        StageScopes(8, ("Exchange", "WholeStageCodegen (1)")),
        StageScopes(9, ("Exchange", "StreamingSymmetricHashJoin", "WholeStageCodegen (3)")),
    ]
    values = {10: "9 ms", 40: "8 ms", 70: "7 ms"}
    assert match_stages(stages, (join, left, right), values) == {7: right, 8: left, 9: join}


def test_stages_that_look_alike_are_taken_in_order_and_strangers_are_left_out():
    join, left, right = parts(plan_tree(joined_plan()))
    stages = [
        StageScopes(3, ("MicroBatchScan",)),
        StageScopes(4, ("MicroBatchScan",)),
        StageScopes(5, ("parallelize",)),
    ]

    def without_generated_code(part):
        nodes = tuple(node for node in part.fragment.nodes if "Codegen" not in node)
        return part._replace(fragment=part.fragment._replace(nodes=nodes))

    matched = match_stages(stages, [without_generated_code(part) for part in (join, left, right)], {})
    assert [matched[3].fragment.name, matched[4].fragment.name] == ["scan (right)", "scan (left)"]
    assert 5 not in matched
