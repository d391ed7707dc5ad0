"""What Q4 and Q5 count: how many events of one kind there are for each click on a product.

The original groups two streams together by window. Both are one stream here, so one aggregation that counts each kind
does the same and keeps two numbers instead of all events.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from headgate.workloads.psm.events import CLICK
from headgate.workloads.query import WATERMARK


def for_each_click(events: DataFrame, kind: int, window: Column) -> DataFrame:
    """Window, product, events of this kind, clicks, and one divided by the other; of products that had a click."""
    of_window = events.where(f"kind in ({kind}, {CLICK})").withWatermark("timestamp", WATERMARK).groupBy(
        window.alias("window"), "product"
    )  # fmt: skip
    counted = of_window.agg(f.expr(f"count_if(kind = {kind}) as others"), f.expr(f"count_if(kind = {CLICK}) as clicks"))
    return counted.where("clicks > 0").selectExpr(
        "window.start as starts", "product", "others", "clicks", "others / clicks as per_click"
    )
