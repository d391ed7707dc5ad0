"""q1: every bid with its price in euro. A map."""

from pyspark.sql import DataFrame

from headgate.workloads.nexmark.source import bids
from headgate.workloads.query import Query

EURO = "0.908"
"""Of a dollar; as a decimal, so that prices are exact."""


def in_euro(events: DataFrame) -> DataFrame:
    """Bids."""
    return bids(events).selectExpr("auction", "bidder", f"{EURO} * price as price", "dateTime", "extra")


Q1 = Query("q1", "every bid with its price in euro", in_euro)
