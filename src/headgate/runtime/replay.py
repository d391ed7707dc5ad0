"""What another policy or setting would have decided on what a journal recorded.

Open loop: recorded batches and executors go through the pure controller, which may only advise. What its choice would
have done to the batches after it is not known and not made up; every batch is the one that ran on what was there.
"""

from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from headgate.control.actions import SetExecutors
from headgate.control.events import BatchSeen, ClusterSeen
from headgate.control.reducer import step
from headgate.control.said import Failed, Proposed, Steady
from headgate.control.settings import Settings
from headgate.control.state import State
from headgate.policies.pool import PoolPolicy
from headgate.runtime.entries import Began, Cluster, Entry, Intent, Needed, Seen, Spoke
from headgate.runtime.watched import watched


class Moment(msgspec.Struct, frozen=True):
    """Executors: there, wanted by who was in charge then, and wanted by who is asked now."""

    at: float
    there: int
    then: int
    would: int


class Replayed(msgspec.Struct, frozen=True):
    """Both stories side by side."""

    began: float
    ended: float
    batches: int
    differing: int
    """Batches after which the two wanted different numbers."""
    hours_there: float
    """Executor-hours."""
    hours_then: float
    hours_would: float
    moments: tuple[Moment, ...]
    """The first batch, and each after which either wanted another number than before."""


class Asked(msgspec.Struct, frozen=True):
    """Who is asked, and with which settings; both may depend on what was in use then."""

    policy: Callable[[Began], PoolPolicy]
    settings: Callable[[Settings], Settings] = lambda settings: settings


def replayed(entries: Iterable[Entry | Seen], asked: Asked) -> Replayed | None:
    """Both stories; None where no batch was recorded on executors that are known."""
    replay = _Replay(asked)
    for entry, watching in watched(entries):
        if watching:
            replay.take(entry)
        else:
            replay.look_away()
    replay.close()
    return replay.told()


class _Replay:
    """Goes through a journal once."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._settings = replace(asked.settings(Settings()), mode="advise")
        self._policy: PoolPolicy | None = None
        self._state = State()
        self._then: int | None = None
        self._advised = False
        """Whether that is advice that nobody has followed."""
        self._open: float | None = None
        """The time of the last batch: what was said about it then comes after it in the journal."""
        self._last: float | None = None
        self._all: list[float] = []
        self._batches = self._differing = 0
        self._hours = [0.0, 0.0, 0.0]
        self._moments: list[Moment] = []

    def take(self, entry: Entry | Seen) -> None:
        """One entry."""
        if isinstance(entry, Began):
            self._begin(entry)
            return
        self._pass_time(entry.at)
        match entry:
            case Seen() if self._policy is not None:
                self.close()
                self._open = entry.at
                event = BatchSeen(entry.at, entry.batch, entry.trigger)
                self._state = step(self._state, event, self._settings, self._policy).state
                self._lapse()
            case Cluster() if self._policy is not None:
                self.close()
                event_there = ClusterSeen(entry.at, entry.executors, entry.queries)
                self._state = step(self._state, event_there, self._settings, self._policy).state
                self._lapse()
            case Intent(action=SetExecutors() as action):
                self._then = action.executors
            case Spoke(said=Proposed() | Steady() as said):
                self._then, self._advised = said.executors, isinstance(said, Proposed)
            case Needed() if self._advised and entry.executors != self._then:
                self._then = None  # advice lapses when the need is another
            case Spoke(said=Failed()):
                self._then = None
            case _:
                pass

    def look_away(self) -> None:
        """Nobody knows what was there from the last entry on, until a controller begins."""
        self.close()
        self._last = None

    def close(self) -> None:
        """All has been said about the last batch: compare."""
        there = len(self._state.executors or ())
        if self._open is None or not there:
            return
        moment = Moment(self._open, there, self._then or there, self._state.proposal or there)
        self._all.append(self._open)
        self._open = None
        self._batches += 1
        self._differing += moment.then != moment.would
        before = self._moments[-1] if self._moments else None
        if before is None or (before.then, before.would) != (moment.then, moment.would):
            self._moments.append(moment)

    def told(self) -> Replayed | None:
        """The whole, once it is over."""
        if not self._all:
            return None
        there, then, would = self._hours
        return Replayed(
            self._all[0], self._all[-1], self._batches, self._differing, there, then, would, tuple(self._moments)
        )

    def _begin(self, entry: Began) -> None:
        """A new controller knows nothing of the batches before it; neither does the one that is asked."""
        self.close()
        self._policy = self._asked.policy(entry)
        self._settings = replace(self._asked.settings(entry.settings), mode="advise")
        self._state, self._then, self._last = State(), None, None

    def _lapse(self) -> None:
        """Advice that no longer holds is none: the need is another now, or what is there is what was advised."""
        state = self._state
        if state.proposal is None or not state.needs:
            return
        there, need = len(state.executors or ()), state.needs[-1][1]
        more = state.proposal > there
        if state.proposal == there or (more and need <= there) or (not more and need > state.proposal):
            self._state = replace(state, proposal=None)

    def _pass_time(self, now: float) -> None:
        there = len(self._state.executors or ())
        if self._last is not None and there:
            hours = max(0.0, now - self._last) / 3600
            for place, executors in enumerate((there, self._then or there, self._state.proposal or there)):
                self._hours[place] += hours * executors
        self._last = now
