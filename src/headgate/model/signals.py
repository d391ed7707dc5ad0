"""Signals: what policies look at of one thing that can be resized, whatever engine it runs on.

The thing is an operator of a record-at-a-time engine, which has instances, or the pool of a Spark query, whose
instances are executors. Most published policies size one thing by its own signals; those that look at a whole dataflow
find one `Signals` an operator in `Estimate.signals`. What was not measured is None, never a made-up number.
"""

import msgspec


class Signals(msgspec.Struct, frozen=True):
    """Averages over the last interval. Records per second, seconds, shares of 1.

    >>> seen = Signals(4, taken=300.0, busy=0.75)
    >>> seen.capacity, seen.each
    (400.0, 100.0)
    """

    instances: int
    """Those that were there and measured."""
    missing: int = 0
    """Instances that are wanted and were not measured: they are still coming, or do not report."""
    came: float | None = None
    """Records per second that came for it, taken or not."""
    taken: float | None = None
    """Records per second that it took."""
    busy: float | None = None
    """Share of the instances' time that was useful. On Spark: slot time used over slot time there."""
    busiest: float | None = None
    """The same of the busiest instance."""
    pressure: float | None = None
    """Back-pressure it causes: milliseconds per second for which it held back what feeds it, summed over instances."""
    waiting: float | None = None
    """Records that wait to be taken: a queue, or the lag of a source."""
    growth: float | None = None
    """Records per second by which that grows; negative where it shrinks."""
    latency: float | None = None
    """Seconds that a record spends there, waiting included. Of a pool: from its arrival to the result, at the worst."""
    uneven: float | None = None
    """Rate of the fastest instance over that of the slowest."""
    uneven_queues: float | None = None
    """The longest queue of an instance over the shortest."""
    windowed: bool = False
    """A window, a join or the like: it keeps records."""

    @property
    def capacity(self) -> float | None:
        """True rate of all instances together: what they would take if they were busy all the time."""
        if not self.taken or not self.busy:
            return None
        return self.taken / self.busy

    @property
    def each(self) -> float | None:
        """True rate of one instance."""
        capacity = self.capacity
        return None if capacity is None else capacity / self.instances
