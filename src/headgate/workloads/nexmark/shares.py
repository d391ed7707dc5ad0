"""Who is hot: a few persons and auctions take part in most of what happens."""

from typing import NamedTuple

import numpy as np

from headgate.workloads.nexmark.numbering import FIRST_ID, Ids
from headgate.workloads.scrambled import Numbers, mixed, unit_interval

BLOCK = 100
"""So many ids have one hot one among them; when they are used up, the next block has."""
ACTIVE_AUCTIONS, ACTIVE_PERSONS = 100, 1000
"""The newest of them, which those that are not hot are drawn from."""
AHEAD = 10
"""Ids that do not exist yet and are drawn as well: what they stand for comes later."""


class HotShares(NamedTuple):
    """The part of events that goes to the hot one; 0 to 1."""

    auction: float = 0.5
    """Of bids, by auction."""
    bidder: float = 0.75
    seller: float = 0.75
    """Of auctions, by seller."""


def drawn(numbers: Numbers, newest: Ids, salt: int, *, hot: float, hot_place: int, active: int) -> Ids:
    """An id for each event: the hot one of the current block, or one of those that are active or about to be.

    >>> numbers = np.arange(1000, dtype=np.uint64)
    >>> ids = drawn(numbers, np.full(1000, 250), 5, hot=1.0, hot_place=1, active=100)
    >>> set(ids.tolist())
    {1201}
    """
    newest = np.maximum(newest, 0)
    first = np.maximum(newest - active + 1, 0)
    cold = first + (mixed(numbers, salt) % (newest - first + 1 + AHEAD).astype(np.uint64)).astype(np.int64)
    chosen = unit_interval(numbers, salt + 1) < hot
    return np.where(chosen, newest // BLOCK * BLOCK + hot_place, cold) + FIRST_ID
