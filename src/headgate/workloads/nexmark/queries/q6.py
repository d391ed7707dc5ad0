"""q6: the average price of the last ten auctions of each seller that were won, whenever there is one more."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from headgate.workloads.nexmark.queries.winning import winning_bids
from headgate.workloads.query import Query

LAST = 10


class LastPrices(StatefulProcessor):
    """Keeps the last prices of a seller, in the order in which auctions ended."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._last = handle.getListState("last", "price bigint")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        last = [price for (price,) in self._last.get()] if self._last.exists() else []
        # Auctions that end in one batch end before those of the next, and come in no order.
        for row in sorted(rows, key=lambda row: (row["expires"], row["auction"])):
            last = [*last, row["price"]][-LAST:]
            yield Row(seller=key[0], auction=row["auction"], price=sum(last) / len(last))
        self._last.put([(price,) for price in last])

    def close(self) -> None:
        """Nothing is held."""


def last_prices(events: DataFrame) -> DataFrame:
    """Seller, the auction that was won, and the average."""
    won = winning_bids(events, of_auction=["seller"]).groupBy("auction_seller")
    return won.transformWithState(LastPrices(), "seller bigint, auction bigint, price double", "append", "none")


Q6 = Query("q6", "the average price of the last ten auctions won of each seller", last_prices)
