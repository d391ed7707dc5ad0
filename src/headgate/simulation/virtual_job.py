"""A query that never runs: what its tasks cost, how its records spread, and what gets in its way.

The first half of the figures is what Headgate's own model knows: fixed cost, cost per record, skew, driver time. The
second half it does not know and has to find out or live with: costs that drift over the day, output that saturates,
stragglers, tasks that slow each other down, cold executors, bins that load. All are 0 unless given.
"""

from collections.abc import Callable
from itertools import pairwise

import msgspec

from headgate.model.errors import InputError

DAY = 86400.0


class VirtualOperator(msgspec.Struct, frozen=True):
    """One stage. Seconds."""

    name: str
    partitions: int
    fixed: float
    per_record: float
    feeders: tuple[int, ...] = ()
    selectivity: float = 1.0
    """Records out for each that came in."""
    hot: float = 0.0
    """Share of records that all go to the first partition, beyond its even share."""
    stateful: bool = False
    shares: tuple[float, ...] = ()
    """Part of the records of each partition, where they are known one by one; empty: even, but for `hot`."""
    distinct: float = 0.0
    """Keys that a task meets at the most: its output levels off there, as partial aggregation does. 0: it does not."""
    contention: tuple[tuple[int, float], ...] = ()
    """Tasks at once and how many times as long each takes; in straight lines in between and beyond."""
    weight: float = 1.0
    """Of an operator that nothing feeds: its part of what comes, beside the others; 0 where it reads no stream."""

    def __post_init__(self) -> None:
        """Refuse what cannot run."""
        for name in ("fixed", "per_record", "selectivity", "distinct", "weight"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError(f"operator {self.name}: {name} is {getattr(self, name)}; give a number from 0 up")
        if self.partitions < 1:
            raise InputError(f"operator {self.name}: partitions is {self.partitions}; give at least 1")
        if not 0 <= self.hot <= 1:
            raise InputError(f"operator {self.name}: hot is {self.hot}; give a part from 0 to 1")
        parts = all(0 <= share < float("inf") for share in self.shares) and 0 < sum(self.shares) < float("inf")
        if self.shares and (len(self.shares) != self.partitions or not parts):
            raise InputError(f"operator {self.name}: shares needs {self.partitions} parts, one a partition, from 0 up")
        counts = [at_once for at_once, _ in self.contention]
        times = all(0 < slower < float("inf") for _, slower in self.contention)
        if not times or any(more <= fewer for fewer, more in pairwise([0, *counts])):
            raise InputError(
                f"operator {self.name}: contention needs pairs of tasks at once, from 1 up and rising, and how many "
                "times as long each takes then, above 0: [[1, 1.0], [8, 1.5]]"
            )


class VirtualJob(msgspec.Struct, frozen=True):
    """A query. Seconds."""

    operators: tuple[VirtualOperator, ...]
    driver: float = 0.3
    trigger: float | None = None
    limit: int | None = None
    """The most records of a batch."""
    noise: float = 0.0
    """Standard deviation of the logarithm of a task's time."""
    slow: Callable[[int], float] | None = None
    """Tasks at once -> how many times as long each takes; None: they do not get in each other's way."""
    driver_per_task: float = 0.0
    cores: int | None = None
    """Real cores behind all slots: beyond so many at once each task takes as many times as long."""
    stragglers: float = 0.0
    """Part of the tasks that take `straggling` times as long, whoever they are."""
    straggling: float = 4.0
    drift: float = 0.0
    """Costs of tasks go up and down by this part over `drift_period`, up first."""
    drift_period: float = DAY
    cold: float = 0.0
    """What the first task of an operator takes longer in each slot of an executor that has just come."""
    bin_load: float = 0.0
    """What the task of a bin takes longer in the batch in which it finds its state elsewhere."""
    restart: float = 0.0
    """Pause of a restart with other partitions, the rewrite of state included."""

    def __post_init__(self) -> None:
        """Refuse what cannot run."""
        for name in ("driver", "driver_per_task", "noise", "cold", "bin_load", "restart", "straggling"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError(f"{name} is {getattr(self, name)}; give a number from 0 up")
        if not 0 <= self.stragglers <= 1 or not 0 <= self.drift < 1:
            raise InputError("stragglers and drift are parts: give numbers from 0 to below 1")
        if self.trigger is not None and not 0 < self.trigger < float("inf"):
            raise InputError(f"trigger is {self.trigger}; give seconds above 0")
        for name in ("limit", "cores"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; give at least 1")
        for place, one in enumerate(self.operators):
            if any(not 0 <= up < place for up in one.feeders):
                raise InputError(f"operator {one.name}: what feeds it must stand before it")
        if not self.operators:
            raise InputError("a job needs at least one operator")
        if not any(one.weight for one in self.operators if not one.feeders):
            raise InputError("no operator reads what comes: give one that nothing feeds a weight above 0")

    @property
    def tasks(self) -> int:
        """Of a batch."""
        return sum(one.partitions for one in self.operators)
