"""The top speed of each car over the last 10 seconds, whenever it has driven another 50 metres."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from headgate.workloads.query import Query

LAST = 10_000_000
"""Microseconds."""
EVERY = 50.0
"""Metres."""


class TopSpeed(StatefulProcessor):
    """Keeps the speeds of the last seconds, and how far the car had driven when it last told."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._told = handle.getValueState("told", "distance double")
        self._speeds = handle.getListState("speeds", "moment bigint, speed double")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        (told,) = self._told.get() or (None,)
        speeds = list(self._speeds.get()) if self._speeds.exists() else []
        for row in sorted(rows, key=lambda row: row["number"]):  # they come in no order
            speeds.append((row["moment"], row["speed"]))
            if told is None:
                told = row["distance"]
            elif row["distance"] - told > EVERY:
                told = row["distance"]
                speeds = [one for one in speeds if one[0] > row["moment"] - LAST]
                yield Row(car=key[0], moment=row["moment"], top_speed=max(speed for _, speed in speeds))
        newest = max(moment for moment, _ in speeds)
        self._speeds.put([one for one in speeds if one[0] > newest - LAST])
        self._told.update((told,))

    def close(self) -> None:
        """Nothing is held."""


def top_speeds(events: DataFrame) -> DataFrame:
    """Car, moment and top speed."""
    reports = events.selectExpr("car", "number", "speed", "distance", "unix_micros(event_time) as moment")
    told = reports.groupBy("car").transformWithState(
        TopSpeed(), "car bigint, moment bigint, top_speed double", "append", "none"
    )
    return told.selectExpr("car", "timestamp_micros(moment) as moment", "top_speed")


TOP_SPEED = Query("top-speed", "the top speed of each car over 10 s, every 50 m", top_speeds)
