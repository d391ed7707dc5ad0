"""q5: the auction with the most bids in the last 10 seconds, every 2 seconds.

Counted by window and auction, and then the highest count of each window: two aggregations, one after the other. (A join
of the counts with their maximum, as the query is often written, is accepted by Spark and never emits a row.) Of several
auctions with as many bids, the one with the lowest id.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headgate.workloads.nexmark.source import bids
from headgate.workloads.query import WATERMARK, Query


def counts(events: DataFrame) -> DataFrame:
    """Window, auction, and its bids."""
    windows = f.window("dateTime", "10 seconds", "2 seconds")
    return (
        bids(events).withWatermark("dateTime", WATERMARK).groupBy(windows, "auction").agg(f.count("*").alias("num"))
    )  # fmt: skip


def hottest(events: DataFrame) -> DataFrame:
    """Window, auction, and its bids."""
    most = f.max(f.struct("num", (-f.col("auction")).alias("lowest"))).alias("most")
    return counts(events).groupBy("window").agg(most).selectExpr(
        "window.start as starts", "window.end as ends", "-most.lowest as auction", "most.num as num"
    )  # fmt: skip


def all_counts(events: DataFrame) -> DataFrame:
    """Window, auction, and its bids: of all auctions, as DS2 was tried on."""
    return counts(events).selectExpr("window.start as starts", "window.end as ends", "auction", "num")


Q5 = Query("q5", "the auction with the most bids in 10 s, every 2 s", hottest)
Q5_OF_DS2 = Query("q5-ds2", "the bids on every auction in 10 s, every 2 s", all_counts)
