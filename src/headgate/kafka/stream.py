"""The events of a workload as a stream out of Kafka, for the same queries: by Spark's own connector, or without."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headgate.kafka.address import Address
from headgate.kafka.jars import connector, jars
from headgate.workloads.generated import GeneratedSource


def connector_jars() -> str:
    """For `spark.jars`, before the session starts. `InputError` where they cannot be had."""
    return ",".join(str(jar) for jar in jars(*connector()))


def events_by_connector(
    spark: SparkSession, source: type[GeneratedSource], at: Address, records_per_batch: int | None = None
) -> DataFrame:
    """What `headgate produce` wrote there, from its beginning, with the columns of the workload's source."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", at.servers)
    reader = reader.option("subscribe", at.topic).option("startingOffsets", "earliest")
    if records_per_batch is not None:
        reader = reader.option("maxOffsetsPerTrigger", records_per_batch)
    return events_in(reader.load(), source)


def events_by_python(
    spark: SparkSession, source: type[GeneratedSource], at: Address, records_per_batch: int | None = None
) -> DataFrame:
    """The same, read by the source `kafka_topic`."""
    from headgate.kafka.topic_source import KafkaTopicSource  # noqa: PLC0415 - the connector needs no client of ours

    spark.dataSource.register(KafkaTopicSource)
    reader = spark.readStream.format("kafka_topic").option("servers", at.servers).option("topic", at.topic)
    if records_per_batch is not None:
        reader = reader.option("records_per_batch", records_per_batch)
    return events_in(reader.load(), source)


def events_in(records: DataFrame, source: type[GeneratedSource]) -> DataFrame:
    """What the column `value` of records has, which is bytes where the connector read them, and text by our source.

    A record that is none of these events fails the query: none is left out without a word. Spark itself fails on what
    is no JSON, or has columns of other kinds; every event of ours has a number.
    """
    value = f.col("value").cast("string")
    event = f.from_json(value, source({}).schema(), {"mode": "FAILFAST"})
    complaint = f.concat(f.lit(f"a record is no event of {source.name()}: "), f.coalesce(value, f.lit("null")))
    checked = f.when(event["number"].isNull(), f.raise_error(complaint)).otherwise(event)
    return records.select(checked.alias("event")).select("event.*")
