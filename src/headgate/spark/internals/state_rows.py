"""The rows of a state store, read from a checkpoint."""

from typing import TYPE_CHECKING

from headgate.formats.where import for_spark
from headgate.model.state_files import CheckpointState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def has_key(rows: "DataFrame") -> bool:
    """Whether the rows of a store are told apart by a key; those of one that has none are all the same bin's."""
    key = rows.schema["partition_key"].dataType
    return bool(getattr(key, "fields", ()))


def state_rows(spark: "SparkSession", state: CheckpointState, operator: int, store: str) -> "DataFrame":
    """All rows of one store, in as many tasks as it has bins; as bytes where that is possible.

    Needs: the source `statestore`, and of RocksDB its way to read all column families, which is not public. As bytes
    all kinds of operators can be read alike, and what is compared is what is stored.
    """
    reader = (
        spark.read.format("statestore").option("path", for_spark(state.path)).option("batchId", str(state.committed))
    )
    reader = reader.option("operatorId", str(operator)).option("storeName", store)
    if state.provider == "rocksdb":
        reader = reader.option("_readAllColumnFamilies", "true")
    return reader.load()
