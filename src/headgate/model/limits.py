"""What holds a query's batches back: not every slow job wants executors.

The limit is found by asking the capacity model what would shorten a batch most: twice the slots, state spread over
the executors there are, even partitions, more partitions, more source partitions, no driver time. Whatever gains most
is the limit; each has its own typed value and its own advice.
"""

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from headgate.model.capacity import Capacity, Pool, Prediction, Setting
from headgate.model.contention import Contention
from headgate.model.profile import OperatorProfile, QueryProfile
from headgate.model.reasons import number

_LEAST_GAIN = 0.1
"""What shortens a batch by less than this is no limit."""
_LEAST_SKEW = 1.3
"""How many times its even share a partition must have to be called skewed; below that it is chance."""
_MUCH_COLLECTING = 0.1
_MOSTLY_WAITING = 0.3

_PHASES = {
    "latestOffset": "asking the sources what is new",
    "getOffset": "asking the sources what is new",
    "getBatch": "preparing what to read",
    "queryPlanning": "planning the batch",
    "walCommit": "writing the offsets log of the checkpoint",
    "commitOffsets": "writing the commit log of the checkpoint",
    "commitBatch": "writing the commit log of the checkpoint",
    "addBatch": "inside addBatch while no task ran: the sink's commit, foreachBatch code or scheduling",
}


class _Limit(msgspec.Struct, frozen=True, tag_field="limit"):
    """Common shape: a tag in JSON, and `str()` for what it is and what to do."""


class TooFewSlots(_Limit, frozen=True, tag="slots"):
    """More slots would shorten the batch."""

    operator: str
    slots: int
    tasks: int
    cpu_share: float

    def __str__(self) -> str:
        waits = ""
        if self.cpu_share < _MOSTLY_WAITING:
            waits = (
                f" (its tasks mostly wait: {self.cpu_share:.0%} CPU of the JVM; a faster call or sink helps as well)"
            )
        return (
            f"too few slots: {self.tasks:,} tasks of {self.operator} share {self.slots:,}{waits}; "
            f"give it more executors"
        )


class Crowded(_Limit, frozen=True, tag="crowded"):
    """More slots would be on the same processors, which have no time to spare for them."""

    operator: str
    at_once: int
    processors: int

    def __str__(self) -> str:
        return (
            f"crowded processors: {self.at_once:,} tasks of {self.operator} at once share {self.processors:,} on one "
            f"machine, and each waits for the others; more executors there do not help, another machine does"
        )


class TooFewPartitions(_Limit, frozen=True, tag="partitions"):
    """There are slots that get nothing to do."""

    operator: str
    tasks: int
    slots: int

    def __str__(self) -> str:
        return (
            f"too few partitions: {self.operator} has {self.tasks:,} for {self.slots:,} slots; "
            f"more executors do not help, more shuffle partitions do"
        )


class TooFewSourcePartitions(_Limit, frozen=True, tag="source-partitions"):
    """The source is read by fewer tasks than could run."""

    operator: str
    tasks: int
    slots: int

    def __str__(self) -> str:
        return (
            f"too few source partitions: {self.operator} reads with {self.tasks:,} tasks, {self.slots:,} could run; "
            f"cut the source finer (Kafka: more partitions or minPartitions), or repartition right after reading"
        )


class Skew(_Limit, frozen=True, tag="skew"):
    """One partition has much more than its even share."""

    operator: str
    partition: int
    share: float
    even: float

    def __str__(self) -> str:
        return (
            f"skew: partition {self.partition} of {self.operator} has {self.share:.0%} of the records, even would be "
            f"{self.even:.0%}; the batch waits for it, so spread its keys (salt them, or aggregate in two steps)"
        )


class Placement(_Limit, frozen=True, tag="placement"):
    """State sits on fewer executors than there are."""

    operator: str
    bins: int
    holding: int
    executors: int

    def __str__(self) -> str:
        return (
            f"placement: all {self.bins:,} bins of {self.operator} sit on {self.holding:,} of {self.executors:,} "
            f"executors, and its tasks run where their state is; more executors do not help until bins are spread"
        )


class AdmissionLimit(_Limit, frozen=True, tag="admission"):
    """Batches are kept so small that their fixed cost eats the time."""

    records: int

    def __str__(self) -> str:
        return (
            f"admission limit: every batch is cut at {self.records:,} records while more are waiting; a larger limit "
            f"carries more with the same slots"
        )


class SlowSource(_Limit, frozen=True, tag="source"):
    """The sources take long to say what there is."""

    seconds: float
    phase: str

    def __str__(self) -> str:
        return (
            f"slow sources: {self.seconds:.2f} s of a batch go into {_PHASES[self.phase]} ({self.phase}), with no task "
            f"running; look at the source, executors do not help"
        )


class SlowSink(_Limit, frozen=True, tag="sink"):
    """The driver waits inside addBatch while no task runs."""

    seconds: float

    def __str__(self) -> str:
        return (
            f"slow sink or call on the driver: {self.seconds:.2f} s of a batch pass {_PHASES['addBatch']}; "
            f"executors do not help"
        )


class Driver(_Limit, frozen=True, tag="driver"):
    """The driver's own time."""

    seconds: float
    batch: float
    phase: str
    phase_seconds: float

    def __str__(self) -> str:
        return (
            f"the driver: no task runs for {self.seconds:.2f} of {self.batch:.2f} s, {self.phase_seconds:.2f} s of it "
            f"{_PHASES.get(self.phase, 'in ' + self.phase)}; executors do not help, fewer and larger batches do"
        )


class Spilling(_Limit, frozen=True, tag="spill"):
    """Memory is too small for what a task sorts or aggregates."""

    operator: str
    bytes: float

    def __str__(self) -> str:
        return (
            f"spill: {self.operator} writes {number(round(self.bytes / 1e6, 1))} MB a batch to disk because memory is "
            f"short; give executors more memory, or cut the work into more partitions"
        )


class Collecting(_Limit, frozen=True, tag="garbage-collection"):
    """Executors spend their time collecting garbage."""

    operator: str
    share: float

    def __str__(self) -> str:
        return (
            f"memory: {self.share:.0%} of the time of {self.operator} is garbage collection; give executors more memory"
        )


class Balanced(_Limit, frozen=True, tag="none"):
    """Nothing stands out."""

    def __str__(self) -> str:
        return "nothing stands out: no single change would shorten a batch by a tenth"


Limit: TypeAlias = (
    TooFewSlots
    | Crowded
    | TooFewPartitions
    | TooFewSourcePartitions
    | Skew
    | Placement
    | AdmissionLimit
    | SlowSource
    | SlowSink
    | Driver
    | Spilling
    | Collecting
    | Balanced
)


class Finding(msgspec.Struct, frozen=True):
    """A limit, and the part of a batch's time that would be gained without it; None where that cannot be told."""

    limit: Limit
    gain: float | None


def limits(profile: QueryProfile, capacity: Capacity) -> tuple[Finding, ...]:
    """What holds its batches back, the most first; never empty."""
    now = capacity.predict()
    batch = max(now.batch.value, 1e-9)
    found = [
        Finding(limit, (batch - seconds) / batch)
        for limit, seconds in _without_each(profile, capacity, now)
        if batch - seconds >= _LEAST_GAIN * batch
    ]
    found.sort(key=lambda finding: -(finding.gain or 0.0))
    come = profile.arrivals
    if come.limit is not None and come.trigger is not None and now.batch.value <= come.trigger:
        # It has time to spare and may not use it: nothing else counts.
        found = [
            Finding(AdmissionLimit(come.limit), None),
            *(f for f in found if not isinstance(f.limit, AdmissionLimit)),
        ]
    memory = [Finding(limit, None) for limit in _memory(profile)]
    # A task that spills is slow for want of memory; that more slots would help too is the lesser remedy.
    if memory and (not found or isinstance(found[0].limit, TooFewSlots)):
        return (*memory, *found)
    return (*found, *memory) if found or memory else (Finding(Balanced(), None),)


def _without_each(profile: QueryProfile, capacity: Capacity, now: Prediction) -> Iterator[tuple[Limit, float]]:
    """Each limit that could be, and how long a batch would take without it."""
    known = {one.name: one for one in profile.operators}
    operators = [known[one.name] for one in capacity.operators]
    longest = operators[now.stages.index(max(now.stages))]
    slots = capacity.pool.total

    def without(setting: Setting) -> Prediction:
        return capacity.predict(msgspec.structs.replace(setting, in_proportion=True))

    def gainer(then: Prediction) -> OperatorProfile:
        """The operator whose stage is shortened most."""
        gains = [before - after for before, after in zip(now.stages, then.stages, strict=True)]
        return operators[gains.index(max(gains))]

    holding = len(longest.state.bins_on) if longest.state is not None else len(capacity.pool.slots)
    misplaced = longest.stateful and holding < min(len(capacity.pool.slots), longest.tasks)
    if misplaced:
        spread = without(Setting(spread_bins=True))
        yield Placement(longest.name, longest.tasks, holding, len(capacity.pool.slots)), spread.batch.value
    # State that sits on a few executors stays there when others join; state that is spread is spread over those too.
    then = without(Setting(pool=Pool(capacity.pool.slots * 2), spread_bins=not misplaced))
    operator = gainer(then)
    share = operator.cpu / operator.busy if operator.busy else 1.0
    yield TooFewSlots(operator.name, slots, operator.tasks, share), then.batch.value
    crowded = _crowded(operator.name, capacity)
    if crowded is not None:
        apart = _on_machines_of_their_own(capacity).predict(
            Setting(pool=Pool(capacity.pool.slots * 2), spread_bins=not misplaced, in_proportion=True)
        )
        # Where more slots on the same machine gain most of it all the same, they are what is wanted.
        if now.batch.value - then.batch.value < 0.5 * (now.batch.value - apart.batch.value):
            yield crowded, apart.batch.value
    then = without(Setting(even=True))
    operator = gainer(then)
    even = 1 / operator.tasks
    if operator.largest_share > _LEAST_SKEW * even:
        yield Skew(operator.name, operator.largest_partition, operator.largest_share, even), then.batch.value
    then = without(Setting(partitions=2 * max(one.tasks for one in operators)))
    operator = gainer(then)
    if operator.feeders and operator.tasks < slots:
        yield TooFewPartitions(operator.name, operator.tasks, slots), then.batch.value
    then = without(Setting(source_partitions=2 * max(one.tasks for one in operators)))
    operator = gainer(then)
    if capacity.operators[operators.index(operator)].source and operator.tasks < slots:
        yield TooFewSourcePartitions(operator.name, operator.tasks, slots), then.batch.value
    if profile.arrivals.limit is not None:
        yield (
            AdmissionLimit(profile.arrivals.limit),
            capacity.predict(Setting(records=2 * capacity.records)).batch.value / 2,
        )
    driver, seconds = _driver(profile, now)
    yield driver, now.batch.value - seconds


def _crowded(name: str, capacity: Capacity) -> Crowded | None:
    """Whether the tasks of this operator are known to be more at once than there are processors for them."""
    contention = next(one.contention for one in capacity.operators if one.name == name)
    if contention.computing is None or contention.most_at_once <= contention.computing.processors:
        return None
    return Crowded(name, contention.most_at_once, contention.computing.processors)


def _on_machines_of_their_own(capacity: Capacity) -> Capacity:
    """The same query, whose tasks take as long as now whatever else runs."""
    alone = [msgspec.structs.replace(one, contention=Contention(())) for one in capacity.operators]
    return msgspec.structs.replace(capacity, operators=tuple(alone))


def _driver(profile: QueryProfile, now: Prediction) -> tuple[Limit, float]:
    """The driver's time by the phase that has most of it, and its seconds; of addBatch only what no task covers."""
    phases = {
        phase: seconds for phase, seconds in profile.phases.items() if phase not in ("triggerExecution", "addBatch")
    }
    phases["addBatch"] = max(0.0, now.driver - sum(phases.values()))
    most = max(phases, key=lambda phase: phases[phase])
    if phases[most] >= 0.5 * now.driver:
        if most in ("latestOffset", "getOffset"):
            return SlowSource(phases[most], most), phases[most]
        if most == "addBatch":
            return SlowSink(phases[most]), phases[most]
    return Driver(now.driver, now.batch.value, most, phases[most]), now.driver


def _memory(profile: QueryProfile) -> Iterator[Limit]:
    for operator in profile.operators:
        if operator.bytes_spilled > 0:
            yield Spilling(operator.name, operator.bytes_spilled)
        if operator.useful and operator.gc / operator.useful > _MUCH_COLLECTING:
            yield Collecting(operator.name, operator.gc / operator.useful)
