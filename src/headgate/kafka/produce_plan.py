"""What is to be written to a topic, and how far that is."""

from collections.abc import Mapping

import msgspec

from headgate.kafka.address import Address


class ProducePlan(msgspec.Struct, frozen=True):
    """What is to be written, where to, and how fast."""

    workload: str
    """By the name of its source."""
    to: Address
    load: str | None
    """None: as fast as it goes."""
    events: int | None
    """So many, from the first on. None: until somebody stops it."""
    processes: int = 1
    options: Mapping[str, str] = {}
    """Of the workload's source."""
    first: int = 0
    """The number of the event that it begins with, when the load does."""


class Progress(msgspec.Struct, frozen=True):
    """How far it is."""

    seconds: float
    """Since the load began; in the end, up to when the last event was delivered."""
    delivered: int
    due: int | None
    """By the load; None without one."""
