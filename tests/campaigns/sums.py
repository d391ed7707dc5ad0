"""A processor for `transformWithState`, in a module of its own: that is what is sent to executors whole."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle


class Sums(StatefulProcessor):
    """Adds up the numbers of each key."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """One value a key."""
        self._total = handle.getValueState("total", "total bigint")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """What there was and what comes."""
        before = self._total.get()[0] if self._total.exists() else 0
        total = before + sum(row["number"] for row in rows)
        self._total.update((total,))
        yield Row(key=key[0], total=total)

    def close(self) -> None:
        """Nothing is held."""
