"""q3: who sells in category 10 in some states. Two streams joined for ever: all persons and auctions are kept."""

from pyspark.sql import DataFrame

from headgate.workloads.nexmark.source import auctions, persons
from headgate.workloads.query import Query

CATEGORY = 10
STATES = ("OR", "ID", "CA")


def sellers(events: DataFrame) -> DataFrame:
    """Name, city and state of the seller, and the auction."""
    nearby = persons(events).where(f"state in {STATES}").select("id", "name", "city", "state")
    sold = auctions(events).where(f"category = {CATEGORY}").selectExpr("id as auction", "seller")
    return sold.join(nearby, sold.seller == nearby.id).select("name", "city", "state", "auction")


Q3 = Query("q3", "who sells in category 10 in Oregon, Idaho and California", sellers)
