"""q23: bids of those who sell too, with who they are and each auction they have opened. Three streams joined for ever.

A bid comes out once for each auction of its bidder, whichever auction it was on. Bounded, it finds its bidder and those
auctions if it was made within 10 seconds of when the one registered and the others were opened.
"""

from functools import partial

from pyspark.sql import DataFrame

from headgate.workloads.nexmark.queries.bounded import WITHIN, near, timed
from headgate.workloads.nexmark.source import auctions, bids, persons
from headgate.workloads.query import Query


def of_sellers(events: DataFrame, within: str | None = None) -> DataFrame:
    """Everything of the three but when the bid was made and on what, and when the bidder registered."""
    bid = timed(bids(events), within).drop("auction").withColumnRenamed("extra", "bid_extra")
    person = timed(persons(events), within).withColumnsRenamed(
        {"id": "person_id", "dateTime": "came", "extra": "person_extra"}
    )
    auction = (
        timed(auctions(events), within)
        .drop("id")
        .withColumnsRenamed({"dateTime": "auction_dateTime", "extra": "auction_extra"})
    )
    known = bid.join(person, (bid.bidder == person.person_id) & near(bid.dateTime, person.came, within)).drop("came")
    sold = (known.bidder == auction.seller) & near(known.dateTime, auction.auction_dateTime, within)
    return known.join(auction, sold).drop("dateTime")


Q23 = Query("q23", "bids of those who sell too, with each auction of theirs", of_sellers)
Q23_BOUNDED = Query("q23-bounded", f"the same, each within {WITHIN} of the bid", partial(of_sellers, within=WITHIN))
