"""The logical dataflow: operators, the edges between them, and an order in which to visit them.

A `Dataflow` that exists is sound: no cycle, no edge to an unknown operator, no operator declared twice in two
ways. What can be known from the graph alone (order, sources, sinks, arrays for arithmetic) is worked out once, here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

import msgspec
import numpy as np
import numpy.typing as npt

from headgate.model.columns import read_only
from headgate.model.errors import DataflowError, InputError, did_you_mean

MAX_INSTANCES = 2**53
"""The largest count that float64 arithmetic can tell from its neighbours; larger needs are reported as this many."""


class Operator(msgspec.Struct, frozen=True, gc=False):
    """A node of the dataflow: its id, how many instances it runs as now, and the name people know it by.

    >>> Operator("split", 2, "Split into words").instances
    2
    """

    id: str
    instances: int = 1
    name: str = ""


class Edge(msgspec.Struct, frozen=True, gc=False):
    """A stream from one operator to another; `share` is the part of the source's output that takes it.

    The default, 1, sends the whole output down the edge, and down every other edge of the operator too.

    >>> Edge("split", "count", share=0.25)
    Edge(source='split', target='count', share=0.25)
    """

    source: str
    target: str
    share: float = 1.0


@dataclass(frozen=True, init=False)
class Dataflow:
    """Operators and edges, checked.

    `operators` stand upstream before downstream; an operator's place is its position in every column of this
    package. By position: `ids`, `instances`, `is_source`, `is_sink`, `incoming` (positions upstream) and `outgoing`
    ((position downstream, share) of each edge that carries anything). `index` gives the position of an id.

    >>> flow = Dataflow([Operator("lines"), Operator("split", 2)], [Edge("lines", "split")])
    >>> flow.ids, flow.sources, flow.sinks
    (('lines', 'split'), ('lines',), ('split',))
    """

    operators: tuple[Operator, ...]
    """Upstream before downstream. An operator's place here is its position in every column of this package."""
    edges: tuple[Edge, ...]
    ids: tuple[str, ...] = field(repr=False, compare=False)
    """The ids, by position."""
    index: Mapping[str, int] = field(repr=False, compare=False)
    """Operator id -> position."""
    outgoing: tuple[tuple[tuple[int, float], ...], ...] = field(repr=False, compare=False)
    """Per operator, (position downstream, share) of each edge that carries any of its output."""
    incoming: tuple[tuple[int, ...], ...] = field(repr=False, compare=False)
    """Per operator, the positions upstream."""
    declared: tuple[str, ...] = field(repr=False, compare=False)
    """The ids as they were first named: of all upstream-first orders it decides for one."""
    instances: npt.NDArray[np.int64] = field(repr=False, compare=False)
    is_source: npt.NDArray[np.bool_] = field(repr=False, compare=False)
    is_sink: npt.NDArray[np.bool_] = field(repr=False, compare=False)

    def __init__(self, operators: Iterable[Operator], edges: Iterable[Edge | tuple[str, str]]) -> None:
        declared = _declared(operators)
        links, given_at = _links(declared, edges)
        ordered = _upstream_first(declared, links, given_at)
        index = {operator.id: position for position, operator in enumerate(ordered)}
        outgoing: list[list[tuple[int, float]]] = [[] for _ in ordered]
        incoming: list[list[int]] = [[] for _ in ordered]
        is_sink = np.ones(len(ordered), np.bool_)
        for edge in links:
            source, target = index[edge.source], index[edge.target]
            incoming[target].append(source)
            is_sink[source] = False
            if edge.share > 0:
                outgoing[source].append((target, edge.share))
        values = {
            "operators": ordered,
            "edges": links,
            "ids": tuple(index),
            "index": index,
            "outgoing": tuple(map(tuple, outgoing)),
            "incoming": tuple(map(tuple, incoming)),
            "declared": tuple(declared),
            "instances": read_only(np.array([operator.instances for operator in ordered], np.int64)),
            "is_source": read_only(np.array([not inputs for inputs in incoming], np.bool_)),
            "is_sink": read_only(is_sink),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, instances: Mapping[str, int], edges: Iterable[Edge | tuple[str, str]]) -> Self:
        """The short form: ids with their instances, and pairs of ids.

        >>> Dataflow.of({"lines": 1, "split": 2}, [("lines", "split")]).instances.tolist()
        [1, 2]
        """
        return cls((Operator(id, n) for id, n in instances.items()), edges)

    @property
    def sources(self) -> tuple[str, ...]:
        """The ids of operators that nothing feeds: they are measured, never resized."""
        return tuple(o.id for o, source in zip(self.operators, self.is_source.tolist(), strict=True) if source)

    @property
    def sinks(self) -> tuple[str, ...]:
        """The ids of operators that feed nothing."""
        return tuple(o.id for o, sink in zip(self.operators, self.is_sink.tolist(), strict=True) if sink)

    def position(self, id: str) -> int:
        """The position of an operator, or an error that names the nearest one."""
        try:
            return self.index[id]
        except KeyError:
            hint = did_you_mean(id, self.index)
            raise InputError(f'operator "{id}" is not in the topology{hint}') from None

    def resized(self, instances: Mapping[str, int]) -> Self:
        """The same dataflow with other instances, as after a decision was carried out."""
        for id in instances:
            self.position(id)
        now = (self.operators[self.index[id]] for id in self.declared)
        return type(self)((Operator(o.id, instances.get(o.id, o.instances), o.name) for o in now), self.edges)

    def with_shares(self, shares: Mapping[tuple[str, str], float]) -> Self:
        """The same dataflow with other shares on these edges."""
        edges = (Edge(e.source, e.target, shares.get((e.source, e.target), e.share)) for e in self.edges)
        return type(self)((self.operators[self.index[id]] for id in self.declared), edges)


def _declared(operators: Iterable[Operator]) -> dict[str, Operator]:
    """One operator an id; saying the same thing twice is allowed, two different things is not."""
    seen: dict[str, Operator] = {}
    for operator in operators:
        first = seen.setdefault(operator.id, operator)
        if first is operator:
            if not operator.id:
                raise DataflowError("an operator has an empty id; give it one")
            if not (isinstance(operator.instances, int) and 1 <= operator.instances <= MAX_INSTANCES):
                raise DataflowError(
                    f'operator "{operator.id}" has {operator.instances} instances; '
                    f"give a whole number from 1 to {MAX_INSTANCES}"
                )
        elif first != operator:
            raise DataflowError(conflict(first, operator))
    if not seen:
        raise DataflowError("the topology has no operators; give at least one edge")
    return seen


def conflict(first: Operator, second: Operator) -> str:
    """How two declarations of one operator differ, in words."""
    if first.instances != second.instances:
        return (
            f'operator "{first.id}" is declared with {first.instances} and with {second.instances} instances; keep one'
        )
    return f'operator "{first.id}" is named "{first.name}" and "{second.name}"; keep one'


def _links(
    declared: Mapping[str, Operator], edges: Iterable[Edge | tuple[str, str]]
) -> tuple[tuple[Edge, ...], tuple[int, ...]]:
    """Edges between known operators, a repeated one once, and where in the input each stood."""
    links: dict[tuple[str, str], Edge] = {}
    given_at: list[int] = []
    for position, given in enumerate(edges):
        edge = given if isinstance(given, Edge) else Edge(*given)
        for id in (edge.source, edge.target):
            if id not in declared:
                hint = did_you_mean(id, declared)
                raise DataflowError(
                    f'edge {edge.source} -> {edge.target}: operator "{id}" is not declared{hint}', position
                )
        if not 0.0 <= edge.share < float("inf"):
            raise DataflowError(
                f"edge {edge.source} -> {edge.target} has share {edge.share}; give a number from 0 up",
                position,
            )
        if (edge.source, edge.target) not in links:
            given_at.append(position)
        first = links.setdefault((edge.source, edge.target), edge)
        if first.share != edge.share:
            raise DataflowError(
                f"edge {edge.source} -> {edge.target} has shares {first.share:g} and {edge.share:g}; keep one",
                position,
            )
    return tuple(links.values()), tuple(given_at)


def _upstream_first(
    declared: Mapping[str, Operator], edges: tuple[Edge, ...], given_at: tuple[int, ...]
) -> tuple[Operator, ...]:
    """A topological order: depth first from each operator in turn, reversed.

    Of the many valid orders this is the one in which the original DS2 program adds up demand and prints its
    answer, so following it gives the same sums to the last bit and the same line. Iterative, because a chain
    of ten thousand operators is deeper than Python's stack.
    """
    targets: dict[str, list[str]] = {id: [] for id in declared}
    for edge in edges:
        targets[edge.source].append(edge.target)
    finished: dict[str, None] = {}
    entered: set[str] = set()
    for root in declared:
        stack = [root]
        while stack:
            at = stack[-1]
            if at not in entered:
                entered.add(at)
                stack.extend(target for target in reversed(targets[at]) if target not in entered)
            else:
                finished.setdefault(stack.pop())
    order = tuple(reversed(finished))
    rank = {id: place for place, id in enumerate(order)}
    for edge, position in zip(edges, given_at, strict=True):
        # An edge that points back in this order closes a cycle: its target is still open when it is met.
        if rank[edge.target] <= rank[edge.source]:
            cycle = _path(edge.target, edge.source, targets)
            raise DataflowError(
                f"edge {edge.source} -> {edge.target} closes a cycle ({' -> '.join((*cycle, cycle[0]))}); "
                "remove an edge of it",
                position,
            )
    return tuple(declared[id] for id in order)


def _path(start: str, end: str, targets: Mapping[str, list[str]]) -> list[str]:
    """A shortest path between two operators that are known to be connected."""
    came_from = {start: start}
    frontier = [start]
    while end not in came_from:
        reached = []
        for at in frontier:
            for target in targets[at]:
                if target not in came_from:
                    came_from[target] = at
                    reached.append(target)
        frontier = reached
    path = [end]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]
