"""q0: every bid, as it is. What it costs to get events through at all."""

from pyspark.sql import DataFrame

from headgate.workloads.nexmark.source import bids
from headgate.workloads.query import Query


def passed_through(events: DataFrame) -> DataFrame:
    """Bids."""
    return bids(events).select("auction", "bidder", "price", "dateTime", "extra")


Q0 = Query("q0", "every bid, as it is", passed_through)
