"""The live probe: each batch of a running query, as the same value that its event log would give.

    with Probe(spark) as probe:
        for batch in probe.batches(timeout=30):
            print(batch.name, batch.number, batch.duration)

It needs nothing but the session: no event log, no web UI, no agent on the executors. It costs a handful of calls to the
driver's JVM a batch, on a thread of its own; nothing runs per task, nothing waits in the query's way, and nothing it
meets is raised into the query: what it could not see is in `notes`.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec
from py4j.protocol import Py4JError

from headgate.formats.eventlog.streaming import Progress
from headgate.model.errors import one_line
from headgate.model.microbatch import MicroBatch
from headgate.spark.internals.reports import Reports, run_of
from headgate.spark.internals.status_store import StatusStore
from headgate.spark.live_batches import Answer, LiveBatches, left_out
from headgate.spark.probe_notes import BatchesNotTaken, Note, ReportsDropped, ReportUnreadable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_PROGRESS = msgspec.json.Decoder(Progress, strict=False)
_FIRST_WAIT = 0.01
_LONGEST_WAIT = 0.25
_NOTES_KEPT = 100
_MOST_WAITING = 100
_LAGS = (
    "Spark's status store did not show its jobs to the end in time; events may have been dropped "
    "(spark.scheduler.listenerbus.eventqueue.capacity) or let go (spark.ui.retainedJobs)"
)


class _Events:
    """What Spark's callbacks hand over to the probe's thread. Of reports only so many wait: the oldest are dropped."""

    def __init__(self) -> None:
        self.dropped = 0
        self._waiting: deque[tuple[bool, Any]] = deque()
        self._reports = 0
        self._changed = threading.Condition()
        self._closed = False

    def progressed(self, event: Any) -> None:
        """A report."""
        gone = None  # let go of after the lock: Py4J tells the JVM then
        with self._changed:
            self._waiting.append((True, event))
            self._reports += 1
            if self._reports > _MOST_WAITING:
                oldest = next(place for place, (is_report, _) in enumerate(self._waiting) if is_report)
                gone = self._waiting[oldest]
                del self._waiting[oldest]
                self._reports -= 1
                self.dropped += 1
            self._changed.notify()
        del gone

    def ended(self, event: Any) -> None:
        """A query is over: never dropped."""
        with self._changed:
            self._waiting.append((False, event))
            self._changed.notify()

    def next(self) -> tuple[bool, Any] | None:
        """Whether it is a report, and the event; waits for one. None when closed and all have been given."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            if not self._waiting:
                return None
            is_report, event = self._waiting.popleft()
            self._reports -= is_report
            return is_report, event

    def open(self) -> None:
        """Events may come, again."""
        self._closed = False

    def close(self) -> None:
        """No more will come."""
        with self._changed:
            self._closed = True
            self._changed.notify()


class Probe:
    """Batches of a session's streaming queries, or of one, from `start` to `stop`; or as a context manager.

    `query` may have been started before or after; it is known by its id, so it may also be started again. Of batches
    nobody takes, the last `keep` are kept. `patience` is how many seconds Spark's own bookkeeping may lag behind a
    report before the batch is given up.
    """

    def __init__(
        self, spark: "SparkSession", query: "StreamingQuery | None" = None, *, keep: int = 1000, patience: float = 10.0
    ) -> None:
        self._spark = spark
        self._query = None if query is None else str(query.id)
        self._patience = patience
        self._store = StatusStore(spark)  # refuses, in one line, a session that cannot be looked into
        cores = spark.sparkContext.getConf().get("spark.task.cpus", "1")
        self._reader = LiveBatches(self._store, max(1, int(cores)))
        self._events = _Events()
        self._batches: deque[MicroBatch] = deque(maxlen=keep)
        self._notes: deque[Note] = deque(maxlen=_NOTES_KEPT)
        self._not_taken = 0
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._reports: Reports | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> Self:
        """Begin to listen; one that listens already goes on."""
        if self._thread is not None:
            return self
        self._stopping.clear()
        self._events.open()
        self._reports = Reports(self._spark, self._events.progressed, self._events.ended)
        self._thread = threading.Thread(target=self._work, name="headgate-probe", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Listen no more. Batches that were seen can still be taken."""
        if self._reports is not None:
            with suppress(Py4JError, OSError):  # the session is gone, and its listeners with it
                self._reports.stop()
            self._reports = None
        self._stopping.set()
        if self._thread is not None:
            self._events.close()
            self._thread.join()
            self._thread = None
        with self._changed:
            self._changed.notify_all()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def notes(self) -> tuple[Note, ...]:
        """What it could not see: the last hundred notes, oldest first."""
        with self._changed:
            lost: list[Note] = [ReportsDropped(self._events.dropped)] if self._events.dropped else []
            lost += [BatchesNotTaken(self._not_taken)] if self._not_taken else []
            return (*self._notes, *lost)

    def take(self, timeout: float = 0.0) -> MicroBatch | None:
        """The next batch, oldest first; None if there is none within so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._batches or self._thread is None, timeout)
            return self._batches.popleft() if self._batches else None

    def batches(self, timeout: float) -> Iterator[MicroBatch]:
        """Batches as they come, until none came for so many seconds or the probe is stopped."""
        while (batch := self.take(timeout)) is not None:
            yield batch

    # On the probe's own thread.

    def _work(self) -> None:
        while (event := self._events.next()) is not None:
            is_report, of = event
            try:
                if not is_report:
                    self._reader.forget(run_of(of))
                    continue
                progress = _PROGRESS.decode(self._store.report(of))
                if self._query in (None, progress.id):
                    self._keep(self._settled(progress))
            except Exception as problem:  # whatever it is, the next report may be better
                if not self._stopping.is_set():
                    said = str(problem).split("\n\tat ")[0] or type(problem).__name__
                    self._keep(Answer(None, (ReportUnreadable(one_line(said)),)))

    def _settled(self, progress: Progress) -> Answer:
        """Ask until the store has the whole batch: it is fed by a queue of its own, which may lag."""
        deadline, wait = time.monotonic() + self._patience, _FIRST_WAIT
        while (answer := self._reader.read(progress)) is None:
            if time.monotonic() > deadline:
                return left_out(progress, _LAGS)
            if self._stopping.wait(wait):
                return self._reader.read(progress) or Answer(None)
            wait = min(2 * wait, _LONGEST_WAIT)
        return answer

    def _keep(self, answer: Answer) -> None:
        with self._changed:
            self._notes.extend(answer.notes)
            if answer.batch is not None:
                self._not_taken += len(self._batches) == self._batches.maxlen
                self._batches.append(answer.batch)
                self._changed.notify_all()
