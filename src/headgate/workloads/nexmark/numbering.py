"""Which event a number is, and who and what is there by then.

Events come in groups of 50: a person, three auctions, 46 bids. So the number of an event tells how many persons and
auctions there are when it happens, and nothing need be remembered.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headgate.workloads.scrambled import Numbers

Ids = npt.NDArray[np.int64]

PERSONS, AUCTIONS, BIDS = 1, 3, 46
GROUP = PERSONS + AUCTIONS + BIDS
FIRST_ID = 1000
"""Of persons and of auctions."""
PERSON, AUCTION, BID = 0, 1, 2


class There(NamedTuple):
    """The newest person and the newest auction when an event happens, counted from 0; -1 before the first."""

    person: Ids
    auction: Ids


def kinds(numbers: Numbers) -> npt.NDArray[np.int32]:
    """What each event is.

    >>> kinds(np.arange(6, dtype=np.uint64)).tolist()
    [0, 1, 1, 1, 2, 2]
    """
    place = numbers % np.uint64(GROUP)
    later = (place >= np.uint64(PERSONS)).astype(np.int32) + (place >= np.uint64(PERSONS + AUCTIONS)).astype(np.int32)
    return later.astype(np.int32)


def there(numbers: Numbers) -> There:
    """Who and what is newest; a person or an auction counts from its own event on.

    >>> newest = there(np.array([0, 1, 3, 4, 50, 52], dtype=np.uint64))
    >>> newest.person.tolist(), newest.auction.tolist()
    ([0, 0, 0, 0, 1, 1], [-1, 0, 2, 2, 2, 4])
    """
    group, place = (part.astype(np.int64) for part in np.divmod(numbers, np.uint64(GROUP)))
    return There(group, group * AUCTIONS + np.clip(place - PERSONS, -1, AUCTIONS - 1))
