"""Feeds the pure controller with what an engine shows, and carries out what it decides: intent first, then act."""

import time
from collections.abc import Callable

from msgspec.structs import replace

from headgate.control.actions import Action, SetExecutors
from headgate.control.events import ActionFailed, BatchSeen, ClusterSeen, Command, Event, Tick
from headgate.control.reducer import step
from headgate.control.said import Failed, Held, NotHelping, Resumed, Said
from headgate.control.settings import Settings
from headgate.control.state import Decided, Plan, State
from headgate.model.errors import InputError
from headgate.policies.pool import PoolPolicy
from headgate.ports import Engine
from headgate.runtime.entries import Began, Carried, Cluster, Ended, Entry, Intent, Needed, Seen, Spoke, Told
from headgate.runtime.journal import Journal
from headgate.runtime.recovery import Recovered, recovered

_TICK = 1.0


class Controller:
    """One application under control. `turn` is to be called over and over; nothing happens in between.

    `watch` is handed every entry as it is written, journal or not: what a terminal shows comes from there.
    """

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        policy: PoolPolicy,
        *,
        application: str = "",
        journal: Journal | None = None,
        watch: Callable[[Entry | Seen], object] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.engine, self.settings, self.policy, self.journal = engine, settings, policy, journal
        self.state = State()
        self._watch, self._clock = watch, clock
        self._ticked = 0.0
        self._left_undone: SetExecutors | None = None
        """What the controller before this one had begun: asked for once more at the first turn."""
        self._needed: int | None = None
        self._standing: frozenset[str] = frozenset()
        """What was said at the last batch: it is not said again while it stays true."""
        before = recovered(journal) if journal is not None else None
        self._note(Began(clock(), application, policy.name, settings))
        if before is not None:
            self._go_on(before)

    def turn(self, wait: float = 0.5) -> int:
        """Take in what there is; waits so many seconds for a batch. How many there were."""
        if self._left_undone is not None:
            undone, self._left_undone = self._left_undone, None
            self._note(Intent(self._clock(), undone))
            self._carry_out(undone)
        seen = self.engine.seen(wait)
        if self.state.executors is None:
            self._hear()  # what was asked for again, before a look that shows it to be there already
            self._look()
        # Batches first: they ended before this look at the executors, and say nothing about those that came since.
        for batch in seen:
            self.take(batch)
        self._hear()
        self._look()
        while self.journal is not None:
            # As of now: it may have lain there for long, and what it begins must not be late before it has begun.
            command = self.journal.take_command(self._clock())
            if command is None:
                break
            self.take(command, noted=True)
        if self._clock() - self._ticked >= _TICK:
            self._ticked = self._clock()
            self.take(Tick(self._ticked))
        return len(seen)

    def take(self, event: Event, *, noted: bool = False) -> None:
        """One event: write it down (if it is not yet), think, write down what is to be done, do it."""
        match event:
            case BatchSeen():
                self._note(Seen(event.at, event.batch, event.trigger))
            case ClusterSeen() if self._shows_another_cluster(event):
                self._note(Cluster(event.at, event.executors, event.queries))
            case Command():
                (self._watch if noted else self._note)(Told(event.at, event))
            case _:
                pass
        state, actions, said = step(self.state, event, self.settings, self.policy)
        self._say_need(event, state.last)
        self._say(event, said)
        for action in actions:
            self._note(Intent(self._clock(), action))
        # Only now: what could not be written down is not begun, and not believed to be.
        self.state = state
        for action in actions:
            self._carry_out(action)

    def end(self, why: str) -> None:
        """In order."""
        self._note(Ended(self._clock(), why))

    def _hear(self) -> None:
        """What came of what was to be done."""
        for told in self.engine.happened():
            if isinstance(told, ActionFailed):
                self.take(told)
            else:
                self._note(Carried(told.at, told.plan, told.what))

    def _look(self) -> None:
        """Who is there, changed or not: an executor lost while a plan was under way is missed when that is over."""
        self.take(ClusterSeen(self._clock(), self.engine.executors(), self.engine.queries()))

    def _shows_another_cluster(self, event: ClusterSeen) -> bool:
        """Other executors, or other queries on them."""
        queries = None if event.queries is None else frozenset(event.queries)
        return (event.executors, queries) != (self.state.executors, self.state.running)

    def _go_on(self, before: Recovered) -> None:
        """Where the controller before this one was."""
        now, limits = self._clock(), self.settings
        desired = None if before.desired is None else min(max(before.desired, limits.least), limits.most)
        old = now - before.last > limits.forgotten
        if before.under_way is None and (before.in_order or old):
            desired = None  # what was right when it ended says nothing about now
        self.state = State(desired=desired, plans=before.plans, paused=before.paused)
        if before.paused:
            self._note(Spoke(now, Held("paused")))
        if before.under_way is None or desired is None or before.paused or limits.mode == "advise":
            return
        if old:
            self.state = replace(self.state, desired=None)
            ago = f"it was begun by a controller that ended {(now - before.last) / 60:,.0f} minutes ago"
            self._note(Spoke(now, Failed(before.under_way, f"{ago}, which says nothing about now")))
            return
        plan = Plan(before.under_way, now, before.before or desired, desired, None, 0.0, 0.0)
        self.state = replace(self.state, plan=plan)
        self._left_undone = SetExecutors(before.under_way, desired)
        self._note(Spoke(now, Resumed(before.under_way, desired)))

    def _say_need(self, event: Event, last: Decided | None) -> None:
        """What the policy asks for, whenever that is something else than before."""
        if last is None or last.at != event.at:
            return
        if last.need != self._needed:
            self._needed = last.need
            self._note(Needed(event.at, last.need))

    def _say(self, event: Event, said: tuple[Said, ...]) -> None:
        for one in said:
            # What a person or a clock has asked for is answered, whatever was said before.
            if not isinstance(event, BatchSeen) or _gist(one) not in self._standing:
                self._note(Spoke(event.at, one))
        if isinstance(event, BatchSeen):
            self._standing = frozenset(map(_gist, said))

    def _carry_out(self, action: Action) -> None:
        try:
            self.engine.carry_out(action)
        except InputError as error:
            self.take(ActionFailed(self._clock(), action.plan, str(error)))

    def _note(self, entry: Entry | Seen) -> None:
        if self.journal is not None:
            self.journal.append(entry)
        self._watch(entry)


def _gist(said: Said) -> str:
    """What is said, without figures that differ from batch to batch."""
    return f"limit: {type(said.limit).__name__}" if isinstance(said, NotHelping) else str(said)
