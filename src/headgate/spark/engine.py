"""A running Spark application as a controller sees it: batches come out of it, actions go in."""

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from headgate.control.actions import Action, Restart
from headgate.control.events import ActionFailed, BatchSeen
from headgate.model.errors import InputError
from headgate.model.microbatch import Executor, MicroBatch
from headgate.ports import Done
from headgate.spark.hands import Hands
from headgate.spark.host_processors import HostProcessors
from headgate.spark.internals.capabilities import can_ask_for_executors
from headgate.spark.internals.driver import driver_processes
from headgate.spark.internals.executors import why_executors_are_fixed
from headgate.spark.internals.queries import queries_of_the_application, trigger_seconds
from headgate.spark.moving import Way
from headgate.spark.probe import Probe
from headgate.spark.probe_notes import Note

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


_GLANCE = 1.0
"""Seconds from one look at the queries to the next."""


class SparkEngine:
    """All queries of a session, or one; from `start` to `stop`.

    Where executors cannot be changed it is refused, unless `must_act` is off: then it only looks, and asking it to do
    something is an error. `way` is how bins of state follow when executors come and go. `restart` is called with what
    asks for a restart; who has started the job knows how.
    """

    def __init__(
        self,
        spark: "SparkSession",
        query: "StreamingQuery | None" = None,
        *,
        must_act: bool = True,
        warm: bool = True,
        way: Way = Way(),  # noqa: B008 - a value
        restart: Callable[[Restart], object] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._fixed = why_executors_are_fixed(spark)
        if must_act and self._fixed is None and not can_ask_for_executors(spark):
            self._fixed = f'Spark {spark.version} has no call to ask for executors; take advice alone (mode="advise")'
        if must_act and self._fixed is not None:
            raise InputError(self._fixed)
        self._spark, self._query, self._clock = spark, None if query is None else str(query.id), clock
        self._probe = Probe(spark, query)
        self._hands = Hands(spark, self._running, warm=warm, way=way, clock=clock) if self._fixed is None else None
        self._restart = restart
        self._processors = HostProcessors(spark.conf.get("spark.driver.host", "") or "", driver_processes(spark))
        self._triggers: dict[str, float | None] = {}
        self._last: MicroBatch | None = None
        self._listed: tuple[float, tuple[str, ...] | None] = (-math.inf, None)
        """When it was last looked which queries run, and which did."""
        self._missed: set[type[Note]] = set()
        """Kinds of what could not be seen that were told."""

    def start(self) -> Self:
        """Begin to look."""
        self._probe.start()
        if self._hands is not None:
            self._hands.start()
        return self

    def stop(self) -> None:
        """Look no more; what is under way stays as it is."""
        self._probe.stop()
        if self._hands is not None:
            self._hands.stop()

    # What a controller needs (`headgate.ports.Engine`).

    def seen(self, timeout: float) -> Sequence[BatchSeen]:
        """Batches that came to their end since the last call."""
        found, batch = [], self._probe.take(timeout)
        while batch is not None:
            spent = self._processors.since_last(batch.executors, batch.duration / 1000)
            if spent is not None and len(self._spark.streams.active) == 1:  # of several nobody knows whose it is
                batch = replace(batch, processors=spent)
            self._last = batch
            if self._hands is not None:
                self._hands.saw(batch)
            found.append(BatchSeen(self._clock(), batch, self._trigger(batch)))
            batch = self._probe.take()
        return found

    def executors(self) -> tuple[Executor, ...]:
        """Those that are there and ready."""
        if self._hands is not None:
            return self._hands.executors()
        return self._last.executors if self._last is not None else ()

    def queries(self) -> tuple[str, ...] | None:
        """All that run in the application, whoever looks after them; looked for now and then."""
        if time.monotonic() - self._listed[0] >= _GLANCE:
            found = queries_of_the_application(self._spark)
            # One look that fails does not mean that nobody runs but those who speak.
            self._listed = time.monotonic(), self._listed[1] if found is None else found
        return self._listed[1]

    def carry_out(self, action: Action) -> None:
        """Begin to."""
        if isinstance(action, Restart):
            if self._restart is None:
                raise InputError("only a job that Headgate started can be started again by it: `headgate run`")
            self._restart(action)
            return
        if self._hands is None:
            raise InputError(self._fixed or "executors cannot be changed here")
        self._hands.carry_out(action)

    def happened(self) -> Sequence[Done | ActionFailed]:
        """What came of it; and what could not be seen, the first time of each kind."""
        told: list[Done | ActionFailed] = list(self._hands.happened()) if self._hands is not None else []
        for note in self._probe.notes:
            if type(note) not in self._missed:
                self._missed.add(type(note))
                told.append(Done(self._clock(), 0, f"{note}; more of this kind is not told"))
        return told

    def _running(self) -> list["StreamingQuery"]:
        return [query for query in self._spark.streams.active if self._query in (None, str(query.id))]

    def _trigger(self, batch: MicroBatch) -> float | None:
        """The query's interval, asked for once in each of its runs."""
        if batch.run not in self._triggers:
            for query in self._running():
                self._triggers[str(query.runId)] = trigger_seconds(query)
        return self._triggers.get(batch.run)
