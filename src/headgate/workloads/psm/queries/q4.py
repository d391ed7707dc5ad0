"""Q4: impressions for each click on a product, in the last 5 minutes, every minute."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headgate.workloads.psm.events import IMPRESSION
from headgate.workloads.psm.queries.per_click import for_each_click
from headgate.workloads.query import Query


def impressions_per_click(events: DataFrame) -> DataFrame:
    """Window, product, impressions, clicks and their quotient."""
    return for_each_click(events, IMPRESSION, f.window("timestamp", "5 minutes", "1 minute"))


Q4 = Query("q4", "impressions for each click on a product in 5 min, every minute", impressions_per_click)
