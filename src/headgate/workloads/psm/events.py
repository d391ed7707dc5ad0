"""Clicks, impressions and searches, each a pure function of its number.

A step is two events: a click or an impression, half of the time each, and a search. A product has its category.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from headgate.workloads.event_time import TIMESTAMP, EventTime
from headgate.workloads.scrambled import Numbers, unit_interval, whole_below

CLICK, IMPRESSION, SEARCH = 0, 1, 2
SCHEMA = (
    "number bigint, kind int, timestamp timestamp, category bigint, product bigint, "  # of all
    "owner bigint, price double, rank int"
)
CHEAPEST, DEAREST = 200, 700
"""Of a click, in thousandths, both included."""
RANKS = 200
"""A product is found at places from 0 up to this."""


class _Salt(IntEnum):
    """One for each draw."""

    KIND = 1
    PRODUCT = 2
    OWNER = 3
    PRICE = 4
    RANK = 5
    LATE = 6


class Settings(NamedTuple):
    """What a stream of events is made by."""

    time: EventTime = EventTime()
    products: int = 1000
    categories: int = 20
    owners: int = 100
    """Shops."""


def events(numbers: Numbers, settings: Settings) -> pa.RecordBatch:
    """All of them in order. Only a click has an owner and a price, only a search a rank.

    >>> some = events(np.arange(100, dtype=np.uint64), Settings())
    >>> some.num_rows, some["kind"].to_pylist().count(SEARCH), some["rank"].null_count
    (100, 50, 50)
    """
    searched = numbers % np.uint64(2) == 1
    clicked = ~searched & (unit_interval(numbers, _Salt.KIND) < 0.5)
    kind = np.where(searched, SEARCH, np.where(clicked, CLICK, IMPRESSION)).astype(np.int32)
    product = whole_below(settings.products, numbers, _Salt.PRODUCT)
    owner = whole_below(settings.owners, numbers, _Salt.OWNER)
    price = (CHEAPEST + whole_below(DEAREST - CHEAPEST + 1, numbers, _Salt.PRICE)) / 1000
    rank = whole_below(RANKS, numbers, _Salt.RANK).astype(np.int32)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(numbers.astype(np.int64)),
            pa.array(kind),
            pa.array(settings.time.of(numbers, _Salt.LATE)).cast(TIMESTAMP),
            pa.array(product % settings.categories),
            pa.array(product),
            pa.array(owner, mask=~clicked),
            pa.array(price, mask=~clicked),
            pa.array(rank, mask=~searched),
        ],
        names=["number", "kind", "timestamp", "category", "product", "owner", "price", "rank"],
    )
