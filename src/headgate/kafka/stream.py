"""The events of a workload as a stream out of Kafka, through Spark's own connector: for the same queries."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headgate.kafka.address import Address
from headgate.kafka.jars import connector, jars
from headgate.workloads.generated import GeneratedSource


def connector_jars() -> str:
    """For `spark.jars`, before the session starts. `InputError` where they cannot be had."""
    return ",".join(str(jar) for jar in jars(connector()))


def events_in(
    spark: SparkSession, source: type[GeneratedSource], at: Address, options: Mapping[str, str] | None = None
) -> DataFrame:
    """What `headgate produce` wrote there, from its beginning, with the columns of the workload's source.

    A record that is none of these events fails the query: none is left out without a word.
    """
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", at.servers)
    records = reader.options(subscribe=at.topic, startingOffsets="earliest", **(options or {})).load()
    event = f.from_json(f.col("value").cast("string"), source({}).schema(), {"mode": "FAILFAST"})
    return records.select(event.alias("event")).select("event.*")
