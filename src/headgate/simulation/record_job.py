"""A dataflow for the record-at-a-time engine: what its operators can do, and how it holds back what comes too fast."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

import msgspec
import numpy as np

from headgate.model.dataflow import Dataflow, Edge, Operator
from headgate.model.errors import InputError

Holding = Literal["upstream", "sources"]


class RecordOperator(msgspec.Struct, frozen=True):
    """What one operator is made of."""

    name: str
    each: float = 0.0
    """Records per second of one instance, where instances do not get in each other's way. Of a source: the most that
    it can emit, 0 for any amount."""
    curve: tuple[tuple[int, float], ...] = ()
    """(instances, records per second of all of them), by instances, where they do."""
    selectivity: float = 1.0
    """Records out for each that came in."""
    hot: float = 0.0
    """Share of its records that all go to the first instance, beyond that one's even share."""
    windowed: bool = False

    def capacity(self, instances: int) -> float:
        """Records per second of so many instances; on the line between two points of the curve, or on with its last.

        >>> RecordOperator("map", each=100.0).capacity(3)
        300.0
        >>> RecordOperator("map", curve=((1, 100.0), (3, 260.0))).capacity(2)
        180.0
        """
        if not self.curve:
            return self.each * instances
        numbers, rates = (list(column) for column in zip(*((0, 0.0), *self.curve), strict=True))
        if instances <= numbers[-1]:
            return float(np.interp(instances, numbers, rates))
        slope = (rates[-1] - rates[-2]) / (numbers[-1] - numbers[-2])
        return float(rates[-1] + max(0.0, slope) * (instances - numbers[-1]))


class RecordJob(msgspec.Struct, frozen=True):
    """Operators, the edges between them, and the engine's ways. Seconds."""

    operators: tuple[RecordOperator, ...]
    edges: tuple[Edge, ...]
    buffer: float = 5.0
    """An instance's queue holds what it can do in this time."""
    holds: Holding = "upstream"
    """Who stops when a queue is full: whoever feeds it (Flink), or all sources until it is half empty (Heron)."""
    pause: float = 10.0
    """Nothing runs for so long when anything is resized."""
    keeps: bool = True
    """What sources cannot emit waits for them, as in a log; if not it is gone, as of a generator that is held back."""
    spread: float = 0.0
    """Standard deviation of an instance's share of the records, relative to an even share; drawn at each start."""

    def __post_init__(self) -> None:
        """Refuse what cannot run."""
        fed = {edge.target for edge in self.edges}
        for one in self.operators:
            if one.name in fed and one.capacity(1) <= 0:
                raise InputError(f'operator "{one.name}" can process nothing; give it each or a curve')

    def dataflow(self, instances: Mapping[str, int]) -> Dataflow:
        """With so many instances; one where nothing is said."""
        return Dataflow([Operator(one.name, instances.get(one.name, 1)) for one in self.operators], self.edges)


def chain(*operators: RecordOperator) -> tuple[Edge, ...]:
    """The edges of a straight line.

    >>> chain(RecordOperator("in"), RecordOperator("map", each=1.0))
    (Edge(source='in', target='map', share=1.0),)
    """
    return tuple(Edge(up.name, down.name) for up, down in pairwise(operators))


def even_shares(instances: int, hot: float, uneven: Sequence[float]) -> list[float]:
    """Each instance's share of the records: even, but for the hot part and what chance adds.

    >>> even_shares(2, 0.5, (0.0, 0.0))
    [0.75, 0.25]
    """
    shares = [max(0.0, 1 + one) for one in uneven]
    total = sum(shares) or 1.0
    spread = [(1 - hot) * one / total for one in shares]
    return [spread[0] + hot, *spread[1:instances]]
