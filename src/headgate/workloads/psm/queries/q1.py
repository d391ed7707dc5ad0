"""Q1: the category that each shop earned most with, in every 10 minutes."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headgate.workloads.psm.source import clicks
from headgate.workloads.query import WATERMARK, Query


def best_category(events: DataFrame) -> DataFrame:
    """Window, shop, category and what it earned; of equals, the category with the lowest number."""
    window = f.window("timestamp", "10 minutes")
    # As decimals, so that a sum does not depend on the order of what is added.
    earned = clicks(events).withWatermark("timestamp", WATERMARK).groupBy(window, "owner", "category").agg(
        f.expr("sum(cast(price as decimal(9, 3)))").alias("earned")
    )  # fmt: skip
    most = f.max(f.struct("earned", (-f.col("category")).alias("lowest"))).alias("most")
    return earned.groupBy("window", "owner").agg(most).selectExpr(
        "window.start as starts", "owner", "-most.lowest as category", "most.earned as earned"
    )  # fmt: skip


Q1 = Query("q1", "the category that each shop earned most with in 10 min", best_category)
