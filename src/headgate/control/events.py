"""What can happen to a controller. Everything comes through this door, each with its time in seconds."""

from typing import Literal, TypeAlias, get_args

import msgspec

from headgate.control.actions import Layout
from headgate.model.errors import InputError, did_you_mean
from headgate.model.microbatch import Executor, MicroBatch
from headgate.model.migration import Strategy


class BatchSeen(msgspec.Struct, frozen=True, eq=False):
    """A batch of a query is over."""

    at: float
    batch: MicroBatch
    trigger: float | None = None
    """The query's fixed interval in seconds, where the engine says."""


class ClusterSeen(msgspec.Struct, frozen=True):
    """Which executors are there (those that are on their way out are not), and which queries run on them."""

    at: float
    executors: tuple[Executor, ...]
    queries: tuple[str, ...] | None = None
    """Those that run in the application, looked after or not; None where the engine does not say."""


class Tick(msgspec.Struct, frozen=True):
    """Time passed: silence is told from this."""

    at: float


class ActionFailed(msgspec.Struct, frozen=True):
    """An action of the plan under way could not be carried out."""

    at: float
    plan: int
    why: str


Word: TypeAlias = Literal["pause", "resume", "approve", "scale", "restart", "move"]
WORDS: tuple[Word, ...] = get_args(Word)
_MOST = 100_000
"""Executors that anybody may ask for."""


class Command(msgspec.Struct, frozen=True):
    """A person's word: hold all, go on, carry out what was proposed, so many executors, start again, move state.

    >>> str(Command(0.0, "scale", 6)), str(Command(0.0, "move", bins={3: "1"}))
    ('scale 6', 'move 3=1')
    """

    at: float
    word: Word
    executors: int | None = None
    layout: Layout = Layout()
    strategy: Strategy | None = None
    """In which steps state moves; None for the usual way."""
    bins: dict[int, str] = {}
    """Bin -> the executor it is to live on; empty for all of them, evenly."""

    def __post_init__(self) -> None:
        """Refuse what is no word, and a number where none belongs: it would stand in the journal for good."""
        if self.word not in WORDS:
            raise InputError(f'"{self.word}" is no word for a controller{did_you_mean(str(self.word), WORDS)}')
        if self.word != "scale":
            if self.executors is not None:
                raise InputError(f"{self.word} takes no number of executors; only scale does")
        elif self.executors is None:
            raise InputError("scale needs a number of executors")
        elif not isinstance(self.executors, int) or not 1 <= self.executors <= _MOST:
            raise InputError(f"{self.executors} executors: give a number from 1 to {_MOST:,}")

    def __str__(self) -> str:
        """As a person would say it."""
        if self.word == "restart":
            return f"restart {self.layout}"
        if self.word == "move":
            bins = [f"{number}={executor}" for number, executor in self.bins.items()]
            return " ".join(["move", *(bins or ["all bins"]), *([f"({self.strategy})"] if self.strategy else [])])
        return self.word if self.executors is None else f"{self.word} {self.executors}"


Event: TypeAlias = BatchSeen | ClusterSeen | Tick | ActionFailed | Command
