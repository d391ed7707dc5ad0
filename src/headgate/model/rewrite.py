"""A rewrite of state into another number of bins: what must hold before, what it will take, what must hold after."""

from collections.abc import Sequence

import msgspec

from headgate.model.errors import InputError
from headgate.model.state_files import CheckpointState

MOST_BINS = 100_000


class StoreDigest(msgspec.Struct, frozen=True):
    """What one store holds over all its bins: so many rows, and a sum that does not depend on their order."""

    operator: int
    store: str
    rows: int
    checksum: str
    rows_in_bins: tuple[int, ...] = ()
    """One a bin."""


_MOST_OFF = 4.0
"""How many times slower, or faster, than usual a machine is believed to be: the first reading of a session is slow."""


class RewriteRate(msgspec.Struct, frozen=True):
    """How fast rewriting goes, measured by `make bench-rewrite` on two cores."""

    fixed: float = 0.4
    """Seconds whatever the size, for each store."""
    per_bin: float = 0.1
    """Of a slot, for each new bin of each store: a task, and a snapshot."""
    per_row: float = 5e-6
    per_byte: float = 1e-8
    reading: float = 0.5
    """What reading everything once takes, as a part of that; it is read before and after."""

    def seconds(self, stores: int, rows: int, size: int, bins: int, slots: int = 2) -> float:
        """To write so many stores, rows and bytes anew, in so many bins, on so many slots.

        >>> RewriteRate().seconds(stores=1, rows=100_000, size=100_000_000, bins=24)
        3.1
        """
        each = self.fixed + self.per_bin * bins / max(1, slots)
        return each * stores + self.per_row * rows + self.per_byte * size

    def seconds_here(
        self, read: float, stores: int, rows: int, size: int, before: int, bins: int, slots: int = 2
    ) -> float:
        """The same on a machine that has just taken so many seconds to read it all, from the bins there were before.

        Fixed figures do not hold on a machine that is busy, or is another one; both show in how long reading takes.

        >>> rate = RewriteRate()
        >>> rate.seconds(1, 100_000, 100_000_000, 24), rate.seconds_here(2.7, 1, 100_000, 100_000_000, 16, 24)
        (3.1, 6.2)
        """
        usual = self.reading * self.seconds(stores, rows, size, before, slots)
        slower = min(max(read / usual, 1 / _MOST_OFF), _MOST_OFF)
        return self.seconds(stores, rows, size, bins, slots) * slower

    def pause(self, stores: int, rows: int, size: int, bins: int, slots: int = 2) -> float:
        """With reading it before and after."""
        return self.seconds(stores, rows, size, bins, slots) * (1 + 2 * self.reading)


def refuse_for_good(state: CheckpointState, bins: int) -> None:
    """`InputError` with what stands in the way whenever it is tried, and what to do."""
    if not 1 <= bins <= MOST_BINS:
        raise InputError(f"{bins} bins: give a number from 1 to {MOST_BINS:,}")
    if state.committed is None:
        raise InputError(f"{state.path}: no batch is committed yet, so there is no state; start the query first")
    if not state.operators:
        raise InputError(f"{state.path}: the query keeps no state; its partitions can be set at any restart")
    if state.provider != "rocksdb":
        known = "the in-memory state store" if state.provider == "in-memory" else state.provider_class
        raise InputError(
            f"{state.path}: its state is kept by {known}, and only RocksDB's can be rewritten; a checkpoint keeps its "
            f"state store for life: start a new one with spark.sql.streaming.stateStore.providerClass set"
        )
    if state.partitions is None:
        raise InputError(f"{state.path}: does not say how many bins it has, so they cannot be told from new ones")
    if state.unique_ids:
        raise InputError(
            f"{state.path}: has ids in the names of its state (spark.sql.streaming.stateStore.checkpointFormatVersion "
            f"2), which Headgate does not rewrite yet"
        )
    for operator in state.operators:
        if state.partitions > 1 and not any(one.there for one in operator.bins[1:]):
            # Such an operator has no key; a rewrite would put its one row wherever nothing hashes to.
            raise InputError(
                f"{state.path}: operator {operator.id} ({operator.name}) keeps all its state in bin 0 (it has no "
                f"key to cut it by), and a rewrite would lose it; give it a key, or leave the number of bins"
            )


def refuse_for_now(state: CheckpointState, bins: int) -> None:
    """`InputError` with what must be over first."""
    if state.rewriting is not None and state.rewriting != bins:
        raise InputError(
            f"{state.path}: a rewrite into {state.rewriting} bins was begun and not finished; finish it first "
            f"(repartition to {state.rewriting}) or take it back (headgate state undo)"
        )
    if state.rewriting is None and state.begun != state.committed:
        raise InputError(
            f"{state.path}: batch {state.begun} was begun and is not committed; the query is running, or was cut "
            f"short: start it and drain it (Ctrl-C under `headgate run`), so that its last batch is committed"
        )
    if state.rewriting is None and state.partitions == bins:
        raise InputError(f"{state.path}: has {bins} bins already; nothing to do")


def differences(before: Sequence[StoreDigest], after: Sequence[StoreDigest]) -> list[str]:
    """What is not the same after a rewrite, in words; empty where all is."""
    told = {(one.operator, one.store): one for one in after}
    found = []
    for one in before:
        then = told.get((one.operator, one.store))
        if then is None:
            found.append(f"store {one.store} of operator {one.operator} is gone")
        elif (one.rows, one.checksum) != (then.rows, then.checksum):
            found.append(
                f"store {one.store} of operator {one.operator} had {one.rows:,} rows (sum {one.checksum}) and has "
                f"{then.rows:,} (sum {then.checksum})"
            )
    return found
