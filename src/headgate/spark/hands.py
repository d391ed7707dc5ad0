"""Carries out actions on a live application, one after the other, on a thread of its own.

Everything that touches a running batch waits for a boundary: the moment after a batch was reported. Growing: ask, wait
for executors as they register, warm each before it counts. Shrinking: move bins off those that will leave, see that the
next batch ran elsewhere, give them no more tasks, let them go when no batch needs what they hold. Nothing here is
raised into the query. A newer action ends the waiting of the one under way: what was wanted then is no longer wanted.
"""

import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.control.actions import Action, SetExecutors, SpreadBins, StopAsking
from headgate.control.events import ActionFailed
from headgate.model.bins import whereabouts
from headgate.model.errors import HeadgateError, in_brief
from headgate.model.microbatch import Executor, MicroBatch
from headgate.ports import Done
from headgate.spark.bins import bin_bytes
from headgate.spark.bins import place as place_bins
from headgate.spark.boundaries import Boundaries
from headgate.spark.internals.capabilities import can_decommission, can_place_bins
from headgate.spark.internals.executors import (
    ExecutorList,
    ask_to_leave,
    give_no_more_tasks,
    kill_executors,
    leaves_gracefully,
    request_executors,
)
from headgate.spark.moving import Moving, Query, Way
from headgate.spark.tasks_at_home import TasksAtHome
from headgate.spark.warming import warm_executors

_GLANCE = 0.2
_IDLE_GLANCE = 1.0


class Patience(NamedTuple):
    """Seconds."""

    boundary: float = 60.0
    """For the end of a batch, at the least: a query without input has none, and is then at a boundary already. Where
    batches are longer or further apart, it is three times that."""
    joining: float = 300.0
    """For executors to come, before this hand lets go; the controller decides earlier that it is short of them."""
    leaving: float = 90.0


class _Superseded(Exception):  # noqa: N818 - not an error
    """Another action was asked for, or the hands are to stop."""


class Hands:
    """From `start` to `stop`."""

    def __init__(
        self,
        spark: SparkSession,
        running: Callable[[], Sequence[StreamingQuery]],
        *,
        warm: bool = True,
        way: Way = Way(),  # noqa: B008 - a value
        patience: Patience = Patience(),  # noqa: B008 - a value
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._spark, self._running, self._warm, self._patience, self._clock = spark, running, warm, patience, clock
        self._moving = Moving(way)
        self._can_place, self._can_decommission = can_place_bins(spark), can_decommission(spark)
        self._todo: queue.SimpleQueue[tuple[int, Action] | None] = queue.SimpleQueue()
        self._wishes = 0
        """How often a number of executors was asked for; whatever came before the last one is out of date."""
        self._of_wish = 0
        """The one that the action under way belongs to."""
        self._under_way = False
        self._happened: deque[Done | ActionFailed] = deque()
        self._there = ExecutorList(spark)
        self._ready: set[str] = {executor.id for executor in self._there.active()}
        self._wanted: int | None = None
        """Executors that were asked for last; None before, and where what is there is what is wanted."""
        self._leaving: set[str] = set()
        """Asked to leave and still there: they take no work, but nobody may say that they are gone."""
        self._glanced: tuple[float, tuple[Executor, ...]] = (0.0, ())
        self._boundaries = Boundaries(running, patience.boundary)
        self._at_home = TasksAtHome(spark)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Ready for actions."""
        self._thread = threading.Thread(target=self._work, name="headgate-hands", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Leave what is under way as it is; the query's own settings are as they were."""
        self._stopping.set()
        self._todo.put(None)
        self._boundaries.wake()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        with suppress(Py4JError, OSError):  # the session is gone, and its settings with it
            self._at_home.as_before()

    # From the controller's thread.

    def carry_out(self, action: Action) -> None:
        """Put it in the queue. Executors asked for anew end the waiting for those asked for before."""
        self._wishes += isinstance(action, SetExecutors | StopAsking)
        self._todo.put((self._wishes, action))
        self._boundaries.wake()

    def happened(self) -> list[Done | ActionFailed]:
        """What came of actions since the last call."""
        told = []
        while self._happened:
            told.append(self._happened.popleft())
        return told

    def saw(self, batch: MicroBatch) -> None:
        """A batch is over: a boundary, and where tasks really ran."""
        self._boundaries.saw(batch)

    def executors(self) -> tuple[Executor, ...]:
        """Those that are there and warm; looked for now and then, more often while something is under way."""
        at, seen = self._glanced
        if time.monotonic() - at < (_GLANCE if self._under_way else _IDLE_GLANCE):
            return seen
        return self._look()

    # On a thread of its own.

    def _look(self) -> tuple[Executor, ...]:
        active = {executor.id for executor in self._there.active()}
        listed = self._there.listed()
        seen = tuple(one for one in listed if one.id in self._leaving or (one.id in active and one.id in self._ready))
        self._at_home.wait_for_nobody_who_is_gone({one.id for one in listed}, self._homes)
        self._glanced = time.monotonic(), seen
        return seen

    def _homes(self) -> set[str]:
        """Executors that hold bins."""
        last = self._boundaries.last_of_each()
        return {home for batch in last for some in whereabouts(batch).values() for home in some}

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                asked = self._todo.get(timeout=_IDLE_GLANCE)
            except queue.Empty:
                self._welcome_strangers()
                continue
            if asked is None:
                continue
            self._of_wish, action = asked
            self._under_way = True
            try:
                self._boundaries.forget_who_has_ended()
                if isinstance(action, SetExecutors):
                    self._set_executors(action)
                elif isinstance(action, StopAsking):
                    self._ask_for_no_more()
                elif isinstance(action, SpreadBins):
                    self._spread(action)
            except _Superseded:
                pass
            except Exception as problem:  # a hand that fails must not fail the query
                self._failed(action, problem)
            finally:
                self._under_way = False

    def _failed(self, action: Action, problem: Exception) -> None:
        if self._stopping.is_set():
            return
        if isinstance(action, SetExecutors):
            with suppress(Exception):
                self._ask_for_no_more()
        self._happened.append(ActionFailed(self._clock(), action.plan, in_brief(problem)))

    def _ask_for_no_more(self) -> None:
        """What was asked for is not waited for any more: take it back, but for a job that has nobody left."""
        there = len(self._there.active())
        self._wanted = None
        if there:
            request_executors(self._spark, there)

    def _tell(self, plan: int, what: str) -> None:
        self._happened.append(Done(self._clock(), plan, what))

    @property
    def _superseded(self) -> bool:
        return self._stopping.is_set() or self._of_wish != self._wishes

    def _still(self) -> None:
        """Go on only while what is under way is what is wanted."""
        if self._superseded:
            raise _Superseded

    def _set_executors(self, action: SetExecutors) -> None:
        there, self._wanted = self._there.active(), action.executors
        if action.executors < len(there):
            self._shrink(action, there)
        else:
            self._grow(action)

    def _grow(self, action: SetExecutors) -> None:
        self._still()
        began = time.monotonic()
        request_executors(self._spark, action.executors)
        self._tell(action.plan, f"asked the cluster for {action.executors} executors in all")
        while len(self._look()) < action.executors:
            self._still()
            if time.monotonic() - began > self._patience.joining:
                return  # the controller has said by now that the cluster is short of executors
            if not self._welcome(action.plan, time.monotonic() - began):
                self._stopping.wait(_GLANCE)

    def _welcome_strangers(self) -> None:
        """Executors that nobody has asked for: the cluster has replaced one that was lost, or was slow to begin."""
        with suppress(Exception):  # the next look may be better
            self._send_away_who_is_too_many()
            self._welcome(0, None)

    def _send_away_who_is_too_many(self) -> None:
        """One that was to leave was lost before it was asked to, and the cluster has replaced it: nobody needs that."""
        there = self._there.active()
        new = [one for one in there if one.id not in self._ready]
        many = 0 if self._wanted is None else len(there) - self._wanted
        if new and many > 0:
            names = [one.id for one in new[-many:]]
            self._let_go(names)
            self._tell(0, f"executor {', '.join(names)} came, which nobody wants any more: asked to leave")

    def _welcome(self, plan: int, waited: float | None) -> bool:
        """Warm executors that are new here; whether there were any."""
        new = [one for one in self._there.active() if one.id not in self._ready]
        if not new:
            return False
        names = ", ".join(one.id for one in new)
        self._tell(plan, f"executor {names} registered" + ("" if waited is None else f" after {waited:.1f} s"))
        if self._warm:
            try:
                self._tell(plan, f"warmed executor {names} in {warm_executors(self._spark, new):.1f} s")
            except Exception as problem:  # cold is slower, not wrong
                self._tell(plan, f"could not warm executor {names}: {in_brief(problem)}")
        self._ready.update(one.id for one in new)
        self._look()
        return True

    def _shrink(self, action: SetExecutors, there: Sequence[Executor]) -> None:
        request_executors(self._spark, action.executors)  # first, or the cluster replaces those that leave or are lost
        for query in self._running():
            self._see_a_batch(query)
        leaving = self._cheapest_to_lose(there, len(there) - action.executors)
        staying = [one for one in there if one not in leaving]
        names = ", ".join(one.id for one in leaving)
        for query in self._running():
            before = self._boundaries.ended(str(query.id))
            told = self._settle(action, query, staying)
            # A batch that came since has shown where bins are; without one, what they were told is what counts.
            shown = self._boundaries.ended(str(query.id)) > before
            self._refuse_to_lose_bins(str(query.id), {one.id for one in leaving}, set() if shown else told)
        ids = {one.id for one in leaving}
        self._leaving |= ids
        try:
            gracefully = self._let_go(sorted(ids))
        except _Superseded:  # nobody was asked yet
            self._leaving -= ids
            raise
        if gracefully:
            self._tell(action.plan, f"asked executor {names} to leave")
        else:
            why = "spark.decommission.enabled is off" if self._can_decommission else "this Spark cannot let them leave"
            self._tell(action.plan, f"ended executor {names} ({why})")
        began = time.monotonic()
        while ids & {one.id for one in self._there.listed()}:
            if time.monotonic() - began > self._patience.leaving:
                self._leaving -= ids
                raise HeadgateError(f"executor {names} did not leave within {self._patience.leaving:.0f} s")
            self._still()
            self._stopping.wait(_GLANCE)
        self._leaving -= ids
        self._look()

    def _let_go(self, ids: list[str]) -> bool:
        """Have them leave when no batch needs them any more; False where they are ended, since they cannot be asked to.

        A batch that runs now may have left the output of its first stage on them, and tasks of its next stage have been
        told to read it there: an executor that leaves meanwhile fails them, although it hands everything over. Waited
        for are batches of queries that are looked after; those of others are run again in part.
        """
        self._still()
        if self._can_decommission:
            give_no_more_tasks(self._spark, ids)
            # Whatever is wanted meanwhile, they cannot be given tasks again: they go, and no sooner for that.
            self._boundaries.let_those_under_way_end(self._stopping.is_set)
            if leaves_gracefully(self._spark):
                ask_to_leave(self._spark, ids)
                return True
        else:
            self._boundary()
        kill_executors(self._spark, ids)
        if self._wanted is not None:
            request_executors(self._spark, self._wanted)
        return False

    def _refuse_to_lose_bins(self, query: str, leaving: set[str], told: set[int]) -> None:
        """Executors that leave are emptied first, or stay; bins that were told to move count as moved."""
        seen = self._boundaries.batches(query)
        if not seen:
            return  # no batch came while we waited for one: nothing runs that could have state there
        last = seen[-1]
        left = sorted(number for number, there in whereabouts(last).items() if there & leaving and number not in told)
        if left:
            raise HeadgateError(f"bins {', '.join(map(str, left))} of {last.name} are still on executors that leave")

    def _cheapest_to_lose(self, there: Sequence[Executor], count: int) -> list[Executor]:
        """Those that hold fewest bins; of equals the newest."""
        last = self._boundaries.last_of_each()
        holding = Counter(home for batch in last for there in whereabouts(batch).values() for home in there)
        ordered = sorted(enumerate(there), key=lambda one: (holding[one[1].id], -one[0]))
        return [executor for _, executor in ordered[:count]]

    def _spread(self, action: SpreadBins) -> None:
        query = next((one for one in self._running() if str(one.id) == action.query), None)
        if query is None:
            raise HeadgateError("the query does not run now; its bins stay where they are")
        if not self._see_a_batch(query):
            raise HeadgateError("no batch has shown yet where its bins are; say it again when one is over")
        active = {executor.id for executor in self._there.active()}
        self._settle(action, query, [one for one in self._look() if one.id in active])

    def _see_a_batch(self, query: StreamingQuery) -> bool:
        """Wait for one where none was seen: a query that has run for long may have bins anywhere."""
        id = str(query.id)
        return bool(self._boundaries.batches(id)) or self._boundary(id)

    def _settle(
        self, action: SetExecutors | SpreadBins, query: StreamingQuery, executors: Sequence[Executor]
    ) -> set[int]:
        """Put the bins of a query on these executors, and see that they went there; the bins that were told to go."""
        id, told = str(query.id), set[int]()
        last = self._boundaries.batches(id)
        if not last:
            return told  # no batch yet, so no state that anyone could place

        trigger = self._boundaries.interval_of(query)
        if not self._can_place:
            if isinstance(action, SpreadBins) and action.to:
                raise HeadgateError("this Spark cannot place bins of state; they go wherever a slot is free")
            return self._let_bins_scatter(action.plan, last[-1])

        def place(moved: Mapping[int, str]) -> None:
            self._place(id, str(query.runId), moved, executors)
            told.update(moved)

        of = Query(
            last[-1].name or id,
            trigger,
            lambda: self._boundaries.batches(id),
            place,
            lambda: self._boundary(id),
            lambda: frozenset(one.id for one in self._there.active()),
            bin_bytes(query),  # before the wait for a boundary: reading it may take as long as a batch
        )
        by_hand = action if isinstance(action, SpreadBins) else SpreadBins(action.plan, id)
        unknown = set(by_hand.to.values()) - {one.id for one in executors}
        if unknown:
            raise HeadgateError(f"there is no executor {', '.join(sorted(unknown))} to move bins to")
        known = whereabouts(last[-1])
        strange = sorted(set(by_hand.to) - known.keys())
        if strange:
            raise HeadgateError(f"there is no bin {', '.join(map(str, strange))} of {of.name}; it has {len(known)}")
        if query.status["isTriggerActive"]:
            # A bin that is placed while its task waits is loaded where it was once more, and said to live there.
            self._boundary(id)
        for said in self._moving.settle(of, executors, by_hand.strategy, by_hand.to):
            self._tell(action.plan, said)
        return told

    def _let_bins_scatter(self, plan: int, last: MicroBatch) -> set[int]:
        """Where bins cannot be placed, tasks do not wait for the executor that holds their state: it goes along."""
        if last.stateful and not self._at_home.changed:
            self._at_home.do_not_wait()
            self._tell(plan, "this Spark cannot place bins of state: from now on they go wherever a slot is free")
        return set(whereabouts(last))

    def _place(self, id: str, run: str, moves: Mapping[int, str], executors: Sequence[Executor]) -> None:
        query = next((one for one in self._running() if (str(one.id), str(one.runId)) == (id, run)), None)
        if query is None:
            raise HeadgateError("the query was started again or has ended; its bins stay where they are")
        self._at_home.wait(max(batch.duration / 1000 for batch in self._boundaries.batches(id)))
        place_bins(self._spark, query, moves, executors)

    def _boundary(self, query: str | None = None) -> bool:
        """Until a batch is over, of this query or any; False where nothing runs for as long as patience lasts."""
        over = self._boundaries.wait(query, lambda: self._superseded)
        self._still()
        return over
