"""The plan as Spark's status store draws it, a graph -> the plan as its event log tells it, a tree.

The graph has each node once, spans of generated code as boxes around nodes, and an exchange that is used twice as one
node with two edges. The tree has a box as the parent of its topmost node, and a shared exchange under each user, so
that both ways of looking at Spark cut the same plan into the same fragments.
"""

from headgate.formats.eventlog.sql import PlanNode
from headgate.spark.stored import GraphNode, PlanGraph


def plan_tree(graph: PlanGraph) -> PlanNode | None:
    """The plan, from its last node on; None where there is none.

    >>> from headgate.spark.stored import GraphEdge
    >>> box = GraphNode(0, "WholeStageCodegen (1)", nodes=(GraphNode(1, "Project"),))
    >>> tree = plan_tree(PlanGraph((box, GraphNode(2, "MicroBatchScan")), (GraphEdge(2, 1),)))
    >>> tree.node_name, tree.children[0].node_name, tree.children[0].children[0].node_name
    ('WholeStageCodegen (1)', 'Project', 'MicroBatchScan')
    """
    boxes = {inner.id: box for box in graph.nodes for inner in box.nodes}
    nodes = {node.id: node for box in graph.nodes for node in box.nodes or (box,)}
    inputs: dict[int, list[int]] = {}
    for edge in graph.edges:
        inputs.setdefault(edge.to_id, []).append(edge.from_id)
    feeding = {edge.from_id for edge in graph.edges}
    root = min((id for id in nodes if id not in feeding), default=None)
    if root is None:
        return None
    return _tree(root, nodes, boxes, inputs)


def _tree(
    root: int, nodes: dict[int, GraphNode], boxes: dict[int, GraphNode], inputs: dict[int, list[int]]
) -> PlanNode:
    """Built from the leaves up, without recursion: a plan may be deeper than Python's stack."""
    todo: list[tuple[int, GraphNode | None]] = [(root, None)]
    order: list[tuple[int, GraphNode | None, int]] = []
    """Node, the box of what it feeds, and how many feed it; users before their inputs, first inputs first."""
    while todo:
        id, around = todo.pop()
        feeders = inputs.get(id, [])
        order.append((id, around, len(feeders)))
        todo.extend((child, boxes.get(id)) for child in reversed(feeders))
    done: list[PlanNode] = []
    for id, around, count in reversed(order):
        node, box = nodes[id], boxes.get(id)
        built = PlanNode(node.name, node.desc, node.metrics, tuple(done.pop() for _ in range(count)))
        if box is not None and box is not around:
            built = PlanNode(box.name, box.desc, box.metrics, (built,))
        done.append(built)
    return done.pop()
