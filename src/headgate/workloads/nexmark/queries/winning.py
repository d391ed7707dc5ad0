"""The winning bid of every auction: the highest while it was open, known as soon as nothing earlier can come any more.

An auction and its bids are of one key. The highest bid so far is kept, and a timer is set for when the auction ends. A
bid that comes before its auction waits for it, as long as one that was open by then may still come. Moments are
microseconds in here: Python's own would bring the time zone of each worker into it.
"""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from headgate.workloads.nexmark.numbering import AUCTION, BID
from headgate.workloads.query import WATERMARK

_OPEN = "category bigint, seller bigint, opened bigint, expires bigint"
_BID = "bidder bigint, price bigint, bid_at bigint"
_WON = f"auction bigint, {_OPEN}, {_BID}"


class WinningBids(StatefulProcessor):
    """One row for each auction that had a bid, when it is over."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._open = handle.getValueState("open", _OPEN)
        self._best = handle.getValueState("best", _BID)
        self._early = handle.getListState("early", _BID)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        bids: list[tuple[int, int, int]] = []
        for row in rows:
            if row["opened"] is not None:
                self._open.update((row["category"], row["seller"], row["opened"], row["expires"]))
                self._handle.registerTimer(_until(row["expires"]))
            else:
                bids.append((row["bidder"], row["price"], row["bid_at"]))
        auction = self._open.get()
        if auction is not None:
            _, _, opened, expires = auction
            self._outbid([bid for bid in [*self._waiting(), *bids] if opened <= bid[2] <= expires])
            self._early.clear()
        elif bids:
            self._early.appendList(bids)
            for bid in bids:
                self._handle.registerTimer(_until(bid[2]))
        yield from ()

    def _waiting(self) -> list[tuple[int, int, int]]:
        return [(bidder, price, bid_at) for bidder, price, bid_at in self._early.get()] if self._early.exists() else []

    def _outbid(self, valid: list[tuple[int, int, int]]) -> None:
        best = self._best.get()
        if best is not None:
            valid.append((best[0], best[1], best[2]))
        if valid:
            # The highest; of equally high ones the earliest.
            self._best.update(max(valid, key=lambda bid: (bid[1], -bid[2])))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        now, auction, best = expiredTimerInfo.getExpiryTimeInMs(), self._open.get(), self._best.get()
        if auction is None:
            waiting = [bid for bid in self._waiting() if _until(bid[2]) > now]
            self._early.put(waiting) if waiting else self._early.clear()
        elif _until(auction[3]) <= now:  # else set for a bid that waited for it
            if best is not None:
                names = ("auction", "category", "seller", "opened", "expires", "bidder", "price", "bid_at")
                yield Row(**dict(zip(names, (key[0], *auction, *best), strict=True)))
            self._open.clear()
            self._best.clear()

    def close(self) -> None:
        """Nothing is held."""


def _until(moment: int) -> int:
    """The first millisecond after this microsecond."""
    return moment // 1000 + 1


def winning_bids(events: DataFrame) -> DataFrame:
    """Of every auction that is over and had a bid; moments in microseconds."""
    parts = events.where(f"event_type in ({AUCTION}, {BID})").withWatermark("dateTime", WATERMARK).selectExpr(
        "coalesce(auction.id, bid.auction) as auction", "auction.category", "auction.seller",
        "unix_micros(auction.dateTime) as opened", "unix_micros(auction.expires) as expires",
        "bid.bidder", "bid.price", "unix_micros(bid.dateTime) as bid_at", "dateTime",
    )  # fmt: skip
    return parts.groupBy("auction").transformWithState(WinningBids(), _WON, "append", "eventTime")
