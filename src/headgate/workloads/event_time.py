"""When an event happens: its number divided by a rate; some of them out of order."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headgate.workloads.scrambled import Numbers, unit_interval

BASE = 1_436_918_400_000_000
"""15 July 2015, 0:00 UTC, in microseconds since 1970: where NexMark's clock begins."""
TIMESTAMP = pa.timestamp("us", tz="UTC")
_SECOND = 1_000_000
Moments = npt.NDArray[np.int64]


class EventTime(NamedTuple):
    """The clock of the events, which is not the wall's: an event has the same time whenever it is emitted."""

    rate: float = 10_000.0
    """Events for each second of event time."""
    base: int = BASE
    out_of_order: float = 0.0
    """The part of events whose time is earlier than that of some before them."""
    delay: float = 1.0
    """Seconds by which they are earlier, at most."""

    def of(self, numbers: Numbers, salt: int) -> Moments:
        """Microseconds since 1970."""
        moments = self.base + np.floor(numbers.astype(np.float64) * (_SECOND / self.rate)).astype(np.int64)
        if not self.out_of_order:
            return moments
        late = unit_interval(numbers, salt) < self.out_of_order
        earlier = np.floor(unit_interval(numbers, salt + 1) * (self.delay * _SECOND)).astype(np.int64)
        return np.maximum(np.where(late, moments - earlier, moments), self.base)

    def lasting(self, events: float) -> int:
        """Microseconds in which so many events happen."""
        return int(events * _SECOND / self.rate)
