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
    inputs: tuple[str, ...]
    """Names of the fragments that feed it."""
    accumulators: frozenset[int]
    """Accumulators that only tasks of this fragment update: by them a stage is recognised."""
    rows: tuple[NodeRows, ...]
    """Upstream first."""
    state: tuple[int, ...] = ()
    """Which of the plan's stateful nodes are in it, counted from the end of the plan: the order in which a query
    reports them."""
    nodes: tuple[str, ...] = ()
    """What Spark calls its plan nodes, upstream first."""


def fragments(plan: PlanNode) -> tuple[Fragment, ...]:
    """The fragments of a plan, the one that ends it first."""
    pieces: list[_Piece] = []
    _cut(plan, (), pieces)
    place_of_state = {id(node): place for place, node in enumerate(filter(is_stateful, _downstream_first(plan)))}
    names = _told_apart([fragment_name(piece.nodes) for piece in pieces])
    return tuple(
        Fragment(
            name,
            any(map(is_stateful, piece.nodes)),
            tuple(names[place] for place in piece.inputs),
            frozenset(piece.accumulators),
            tuple(_rows(piece.nodes)),
            tuple(sorted(place_of_state[id(node)] for node in piece.nodes if is_stateful(node))),
            tuple(node.node_name for node in piece.nodes),
        )
        for name, piece in zip(names, pieces, strict=True)
    )


def _downstream_first(root: PlanNode) -> Iterator[PlanNode]:
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(reversed(node.children))


class _Piece(NamedTuple):
    """A fragment before all have names: nodes upstream first, and the places of the pieces that feed it."""

    nodes: list[PlanNode]
    inputs: list[int]
    accumulators: set[int]


def _cut(root: PlanNode, written: tuple[int, ...], pieces: list[_Piece]) -> int:
    """Add the piece that ends in `root`, and those before it; `written` are accumulators of its way out."""
    place = len(pieces)
    pieces.append(_Piece([], [], set(written)))
    nodes: list[PlanNode] = []
    accumulators = pieces[place].accumulators
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
    pieces[place].nodes.extend(reversed(nodes))
    for exchange in exchanges:
        out = tuple(m.accumulator_id for m in exchange.metrics if _counts_writing(m.name))
        pieces[place].inputs.extend(_cut(child, out, pieces) for child in exchange.children)
    return place


def _is_exchange(node: PlanNode) -> bool:
    # A reused exchange has no children: its rows are written once, by the stage of the first.
    return node.node_name.startswith(("Exchange", "BroadcastExchange", "ShuffleExchange")) and bool(node.children)


def _counts_writing(metric: str) -> bool:
    return any(word in metric for word in _WRITTEN)


def _rows(nodes: list[PlanNode]) -> Iterator[NodeRows]:
    for node in nodes:
        # Reading and writing state also counts rows, but of the state, not of what flows.
        if "StateStore" not in node.node_name:
            for metric in node.metrics:
                if metric.name == _ROWS:
                    yield NodeRows(node_name(node) or node.node_name, metric.accumulator_id)


def _told_apart(names: list[str]) -> list[str]:
    """Names that occur again are numbered, so that a name is an identity."""
    seen: dict[str, int] = {}
    apart = []
    for name in names:
        seen[name] = number = seen.get(name, 0) + 1
        apart.append(name if number == 1 else f"{name} ({number})")
    return apart
