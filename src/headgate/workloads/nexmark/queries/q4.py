"""q4: the average price that auctions of each category were won at, so far.

Spark takes no aggregation after an operator of one's own unless rows are final, and averages never are; so the averages
are kept by an operator of one's own too. It puts out a row for each category that a batch has changed: the last one
counts.
"""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from headgate.workloads.nexmark.queries.winning import winning_bids
from headgate.workloads.query import Query


class AveragePrice(StatefulProcessor):
    """Keeps how many there were, and their sum."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._so_far = handle.getValueState("so_far", "won bigint, prices bigint")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        won, prices = self._so_far.get() or (0, 0)
        for row in rows:
            won, prices = won + 1, prices + row["price"]
        self._so_far.update((won, prices))
        yield Row(category=key[0], price=prices / won)

    def close(self) -> None:
        """Nothing is held."""


def average_by_category(events: DataFrame) -> DataFrame:
    """Category and average."""
    won = winning_bids(events, of_auction=["category"]).groupBy("auction_category")
    return won.transformWithState(AveragePrice(), "category bigint, price double", "append", "none")


Q4 = Query("q4", "the average price that auctions of each category were won at", average_by_category, keys=1)
