"""A journal as lines that a person reads: what was decided, why, what was done, and what came of it.

Every plan's prediction stands beside what was measured later. Most of what a controller says is that it waits or that
all is well: such lines are marked as routine, and whoever shows them can leave them out.
"""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from headgate.control.actions import Restart, SetExecutors, SpreadBins, StopAsking
from headgate.control.said import (
    Arrived,
    AsPredicted,
    DidNotHelp,
    Failed,
    Gathering,
    Held,
    Joined,
    Lost,
    MovingState,
    OffPrediction,
    Planned,
    Proposed,
    Restarting,
    Resumed,
    Said,
    Short,
    Steady,
    Undone,
)
from headgate.control.settings import Settings
from headgate.model.objective import CatchUp, Freshness, Objective
from headgate.model.reasons import many, number
from headgate.runtime.entries import Began, Carried, Cluster, Ended, Entry, Intent, Needed, Spoke, Told

Kind: TypeAlias = Literal[
    "began", "ended", "decision", "reason", "outcome", "intent", "done", "told", "executors", "need"
]


class Line(msgspec.Struct, frozen=True):
    """One line, with its time in seconds since 1970."""

    at: float
    kind: Kind
    what: str
    plan: int | None = None
    """The plan it belongs to."""
    predicted: float | None = None
    """Seconds a batch should take, by the plan."""
    measured: float | None = None
    """Seconds it took then, as far as that was found out."""
    routine: bool = False
    """Waiting, steadiness, and what another line says already."""


def chronicle(entries: Iterable[Entry]) -> list[Line]:
    """All lines, oldest first."""
    writer = _Writer()
    for entry in entries:
        writer.take(entry)
    return [writer.with_outcome(line) for line in writer.lines]


class _Writer:
    """Knows what a line needs to know of those around it."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._measured: dict[int, float] = {}
        self._under_way: int | None = None
        self._running = False
        self._answering = False
        """The entry before was a person's word: what is said now answers it."""

    def take(self, entry: Entry) -> None:
        """One more."""
        self.lines.append(self._line(entry))
        self._answering = isinstance(entry, Told)

    def with_outcome(self, line: Line) -> Line:
        """A plan's own line, with what was measured later."""
        if line.plan is None or line.predicted is None or line.measured is not None:
            return line
        return replace(line, measured=self._measured.get(line.plan))

    def _line(self, entry: Entry) -> Line:  # noqa: PLR0911 - one a kind
        match entry:
            case Began():
                cut_off = "; the one before it left no word of its end" if self._running else ""
                self._running = True
                what = f"a controller began: {entry.policy}, {settings_in_words(entry.settings)}{cut_off}"
                return Line(entry.at, "began", what)
            case Ended():
                self._running = False
                return Line(entry.at, "ended", f"the controller ended: {entry.why}")
            case Cluster():
                return Line(entry.at, "executors", _there(entry), routine=True)
            case Needed():
                return Line(entry.at, "need", f"the policy asks for {many(entry.executors, 'executor')}", routine=True)
            case Spoke():
                return self._spoken(entry.at, entry.said)
            case Intent():
                return self._intended(entry)
            case Carried():
                return Line(entry.at, "done", entry.what, entry.plan or None)
            case Told():
                return Line(entry.at, "told", f"told to {entry.command}")

    def _intended(self, entry: Intent) -> Line:
        action = entry.action
        match action:
            case SetExecutors():
                self._under_way = action.plan
                if self.lines and self.lines[-1].kind == "decision" and self.lines[-1].plan is None:
                    self.lines[-1] = replace(self.lines[-1], plan=action.plan)  # executors were lost: this is the plan
                what = f"to be done: have {many(action.executors, 'executor')}"
            case StopAsking():
                what = "to be done: ask for no more executors than there are"
            case SpreadBins():
                what = f"to be done: {'move' if action.to else 'spread'} the state of {action.query}"
            case Restart():
                what = f"to be done: restart with {action.layout}"
        return Line(entry.at, "intent", what, action.plan, routine=True)

    def _spoken(self, at: float, said: Said) -> Line:  # noqa: PLR0911 - one a kind
        match said:
            case Planned():
                what = f"{said.now} -> {many(said.executors, 'executor')}"
                return Line(at, "decision", what, said.plan, predicted=said.expected)
            case Proposed():
                what = f"advice: {said.now} -> {many(said.executors, 'executor')}"
                return Line(at, "decision", what, predicted=said.expected)
            case Undone():
                self._measured[said.plan] = said.after
                return Line(at, "decision", str(said), said.plan, measured=said.after)
            case AsPredicted() | OffPrediction():
                self._measured[said.plan] = said.measured
                return Line(at, "outcome", _without_plan(said, said.plan), said.plan, said.expected, said.measured)
            case Lost():
                return Line(at, "decision", str(said))
            case Resumed():
                return Line(at, "decision", str(said), said.plan)
            case Restarting() | MovingState() | Joined():
                return Line(at, "decision", _without_plan(said, said.plan), said.plan)
            case Arrived() | Failed() | DidNotHelp():
                return Line(at, "outcome", _without_plan(said, said.plan), said.plan)
            case Short():
                return Line(at, "outcome", str(said), self._under_way)
            case Gathering() | Steady():
                return Line(at, "reason", str(said), routine=True)
            case Held():
                return Line(at, "reason", str(said), routine=not self._answering)
            case _:
                return Line(at, "reason", str(said))


def settings_in_words(settings: Settings) -> str:
    """What matters most of them.

    >>> settings_in_words(Settings(mode="advise"))
    'keep up with 20 % to spare, 1 to 8 executors, advice only'
    """
    advice = ", advice only" if settings.mode == "advise" else ""
    return f"{objective_in_words(settings.objective)}, {settings.least} to {many(settings.most, 'executor')}{advice}"


def objective_in_words(objective: Objective) -> str:
    """What is wanted.

    >>> objective_in_words(Freshness("10s")), objective_in_words(CatchUp("5m"))
    ('results within 10 s', 'caught up within 300 s')
    """
    if isinstance(objective, Freshness):
        return f"results within {number(float(objective.within))} s"
    if isinstance(objective, CatchUp):
        return f"caught up within {number(float(objective.within))} s"
    return "keep up" + (f" with {number(round(100 * objective.headroom, 4))} % to spare" if objective.headroom else "")


def _there(entry: Cluster) -> str:
    if not entry.executors:
        return "no executor is there"
    names = ", ".join(executor.id for executor in entry.executors)
    return f"{many(len(entry.executors), 'executor')} there: {names}"


def _without_plan(said: Said, plan: int) -> str:
    """The line has the number already."""
    return str(said).removeprefix(f"plan {plan}: ").removeprefix(f"plan {plan} ")
