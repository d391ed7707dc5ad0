"""q23: bids with their bidder and their auction. Three streams joined for ever."""

from pyspark.sql import DataFrame

from headgate.workloads.nexmark.source import auctions, bids, persons
from headgate.workloads.query import Query


def with_bidder_and_auction(events: DataFrame) -> DataFrame:
    """Who bids how much for what."""
    bid = bids(events).select("auction", "bidder", "price", "dateTime")
    bidder = persons(events).selectExpr("id as person", "name", "state")
    auction = auctions(events).selectExpr("id as item", "itemName", "category", "seller")
    both = bid.join(bidder, bid.bidder == bidder.person)
    return both.join(auction, both.auction == auction.item).drop("person", "item")


Q23 = Query("q23", "bids with their bidder and auction", with_bidder_and_auction)
