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


_FROM_SNAPSHOTS = 0.45
"""State is read in as little as this part of the usual time where all of it is in snapshots, without changes."""
_MOST_OFF = 4.0
"""How many times slower, or faster, than usual a machine is believed to be: the first reading of a session is slow."""


class StateCost(msgspec.Struct, frozen=True):
    """Seconds that going through state takes, as a sum of parts."""

    fixed: float
    """Whatever the size, for each store."""
    per_bin: float
    """Of a slot, for each bin of each store: a task, and a snapshot to be read or written."""
    per_row: float
    per_byte: float

    def seconds(self, stores: int, rows: int, size: int, bins: int, slots: int) -> float:
        """For so many stores in so many bins, with so many rows and bytes in all of them, on so many slots."""
        return (self.fixed + self.per_bin * bins / max(1, slots)) * stores + self.per_row * rows + self.per_byte * size


class RewriteRate(msgspec.Struct, frozen=True):
    """How fast rewriting goes, measured by `make bench-rewrite` on two cores: it reads everything, and writes it anew.

    The state is also read once before, and once after it, to be compared.
    """

    reading: StateCost = StateCost(0.45, 0.04, 3.1e-6, 1.6e-9)
    writing: StateCost = StateCost(0.0, 0.12, 3.6e-6, 4.2e-9)

    def seconds_here(
        self, read: float, stores: int, rows: int, size: int, before: int, bins: int, slots: int = 2
    ) -> float:
        """What a rewrite takes on a machine that has just taken so many seconds to read it all, from the bins before.

        Fixed figures do not hold on a machine that is busy, or is another one; both show in how long reading takes.

        >>> rate = RewriteRate()
        >>> usual = rate.reading.seconds(1, 100_000, 100_000_000, 16, slots=2)
        >>> [round(rate.seconds_here(read, 1, 100_000, 100_000_000, 16, 24), 2) for read in (usual, 2 * usual)]
        [3.46, 6.92]
        """
        usual = self.reading.seconds(stores, rows, size, before, slots)
        ratio = read / usual if usual else 1.0
        slower = ratio if ratio > 1 else min(1.0, ratio / _FROM_SNAPSHOTS)
        slower = min(max(slower, 1 / _MOST_OFF), _MOST_OFF)
        return read + self.writing.seconds(stores, rows, size, bins, slots) * slower

    def pause(self, stores: int, rows: int, size: int, bins: int, slots: int = 2) -> float:
        """To rewrite it into so many bins from about as many, with reading it before and after; not yet tried here.

        >>> round(RewriteRate().pause(stores=1, rows=100_000, size=100_000_000, bins=24), 2)
        6.42
        """
        reading = self.reading.seconds(stores, rows, size, bins, slots)
        return 3 * reading + self.writing.seconds(stores, rows, size, bins, slots)


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
