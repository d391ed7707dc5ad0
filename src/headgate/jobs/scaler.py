"""A controller on a thread of its own: it looks, decides and acts in the background, and can be asked and told."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Literal, NamedTuple, Self

from headgate.control.events import Command
from headgate.control.settings import Settings
from headgate.model.errors import InputError, in_brief
from headgate.policies.pool import PoolPolicy
from headgate.runtime.controller import Controller
from headgate.runtime.entries import Carried, Ended, Entry, Seen, Spoke
from headgate.runtime.journal import Journal
from headgate.spark.engine import SparkEngine

_KEPT = 1000
_FAILURES = 5
"""Turns that may fail between two batches that went through; then the controller gives up, and the job goes on."""
_TURN = 0.25
_WORDS = ("pause", "resume", "approve", "scale")

_acting = dict[str, "Scaler"]()
"""Application -> who sizes it; two would undo each other's work."""


class Executors(NamedTuple):
    """Three different things."""

    desired: int | None
    """What the last decision wanted; None before the first."""
    requested: int | None
    """What the cluster was asked for and has not given yet; None if nothing is under way."""
    observed: int
    """What is there and ready."""


class Spoken(NamedTuple):
    """A decision, a reason or an outcome, in words."""

    at: float
    what: str


class Scaler:
    """From `start` to `stop`, or as a context manager. Whatever goes wrong in here, the queries go on."""

    def __init__(
        self,
        engine: SparkEngine,
        settings: Settings,
        policy: PoolPolicy,
        *,
        application: str,
        journal: Journal | str | os.PathLike[str] | None = None,
        watch: Callable[[Entry | Seen], object] | None = None,
    ) -> None:
        self._engine, self._settings, self._policy, self._watch = engine, settings, policy, watch
        self._journal = journal
        """Somebody else's, who closes it; or where it is to be, from `start` to `stop`."""
        self._said: deque[Spoken] = deque(maxlen=_KEPT)
        self._told: deque[Command] = deque()
        self._application = application
        self._controller: Controller | None = None
        """From `start` on: that one begins is written down, which nobody does who is refused."""
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._at_the_end = ExitStack()
        """What is to be let go of, closed and stopped."""
        self.problem: str | None = None
        """Why the controller gave up; None while it has not."""

    def start(self) -> Self:
        """Begin; once, until `stop`."""
        if self._stopping.is_set():
            raise InputError("this scaler was stopped, which is for good; attach another one")
        if self._thread is not None:
            return self
        with ExitStack() as undone:  # whoever tries again must find everything as it was
            self._take_application(undone)
            self._controller = self._begun(undone)
            thread = threading.Thread(target=self._work, args=(self._controller,), name="headgate-scaler", daemon=True)
            thread.start()
            self._thread, self._at_the_end = thread, undone.pop_all()
        return self

    def _take_application(self, undone: ExitStack) -> None:
        """Nobody else may size it from here on."""
        if self._settings.mode != "act":
            return
        if _acting.setdefault(self._application, self) is not self:
            raise InputError(
                "this application has a scaler already; stop that one first, give it all queries at once, or "
                'take advice alone (mode="advise")'
            )
        undone.callback(_acting.pop, self._application)

    def _begun(self, undone: ExitStack) -> Controller:
        """A controller that has written down that it begins, with eyes that are open."""
        journal = self._journal
        if journal is not None and not isinstance(journal, Journal):
            journal = undone.enter_context(Journal(journal))
        self._engine.start()
        undone.callback(self._engine.stop)
        return Controller(
            self._engine, self._settings, self._policy, application=self._application, journal=journal,
            watch=self._noted,
        )  # fmt: skip

    def stop(self) -> None:
        """Leave everything as it is from here on."""
        self._stopping.set()
        if self._thread is None or self._controller is None:
            return
        self._thread.join()
        self._thread = None
        with self._at_the_end:
            if self.problem is None and self._journal is not None:
                self._controller.end("stopped")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # To be asked.

    @property
    def executors(self) -> Executors:
        """Desired, requested, observed."""
        if self._controller is None:
            return Executors(None, None, 0)
        state = self._controller.state
        plan = state.plan
        asked = plan.executors if plan is not None and plan.arrived is None else None
        return Executors(state.desired, asked, len(state.executors or ()))

    @property
    def said(self) -> list[Spoken]:
        """The last decisions, reasons and outcomes, oldest first."""
        return list(self._said)

    # To be told.

    def tell(self, word: Literal["pause", "resume", "approve", "scale"], executors: int | None = None) -> None:
        """Hold everything, go on, carry out what was proposed, or have so many executors now: `tell("scale", 3)`."""
        if word not in _WORDS:
            raise InputError(f'tell("{word}"): give "pause", "resume", "approve", or "scale" and a number')
        if self._stopping.is_set():
            raise InputError(f'tell("{word}"): this scaler was stopped and takes no word any more; attach another one')
        self._told.append(Command(time.time(), word, executors))

    # On a thread of its own.

    def _work(self, controller: Controller) -> None:
        failures = 0
        while not self._stopping.is_set():
            try:
                while self._told:
                    controller.take(self._told.popleft())
                if controller.turn(_TURN):
                    failures = 0  # only a batch that went through shows that all is well again
            except Exception as problem:  # the job must not suffer from its controller
                if self._stopping.is_set():
                    return
                failures += 1
                said = in_brief(problem)
                self._said.append(Spoken(time.time(), f"the controller failed: {said}"))
                if failures >= _FAILURES:
                    self.problem = said
                    self._give_up(controller, f"gave up: {said}")
                    return
                self._stopping.wait(_TURN * 4)

    def _give_up(self, controller: Controller, why: str) -> None:
        """Nobody feeds the hands from here on: what they do would be done blindly."""
        try:
            controller.end(why)
        except Exception:  # where nothing can be written down, whoever looks on is told all the same
            self._noted(Ended(time.time(), why))
        with suppress(Exception):
            self._engine.stop()

    def _noted(self, entry: Entry | Seen) -> None:
        if isinstance(entry, Spoke):
            self._said.append(Spoken(entry.at, str(entry.said)))
        elif isinstance(entry, Carried):
            self._said.append(Spoken(entry.at, f"plan {entry.plan}: {entry.what}" if entry.plan else entry.what))
        if self._watch is not None:
            with suppress(Exception):  # whoever looks on must not disturb
                self._watch(entry)
