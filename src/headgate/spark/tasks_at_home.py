"""How long a task waits for the executor that holds its state, instead of running elsewhere and loading it there.

Spark's own patience is three seconds for all tasks of a stage at once, after which it scatters what was placed. It is a
setting of the application, changed while that runs, and put back.
"""

import threading
from collections.abc import Callable

from pyspark.sql import SparkSession

from headgate.spark.internals.state_stores import keep_tasks_at_home, wait_as_before

_WAIT = (5.0, 60.0)
"""Two batches' time, once bins are placed by us: no less than the first of these seconds and no more than the second.
Whoever waits for an executor that is gone waits as long.
"""


class TasksAtHome:
    """Looked at from two threads: one that places bins, and one that sees executors go."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._lock = threading.Lock()
        self._before: str | None = None
        self._listed: set[str] = set()
        """Who was there at the last look, ready or not."""
        self.changed = False
        """Whether tasks wait otherwise than they did."""

    def wait(self, batch: float) -> None:
        """By how long a batch takes, in seconds."""
        least, most = _WAIT
        self._set(f"{min(max(2 * batch, least), most):.0f}s")

    def do_not_wait(self) -> None:
        """State goes wherever a slot is free."""
        self._set("0s")

    def as_before(self) -> None:
        """As somebody had set it."""
        with self._lock:
            self._put_back()

    def wait_for_nobody_who_is_gone(self, there: set[str], homes: Callable[[], set[str]]) -> None:
        """Tasks whose state was on an executor that is lost go elsewhere as soon as Spark lets them."""
        with self._lock:
            gone, self._listed = self._listed - there, there
            if self.changed and gone & homes():
                self._put_back()

    def _set(self, wait: str) -> None:
        with self._lock:
            before = keep_tasks_at_home(self._spark, wait)
            if not self.changed:
                self._before, self.changed = before, True

    def _put_back(self) -> None:
        if self.changed:
            wait_as_before(self._spark, self._before)
            self.changed = False
