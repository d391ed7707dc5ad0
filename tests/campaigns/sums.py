"""A processor for `transformWithState`."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle


def adding_up() -> StatefulProcessor:
    """Adds up the numbers of each key.

    Its class is made here, inside: executors cannot import the campaigns, and what has no name in a module is sent to
    them whole.
    """

    class Sums(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self._total = handle.getValueState("total", "total bigint")

        def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
            before = self._total.get()[0] if self._total.exists() else 0
            total = before + sum(row["number"] for row in rows)
            self._total.update((total,))
            yield Row(key=key[0], total=total)

        def close(self) -> None:
            """Nothing is held."""

    return Sums()
