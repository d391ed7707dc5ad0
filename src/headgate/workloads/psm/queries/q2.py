"""Q2: what a click on each product costs in the middle, of the last 10,000, whenever there were 1,000 more.

A window that goes by count: Spark has none, so an operator of its own keeps the prices, in blocks of as many as make a
window move on. A batch then rewrites the block it adds to, and no other.
"""

from collections.abc import Iterator
from statistics import median
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from headgate.workloads.psm.source import clicks
from headgate.workloads.query import Query

LAST, EVERY = 10_000, 1_000
_SCHEMA = "product bigint, clicks bigint, median double"


class LastPrices(StatefulProcessor):
    """The prices of the last clicks on a product."""

    def __init__(self, last: int, every: int) -> None:
        self._blocks_kept, self._every = last // every, every

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._seen = handle.getValueState("seen", "clicks bigint")
        self._blocks = handle.getMapState("blocks", "block bigint", "prices array<double>")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        (seen,) = self._seen.get() or (0,)
        block = self._prices(seen // self._every)
        for row in sorted(rows, key=lambda row: row["number"]):  # they come in no order
            block.append(row["price"])
            seen += 1
            if seen % self._every == 0:
                number = seen // self._every - 1
                self._blocks.updateValue((number,), (block,))
                first = max(0, number - self._blocks_kept + 1)
                last = [price for kept in range(first, number) for price in self._prices(kept)]
                yield Row(product=key[0], clicks=seen, median=float(median([*last, *block])))
                if number - self._blocks_kept + 1 >= 0:
                    self._blocks.removeKey((number - self._blocks_kept + 1,))
                block = []
        if block:
            self._blocks.updateValue((seen // self._every,), (block,))
        self._seen.update((seen,))

    def _prices(self, block: int) -> list[float]:
        kept = self._blocks.getValue((block,)) if self._blocks.containsKey((block,)) else None
        return [] if kept is None else list(kept[0])

    def close(self) -> None:
        """Nothing is held."""


def median_of_last(events: DataFrame, last: int = LAST, every: int = EVERY) -> DataFrame:
    """Product, clicks on it so far, and the median of the last ones."""
    of_product = clicks(events).select("product", "number", "price").groupBy("product")
    return of_product.transformWithState(LastPrices(last, every), _SCHEMA, "append", "none")


Q2 = Query("q2", f"the median price of the last {LAST:,} clicks on each product, every {EVERY:,}", median_of_last)
