"""q13: every bid with a value from a table at rest. A stream joined with a table."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headgate.workloads.nexmark.source import bids
from headgate.workloads.query import Query

KEYS = 10_000
"""Rows of the table; a bid looks up its auction's number modulo this."""


def with_value(events: DataFrame) -> DataFrame:
    """Bids, with the value."""
    table = events.sparkSession.range(KEYS).selectExpr("id as key", "concat('value ', id) as value")
    bid = bids(events).select("auction", "bidder", "price", "dateTime")
    return bid.join(f.broadcast(table), bid.auction % KEYS == table.key).drop("key")


Q13 = Query("q13", "every bid with a value from a table", with_value)
