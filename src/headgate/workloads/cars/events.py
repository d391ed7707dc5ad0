"""What cars report, each report a pure function of its number.

All cars report in turn, once a tick. A car's speed goes up and down like a wave about a mean of its own; the distance
it has driven is the area under that wave, so it too is known from the number alone.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from headgate.workloads.event_time import TIMESTAMP, EventTime
from headgate.workloads.scrambled import Numbers, unit_interval

SCHEMA = "number bigint, car bigint, speed double, distance double, event_time timestamp"
SLOWEST, FASTEST = 10.0, 25.0
"""The means of cars, in metres a second."""
SWING = 8.0
PERIOD = 60.0
"""Seconds from one top speed to the next."""
_SECOND = 1_000_000


class _Salt(IntEnum):
    """One for each draw."""

    MEAN = 1
    PHASE = 2
    LATE = 3


class Settings(NamedTuple):
    """What a stream of reports is made by."""

    time: EventTime = EventTime()
    cars: int = 100


def events(numbers: Numbers, settings: Settings) -> pa.RecordBatch:
    """Speed in metres a second, distance in metres since the beginning.

    >>> some = events(np.arange(200, dtype=np.uint64), Settings(cars=2))
    >>> distances = some["distance"].to_pylist()[::2]
    >>> some["car"].to_pylist()[:3], distances == sorted(distances)
    ([0, 1, 0], True)
    """
    car = numbers % np.uint64(settings.cars)
    moments = settings.time.of(numbers, _Salt.LATE)
    seconds = (moments - settings.time.base) / _SECOND
    mean = SLOWEST + (FASTEST - SLOWEST) * unit_interval(car, _Salt.MEAN)
    phase = 2 * np.pi * unit_interval(car, _Salt.PHASE)
    turn = 2 * np.pi / PERIOD
    speed = mean + SWING * np.sin(turn * seconds + phase)
    distance = mean * seconds + SWING / turn * (np.cos(phase) - np.cos(turn * seconds + phase))
    return pa.RecordBatch.from_arrays(
        [
            pa.array(numbers.astype(np.int64)),
            pa.array(car.astype(np.int64)),
            pa.array(speed),
            pa.array(distance),
            pa.array(moments).cast(TIMESTAMP),
        ],
        names=["number", "car", "speed", "distance", "event_time"],
    )
