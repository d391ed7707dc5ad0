"""Dataflows to try policies on: small, of every shape, and what would be measured of them under a given load."""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec.structs import replace

from headgate.model.dataflow import Dataflow
from headgate.model.estimate import Estimate
from headgate.model.signals import Signals


class Job(NamedTuple):
    """A dataflow whose truth is known: what one instance can do, and how many records come out for one in."""

    name: str
    dataflow: Dataflow
    each: Mapping[str, float]
    """Records per second of useful time that one instance of an operator can process."""
    selectivity: Mapping[str, float]
    emits: Mapping[str, float]
    """Records per second that each source emits."""

    def seen(self, *, load: float = 1.0, speed: float = 1.0) -> Estimate:
        """What an engine would measure with `load` times the input on instances `speed` times as fast.

        True rates are those of the instances there are; observed rates are what gets through, which is all of
        it where there is capacity and the capacity where there is not. What does not get through waits, a minute of it.
        """
        flow = self.dataflow
        rates: dict[str, tuple[float, ...]] = {}
        signals: list[Signals] = []
        arriving = dict.fromkeys(flow.ids, 0.0)
        for at, operator in enumerate(flow.operators):
            id = operator.id
            if id in self.emits:
                passed = self.emits[id] * load
                rates[id] = (0.0, passed, 0.0, passed)
                signals.append(Signals(operator.instances, came=passed, taken=passed, waiting=0.0, growth=0.0))
            else:
                capacity = self.each[id] * speed * operator.instances
                through = min(arriving[id], capacity)
                passed = through * self.selectivity[id]
                rates[id] = (capacity, capacity * self.selectivity[id], through, passed)
                signals.append(_signals(operator.instances, arriving[id], through, capacity))
            for target, share in flow.outgoing[at]:
                arriving[flow.ids[target]] += passed * share
        return replace(Estimate.of_rates(flow, rates), signals=tuple(signals))

    def resized(self, instances: Mapping[str, int]) -> "Job":
        """The same job after a decision was carried out."""
        return self._replace(dataflow=self.dataflow.resized(instances))

    def declared_backwards(self) -> "Job":
        """The same job, its operators and edges told in the opposite order."""
        flow = self.dataflow
        return self._replace(dataflow=Dataflow(reversed(flow.operators), reversed(flow.edges)))


def _signals(instances: int, came: float, taken: float, capacity: float) -> Signals:
    """Of an operator whose instances share its work evenly."""
    busy = min(1.0, taken / capacity) if capacity > 0 else 1.0
    held = 1 - taken / came if came > 0 else 0.0
    left = came - taken
    latency = 60 * left / taken if taken > 0 else 0.0
    return Signals(
        instances, 0, came, taken, busy, busy, 1000 * held, 60 * left, left, latency, uneven=1.0, uneven_queues=1.0
    )


def jobs() -> tuple[Job, ...]:
    """A chain, a diamond, two sources that meet, a fan-out; some too small, some too large, some just right."""
    return (
        Job(
            "chain",
            Dataflow.of({"lines": 1, "split": 2, "count": 1}, [("lines", "split"), ("split", "count")]),
            each={"split": 130.0, "count": 900.0},
            selectivity={"split": 7.5, "count": 0.0},
            emits={"lines": 1000.0},
        ),
        Job(
            "diamond",
            Dataflow.of(
                {"in": 3, "left": 9, "right": 2, "join": 30},
                [("in", "left"), ("in", "right"), ("left", "join"), ("right", "join")],
            ),
            each={"left": 70.0, "right": 210.0, "join": 55.0},
            selectivity={"left": 0.5, "right": 1.25, "join": 0.1},
            emits={"in": 420.0},
        ),
        Job(
            "two sources",
            Dataflow.of(
                {"bids": 2, "people": 1, "filter": 4, "join": 6, "sink": 1},
                [("bids", "join"), ("people", "filter"), ("filter", "join"), ("join", "sink")],
            ),
            each={"filter": 40.0, "join": 33.0, "sink": 400.0},
            selectivity={"filter": 0.25, "join": 0.8, "sink": 0.0},
            emits={"bids": 300.0, "people": 80.0},
        ),
        Job(
            "fan-out",
            Dataflow.of(
                {"events": 1, "parse": 5, "store": 1, "alert": 12, "index": 3},
                [("events", "parse"), ("parse", "store"), ("parse", "alert"), ("parse", "index")],
            ),
            each={"parse": 210.0, "store": 350.0, "alert": 95.0, "index": 120.0},
            selectivity={"parse": 1.0, "store": 0.0, "alert": 0.0, "index": 0.0},
            emits={"events": 990.0},
        ),
    )
