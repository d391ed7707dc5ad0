"""q2: bids on some auctions, by their number. A filter that few pass."""

from pyspark.sql import DataFrame

from headgate.workloads.nexmark.source import bids
from headgate.workloads.query import Query

EVERY = 123


def on_some_auctions(events: DataFrame) -> DataFrame:
    """Auction and price."""
    return bids(events).where(f"auction % {EVERY} = 0").select("auction", "price")


Q2 = Query("q2", f"bids on every {EVERY}rd auction", on_some_auctions)
