"""q19: the ten highest bids of every auction, so far."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as f
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from headgate.workloads.nexmark.source import bids
from headgate.workloads.query import Query

MOST = 10
_BID = "price bigint, moment bigint, bidder bigint, channel string, url string, extra string"
_NAMES = tuple(column.split(" ")[0] for column in _BID.split(", "))


class Highest(StatefulProcessor):
    """Keeps ten bids of each auction, and puts all of them out whenever there is a new one."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._kept = handle.getListState("kept", _BID)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        kept = [tuple(bid) for bid in self._kept.get()] if self._kept.exists() else []
        kept += [tuple(row[name] for name in _NAMES) for row in rows]
        # Of equally high ones the earlier is the higher, as at an auction.
        kept = sorted(kept, key=lambda bid: (-bid[0], bid[1]))[:MOST]
        self._kept.put(kept)
        for rank, bid in enumerate(kept, start=1):
            yield Row(auction=key[0], rank=rank, **dict(zip(_NAMES, bid, strict=True)))

    def close(self) -> None:
        """Nothing is held."""


def ten_highest(events: DataFrame) -> DataFrame:
    """A row for each rank of each auction: the bid, all of it."""
    # As microseconds: Python's own moments would bring the time zone of each worker into it.
    bid = bids(events).withColumn("moment", f.unix_micros("dateTime")).select("auction", *_NAMES)
    told = bid.groupBy("auction").transformWithState(Highest(), f"auction bigint, rank int, {_BID}", "update", "none")
    moment = f.timestamp_micros("moment").alias("dateTime")
    return told.select("auction", "rank", "bidder", "price", "channel", "url", moment, "extra")


Q19 = Query("q19", "the ten highest bids of every auction", ten_highest, "update", keys=2)
