"""The winning bid of every auction: the highest while it was open, known as soon as nothing earlier can come any more.

An auction and its bids are of one key. The highest bid so far is kept, and a timer is set for when the auction ends. A
bid that comes before its auction waits for it, as long as one that was open by then may still come. Moments are
microseconds in here: Python's own would bring the time zone of each worker into it.

Of an auction and of its bids those columns are kept that a query asks for: what it does not need would be state.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from headgate.workloads.nexmark.events import AUCTION_SCHEMA, BID_SCHEMA
from headgate.workloads.nexmark.numbering import AUCTION, BID
from headgate.workloads.query import WATERMARK

_Bid: TypeAlias = tuple[Any, ...]
"""The price, the moment, and the columns that were asked for."""


class WinningBids(StatefulProcessor):
    """One row for each auction that had a bid, when it is over."""

    def __init__(self, of_auction: Sequence[str], of_bid: Sequence[str]) -> None:
        """Columns of the source's schema that are kept beside what decides."""
        self._opened = ["opened bigint", "expires bigint", *_kept("auction", AUCTION_SCHEMA, of_auction)]
        self._bid = ["price bigint", "bid_at bigint", *_kept("bid", BID_SCHEMA, of_bid)]

    @property
    def schema(self) -> str:
        """Of what comes out."""
        return ", ".join(["auction bigint", *self._opened, *self._bid])

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._open = handle.getValueState("open", ", ".join(self._opened))
        self._best = handle.getValueState("best", ", ".join(self._bid))
        self._early = handle.getListState("early", ", ".join(self._bid))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        of_auction, of_bid = _names(self._opened), _names(self._bid)
        bids: list[_Bid] = []
        for row in rows:
            if row["opened"] is not None:
                self._open.update(tuple(row[name] for name in of_auction))
                self._handle.registerTimer(_until(row["expires"]))
            else:
                bids.append(tuple(row[name] for name in of_bid))
        auction = self._open.get()
        if auction is not None:
            opened, expires = auction[:2]
            self._outbid([bid for bid in [*self._waiting(), *bids] if opened <= bid[1] <= expires])
            self._early.clear()
        elif bids:
            self._early.appendList(bids)
            for bid in bids:
                self._handle.registerTimer(_until(bid[1]))
        yield from ()

    def _waiting(self) -> list[_Bid]:
        return [tuple(bid) for bid in self._early.get()] if self._early.exists() else []

    def _outbid(self, valid: list[_Bid]) -> None:
        best = self._best.get()
        if best is not None:
            valid.append(tuple(best))
        if valid:
            # The highest; of equally high ones the earliest.
            self._best.update(max(valid, key=lambda bid: (bid[0], -bid[1])))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        now, auction, best = expiredTimerInfo.getExpiryTimeInMs(), self._open.get(), self._best.get()
        if auction is None:
            waiting = [bid for bid in self._waiting() if _until(bid[1]) > now]
            self._early.put(waiting) if waiting else self._early.clear()
        elif _until(auction[1]) <= now:  # else set for a bid that waited for it
            if best is not None:
                names = ["auction", *_names(self._opened), *_names(self._bid)]
                yield Row(**dict(zip(names, (key[0], *auction, *best), strict=True)))
            self._open.clear()
            self._best.clear()

    def close(self) -> None:
        """Nothing is held."""


def _kept(whose: str, schema: str, names: Sequence[str]) -> list[str]:
    """Columns of a schema under names that say whose they are, each with its kind.

    >>> _kept("bid", "auction bigint, extra string", ["extra"])
    ['bid_extra string']
    """
    kinds = dict(column.split(" ") for column in schema.split(", "))
    return [f"{whose}_{name} {kinds[name]}" for name in names]


def _names(columns: Sequence[str]) -> list[str]:
    return [column.split(" ")[0] for column in columns]


def _until(moment: int) -> int:
    """The first millisecond after this microsecond."""
    return moment // 1000 + 1


def winning_bids(events: DataFrame, of_auction: Sequence[str] = (), of_bid: Sequence[str] = ()) -> DataFrame:
    """Of every auction that is over and had a bid: `auction`, `opened`, `expires`, `price` and `bid_at`.

    What else is asked for comes as `auction_NAME` and `bid_NAME`. Moments are in microseconds; ask for no others.
    """
    winning = WinningBids(of_auction, of_bid)
    parts = events.where(f"event_type in ({AUCTION}, {BID})").withWatermark("dateTime", WATERMARK).selectExpr(
        "coalesce(auction.id, bid.auction) as auction",
        "unix_micros(auction.dateTime) as opened", "unix_micros(auction.expires) as expires",
        *(f"auction.{name} as auction_{name}" for name in of_auction),
        "bid.price", "unix_micros(bid.dateTime) as bid_at",
        *(f"bid.{name} as bid_{name}" for name in of_bid),
        "dateTime",
    )  # fmt: skip
    return parts.groupBy("auction").transformWithState(winning, winning.schema, "append", "eventTime")
