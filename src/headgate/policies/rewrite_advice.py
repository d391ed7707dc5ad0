"""Whether another number of bins is worth the pause it takes to get there.

A rewrite stops the query: state is read, written anew, read again, and the query starts. It pays where more bins let
fewer executors do, or let any number do at all; what it gains counts over a horizon, what it costs only once.
"""

from collections.abc import Sequence

import msgspec

from headgate.model.arrivals import Arrivals
from headgate.model.capacity import Capacity, Pool, Setting
from headgate.model.keeping_up import Wish, least_pool
from headgate.model.microbatch import KeptState, MicroBatch
from headgate.model.rewrite import RewriteRate

HORIZON = 24 * 3600.0
"""Seconds for which what is gained counts."""
_RESTART = 10.0
"""Seconds to drain a query and to start it again."""
_WORTH = 10.0
"""What is gained must be so many times what is lost."""
_TIMES = (2, 4)
_PLENTY = 4
"""Bins for each slot from which on more of them are no use."""


class RewriteAdvice(msgspec.Struct, frozen=True):
    """Another number of bins, and what speaks for it."""

    now: int
    bins: int
    pause: float
    """Seconds without results."""
    executors_now: int | None
    """The fewest that do with the present bins; None where no number does."""
    executors_then: int
    gain: float | None
    """Executor-hours a day; None where it could not keep up at all otherwise."""

    def within(self, least: int, most: int) -> "RewriteAdvice | None":
        """The same for a pool with bounds; None where it gains nothing there.

        >>> RewriteAdvice(4, 8, 30.0, 6, 4, 48.0).within(1, 3) is None  # what it needs is not allowed
        True
        >>> RewriteAdvice(4, 8, 30.0, 6, 4, 48.0).within(5, 8).gain  # one fewer, for a day
        24.0
        >>> RewriteAdvice(4, 8, 30.0, 6, 4, 48.0).within(1, 4).gain is None  # as things are nothing allowed does
        True
        """
        then = max(self.executors_then, least)
        if then > most:
            return None
        if self.executors_now is None or self.executors_now > most:
            return msgspec.structs.replace(self, executors_now=None, executors_then=then, gain=None)
        now = max(self.executors_now, least)
        if then >= now:
            return None
        saved = (now - then) * HORIZON / 3600
        return msgspec.structs.replace(self, executors_now=now, executors_then=then, gain=saved)

    def __str__(self) -> str:
        gained = (
            "no number of executors that is allowed meets the objective now"
            if self.gain is None
            else f"saves {self.gain:.0f} executor-hours a day ({self.executors_now} are needed now)"
        )
        return (
            f"{self.bins} bins of state instead of {self.now} would do with {self.executors_then} executors: {gained}; "
            f"the rewrite pauses the query for about {self.pause:.0f} s (under `headgate run`: headgate tell JOURNAL "
            f"restart state={self.bins})"
        )


def rewrite_advice(
    model: Capacity, come: Arrivals, wish: Wish, batches: Sequence[MicroBatch], now: Pool | None
) -> RewriteAdvice | None:
    """The fewest bins beyond the present ones that are worth it; None where none are, or nothing keeps state.

    `now` is the least pool that does with the present bins.
    """
    stateful = [operator for operator in model.operators if operator.stateful]
    kept = batches[-1].state
    if not stateful or not kept or not all(_rewritable(one) for one in kept):
        return None
    bins = max(operator.partitions for operator in stateful)
    if now is not None and bins >= _PLENTY * now.total:
        return None  # as many bins on every slot: finer ones would not be much more even
    stores = max(1, sum(one.stores // max(1, one.partitions) for one in kept))
    size = sum(one.stored_bytes for one in kept)
    pause = _RESTART + RewriteRate().pause(stores, sum(one.rows for one in kept), size)
    for times in _TIMES:
        then = least_pool(model, come, wish, Setting(partitions=times * bins))
        if then is None:
            continue
        few = len(then.slots)
        if now is None:
            return RewriteAdvice(bins, times * bins, pause, None, few, None)
        saved = (len(now.slots) - few) * HORIZON
        if saved > _WORTH * pause * len(now.slots):
            return RewriteAdvice(bins, times * bins, pause, len(now.slots), few, saved / 3600)
    return None


def _rewritable(kept: KeptState) -> bool:
    """Only RocksDB's state can be: its figures have its name."""
    return any(name.startswith("rocksdb") for name in kept.provider)
