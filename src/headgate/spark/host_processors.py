"""The processors of the machine that driver and executors share: how many there are, and how busy they are.

Where executors run elsewhere, or the system does not say, nothing is known: then contention is learned by trying only.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from headgate.model.microbatch import Executor, Processors
from headgate.spark.processor_time import own_seconds, seconds_since_boot


def available() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0


class HostProcessors:
    """Looks once a batch; what it gives is what was spent since it last looked."""

    def __init__(self, driver_host: str, driver: Iterable[int], proc: Path = Path("/proc")) -> None:
        self._host, self._driver, self._proc = driver_host, tuple(driver), proc
        self._last = self._spent()

    def since_last(self, executors: Iterable[Executor]) -> Processors | None:
        """Of the machine of these executors; None where they are not all on this one, or it does not say."""
        before, self._last = self._last, self._spent()
        if before is None or self._last is None or {one.host for one in executors} != {self._host}:
            return None
        return Processors(available(), max(0.0, self._last - before))

    def _spent(self) -> float | None:
        """Seconds of processor time, without the driver's."""
        try:
            return seconds_since_boot(self._proc) - sum(own_seconds(one, self._proc) for one in self._driver)
        except (OSError, ValueError, IndexError):
            return None
