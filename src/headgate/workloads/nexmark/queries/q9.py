"""q9: the winning bid of every auction, once it is over."""

from pyspark.sql import DataFrame

from headgate.workloads.nexmark.queries.winning import winning_bids
from headgate.workloads.query import Query


def winners(events: DataFrame) -> DataFrame:
    """The auction and its bid."""
    moments = [f"timestamp_micros({name}) as {name}" for name in ("opened", "expires")]
    return winning_bids(events).selectExpr(
        "auction", "category", "seller", *moments, "bidder", "price", "timestamp_micros(bid_at) as bid_at"
    )


Q9 = Query("q9", "the winning bid of every auction", winners)
