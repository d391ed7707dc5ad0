"""What a query of a workload is."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from pyspark.sql import DataFrame

Mode = Literal["append", "update"]
WATERMARK = "4 seconds"
"""So late an event may be."""


class Query(NamedTuple):
    """A query: from the stream of events to its result, and how results come."""

    name: str
    asks: str
    """In words."""
    of: Callable[[DataFrame], DataFrame]
    mode: Mode = "append"
    """Spark's output mode."""
    keys: int = 0
    """Of a query whose rows take the place of earlier ones: so many first columns tell which."""
    folders: tuple[str, ...] = ()
    """Columns by which its files go into folders."""
