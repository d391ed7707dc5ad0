"""q10: every bid into files, in folders by day and minute."""

from pyspark.sql import DataFrame

from headgate.workloads.nexmark.source import bids
from headgate.workloads.query import Query


def by_minute(events: DataFrame) -> DataFrame:
    """Bids, with their day and minute."""
    day, minute = "date_format(dateTime, 'yyyy-MM-dd') as dt", "date_format(dateTime, 'HH:mm') as hm"
    return bids(events).selectExpr("auction", "bidder", "price", "dateTime", "extra", day, minute)


Q10 = Query("q10", "every bid into files by day and minute", by_minute, folders=("dt", "hm"))
