"""q3: who sells in category 10 in some states. Two streams joined for ever: all persons and auctions are kept.

Bounded, an auction finds its seller if it was opened within 10 seconds of when that one registered.
"""

from functools import partial

from pyspark.sql import DataFrame

from headgate.workloads.nexmark.queries.bounded import WITHIN, near, timed
from headgate.workloads.nexmark.source import auctions, persons
from headgate.workloads.query import Query

CATEGORY = 10
STATES = ("OR", "ID", "CA")


def sellers(events: DataFrame, within: str | None = None) -> DataFrame:
    """Name, city and state of the seller, and the auction."""
    came = timed(persons(events), within).where(f"state in {STATES}")
    opened = timed(auctions(events), within).where(f"category = {CATEGORY}")
    nearby = came.selectExpr("id", "name", "city", "state", "dateTime as came")
    sold = opened.selectExpr("id as auction", "seller", "dateTime as opened")
    both = sold.join(nearby, (sold.seller == nearby.id) & near(sold.opened, nearby.came, within))
    return both.select("name", "city", "state", "auction")


Q3 = Query("q3", "who sells in category 10 in Oregon, Idaho and California", sellers)
Q3_BOUNDED = Query("q3-bounded", f"the same, within {WITHIN} of registering", partial(sellers, within=WITHIN))
