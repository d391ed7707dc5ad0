"""What `headgate bench` was asked, and what it measured: values that are written to files and compared."""

from collections.abc import Mapping

import msgspec

FLINK_PER_CORE: Mapping[str, float] = {
    "q1": 158e3,
    "q2": 175e3,
    "q3": 152e3,
    "q5": 22e3,
    "q8": 146e3,
    "q11": 40e3,
}
"""Published figures of Flink on NexMark: events a second for each core, on other hardware."""


class BenchPlan(msgspec.Struct, frozen=True):
    """What to run, and how."""

    workload: str
    queries: tuple[str, ...]
    slots: int = 2
    load: str | None = None
    """None: as fast as it is read."""
    seconds: float = 30.0
    warm_up: float = 20.0
    rows_per_batch: int | None = None
    options: dict[str, str] = msgspec.field(default_factory=dict)
    """Of the source."""

    @property
    def in_words(self) -> str:
        """Where, how fed and how long.

        >>> BenchPlan("psm", ("q1",)).in_words
        'psm on 2 slots, fed as fast as they read; each measured for 30 s'
        """
        fed = f"at {self.load}" if self.load is not None else "as fast as they read"
        return f"{self.workload} on {self.slots} slots, fed {fed}; each measured for {self.seconds:g} s"


class Percentiles(msgspec.Struct, frozen=True):
    """In seconds."""

    p50: float
    p95: float
    p99: float


class Measured(msgspec.Struct, frozen=True):
    """How one query did."""

    query: str
    asks: str
    batches: int
    events: int
    seconds: float
    """In which they were read: from the end of the batch before the first of them to the end of the last."""
    events_per_second: float
    batch: Percentiles
    freshness: Percentiles | None
    """Age of events when their batch ended, from when they were due, each event for one; None without a load."""
    state_rows: int
    state_bytes: int
    cpu_seconds_per_million: float | None
    """Of executors and their Python, for a million events; None where the system does not tell."""
    asked_per_second: float | None = None
    """Events that became due by the load for these batches; None without one, and in results from before that."""
    falls_behind: bool = False
    """Whether events wait longer and longer."""
    per_core: float | None = None
    """Events a second for each slot, or for each processor where there are fewer; None in results from before it was
    kept."""
    flink_per_core: float | None = None
    """The same of Flink, as published, on other hardware; None where nothing is."""
    later_each_second: float | None = None
    """Seconds that events wait longer, when their batch begins, for each second that goes by; None without a load."""
    missing: tuple[int, ...] = ()
    """Numbers of batches that were not seen: their events are counted, their times and ages are not."""


class BenchResult(msgspec.Struct, frozen=True):
    """All of them."""

    plan: BenchPlan
    measured: tuple[Measured, ...]
