"""q11: how many bids each bidder made in each session; one ends after more than 10 seconds without a bid."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headgate.workloads.nexmark.source import bids
from headgate.workloads.query import WATERMARK, Query


def sessions(events: DataFrame) -> DataFrame:
    """Bidder, bids, and from when to when."""
    counted = bids(events).withWatermark("dateTime", WATERMARK).groupBy(
        "bidder", f.session_window("dateTime", "10 seconds").alias("session")
    ).count()  # fmt: skip
    return counted.selectExpr("bidder", "count as bids", "session.start as starts", "session.end as ends")


Q11 = Query("q11", "bids of each bidder's sessions", sessions)
