"""q20: bids with the auction they are on, of category 10. Two streams joined for ever."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headgate.workloads.nexmark.source import auctions, bids
from headgate.workloads.query import Query

CATEGORY = 10


def with_auction(events: DataFrame) -> DataFrame:
    """Everything of both."""
    bid, auction = bids(events), auctions(events).where(f"category = {CATEGORY}")
    opened = auction.select("id", *(f.col(name).alias(f"auction_{name}") for name in auction.columns if name != "id"))
    return bid.join(opened, bid.auction == opened.id).drop("id")


Q20 = Query("q20", "bids with their auction, of category 10", with_auction)
