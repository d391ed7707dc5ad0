"""The `static` policy: what is there is right. For jobs that only people resize, and to compare others with.

    executors = those that are there

Source: none; it is what every published comparison has beside its policies.
"""

from typing import ClassVar

import msgspec

from headgate.model.objective import Objective
from headgate.policies.pool import Evidence, PoolAnswer


class Static(msgspec.Struct, frozen=True):
    """Never asks for a change."""

    needs: ClassVar[tuple[str, ...]] = ()

    @property
    def name(self) -> str:
        """The name its answers carry."""
        return "static"

    def start(self) -> None:
        """Nothing to remember."""
        return

    def size(self, memory: None, evidence: Evidence, objective: Objective, now: float) -> tuple[None, PoolAnswer]:
        """As many as there are."""
        del objective, now
        return memory, PoolAnswer(self.name, len(evidence.executors))
