"""Q3: what a click costs each shop in the middle, in every minute."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headgate.workloads.psm.source import clicks
from headgate.workloads.query import WATERMARK, Query


def median_by_shop(events: DataFrame) -> DataFrame:
    """Window, shop and median."""
    window = f.window("timestamp", "1 minute")
    # Of thousandths, so that the mean of the two in the middle does not depend on how it is rounded.
    told = clicks(events).withWatermark("timestamp", WATERMARK).groupBy(window, "owner").agg(
        (f.median(f.round(f.col("price") * 1000)) / 1000).alias("median")
    )  # fmt: skip
    return told.selectExpr("window.start as starts", "owner", "median")


Q3 = Query("q3", "the median price of a click for each shop in 1 min", median_by_shop)
