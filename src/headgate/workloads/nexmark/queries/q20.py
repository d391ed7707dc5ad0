"""q20: bids with the auction they are on, of category 10. Two streams joined for ever.

Bounded, a bid finds its auction if it was made within 10 seconds of when that one was opened.
"""

from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headgate.workloads.nexmark.queries.bounded import WITHIN, near, timed
from headgate.workloads.nexmark.source import auctions, bids
from headgate.workloads.query import Query

CATEGORY = 10


def with_auction(events: DataFrame, within: str | None = None) -> DataFrame:
    """Everything of both."""
    bid = timed(bids(events), within)
    auction = timed(auctions(events), within).where(f"category = {CATEGORY}")
    opened = auction.select("id", *(f.col(name).alias(f"auction_{name}") for name in auction.columns if name != "id"))
    both = bid.join(opened, (bid.auction == opened.id) & near(bid.dateTime, opened.auction_dateTime, within))
    return both.drop("id")


Q20 = Query("q20", "bids with their auction, of category 10", with_auction)
Q20_BOUNDED = Query("q20-bounded", f"the same, within {WITHIN} of opening", partial(with_auction, within=WITHIN))
