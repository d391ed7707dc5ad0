"""q15: of every day, bids, bidders and auctions, all of them and by price rank. Distinct counts over a day."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headgate.workloads.nexmark.queries.ranks import bids_by_rank, distinct_by_rank
from headgate.workloads.nexmark.source import bids
from headgate.workloads.query import Query


def by_day(events: DataFrame) -> DataFrame:
    """One row a day."""
    told = [*bids_by_rank(), *distinct_by_rank("bidder"), *distinct_by_rank("auction")]
    return bids(events).groupBy(f.date_format("dateTime", "yyyy-MM-dd").alias("day")).agg(*map(f.expr, told))


Q15 = Query("q15", "bids, bidders and auctions of every day, by price rank", by_day, "update", keys=1)
