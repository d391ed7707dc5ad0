"""What the user wants of a job. Policies are handed an objective; they do not have one of their own."""

from typing import TypeAlias

import msgspec
from msgspec.structs import force_setattr

from headgate.model.durations import seconds
from headgate.model.errors import InputError

MOST_HEADROOM = 1_000_000


class KeepUp(msgspec.Struct, frozen=True, tag="keep-up", tag_field="objective"):
    """Process records as fast as they arrive, with `headroom` more than the bare need (0.2: a fifth more).

    DS2 calls the headroom its scaling factor.

    >>> KeepUp(headroom=0.2).headroom
    0.2
    """

    headroom: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is no headroom."""
        if not (isinstance(self.headroom, int | float) and 0.0 <= self.headroom <= MOST_HEADROOM):
            raise InputError(f"headroom is {self.headroom}; give a number from 0 to {MOST_HEADROOM:,}, such as 0.2")


class Freshness(msgspec.Struct, frozen=True, tag="freshness", tag_field="objective"):
    """Results at most so old: the longest time from a record's arrival to its result.

    >>> Freshness("10s").within
    10.0
    """

    within: float | str

    def __post_init__(self) -> None:
        """Take it as people write it, keep it in seconds."""
        force_setattr(self, "within", seconds(self.within))


class CatchUp(msgspec.Struct, frozen=True, tag="catch-up", tag_field="objective"):
    """Keep up, and have whatever waits gone after this time.

    >>> CatchUp("5m").within
    300.0
    """

    within: float | str

    def __post_init__(self) -> None:
        """Take it as people write it, keep it in seconds."""
        force_setattr(self, "within", seconds(self.within))


Objective: TypeAlias = KeepUp | Freshness | CatchUp


def stricter(objective: Objective, margin: float) -> Objective:
    """The same with something to spare: what must hold before executors are given back.

    >>> stricter(KeepUp(headroom=0.2), 0.1), stricter(Freshness("10s"), 0.1)
    (KeepUp(headroom=0.32), Freshness(within=9.0))
    """
    if isinstance(objective, KeepUp):
        return KeepUp(headroom=round((1 + objective.headroom) * (1 + margin) - 1, 12))
    return type(objective)(float(objective.within) * (1 - margin))
