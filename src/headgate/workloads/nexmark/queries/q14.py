"""q14: bids of a middling price, with the time of day in words and the letters c in what they carry. Calculation."""

from pyspark.sql import DataFrame

from headgate.workloads.nexmark.queries.q1 import EURO
from headgate.workloads.nexmark.source import bids
from headgate.workloads.query import Query

LEAST, MOST = 1_000_000, 50_000_000
"""Of the price in euro, both exclusive."""
DAY = (8, 18)
"""Hours between which it is day, the last one included; from 6 to 20 it is neither day nor night."""
EDGE = (6, 20)


def calculated(events: DataFrame) -> DataFrame:
    """Bids whose price in euro lies in between."""
    hour = "hour(dateTime)"
    time = (
        f"case when {hour} >= {DAY[0]} and {hour} <= {DAY[1]} then 'dayTime' "
        f"when {hour} <= {EDGE[0]} or {hour} >= {EDGE[1]} then 'nightTime' else 'otherTime' end as bidTimeType"
    )
    letters = "length(extra) - length(replace(extra, 'c', '')) as c_counts"
    priced = bids(events).where(f"{EURO} * price > {LEAST} and {EURO} * price < {MOST}")
    return priced.selectExpr("auction", "bidder", f"{EURO} * price as price", time, "dateTime", "extra", letters)


Q14 = Query("q14", "bids of a middling price, with the time of day in words and a count of letters", calculated)
