"""q21: the id of the channel of every bid, known for the large ones and in the address of most others."""

from pyspark.sql import DataFrame

from headgate.workloads.nexmark.source import bids
from headgate.workloads.query import Query

KNOWN = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}


def channel_ids(events: DataFrame) -> DataFrame:
    """Bids whose channel has an id."""
    known = " ".join(f"when '{name}' then '{id}'" for name, id in KNOWN.items())
    named = "nullif(regexp_extract(url, '(&|^)channel_id=([^&]*)', 2), '')"
    found = bids(events).selectExpr(
        "auction", "bidder", "price", "channel", f"case lower(channel) {known} else {named} end as channel_id"
    )
    return found.where("channel_id is not null")


Q21 = Query("q21", "the id of every bid's channel", channel_ids)
