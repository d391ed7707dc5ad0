"""q16: the same as q15 of every channel, and the last minute of the day that it had a bid in."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headgate.workloads.nexmark.queries.ranks import bids_by_rank, distinct_by_rank
from headgate.workloads.nexmark.source import bids
from headgate.workloads.query import Query


def by_channel(events: DataFrame) -> DataFrame:
    """One row a channel and day."""
    told = [*bids_by_rank(), *distinct_by_rank("bidder"), *distinct_by_rank("auction")]
    minute = f.max(f.date_format("dateTime", "HH:mm")).alias("minute")
    grouped = bids(events).groupBy("channel", f.date_format("dateTime", "yyyy-MM-dd").alias("day"))
    return grouped.agg(minute, *map(f.expr, told))


Q16 = Query("q16", "bids, bidders and auctions of every channel and day, by price rank", by_channel, "update", keys=2)
