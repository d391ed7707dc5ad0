"""q22: the folders in the address of every bid."""

from pyspark.sql import DataFrame

from headgate.workloads.nexmark.source import bids
from headgate.workloads.query import Query


def folders(events: DataFrame) -> DataFrame:
    """Of https://host/one/two/three/…: one, two and three."""
    parts = [f"split_part(url, '/', {place + 3}) as dir{place}" for place in (1, 2, 3)]
    return bids(events).selectExpr("auction", "bidder", "price", "channel", *parts)


Q22 = Query("q22", "the folders in every bid's address", folders)
