"""q8: persons who registered and opened an auction in the same 10 seconds. Two aggregations, joined by window."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headgate.workloads.nexmark.source import auctions, persons
from headgate.workloads.query import WATERMARK, Query

WINDOW = "10 seconds"


def new_sellers(events: DataFrame) -> DataFrame:
    """Id, name, and when the window starts."""
    came = (
        persons(events).withWatermark("dateTime", WATERMARK).groupBy(f.window("dateTime", WINDOW), "id", "name").count()
    )
    sold = auctions(events).withWatermark("dateTime", WATERMARK).groupBy(f.window("dateTime", WINDOW), "seller").count()
    left = came.select("id", "name", f.col("window").alias("w"))
    right = sold.select("seller", f.col("window").alias("v"))
    both = left.join(right, (left.id == right.seller) & (left.w == right.v))
    return both.selectExpr("id", "name", "w.start as starts")


def pairs(events: DataFrame) -> DataFrame:
    """Id, name and the reserve of each auction: the join of both streams by window, as DS2 was tried on."""
    came = persons(events).withWatermark("dateTime", WATERMARK).select(
        "id", "name", f.window("dateTime", WINDOW).alias("w")
    )  # fmt: skip
    sold = auctions(events).withWatermark("dateTime", WATERMARK).select(
        "seller", "reserve", f.window("dateTime", WINDOW).alias("v")
    )  # fmt: skip
    return came.join(sold, (came.id == sold.seller) & (came.w == sold.v)).select("id", "name", "reserve")


Q8 = Query("q8", "persons who opened an auction in the 10 s in which they registered", new_sellers)
Q8_OF_DS2 = Query("q8-ds2", "each auction that a person opened in the 10 s in which they registered", pairs)
