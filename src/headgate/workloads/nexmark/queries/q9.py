"""q9: the winning bid of every auction, once it is over, with all there is to say of the auction."""

from pyspark.sql import DataFrame

from headgate.workloads.nexmark.queries.winning import winning_bids
from headgate.workloads.query import Query

_ITEM = ("itemName", "description", "initialBid", "reserve")
_SALE = ("seller", "category", "extra")


def winners(events: DataFrame) -> DataFrame:
    """The auction and its bid, whose moment and extra are `bid_dateTime` and `bid_extra`."""
    won = winning_bids(events, of_auction=[*_ITEM, *_SALE], of_bid=["bidder", "extra"])
    return won.selectExpr(
        "auction as id",
        *(f"auction_{name} as {name}" for name in _ITEM),
        "timestamp_micros(opened) as dateTime",
        "timestamp_micros(expires) as expires",
        *(f"auction_{name} as {name}" for name in _SALE),
        "auction",
        "bid_bidder as bidder",
        "price",
        "timestamp_micros(bid_at) as bid_dateTime",
        "bid_extra",
    )


Q9 = Query("q9", "the winning bid of every auction", winners)
