"""The oracle as a policy: it goes by a schedule that was made with the whole load known.

Not in the registry: nobody can ask for it where the future is not known.
"""

from typing import NamedTuple

from headgate.model.columns import Ints
from headgate.model.objective import Objective
from headgate.policies.pool import Evidence, PoolAnswer


class OraclePolicy(NamedTuple):
    """Asks for executors so early that they are there in time."""

    sizes: Ints
    """Executors, one a step."""
    step: float
    """Seconds. What comes in a step is processed in the next."""
    joining: float

    @property
    def name(self) -> str:
        """The name its answers carry."""
        return "oracle"

    def start(self) -> None:
        """Nothing to remember."""
        return

    def size(self, memory: None, evidence: Evidence, objective: Objective, now: float) -> tuple[None, PoolAnswer]:
        """The most that the schedule has from the next batch on until whoever is asked for next time would be there."""
        del objective
        next_batch = int(now // self.step)
        last_chance = int((now + self.step + self.joining) // self.step)
        ahead = self.sizes[next_batch : last_chance + 1]
        executors = int(ahead.max()) if ahead.size else len(evidence.executors)
        return memory, PoolAnswer(self.name, executors)
