"""What can happen to a controller. Everything comes through this door, each with its time in seconds."""

from typing import Literal, TypeAlias

import msgspec

from headgate.control.actions import Layout
from headgate.model.microbatch import Executor, MicroBatch
from headgate.model.migration import Strategy


class BatchSeen(msgspec.Struct, frozen=True, eq=False):
    """A batch of a query is over."""

    at: float
    batch: MicroBatch
    trigger: float | None = None
    """The query's fixed interval in seconds, where the engine says."""


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
    """A person's word: hold all, go on, carry out what was proposed, so many executors, start again, move state."""

    at: float
    word: Literal["pause", "resume", "approve", "scale", "restart", "move"]
    executors: int | None = None
    layout: Layout = Layout()
    strategy: Strategy | None = None
    """In which steps state moves; None for the usual way."""
    bins: dict[int, str] = {}
    """Bin -> the executor it is to live on; empty for all of them, evenly."""


Event: TypeAlias = BatchSeen | ClusterSeen | Tick | ActionFailed | Command
