"""The door to the world: what a controller needs of an engine."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from headgate.control.actions import Action
from headgate.control.events import ActionFailed, BatchSeen
from headgate.model.microbatch import Executor


class Done(msgspec.Struct, frozen=True):
    """A part of an action that was carried out, in words."""

    at: float
    plan: int
    what: str


class Engine(Protocol):
    """Something that runs queries and can be asked for other executors."""

    def seen(self, timeout: float) -> Sequence[BatchSeen]:
        """Batches that came to their end since the last call; waits so many seconds for the first."""
        ...

    def executors(self) -> tuple[Executor, ...]:
        """The executors that are there and ready for work."""
        ...

    def queries(self) -> tuple[str, ...] | None:
        """Ids of all queries that run on these executors, looked after or not; None where nobody can say."""
        ...

    def carry_out(self, action: Action) -> None:
        """Begin to; returns at once. What comes of it is in `happened`."""
        ...

    def happened(self) -> Sequence[Done | ActionFailed]:
        """What was done of actions since the last call."""
        ...
