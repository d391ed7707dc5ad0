"""A physical plan, cut into the pieces that run as stages, each with a name a person recognises.

A shuffle ends one stage and begins the next, so the plan is cut at its exchanges. What is left between two cuts is a
fragment: the operator of Headgate's dataflow. Its name is made from its plan nodes (`scan -> mapInArrow split`,
`count by word [state]`) without the numbers that Spark deals out anew for every batch, so it is the same in every
batch and after every restart.
"""

from collections.abc import Iterator
from typing import NamedTuple

from headgate.formats.eventlog.plan_names import fragment_name, is_stateful, node_name
from headgate.formats.eventlog.sql import PlanNode

_ROWS = "number of output rows"
# What an exchange counts on its writing side; the rest it counts where it is read.
_WRITTEN = ("writ", "data size")


class NodeRows(NamedTuple):
    """A plan node that counts the rows it puts out, and the accumulator it counts them with."""

    node: str
    accumulator: int


class Fragment(NamedTuple):
    """What one stage carries out."""

    name: str
    stateful: bool
    inputs: tuple[int, ...]
    """Places of the fragments that feed it, in the list it comes in."""
    accumulators: frozenset[int]
    """Accumulators that only tasks of this fragment update: by them a stage is recognised."""
    rows: tuple[NodeRows, ...]
    """Upstream first."""


def fragments(plan: PlanNode) -> tuple[Fragment, ...]:
    """The fragments of a plan, the one that ends it first."""
    found: list[Fragment | None] = []
    _cut(plan, (), found)
    return _named_apart([fragment for fragment in found if fragment is not None])


def _cut(root: PlanNode, written: tuple[int, ...], found: list[Fragment | None]) -> int:
    """Add the fragment that ends in `root`, and those before it; `written` are accumulators of its way out."""
    place = len(found)
    found.append(None)
    nodes: list[PlanNode] = []
    accumulators = set(written)
    exchanges: list[PlanNode] = []
    todo = [root]
    while todo:
        node = todo.pop()
        if _is_exchange(node):
            exchanges.append(node)
            accumulators.update(m.accumulator_id for m in node.metrics if not _counts_writing(m.name))
        else:
            nodes.append(node)
            accumulators.update(metric.accumulator_id for metric in node.metrics)
            todo.extend(reversed(node.children))
    inputs = [
        _cut(child, tuple(m.accumulator_id for m in exchange.metrics if _counts_writing(m.name)), found)
        for exchange in exchanges
        for child in exchange.children
    ]
    upstream_first = nodes[::-1]
    found[place] = Fragment(
        fragment_name(upstream_first),
        any(map(is_stateful, nodes)),
        tuple(inputs),
        frozenset(accumulators),
        tuple(_rows(upstream_first)),
    )
    return place


def _is_exchange(node: PlanNode) -> bool:
    # A reused exchange has no children: its rows are written once, by the stage of the first.
    return node.node_name.startswith(("Exchange", "BroadcastExchange", "ShuffleExchange")) and bool(node.children)


def _counts_writing(metric: str) -> bool:
    return any(word in metric for word in _WRITTEN)


def _rows(nodes: list[PlanNode]) -> Iterator[NodeRows]:
    for node in nodes:
        for metric in node.metrics:
            if metric.name == _ROWS:
                yield NodeRows(node_name(node) or node.node_name, metric.accumulator_id)


def _named_apart(all_fragments: list[Fragment]) -> tuple[Fragment, ...]:
    """Fragments with one name are numbered, so that a name is an identity."""
    seen: dict[str, int] = {}
    apart = []
    for fragment in all_fragments:
        seen[fragment.name] = number = seen.get(fragment.name, 0) + 1
        apart.append(fragment if number == 1 else fragment._replace(name=f"{fragment.name} ({number})"))
    return tuple(apart)
