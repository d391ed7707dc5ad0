"""Everything a controller knows. A value: each step makes a new one."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from headgate.model.microbatch import Executor, MicroBatch
from headgate.policies.pool import PoolAnswer


class Plan(msgspec.Struct, frozen=True):
    """A change under way: asked for, then there, then judged by the batches that follow."""

    id: int
    began: float
    before: int
    executors: int
    """What is asked for."""
    expected: float | None
    """Predicted time of a batch, over all queries the longest."""
    took_before: float
    """Median time of a batch when the plan was made."""
    records: float
    """Records of a batch that the prediction is for."""
    records_before: float = 0.0
    """Records of a batch when the plan was made."""
    arrived: float | None = None
    undoes: bool = False
    told: bool = False
    """By a person: it is not undone by itself."""
    weighed: bool = False
    """Batches after it were compared with those before it."""


class TooFew(msgspec.Struct, frozen=True):
    """So many executors were not enough for so many records per second, and for so much work."""

    at: float
    executors: int
    rate: float
    work: float
    """Slot-seconds that a second's records took: what a record costs may change while the rate does not."""


class Useless(msgspec.Struct, frozen=True):
    """Going from so many executors to so many made things worse, or did not help at so many records per second."""

    at: float
    before: int
    executors: int
    what: Literal["made things worse", "did not help"] = "made things worse"
    rate: float = math.inf
    """Where far more come it may help: batches are larger."""


class RestartUnderWay(msgspec.Struct, frozen=True):
    """A restart that was asked for, and the batch that each query was at then."""

    plan: int
    at: float
    batches: Mapping[str, tuple[str, int]]
    """Query -> its run, and the number of its last batch."""


class Decided(msgspec.Struct, frozen=True):
    """What the policy said when it was last asked, and about what."""

    at: float
    executors: tuple[Executor, ...]
    load: tuple[float, ...]
    """Records and seconds of a recent batch, by query."""
    answers: tuple[PoolAnswer, ...]
    need: int
    """Executors, over all queries."""
    queries: tuple[str, ...] = ()
    """Those it is an answer for."""


class State(msgspec.Struct, frozen=True, eq=False):
    """What is known, wanted and under way."""

    batches: Mapping[str, tuple[MicroBatch, ...]] = {}
    """Query -> its last batches, oldest first."""
    triggers: Mapping[str, float] = {}
    """Query -> its fixed interval in seconds, where the engine said."""
    memory: Mapping[str, Any] = {}
    """Query -> what the policy remembers."""
    executors: tuple[Executor, ...] | None = None
    """Observed; None before the first look."""
    strangers: frozenset[str] = frozenset()
    """Executors that joined since state was last spread: they have none of it."""
    desired: int | None = None
    """What the last plan wanted; None before the first."""
    running: frozenset[str] | None = None
    """Queries that run on these executors, looked after or not; None where nobody says."""
    began: float | None = None
    """The time of the first event."""
    heard: Mapping[str, float] = {}
    """Query -> when its last batch was seen."""
    plan: Plan | None = None
    unjudged: Plan | None = None
    """The last plan, while batches that can be compared with its prediction have not come yet."""
    plans: int = 0
    """So many were made."""
    changes: tuple[float, ...] = ()
    """When plans of the last hour began."""
    needs: tuple[tuple[float, int], ...] = ()
    """Answers of the last stretch of time, for going down."""
    last: Decided | None = None
    """The last time the policy was asked."""
    asking_up: int = 0
    """Decisions in a row that asked for more than there is."""
    cool_until: float = 0.0
    short_until: float = 0.0
    too_few: tuple["TooFew", ...] = ()
    """What was not enough, the last time of each."""
    useless: tuple["Useless", ...] = ()
    """Steps that made things worse, or did not help."""
    paused: bool = False
    proposal: int | None = None
    partitions_advised: tuple[tuple[str, int], ...] = ()
    """Numbers of partitions that were last advised, and what of."""
    restarting: RestartUnderWay | None = None
    warned: frozenset[str] = frozenset()
    """Warnings that stand: each is said once until it is over."""
    latest: float = 0.0
    """The time of the last event."""

    @property
    def live(self) -> Mapping[str, tuple[MicroBatch, ...]]:
        """The batches of queries that run, as far as anybody says: those of others say nothing about what is needed."""
        if self.running is None:
            return self.batches
        return {query: seen for query, seen in self.batches.items() if query in self.running}

    @property
    def unheard(self) -> frozenset[str]:
        """Queries that run, and of which no batch was ever seen: nobody knows what they need."""
        return frozenset() if self.running is None else self.running - self.batches.keys()
