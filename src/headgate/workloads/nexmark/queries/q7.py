"""q7: the highest bid of every 10 seconds.

One aggregation keeps one bid; of equally high ones that of the lowest auction and bidder.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headgate.workloads.nexmark.source import bids
from headgate.workloads.query import WATERMARK, Query


def highest(events: DataFrame) -> DataFrame:
    """The bid, and when its window ends."""
    order = f.struct("price", (-f.col("auction")).alias("a"), (-f.col("bidder")).alias("b"), "dateTime", "extra")
    most = bids(events).withWatermark("dateTime", WATERMARK).groupBy(f.window("dateTime", "10 seconds")).agg(
        f.max(order).alias("bid")
    )  # fmt: skip
    return most.selectExpr(
        "-bid.a as auction", "-bid.b as bidder", "bid.price", "bid.dateTime", "bid.extra", "window.end as ends"
    )


Q7 = Query("q7", "the highest bid of every 10 s", highest)
