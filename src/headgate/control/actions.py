"""What a controller asks its engine to do. Each names the plan it belongs to; none is done by the controller itself."""

from typing import TypeAlias

import msgspec

from headgate.model.migration import Strategy


class SetExecutors(msgspec.Struct, frozen=True, tag="set-executors", tag_field="action"):
    """Have so many executors, whatever it takes: ask for more, or empty and release some."""

    plan: int
    executors: int


class StopAsking(msgspec.Struct, frozen=True, tag="stop-asking", tag_field="action"):
    """Ask the cluster for no more executors than it has given; those that are there stay, ready or not yet."""

    plan: int


class SpreadBins(msgspec.Struct, frozen=True, tag="spread-bins", tag_field="action"):
    """Spread the state of a query evenly over the executors that are there; or put some bins where they are told."""

    plan: int
    query: str
    strategy: Strategy | None = None
    """In which steps; None for the usual way."""
    to: dict[int, str] = {}
    """Bin -> executor, by hand; empty for all of them, evenly."""


class Layout(msgspec.Struct, frozen=True):
    """What of a job only a restart can change; what is not given stays as it is."""

    parallelism: dict[str, int] = {}
    """Exchange -> partitions."""
    cores: int | None = None
    """Of each executor."""
    memory: str | None = None
    """Of each executor."""

    @property
    def needs_another_application(self) -> bool:
        """Executors have their size for life."""
        return self.cores is not None or self.memory is not None

    def then(self, other: "Layout") -> "Layout":
        """Both changes, the other after this one.

        >>> Layout({"parse": 2}, cores=1).then(Layout({"parse": 4}, memory="2g"))
        Layout(parallelism={'parse': 4}, cores=1, memory='2g')
        """
        return Layout({**self.parallelism, **other.parallelism}, other.cores or self.cores, other.memory or self.memory)

    def __str__(self) -> str:
        given = [f"{name}={number}" for name, number in self.parallelism.items()]
        given += [f"cores={self.cores}"] if self.cores is not None else []
        given += [f"memory={self.memory}"] if self.memory is not None else []
        return ", ".join(given) or "nothing changed"


class Restart(msgspec.Struct, frozen=True, tag="restart", tag_field="action"):
    """Drain the job at the end of a batch and start it again, laid out otherwise."""

    plan: int
    layout: Layout


Action: TypeAlias = SetExecutors | StopAsking | SpreadBins | Restart
