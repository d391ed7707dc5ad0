"""What all generated sources share: rows by number, a load that says how many are due, ranges of numbers as partitions.

Every row is a pure function of its number. Offsets are numbers, so any range replays exactly, on any number of
partitions, and what is due and has not been read is the backlog, which Spark's progress shows.

Options of every source:

* `load`: a profile (`load/language.py`) by the wall's clock; without one the source is as fast as it is read;
* `rows`: it ends after so many (default: never);
* `rows_per_batch`: no more than so many in a batch (default: no limit with a load, 200,000 without);
* `partitions`: tasks that read a batch (default: 2).

Those whose events have a time of their own (`event_time`) also take:

* `event_rate`: events for each second of event time (default: 10,000);
* `out_of_order`: the part of events whose time is earlier than that of some before them (default: 0);
* `delay`: by how many seconds, at most (default: 1).
"""

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from headgate.model.errors import InputError, did_you_mean
from headgate.workloads.event_time import EventTime
from headgate.workloads.load import Load, load_from_text

Rows: TypeAlias = Callable[[npt.NDArray[np.uint64]], pa.RecordBatch]
Offset: TypeAlias = dict[str, Any]

ROWS_AT_A_TIME = 20_000
"""Of an Arrow batch. To begin one costs as much as some thousand rows; much larger ones only take more memory."""
_WITHOUT_LOAD = 200_000
COMMON_OPTIONS = ("load", "rows", "rows_per_batch", "partitions")
EVENT_TIME = ("event_rate", "out_of_order", "delay")
"""Options of sources whose events have a time of their own."""


class SourceOptions:
    """The options of a source, each read by its kind; what is no such value is refused by name."""

    def __init__(self, source: str, given: Mapping[str, str], known: Sequence[str]) -> None:
        self._source, self._given = source, given
        names = (*COMMON_OPTIONS, *known)
        for name in given:
            if name not in names:
                raise InputError(f"{source}: there is no option {name}{did_you_mean(name, names)}")

    def text(self, name: str) -> str | None:
        """As it is; None where it is not given."""
        return self._given.get(name)

    def count(self, name: str, default: int, least: int = 0) -> int:
        """A whole number."""
        text = self._given.get(name, str(default))
        if not text.isdecimal() or int(text) < least:
            raise InputError(f'{self._source}: option {name} is "{text}"; give a whole number from {least} on')
        return int(text)

    def number(self, name: str, default: float, least: float = 0.0, most: float = math.inf) -> float:
        """A number within bounds."""
        text = self._given.get(name, str(default))
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most or math.isinf(value):
            to = f"from {least:g} on" if math.isinf(most) else f"from {least:g} to {most:g}"
            raise InputError(f'{self._source}: option {name} is "{text}"; give a number {to}')
        return value

    def yes(self, name: str, default: bool) -> bool:
        """True or false."""
        text = self._given.get(name, str(default)).lower()
        if text not in ("true", "false"):
            raise InputError(f'{self._source}: option {name} is "{text}"; give true or false')
        return text == "true"


def event_time(options: SourceOptions) -> EventTime:
    """The clock that the options say."""
    return EventTime(
        rate=options.number("event_rate", EventTime().rate, least=1e-3),
        out_of_order=options.number("out_of_order", 0.0, most=1.0),
        delay=options.number("delay", EventTime().delay),
    )


class GeneratedSource(DataSource):
    """A source of rows by number. Register it with `spark.dataSource.register`."""

    known: tuple[str, ...] = ()
    """Options beyond those of every source."""
    key: tuple[str, ...] = ("number",)
    """What belongs together: the first of these columns that a row has."""

    @abstractmethod
    def rows(self, options: SourceOptions) -> Rows:
        """What makes rows of numbers, by these options."""

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        del schema
        options = SourceOptions(self.name(), self.options, self.known)
        load = options.text("load")
        limit = options.count("rows_per_batch", 0)
        return GeneratedReader(
            self.rows(options),
            load_from_text(load) if load is not None else None,
            options.count("partitions", 2, least=1),
            limit or (None if load is not None else _WITHOUT_LOAD),
            options.count("rows", 0) or None,
        )


class _Range(InputPartition):
    """Row numbers from start up to but not including end."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__((start, end))
        self.start, self.end = start, end


class GeneratedReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are `{"number": next row, "began": when the stream first started}`."""

    def __init__(self, rows: Rows, load: Load | None, partitions: int, limit: int | None, end: int | None) -> None:
        self._rows, self._load, self._spread, self._limit, self._end = rows, load, partitions, limit, end
        self._now: float | None = None
        """The moment that nothing comes after, where Spark has asked for what there is now."""
        self._due: Offset | None = None

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        return {"number": 0, "began": time.time()}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        if self._load is None and self._end is None:
            raise InputError("a source without load and without end has no rows that are there now; give rows or load")
        self._now = time.time()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        return ReadAllAvailable() if self._limit is None else ReadMaxRows(self._limit)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        due = max(self._due_by(start), start["number"])
        self._due = {**start, "number": due}
        # Without a load and an end there is no backlog to speak of: as much as a batch may have is due.
        return (
            {**start, "number": min(due, start["number"] + limit.max_rows)}
            if isinstance(limit, ReadMaxRows)
            else self._due
        )

    def _due_by(self, start: Offset) -> int:
        if self._load is None:
            return self._end if self._end is not None else start["number"] + (self._limit or _WITHOUT_LOAD)
        now = time.time() if self._now is None else self._now
        due = int(self._load.records(max(0.0, now - start["began"])))
        return due if self._end is None else min(due, self._end)

    def reportLatestOffset(self) -> Offset | None:  # noqa: N802 - Spark's name
        return self._due

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        cuts = np.linspace(start["number"], end["number"], self._spread + 1).round().astype(int).tolist()
        return [_Range(first, last) for first, last in pairwise(cuts)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, _Range):
            raise InputError("a partition that is not one of ours")
        for first in range(partition.start, partition.end, ROWS_AT_A_TIME):
            yield self._rows(np.arange(first, min(first + ROWS_AT_A_TIME, partition.end), dtype=np.uint64))
