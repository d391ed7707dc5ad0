"""The source `kafka_topic`: the records of a topic, read in Python, for where Spark's own connector cannot be had.

    spark.dataSource.register(KafkaTopicSource)
    spark.readStream.format("kafka_topic").option("servers", "127.0.0.1:9092").option("topic", "nexmark").load()

Options: `servers`, `topic`, and `records_per_batch` (default: no limit), which is shared out among the partitions by
what is left in each. Offsets are those of the topic, so any range replays exactly. It begins with the first record.
What Kafka has thrown away before it was read, a topic that is gone, or made anew with less in it, fails the query:
nothing is left out without a word, and nothing read twice. Topics with gaps in their numbers, because they are
compacted or written in transactions, cannot be read like this.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from headgate.kafka.address import Address
from headgate.kafka.topic import bounds
from headgate.model.errors import InputError, did_you_mean

Offsets: TypeAlias = dict[str, int]
"""Partition, as text because Spark keeps it as JSON -> the next record."""

_SCHEMA = "key string, value string, partition int, offset bigint"
_ARROW = pa.schema([("key", pa.string()), ("value", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())])
_OPTIONS = ("servers", "topic", "records_per_batch")
_AT_A_TIME = 5_000
_PATIENCE = 30.0


class KafkaTopicSource(DataSource):
    """Register it with `spark.dataSource.register(KafkaTopicSource)`."""

    @classmethod
    def name(cls) -> str:
        """What Spark calls it."""
        return "kafka_topic"

    def schema(self) -> str:
        """Its columns."""
        return _SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """What reads a stream of it."""
        del schema
        for name in self.options:
            if name not in _OPTIONS:
                raise InputError(f"kafka_topic: there is no option {name}{did_you_mean(name, _OPTIONS)}")
        for name in _OPTIONS[:2]:
            if name not in self.options:
                raise InputError(f"kafka_topic: option {name} is missing")
        limit = self.options.get("records_per_batch", "0")
        if not limit.isdecimal():
            raise InputError(f'kafka_topic: option records_per_batch is "{limit}"; give a whole number')
        return TopicReader(Address(self.options["servers"], self.options["topic"]), int(limit) or None)


class _Range(InputPartition):
    """Records of one of the topic's partitions from start up to but not including end."""

    def __init__(self, partition: int, start: int, end: int) -> None:
        super().__init__((partition, start, end))
        self.partition, self.start, self.end = partition, start, end


class TopicReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are `{"0": 17, "1": 4}`: the next record of each partition."""

    def __init__(self, at: Address, limit: int | None) -> None:
        self._at, self._limit = at, limit
        self._last: Offsets | None = None
        """What nothing is read beyond, where Spark has asked for what there is now."""
        self._latest: Offsets | None = None

    def initialOffset(self) -> Offsets:  # noqa: N802 - Spark's name
        """The first record that is there of each partition."""
        return {partition: first for partition, (first, _) in self._bounds().items()}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Take note of where the topic ends now."""
        self._last = self._ends()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """As the options say."""
        return ReadAllAvailable() if self._limit is None else ReadMaxRows(self._limit)

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802 - Spark's name
        """How far the next batch goes."""
        ends = self._last or self._ends()
        for partition, first in start.items():
            if (last := ends.get(partition, -1)) < first:
                there = f"ends at {last}" if last >= 0 else "is gone"
                raise self._problem(
                    f"partition {partition} was read up to record {first} and {there}; was the topic made anew? Begin "
                    "with a new checkpoint"
                )
        self._latest = ends
        return up_to(start, ends, limit.max_rows) if isinstance(limit, ReadMaxRows) else ends

    def reportLatestOffset(self) -> Offsets | None:  # noqa: N802 - Spark's name
        """How far it could go: the backlog is what lies between."""
        return self._latest

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        """One for each of the topic's that has something new."""
        ranges = [_Range(int(partition), start.get(partition, 0), last) for partition, last in end.items()]
        return [one for one in ranges if one.start < one.end]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of a range, all of them."""
        if not isinstance(partition, _Range):
            raise InputError("a partition that is not one of ours")
        consumer = self._consumer()
        try:
            consumer.assign([TopicPartition(self._at.topic, partition.partition, partition.start)])
            expected = partition.start
            while expected < partition.end:
                records = consumer.consume(min(_AT_A_TIME, partition.end - expected), timeout=_PATIENCE)
                if not records:
                    raise self._problem(f"record {expected} of partition {partition.partition} did not come")
                for record in records:
                    if record.error() is not None:
                        raise self._problem(str(record.error()))
                if records[0].offset() != expected or records[-1].offset() != expected + len(records) - 1:
                    raise self._problem(
                        f"from record {expected} of partition {partition.partition} on some are not there: thrown away "
                        "already, or the topic is compacted or written in transactions"
                    )
                yield _arrow(records, partition.partition)
                expected += len(records)
        finally:
            consumer.close()

    def _consumer(self) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self._at.servers,
                "group.id": "headgate",  # needed, and not used: offsets are Spark's affair
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "log_level": 0,
            }
        )

    def _bounds(self) -> dict[str, tuple[int, int]]:
        return {str(partition): ends for partition, ends in bounds(self._at).items()}

    def _ends(self) -> Offsets:
        return {partition: last for partition, (_, last) in self._bounds().items()}

    def _problem(self, what: str) -> InputError:
        return InputError(f"{self._at}: {what}")


def up_to(start: Mapping[str, int], ends: Mapping[str, int], most: int) -> Offsets:
    """Where a batch of so many records ends: of each partition the same part of what is left.

    >>> up_to({"0": 0, "1": 10}, {"0": 100, "1": 310}, most=40)
    {'0': 10, '1': 40}
    """
    left = {partition: last - start.get(partition, 0) for partition, last in ends.items()}
    total = sum(left.values())
    if total <= most:
        return dict(ends)
    # Rounded up, so that something is taken of each and a batch is never empty: a few records more than asked for.
    return {partition: start.get(partition, 0) + -(-left[partition] * most // total) for partition in ends}


def _arrow(records: Sequence[Any], partition: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array([record.key() for record in records], pa.binary()).cast(pa.string()),
            pa.array([record.value() for record in records], pa.binary()).cast(pa.string()),
            pa.array([partition] * len(records), pa.int32()),
            pa.array([record.offset() for record in records], pa.int64()),
        ],
        schema=_ARROW,
    )
