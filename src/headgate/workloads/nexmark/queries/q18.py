"""q18: the last bid of every bidder on every auction."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headgate.workloads.nexmark.source import bids
from headgate.workloads.query import Query


def last_bids(events: DataFrame) -> DataFrame:
    """One bid a bidder and auction; of several at the same moment the highest."""
    last = f.max(f.struct("dateTime", "price", "channel", "url", "extra")).alias("bid")
    kept = bids(events).groupBy("auction", "bidder").agg(last)
    return kept.select("auction", "bidder", "bid.price", "bid.channel", "bid.url", "bid.dateTime", "bid.extra")


Q18 = Query("q18", "the last bid of every bidder on every auction", last_bids, "update", keys=2)
