"""q17: of every auction and day, bids by price rank, and the lowest, highest, mean and sum of their prices."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headgate.workloads.nexmark.queries.ranks import bids_by_rank
from headgate.workloads.nexmark.source import bids
from headgate.workloads.query import Query


def by_auction(events: DataFrame) -> DataFrame:
    """One row an auction and day."""
    prices = [f"{how}(price) as {how}_price" for how in ("min", "max", "avg", "sum")]
    grouped = bids(events).groupBy("auction", f.date_format("dateTime", "yyyy-MM-dd").alias("day"))
    return grouped.agg(*map(f.expr, [*bids_by_rank(), *prices]))


Q17 = Query("q17", "bids and prices of every auction and day", by_auction, "update", keys=2)
