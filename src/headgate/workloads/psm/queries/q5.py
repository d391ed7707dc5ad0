"""Q5: searches for each click on a product, in every minute."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headgate.workloads.psm.events import SEARCH
from headgate.workloads.psm.queries.per_click import for_each_click
from headgate.workloads.query import Query


def searches_per_click(events: DataFrame) -> DataFrame:
    """Window, product, searches, clicks and their quotient."""
    return for_each_click(events, SEARCH, f.window("timestamp", "1 minute"))


Q5 = Query("q5", "searches for each click on a product in 1 min", searches_per_click)
