"""What a policy is: a pure function of what it remembers, what was measured, what is wanted, and the time.

A policy keeps nothing between calls. What it must remember is a value it is handed and hands back; it must
survive a trip through JSON, so that a controller that dies can be started again where it was.
"""

from typing import Any, Protocol, runtime_checkable

from headgate.model.decision import Decision
from headgate.model.estimate import Estimate
from headgate.model.objective import KeepUp


@runtime_checkable
class Policy(Protocol):
    """Anything with these three members is a policy; there is nothing to inherit from.

    >>> class Keep:
    ...     name = "keep"
    ...     def start(self): return None
    ...     def decide(self, memory, estimate, objective, now):
    ...         return memory, Decision.resize(self.name, estimate, {})
    >>> isinstance(Keep(), Policy)
    True
    """

    @property
    def name(self) -> str:
        """The name its decisions carry."""
        ...

    def start(self) -> Any:
        """What it remembers before the first call; None if it needs no memory."""
        ...

    def decide(self, memory: Any, estimate: Estimate, objective: KeepUp, now: float) -> tuple[Any, Decision]:
        """One decision, and what to remember for the next call. `now` is in seconds."""
        ...
