"""q23: bids with their bidder and their auction. Three streams joined for ever.

Bounded, a bid finds both if it was made within 10 seconds of when the one registered and the other was opened.
"""

from functools import partial

from pyspark.sql import DataFrame

from headgate.workloads.nexmark.queries.bounded import WITHIN, near, timed
from headgate.workloads.nexmark.source import auctions, bids, persons
from headgate.workloads.query import Query


def with_bidder_and_auction(events: DataFrame, within: str | None = None) -> DataFrame:
    """Who bids how much for what."""
    bid = timed(bids(events), within).select("auction", "bidder", "price", "dateTime")
    bidder = timed(persons(events), within).selectExpr("id as person", "name", "state", "dateTime as came")
    auction = timed(auctions(events), within).selectExpr(
        "id as item", "itemName", "category", "seller", "dateTime as opened"
    )
    known = bid.join(bidder, (bid.bidder == bidder.person) & near(bid.dateTime, bidder.came, within)).drop("came")
    both = known.join(auction, (known.auction == auction.item) & near(known.dateTime, auction.opened, within))
    return both.drop("person", "item", "opened")


Q23 = Query("q23", "bids with their bidder and auction", with_bidder_and_auction)
Q23_BOUNDED = Query(
    "q23-bounded", f"the same, each within {WITHIN} of the bid", partial(with_bidder_and_auction, within=WITHIN)
)
