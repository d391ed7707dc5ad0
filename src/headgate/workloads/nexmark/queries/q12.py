"""q12: how many bids each bidder made in every 10 seconds of the wall's clock."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headgate.workloads.nexmark.source import bids
from headgate.workloads.query import Query


def by_the_clock(events: DataFrame) -> DataFrame:
    """Bidder, from when to when, and bids; all of a batch have the time at which it began."""
    counted = bids(events).groupBy("bidder", f.window(f.current_timestamp(), "10 seconds")).count()
    return counted.selectExpr("bidder", "window.start as starts", "window.end as ends", "count as bids")


Q12 = Query("q12", "bids of each bidder in every 10 s of the wall's clock", by_the_clock, "update", keys=3)
