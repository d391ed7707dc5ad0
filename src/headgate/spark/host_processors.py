"""The processors of the machine that driver and executors share: how many there are, and how busy they are.

Where executors run elsewhere, or the system does not say, nothing is known: then contention is learned by trying only.
"""

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from headgate.model.microbatch import Executor, Processors
from headgate.spark.processor_time import own_seconds, seconds_since_boot


def available() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0


_COVERED = 0.25
"""The part of the time since the last look that a batch must have run for what was spent to be its own."""


class HostProcessors:
    """Looks at the end of each batch; what it gives is what was spent since it last looked."""

    def __init__(
        self,
        driver_host: str,
        driver: Iterable[int],
        proc: Path = Path("/proc"),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._host, self._driver, self._proc, self._clock = driver_host, tuple(driver), proc, clock
        self._last, self._looked = self._spent(), clock()

    def since_last(self, executors: Iterable[Executor], ran: float) -> Processors | None:
        """Of the machine of these executors, over a batch that ran for so many seconds.

        None where they are not all on this machine, where it does not say, and where the batch ran for a small part
        of the time only: what was spent is then for the most part somebody else's.
        """
        before, self._last = self._last, self._spent()
        passed, self._looked = self._clock() - self._looked, self._clock()
        if before is None or self._last is None or ran < _COVERED * passed:
            return None
        if {one.host for one in executors} != {self._host}:
            return None
        return Processors(available(), max(0.0, self._last - before))

    def _spent(self) -> float | None:
        """Seconds of processor time, without the driver's."""
        try:
            return seconds_since_boot(self._proc) - sum(own_seconds(one, self._proc) for one in self._driver)
        except (OSError, ValueError, IndexError):
            return None
