"""What the stores of a checkpoint hold, counted and summed by Spark from the files; the query need not run."""

from typing import TYPE_CHECKING

from headgate.model.state_digest import StoreDigest
from headgate.model.state_files import CheckpointState
from headgate.spark.internals.state_rows import has_key, state_rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def digests(spark: "SparkSession", state: CheckpointState, *, summed: bool = True) -> tuple[StoreDigest, ...]:
    """Rows and a sum over all rows, store by store, as of the last committed batch; with `summed=False` rows alone.

    Rows alone can be counted of any state; of maps, which in-memory state may have in its values, there is no hash.
    """
    return tuple(
        _digest(state_rows(spark, state, operator.id, store), operator.id, store, len(operator.bins), summed)
        for operator in state.operators
        for store in operator.stores
    )


def with_rows(state: CheckpointState, counted: tuple[StoreDigest, ...]) -> CheckpointState:
    """The same state with the rows of each bin, over all its stores."""
    rows = []
    for operator in state.operators:
        mine = [one.rows_in_bins for one in counted if one.operator == operator.id]
        rows.append([sum(counts) for counts in zip(*mine, strict=True)])
    return state.with_rows(rows)


def _digest(rows: "DataFrame", operator: int, store: str, bins: int, summed: bool) -> StoreDigest:
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is optional

    columns = [name for name in rows.columns if name not in ("partition_key", "partition_id")]
    # Reading has a task for each bin. The sum of hashes is the same in any order, and a decimal does not overflow.
    lies_in = f.spark_partition_id()
    hashed = f.xxhash64(*columns) if summed else f.lit(0)
    misplaced = (_belongs_to(rows, bins) != lies_in) if summed else f.lit(False)
    told = (
        rows.select(lies_in.alias("bin"), hashed.cast("decimal(38,0)").alias("hash"), misplaced.alias("misplaced"))
        .groupBy("bin")
        .agg(f.count("*").alias("rows"), f.sum("hash").alias("sum"), f.count_if("misplaced").alias("misplaced"))
        .collect()
    )
    rows_in = {row["bin"]: row["rows"] for row in told}
    return StoreDigest(
        operator,
        store,
        sum(rows_in.values()),
        str(sum(int(row["sum"]) for row in told)),
        tuple(rows_in.get(number, 0) for number in range(bins)),
        sum(row["misplaced"] for row in told),
    )


def _belongs_to(rows: "DataFrame", bins: int) -> "Column":
    """The bin where the query looks for a row, by Spark's partitioning of its key; unknown where none is told."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is optional

    if "partition_key" not in rows.columns or not has_key(rows):
        return f.lit(None).cast("int")
    return f.pmod(f.hash(f.col("partition_key.*")), f.lit(bins))
