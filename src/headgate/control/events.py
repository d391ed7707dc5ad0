"""What can happen to a controller. Everything comes through this door, each with its time in seconds."""

from typing import Literal, TypeAlias

import msgspec

from headgate.model.microbatch import Executor, MicroBatch


class BatchSeen(msgspec.Struct, frozen=True, eq=False):
    """A batch of a query is over."""

    at: float
    batch: MicroBatch


class ClusterSeen(msgspec.Struct, frozen=True):
    """Which executors are there; those that are on their way out are not."""

    at: float
    executors: tuple[Executor, ...]


class Tick(msgspec.Struct, frozen=True):
    """Time passed: silence is told from this."""

    at: float


class ActionFailed(msgspec.Struct, frozen=True):
    """An action of the plan under way could not be carried out."""

    at: float
    plan: int
    why: str


class Command(msgspec.Struct, frozen=True):
    """A person's word: hold everything, go on, carry out what was proposed, or have so many executors now."""

    at: float
    word: Literal["pause", "resume", "approve", "scale"]
    executors: int | None = None


Event: TypeAlias = BatchSeen | ClusterSeen | Tick | ActionFailed | Command
