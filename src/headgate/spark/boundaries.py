"""Boundaries: the moments after a batch was reported, at which something may be changed."""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median

from pyspark.sql.streaming.query import StreamingQuery

from headgate.model.microbatch import MicroBatch
from headgate.spark.internals.queries import trigger_seconds

_RECENT = 5
"""Batches that tell what a bin costs."""
_GLANCE = 0.2
_LATE = 3.0
"""So many times as late as usual is never."""


def usual_interval(seen: Sequence[MicroBatch], trigger: float | None) -> float:
    """Seconds from the end of one batch to that of the next: the middle one of the last, but no less than a batch took.

    The middle one, since one night without input does not make nights of all waiting.
    """
    apart = [(after.began - before.began) / 1000 for before, after in pairwise(seen)]
    return max(trigger or 0.0, *(one.duration / 1000 for one in seen), median(apart) if apart else 0.0)


class Boundaries:
    """Of queries that run; `saw` is called on one thread, and whoever waits does so on another."""

    def __init__(self, running: Callable[[], Sequence[StreamingQuery]], patience: float) -> None:
        self._running, self._patience = running, patience
        self._recent: dict[str, deque[MicroBatch]] = {}
        """Query -> its last batches."""
        self._triggers: dict[str, float | None] = {}
        """Query -> its fixed interval in seconds, where it has one."""
        self._ended: Counter[str] = Counter()
        """Query -> batches that came to their end."""
        self._changed = threading.Condition()

    def saw(self, batch: MicroBatch) -> None:
        """A batch is over: a boundary, and where tasks really ran."""
        with self._changed:
            recent = self._recent.setdefault(batch.query, deque(maxlen=_RECENT))
            if recent and recent[-1].run != batch.run:
                recent.clear()  # the query was started again: it may have other bins
            recent.append(batch)
            self._ended[batch.query] += 1
            self._changed.notify_all()

    def wake(self) -> None:
        """Whoever waits looks whether that is still wanted."""
        with self._changed:
            self._changed.notify_all()

    def batches(self, query: str) -> tuple[MicroBatch, ...]:
        """The last ones of a query; none where none was seen."""
        with self._changed:
            return tuple(self._recent.get(query, ()))

    def last_of_each(self) -> list[MicroBatch]:
        """The last batch of every query."""
        with self._changed:
            return [seen[-1] for seen in self._recent.values()]

    def ended(self, query: str | None = None) -> int:
        """How many batches came to their end, of this query or of all."""
        with self._changed:
            return self._ended[query] if query is not None else self._ended.total()

    def interval_of(self, query: StreamingQuery) -> float | None:
        """Its fixed interval in seconds, where it has one; waiting goes by it from now on."""
        trigger = self._triggers[str(query.id)] = trigger_seconds(query)
        return trigger

    def forget_who_has_ended(self) -> None:
        """A query that has ended holds no bins, and nobody waits as long as its batches were apart."""
        running = {str(query.id) for query in self._running()}
        with self._changed:
            for id in self._recent.keys() - running:
                del self._recent[id]
                self._triggers.pop(id, None)

    def wait(self, query: str | None, given_up: Callable[[], bool]) -> bool:
        """Until a batch is over, of this query or any; False where none is for as long as patience lasts."""
        before, over = self.ended(query), False
        while not over:
            with self._changed:
                patience = max(self._patience, _LATE * self._usual(query))
                self._changed.wait_for(lambda: self.ended(query) > before or given_up(), patience)
                over = self.ended(query) > before
            if given_up() or not (over or self._in_a_batch(query)):
                break
        return over

    def let_those_under_way_end(self, given_up: Callable[[], bool]) -> None:
        """Until all batches that run now, of queries that are looked after, are over, however long they take.

        The end of a batch is reported a little later, when the next one may have begun: what counts is when it was.
        """
        now = 1000 * time.time()
        under_way = self._in_batches()
        while under_way and not given_up():
            with self._changed:
                self._changed.wait(_GLANCE)
                under_way -= {id for id, seen in self._recent.items() if seen[-1].began + seen[-1].duration > now}
            under_way &= self._in_batches()

    def _usual(self, query: str | None) -> float:
        concerned = [id for id in self._recent if query in (None, id)]
        return max((usual_interval(self._recent[id], self._triggers.get(id)) for id in concerned), default=0.0)

    def _in_a_batch(self, query: str | None) -> bool:
        """Whether one runs right now, however long it has been."""
        return any(query in (None, id) for id in self._in_batches())

    def _in_batches(self) -> set[str]:
        return {str(query.id) for query in self._running() if query.status["isTriggerActive"]}
