"""What a controller says about a step: small typed values, each with one sentence."""

from typing import TypeAlias

import msgspec

from headgate.model.limits import Limit
from headgate.model.reasons import many, number
from headgate.policies.partition_advice import PartitionAdvice


class _Said(msgspec.Struct, frozen=True, tag_field="said"):
    """Common shape: a tag in JSON, `str()` for one sentence."""


class Gathering(_Said, frozen=True, tag="gathering"):
    """Too few batches to decide on."""

    query: str
    warm: int
    needed: int

    def __str__(self) -> str:
        return f"{self.query}: {self.warm} of {self.needed} warm batches there; waiting for more before deciding"


class Stale(_Said, frozen=True, tag="stale"):
    """Nothing was heard for too long."""

    seconds: float

    def __str__(self) -> str:
        return f"no batch for {self.seconds:.0f} s; what is known is too old to act on, everything stays as it is"


class Ignored(_Said, frozen=True, tag="ignored"):
    """A measurement that cannot be."""

    what: str

    def __str__(self) -> str:
        return f"ignored: {self.what}"


class WaitingUntold(_Said, frozen=True, tag="waiting-untold"):
    """What waits is to be gone in time, and sources do not say what does."""

    query: str

    def __str__(self) -> str:
        return f"{self.query}: its sources do not tell how much waits; catching up cannot be planned, only keeping up"


class Held(_Said, frozen=True, tag="held"):
    """A guard keeps things as they are."""

    why: str
    until: float | None = None

    def __str__(self) -> str:
        return f"nothing is changed: {self.why}"


class Steady(_Said, frozen=True, tag="steady"):
    """What is there is what is needed."""

    executors: int

    def __str__(self) -> str:
        return f"{many(self.executors, 'executor')} {'is' if self.executors == 1 else 'are'} what is needed"


class Bounded(_Said, frozen=True, tag="bounded"):
    """The answer lies outside the bounds."""

    asked: int
    bound: int

    def __str__(self) -> str:
        way = "lowered to the most" if self.asked > self.bound else "raised to the least"
        return f"{self.asked} executors are asked for; {way} allowed, {self.bound}"


class NotHelping(_Said, frozen=True, tag="not-helping"):
    """Executors are not the remedy."""

    limit: Limit

    def __str__(self) -> str:
        return f"no number of executors meets the objective: {self.limit}"


class OtherPartitions(_Said, frozen=True, tag="other-partitions"):
    """Another number of partitions would be worth the pause; whether is for a person to say."""

    advice: PartitionAdvice

    def __str__(self) -> str:
        return f"advice: {self.advice}"


class Planned(_Said, frozen=True, tag="planned"):
    """A plan begins."""

    plan: int
    now: int
    executors: int
    expected: float | None
    """Predicted time of a batch."""

    def __str__(self) -> str:
        expects = "" if self.expected is None else f"; batches should then take {number(round(self.expected, 2))} s"
        return f"plan {self.plan}: {self.now} -> {many(self.executors, 'executor')}{expects}"


class Proposed(_Said, frozen=True, tag="proposed"):
    """What would be done if acting were allowed."""

    now: int
    executors: int
    expected: float | None

    def __str__(self) -> str:
        expects = "" if self.expected is None else f"; batches should then take {number(round(self.expected, 2))} s"
        return f"advice: {self.now} -> {many(self.executors, 'executor')}{expects}"


class Arrived(_Said, frozen=True, tag="arrived"):
    """The executors of a plan are there, or gone."""

    plan: int
    seconds: float

    def __str__(self) -> str:
        return f"plan {self.plan}: the executors are as asked after {self.seconds:.0f} s"


class Short(_Said, frozen=True, tag="short"):
    """The cluster gives less than was asked."""

    desired: int
    observed: int

    def __str__(self) -> str:
        return f"short of executors: {self.desired} wanted, the cluster gives {self.observed}; making do with those"


class Lost(_Said, frozen=True, tag="lost"):
    """Executors are gone that nobody released."""

    desired: int
    observed: int

    def __str__(self) -> str:
        return f"executors lost: {self.observed} of {self.desired} there; asking for the others again"


class AsPredicted(_Said, frozen=True, tag="as-predicted"):
    """A plan did what it should."""

    plan: int
    expected: float
    measured: float

    def __str__(self) -> str:
        return f"plan {self.plan}: batches take {self.measured:.2f} s, {self.expected:.2f} s were predicted"


class OffPrediction(_Said, frozen=True, tag="off-prediction"):
    """A plan did something else than it should; the model has learned from it."""

    plan: int
    expected: float
    measured: float

    def __str__(self) -> str:
        times = self.measured / self.expected
        return (
            f"plan {self.plan}: batches take {self.measured:.2f} s, {times:.2f} times the predicted "
            f"{self.expected:.2f} s; the next decision knows"
        )


class Undone(_Said, frozen=True, tag="undone"):
    """A plan made things worse."""

    plan: int
    before: float
    after: float
    executors: int

    def __str__(self) -> str:
        return (
            f"plan {self.plan} made things worse ({self.before:.2f} -> {self.after:.2f} s a batch); "
            f"back to {many(self.executors, 'executor')}"
        )


class DidNotHelp(_Said, frozen=True, tag="did-not-help"):
    """More executors, and batches are no shorter."""

    plan: int
    before: float
    """Seconds that as many records as are in a batch now took before it."""
    after: float
    limit: Limit | None = None
    """What explains it, where that is known."""

    def __str__(self) -> str:
        took = f"as many records took {self.before:.2f} s and take {self.after:.2f} s"
        why = f": {self.limit}" if self.limit is not None else ""
        return f"plan {self.plan} did not help ({took}); not to be repeated{why}"


class Unjudged(_Said, frozen=True, tag="unjudged"):
    """A plan was carried out, and no batches came to judge it by."""

    plan: int

    def __str__(self) -> str:
        return f"plan {self.plan}: too few batches since to say what it did"


class GoingOn(_Said, frozen=True, tag="going-on"):
    """No longer paused."""

    def __str__(self) -> str:
        return "no longer paused"


class Restarting(_Said, frozen=True, tag="restarting"):
    """The job is about to be started again, because somebody said so."""

    plan: int
    layout: str

    def __str__(self) -> str:
        return f"plan {self.plan}: restart with {self.layout}"


class MovingState(_Said, frozen=True, tag="moving-state"):
    """State is about to move, because somebody said so."""

    plan: int
    bins: dict[int, str]
    """Empty for all of them, evenly."""

    def __str__(self) -> str:
        where = ", ".join(f"bin {number} to executor {executor}" for number, executor in self.bins.items())
        return f"plan {self.plan}: move {where or 'all bins to where they are even'}"


class Joined(_Said, frozen=True, tag="joined"):
    """Executors are there that no plan waits for: the cluster has replaced some that were lost, or was late."""

    plan: int
    executors: tuple[str, ...]

    def __str__(self) -> str:
        names = ", ".join(self.executors)
        return f"plan {self.plan}: executor {names} joined, which no plan waits for; state is spread over all executors"


class Resumed(_Said, frozen=True, tag="resumed"):
    """A plan was under way when the controller before this one ended."""

    plan: int
    executors: int

    def __str__(self) -> str:
        wanted = many(self.executors, "executor")
        return f"plan {self.plan} was under way when the controller before ended; wanted: {wanted}"


class Failed(_Said, frozen=True, tag="failed"):
    """A plan could not be carried out."""

    plan: int
    why: str

    def __str__(self) -> str:
        return f"plan {self.plan} could not be carried out: {self.why}"


Said: TypeAlias = (
    Gathering
    | Stale
    | Ignored
    | WaitingUntold
    | Held
    | Steady
    | Bounded
    | NotHelping
    | OtherPartitions
    | Planned
    | Proposed
    | Arrived
    | Short
    | Lost
    | AsPredicted
    | OffPrediction
    | Undone
    | DidNotHelp
    | Unjudged
    | GoingOn
    | Restarting
    | MovingState
    | Joined
    | Resumed
    | Failed
)
