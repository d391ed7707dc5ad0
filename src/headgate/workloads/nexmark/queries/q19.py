"""q19: the ten highest bids of every auction, so far."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from headgate.workloads.nexmark.source import bids
from headgate.workloads.query import Query

MOST = 10
_BID = "bidder bigint, price bigint, moment bigint"
_SCHEMA = f"auction bigint, rank int, {_BID}"


class Highest(StatefulProcessor):
    """Keeps ten bids of each auction, and puts all of them out whenever there is a new one."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._kept = handle.getListState("kept", _BID)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        kept = [(bidder, price, moment) for bidder, price, moment in self._kept.get()] if self._kept.exists() else []
        kept += [(row["bidder"], row["price"], row["moment"]) for row in rows]
        # Of equally high ones the earlier is the higher, as at an auction.
        kept = sorted(kept, key=lambda bid: (-bid[1], bid[2]))[:MOST]
        self._kept.put(kept)
        for rank, (bidder, price, moment) in enumerate(kept, start=1):
            yield Row(auction=key[0], rank=rank, bidder=bidder, price=price, moment=moment)

    def close(self) -> None:
        """Nothing is held."""


def ten_highest(events: DataFrame) -> DataFrame:
    """A row for each rank of each auction."""
    # As microseconds: Python's own moments would bring the time zone of each worker into it.
    bid = bids(events).selectExpr("auction", "bidder", "price", "unix_micros(dateTime) as moment")
    told = bid.groupBy("auction").transformWithState(Highest(), _SCHEMA, "update", "none")
    return told.selectExpr("auction", "rank", "bidder", "price", "timestamp_micros(moment) as dateTime")


Q19 = Query("q19", "the ten highest bids of every auction", ten_highest, "update", keys=2)
