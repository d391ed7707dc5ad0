"""What one event comes to."""

from typing import NamedTuple

from headgate.control.actions import Action
from headgate.control.said import Said
from headgate.control.state import State


class Step(NamedTuple):
    """The outcome of one event."""

    state: State
    actions: tuple[Action, ...] = ()
    said: tuple[Said, ...] = ()

    def then(self, more: "Step") -> "Step":
        """One after the other."""
        return Step(more.state, self.actions + more.actions, self.said + more.said)
