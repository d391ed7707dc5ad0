"""The source `sentences`: an endless text whose every row is a pure function of its number.

    spark.dataSource.register(SentencesSource)
    spark.readStream.format("sentences").option("load", "constant(1k)").load()

Columns: `number` (0, 1, 2, …), `sentence` (so many words) and `key`. Offsets are
row numbers, so any range replays exactly, on any number of partitions, and what has not been read is the backlog.

Options: `load` (a profile as text, see `load/language.py`), `partitions` (2), `words` (10 per sentence), `vocabulary`
(1,000 different words), `keys` (64) and `hot` (0: the share of rows whose key is 0, beyond its even share),
`rows_per_batch` (no limit).
"""

import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from headgate.model.errors import InputError
from headgate.workloads.load import Load, load_from_text
from headgate.workloads.scrambled import mixed, unit_interval

_ROWS_AT_A_TIME = 10_000


class Text:
    """Which sentence and key a number has."""

    def __init__(self, *, words: int, vocabulary: int, keys: int, hot: float) -> None:
        self.words, self.keys, self.hot = words, keys, hot
        self.vocabulary = np.array([f"w{i:04d}" for i in range(vocabulary)], dtype=object)

    def sentences(self, numbers: npt.NDArray[np.uint64]) -> pa.Array:
        """As many words as asked for, joined by blanks."""
        columns = [
            self.vocabulary[(mixed(numbers, place) % np.uint64(len(self.vocabulary))).astype(np.int64)]
            for place in range(self.words)
        ]
        return pa.array([" ".join(row) for row in zip(*columns, strict=True)], pa.string())

    def key(self, numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """An even key, but for the share of rows that all have key 0."""
        even = (mixed(numbers, 1001) % np.uint64(self.keys)).astype(np.int64)
        chosen = unit_interval(numbers, 1002) < self.hot
        return np.where(chosen, 0, even)


class _Range(InputPartition):
    """Row numbers from start up to but not including end."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__((start, end))
        self.start, self.end = start, end


class _SentencesReader(DataSourceStreamReader):
    """Offsets are `{"number": next row, "began": when the stream first started}`."""

    def __init__(self, load: Load, text: Text, partitions: int, rows_per_batch: int | None) -> None:
        self.load, self.text, self.spread, self.limit = load, text, partitions, rows_per_batch

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return {"number": 0, "began": time.time()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        return ReadAllAvailable() if self.limit is None else ReadMaxRows(self.limit)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        due = int(self.load.records(time.time() - start["began"]))
        self.due = {"number": max(due, start["number"]), "began": start["began"]}
        if isinstance(limit, ReadMaxRows):
            return {**self.due, "number": min(self.due["number"], start["number"] + limit.max_rows)}
        return self.due

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        return getattr(self, "due", None)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        cuts = np.linspace(start["number"], end["number"], self.spread + 1).round().astype(int).tolist()
        return [_Range(first, last) for first, last in pairwise(cuts)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, _Range):
            raise InputError("sentences: a partition that is not one of ours")
        for first in range(partition.start, partition.end, _ROWS_AT_A_TIME):
            numbers = np.arange(first, min(first + _ROWS_AT_A_TIME, partition.end), dtype=np.uint64)
            yield pa.RecordBatch.from_arrays(
                [pa.array(numbers.astype(np.int64)), self.text.sentences(numbers), pa.array(self.text.key(numbers))],
                names=["number", "sentence", "key"],
            )


class SentencesSource(DataSource):
    """Register it with `spark.dataSource.register(SentencesSource)`."""

    @classmethod
    def name(cls) -> str:
        return "sentences"

    def schema(self) -> str:
        return "number bigint, sentence string, key bigint"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        del schema
        limit = self._number("rows_per_batch", 0)
        return _SentencesReader(
            load_from_text(self.options["load"]),
            Text(
                words=self._number("words", 10),
                vocabulary=self._number("vocabulary", 1000),
                keys=self._number("keys", 64),
                hot=float(self.options.get("hot", "0")),
            ),
            self._number("partitions", 2),
            limit or None,
        )

    def _number(self, name: str, default: int) -> int:
        text = self.options.get(name, str(default))
        if not text.isdigit():
            raise InputError(f'sentences: option {name} is "{text}"; give a whole number')
        return int(text)
