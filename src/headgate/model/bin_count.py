"""How many bins a new stateful job should start with: the number is frozen by its first batch.

Enough to be even on any number of executors that may come, few enough that what each bin costs whatever is in it does
not eat the batch on the fewest.
"""

from typing import NamedTuple

FIXED = 0.1
"""Seconds that a bin costs in every batch, whatever is in it: a task, and a commit of RocksDB with its changelog.
`headgate inspect` tells it for a job that runs."""
_PART = 0.2
"""Of a batch, for that."""
_EVEN_ENOUGH = 1.2
_MOST_TIMES = 8
"""As many bins as slots, times this, at the most."""


class BinCount(NamedTuple):
    """So many bins, and what speaks for them."""

    bins: int
    uneven: float
    """The longest time of a slot, in even shares, on the worst number of executors."""
    overhead: float
    """Seconds a batch spends on bins as such, on the fewest executors."""

    def __str__(self) -> str:
        return (
            f"state in {self.bins} bins: on any number of executors allowed, no slot has more than "
            f"{self.uneven:.2f} of an even share; on the fewest they cost about {self.overhead:.1f} s a batch as such"
        )


def bins_to_start_with(least: int, most: int, cores: int, interval: float, fixed: float = FIXED) -> BinCount:
    """For so many executors of so many cores, and batches that may take so many seconds.

    >>> bins_to_start_with(least=1, most=8, cores=1, interval=60.0).bins
    20
    >>> bins_to_start_with(least=1, most=8, cores=1, interval=5.0).bins
    10
    """
    slots = most * cores
    affordable = int(_PART * interval * least * cores / fixed)
    choices = range(slots, max(slots, min(_MOST_TIMES * slots, affordable)) + 1)
    judged = [BinCount(n, unevenness(n, least, most, cores), n * fixed / (least * cores)) for n in choices]
    enough = (one for one in judged if one.uneven <= _EVEN_ENOUGH)
    return next(enough, None) or min(judged, key=lambda one: (one.uneven, one.bins))


def unevenness(bins: int, least: int, most: int, cores: int = 1) -> float:
    """The longest time of a slot in even shares, on the worst number of executors: bins of an executor run in waves.

    >>> unevenness(8, 1, 8)  # on 7 executors one has 2 of 8 bins, and even would be 8 / 7
    1.75
    >>> unevenness(32, 1, 8, cores=4)  # on 7 executors one has 5 bins for 4 slots: two waves, and even would be 8 / 7
    1.75
    """

    def waves(executors: int) -> int:
        most_of_one = -(-bins // executors)
        return -(-most_of_one // cores)

    return max(waves(executors) * cores * executors / bins for executors in range(least, most + 1))
