"""Whether another number of partitions is worth the pause it takes to get there.

More partitions can let fewer executors do, or let any number do at all: the last wave is shorter, and slots that had
nothing to do get some. To get there the query has to start again; and where it keeps state, all of it is rewritten in
between. What that gains counts over a horizon, what it costs only once.

Operators with state share one number, their bins; those without, behind a shuffle, are advised about as one as well.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from headgate.model.arrivals import Arrivals
from headgate.model.capacity import Capacity, OperatorCapacity, Pool, Setting
from headgate.model.keeping_up import Wish, least_pool
from headgate.model.microbatch import KeptState, MicroBatch
from headgate.model.reasons import many
from headgate.model.rewrite_cost import RewriteRate

HORIZON = 24 * 3600.0
"""Seconds for which what is gained counts."""
_RESTART = 10.0
"""Seconds to drain a query and to start it again."""
_WORTH = 10.0
"""What is gained must be so many times what is lost."""
_TIMES = (2, 4)
_PLENTY = 4
"""Partitions for each slot from which on more of them are no use."""

Partitions: TypeAlias = Literal["bins", "exchanges"]


class PartitionAdvice(msgspec.Struct, frozen=True):
    """Another number of partitions, and what speaks for it."""

    of: Partitions
    """Of the state, or of what has none."""
    now: int
    partitions: int
    pause: float
    """Seconds without results."""
    executors_now: int | None
    """The fewest that do with the present partitions; None where no number does."""
    executors_then: int
    gain: float | None
    """Executor-hours a day; None where it could not keep up at all otherwise."""
    operators: tuple[str, ...] = ()
    """That have so many partitions now."""

    def within(self, least: int, most: int) -> "PartitionAdvice | None":
        """The same for a pool with bounds; None where it gains nothing there.

        >>> PartitionAdvice("bins", 4, 8, 30.0, 6, 4, 48.0).within(1, 3) is None  # what it needs is not allowed
        True
        >>> PartitionAdvice("bins", 4, 8, 30.0, 6, 4, 48.0).within(5, 8).gain  # one fewer, for a day
        24.0
        >>> PartitionAdvice("bins", 4, 8, 30.0, 6, 4, 48.0).within(1, 4).gain is None  # as it is nothing allowed does
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
        if self.of == "bins":
            what, costs, word = f"{self.partitions} bins of state instead of {self.now}", "the rewrite", "state"
        else:
            of = ", ".join(self.operators)
            what = f"{self.partitions} partitions instead of {self.now} for {of}"
            costs, word = "the restart", "EXCHANGE"
        return (
            f"{what} would do with {many(self.executors_then, 'executor')}: {gained}; {costs} pauses the query for "
            f"about {self.pause:.0f} s (under `headgate run`: headgate tell JOURNAL restart {word}={self.partitions})"
        )


def partition_advice(
    model: Capacity, come: Arrivals, wish: Wish, batches: Sequence[MicroBatch], now: Pool | None
) -> tuple[PartitionAdvice, ...]:
    """What is worth its pause; `now` is the least pool that does with the present partitions.

    Only the lesser of two pauses that gain the same is advised: partitions of what has no state cost no rewrite.
    """
    stateless = [one for one in model.operators if one.feeders and not one.source and not one.stateful]
    stateful = [one for one in model.operators if one.stateful]
    found = list[PartitionAdvice]()
    if stateless:
        found += _worth_it(model, come, wish, now, stateless, lambda _: _RESTART)
    kept = batches[-1].state
    if stateful and kept and all(_rewritable(one) for one in kept):
        slots = model.pool.total
        found += _worth_it(model, come, wish, now, stateful, lambda bins: _RESTART + _rewriting(kept, bins, slots))
    best = min((one.executors_then for one in found), default=0)
    return tuple([one for one in found if one.executors_then == best][:1])


def _worth_it(
    model: Capacity,
    come: Arrivals,
    wish: Wish,
    now: Pool | None,
    operators: Sequence[OperatorCapacity],
    pause_for: Callable[[int], float],
) -> Iterator[PartitionAdvice]:
    """The fewest partitions of these operators beyond the present ones that are worth their pause, if any are."""
    present = max(operator.partitions for operator in operators)
    if now is not None and present >= _PLENTY * now.total:
        return  # as many on every slot: finer ones would not be much more even
    of: Partitions = "bins" if operators[0].stateful else "exchanges"
    names = tuple(one.name for one in operators if one.partitions == present)
    for times in _TIMES:
        asked = times * present
        then = least_pool(model, come, wish, Setting(bins=asked) if of == "bins" else Setting(exchanges=asked))
        if then is None:
            continue
        few, pause = len(then.slots), pause_for(asked)
        if now is None:
            yield PartitionAdvice(of, present, asked, pause, None, few, None, names)
            return
        saved = (len(now.slots) - few) * HORIZON
        if saved > _WORTH * pause * len(now.slots):
            yield PartitionAdvice(of, present, asked, pause, len(now.slots), few, saved / 3600, names)
            return


def _rewriting(kept: Sequence[KeptState], bins: int, slots: int) -> float:
    """Seconds to write this state anew, in so many bins."""
    stores = max(1, sum(one.stores // max(1, one.partitions) for one in kept))
    size = sum(one.stored_bytes for one in kept)
    return RewriteRate().pause(stores, sum(one.rows for one in kept), size, bins, slots)


def _rewritable(kept: KeptState) -> bool:
    """Only RocksDB's state can be: its figures have its name."""
    return any(name.startswith("rocksdb") for name in kept.provider)
