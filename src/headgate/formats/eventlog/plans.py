"""A physical plan, cut into the pieces that run as stages, each with a name a person recognises.

A shuffle ends one stage and begins the next, so the plan is cut at its exchanges. What is left between two cuts is a
fragment: the operator of Headgate's dataflow. Its name is made from its plan nodes (`scan -> mapInArrow split`,
`count by word [state]`) without the numbers that Spark deals out anew for every batch, so it is the same in every
batch and after every restart.

A cache may be filled and read by one stage, or filled by one and read by others, and the plan does not say which: such
a piece is there three times, as what fills the cache, as what reads it and as both, and the stage's tasks tell.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from headgate.formats.eventlog.plan_names import fragment_name, is_stateful, node_name
from headgate.formats.eventlog.sql import PlanNode

_ROWS = "number of output rows"
# What an exchange counts on its writing side; the rest it counts where it is read.
_WRITTEN = ("writ", "data size")
_SIDES = ("left", "right")
_HANDED_OVER = "scan rdd"


class NodeRows(NamedTuple):
    """A plan node that counts the rows it puts out."""

    node: str
    again: bool = False
    """Whether this is another figure of the node before: stateful nodes have two, of which Spark fills one or both."""


class Fragment(NamedTuple):
    """What one stage carries out; the same in batch after batch."""

    name: str
    stateful: bool
    inputs: tuple[str, ...]
    """Names of the fragments that feed it."""
    rows: tuple[NodeRows, ...]
    """Upstream first."""
    state: tuple[int, ...] = ()
    """Which of the plan's stateful nodes are in it, counted from the end of the plan: the order in which a query
    reports them."""
    reads: bool = False
    """Whether it takes records from a source of the stream; not so a table that the stream is joined with."""
    writes: bool = False
    """Whether the plan ends in it: the sink, or an action of `foreachBatch`."""
    continues: bool = False
    """Whether it may begin where another plan ends: before Spark 4.3, an action of `foreachBatch` does not show what
    the batch itself does."""
    planned_as: str = ""
    """What the fragments that it feeds call it, if not by its name."""
    nodes: tuple[str, ...] = ()
    """What Spark calls its plan nodes, upstream first."""


class Part(NamedTuple):
    """A fragment in the plan of one execution, which deals out accumulators of its own."""

    fragment: Fragment
    counters: tuple[int, ...]
    """The accumulators that its `rows` are counted with."""
    accumulators: frozenset[int] = frozenset()
    """Accumulators that only tasks of this fragment update: by them a stage is recognised."""


def parts(plan: PlanNode) -> tuple[Part, ...]:
    """A plan, cut; the part that ends it first; none of a plan that is nested beyond reason."""
    pieces: list[_Piece] = []
    try:
        _cut(plan, (), (), pieces)
        said = [fragment_name(piece.root, frozenset(map(id, piece.nodes))) for piece in pieces]
    except RecursionError:
        return ()
    place_of_state = {id(node): place for place, node in enumerate(filter(is_stateful, _downstream_first(plan)))}
    names = _told_apart([_with_side(name, piece) for name, piece in zip(said, pieces, strict=True)], pieces)
    streaming = any(map(_is_stream, _downstream_first(plan)))
    found = []
    for name, piece in zip(names, pieces, strict=True):
        rows = list(_rows(piece.nodes))
        fragment = Fragment(
            name,
            any(map(is_stateful, piece.nodes)),
            tuple(names[place] for place in piece.inputs),
            tuple(node for node, _ in rows),
            tuple(sorted(place_of_state[id(node)] for node in piece.nodes if is_stateful(node))),
            # Sources of an older kind look like tables; where no scan says that it is a stream, all may be.
            any(map(_is_stream if streaming else _is_scan, piece.nodes)),
            piece.root is plan,
            any(node_name(node) == _HANDED_OVER for node in piece.nodes),
            nodes=tuple(node.node_name for node in piece.nodes),
        )
        found.append(Part(fragment, tuple(counter for _, counter in rows), frozenset(piece.accumulators)))
    return tuple(found)


def continued(batch: Part, action: Part) -> Part:
    """One part that does what ends the batch's own plan, and then what begins an action of `foreachBatch`.

    >>> batch = Part(Fragment("scan kafka", False, (), (NodeRows("scan kafka"),), reads=True, writes=True), (1,))
    >>> rows = (NodeRows("scan rdd"), NodeRows("count by key"))
    >>> action = Part(Fragment("scan rdd -> count by key", False, (), rows, continues=True), (2, 3))
    >>> both = continued(batch, action)
    >>> both.fragment.name, both.counters
    ('scan kafka -> count by key', (1, 3))
    """
    before, after = batch.fragment, action.fragment
    added = [pair for pair in zip(after.rows, action.counters, strict=True) if pair[0].node != _HANDED_OVER]
    fragment = Fragment(
        after.name.replace(_HANDED_OVER, before.name, 1),
        before.stateful or after.stateful,
        (*before.inputs, *after.inputs),
        (*before.rows, *(node for node, _ in added)),
        before.state,
        before.reads,
        after.writes,
        planned_as=after.name,
        nodes=before.nodes + after.nodes,
    )
    counters = (*batch.counters, *(counter for _, counter in added))
    return Part(fragment, counters, batch.accumulators | action.accumulators)


def _downstream_first(root: PlanNode) -> Iterator[PlanNode]:
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        todo += node.children[::-1]


class _Piece(NamedTuple):
    """A fragment before all have names: nodes upstream first, and the places of the pieces that feed it."""

    root: PlanNode
    nodes: list[PlanNode]
    inputs: list[int]
    accumulators: set[int]
    sides: tuple[str, ...]
    """Which side of which join it is on, the innermost first."""
    way_out: str = ""
    """Where its rows go, if not through a shuffle or into the sink."""
    variant: bool = False
    """Whether it is another reading of nodes that are in a piece already."""


def _cut(root: PlanNode, written: tuple[int, ...], sides: tuple[str, ...], pieces: list[_Piece]) -> int:
    """Add the piece that ends in `root`, and those before it; `written` are accumulators of its way out."""
    place = len(pieces)
    piece = _Piece(root, [], [], set(written), sides)
    pieces.append(piece)
    exchanges: list[tuple[PlanNode, tuple[str, ...]]] = []
    caches: list[tuple[PlanNode, tuple[str, ...]]] = []
    todo = [(root, sides)]
    while todo:
        node, at = todo.pop()
        if _is_exchange(node):
            exchanges.append((node, at))
            piece.accumulators.update([m.accumulator_id for m in node.metrics if not _counts_writing(m.name)])
            continue
        piece.nodes.append(node)
        if node.metrics:
            piece.accumulators.update([metric.accumulator_id for metric in node.metrics])
        if _is_cache(node):
            caches.append((node, at))
        elif "Join" in node.node_name and len(node.children) == len(_SIDES):
            todo.extend((child, (side, *at)) for child, side in reversed([*zip(node.children, _SIDES, strict=True)]))
        else:
            todo += [(child, at) for child in node.children[::-1]]
    piece.nodes.reverse()
    for exchange, at in exchanges:
        out = tuple(m.accumulator_id for m in exchange.metrics if _counts_writing(m.name))
        broadcast = exchange.node_name.startswith("Broadcast")
        piece.inputs.extend(_cut(child, out, at[1:] if broadcast else at, pieces) for child in exchange.children)
        if broadcast:
            pieces[piece.inputs[-1]] = pieces[piece.inputs[-1]]._replace(way_out=" -> broadcast")
    for cache, at in caches:
        _read_three_ways(piece, cache, at, pieces)
    return place


def _read_three_ways(reader: _Piece, cache: PlanNode, sides: tuple[str, ...], pieces: list[_Piece]) -> None:
    """Add what fills the cache, and what fills and reads it at once; what only reads it is there."""
    for child in cache.children:
        at = _cut(child, (), sides, pieces)
        filler = pieces[at] = pieces[at]._replace(way_out=" -> cache")
        both = reader._replace(
            nodes=filler.nodes + reader.nodes,
            inputs=reader.inputs + filler.inputs,
            accumulators=reader.accumulators | filler.accumulators,
            variant=True,
        )
        pieces.append(both)


def _is_exchange(node: PlanNode) -> bool:
    # A reused exchange has no children: its rows are written once, by the stage of the first.
    return node.node_name.startswith(("Exchange", "BroadcastExchange", "ShuffleExchange")) and bool(node.children)


def _is_cache(node: PlanNode) -> bool:
    return node.node_name == "InMemoryTableScan" and bool(node.children)


def _is_scan(node: PlanNode) -> bool:
    return "Scan" in node.node_name and not node.children


def _is_stream(node: PlanNode) -> bool:
    return node.node_name.startswith("MicroBatchScan")


@lru_cache(maxsize=256)
def _counts_writing(metric: str) -> bool:
    return any(word in metric for word in _WRITTEN)


def _rows(nodes: list[PlanNode]) -> Iterator[tuple[NodeRows, int]]:
    """Who counts rows, and the accumulator that it does so with."""
    for node in nodes:
        if not _counts_what_others_count(node):
            counting = [metric.accumulator_id for metric in node.metrics if metric.name == _ROWS]
            for place, accumulator in enumerate(counting):
                said = node_name(node) or ("write" if "Write" in node.node_name else node.node_name)
                yield NodeRows(said, place > 0), accumulator


def _counts_what_others_count(node: PlanNode) -> bool:
    """Rows of the state, not of what flows; rows in another form; a batch that is handed to foreachBatch."""
    name = node.node_name
    handed_over = name.startswith("Scan ExistingRDD") and bool(node.children)
    return "StateStore" in name or name in ("ColumnarToRow", "RowToColumnar") or handed_over


def _with_side(name: str, piece: _Piece) -> str:
    """With the side of the join it is on: the sides may do the same, and in a batch one of them may not run at all."""
    name += piece.way_out
    return f"{name} ({' of '.join(piece.sides)})" if piece.sides else name


def _told_apart(names: list[str], pieces: list[_Piece]) -> list[str]:
    """Names that occur again are numbered, so that a name is an identity; not those of which only one can run."""
    seen: dict[str, int] = {}
    apart = []
    for name, piece in zip(names, pieces, strict=True):
        number = seen.get(name, 0) + (not piece.variant)
        seen[name] = number
        apart.append(name if number <= 1 else f"{name} ({number})")
    return apart
