"""The state of a streaming query as its checkpoint holds it: operators, stores, bins, and what moving them costs."""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import msgspec

Provider = Literal["rocksdb", "in-memory", "other"]


class BinFiles(msgspec.Struct, frozen=True):
    """One bin of one operator, all its stores together, as of the last committed batch."""

    number: int
    snapshot: int | None
    """The newest version that is there as a whole; of several stores the oldest of those. None where there is none."""
    changes: int
    """Files of changes after it, over all stores."""
    snapshot_bytes: int
    change_bytes: int
    rows: int | None = None
    """None where nobody has counted them."""
    executors: tuple[str, ...] | None = None
    """Where it lives, as far as somebody watches the query: one, or several where its operators do not agree."""

    @property
    def there(self) -> bool:
        """Whether there is any file of it: a bin that has tasks writes one in every batch."""
        return self.snapshot is not None or self.changes > 0

    @property
    def bytes(self) -> int:
        """What an executor loads that gets this bin."""
        return self.snapshot_bytes + self.change_bytes


UNKNOWN = "unknown"
"""The name of an operator of which its checkpoint does not tell: those that Spark before 4.0 began."""


class StateOperator(msgspec.Struct, frozen=True):
    """One operator with state."""

    id: int
    name: str
    """What Spark calls it: stateStoreSave, symmetricHashJoin, dedupe, …; or `UNKNOWN`."""
    stores: tuple[str, ...]
    bins: tuple[BinFiles, ...]
    format: str | None = None
    """The version of how this kind of operator lays out its rows; None where the checkpoint does not say."""

    @property
    def bytes(self) -> int:
        """Over all bins."""
        return sum(one.bytes for one in self.bins)

    @property
    def rows(self) -> int | None:
        """Over all bins; None where nobody has counted them."""
        counted = [one.rows for one in self.bins if one.rows is not None]
        return sum(counted) if len(counted) == len(self.bins) else None

    @property
    def skew(self) -> float:
        """How many times its even share the largest bin has, by rows where they are counted, else by bytes."""
        sizes = [one.rows if self.rows is not None and one.rows is not None else one.bytes for one in self.bins]
        return max(sizes) * len(sizes) / sum(sizes) if sizes and sum(sizes) else 1.0


class WrittenAs(msgspec.Struct, frozen=True):
    """How the files of state are written; None of what the checkpoint does not say."""

    rows: str | None = None
    """The encoding of a row: unsaferow or avro."""
    rocksdb: str | None = None
    """The version of RocksDB's own files."""
    codec: str | None = None
    """What packs changes and deltas."""


class CheckpointState(msgspec.Struct, frozen=True):
    """A checkpoint, as far as its state goes."""

    path: str
    query: str
    """The query's id."""
    provider: Provider
    provider_class: str
    partitions: int | None
    """Bins of every operator, as the next batch will have them; None where the checkpoint does not say."""
    committed: int | None
    """The last batch that is committed; None before the first."""
    begun: int | None
    """The last batch that was begun: another than `committed` where one is under way, or was cut short."""
    rewriting: int | None
    """The number of bins that a rewrite of state, begun and not finished, is making; None where none is."""
    operators: tuple[StateOperator, ...]
    commits: str = "v1"
    """The version of the log of commits; in the second, versions of state have ids of their own."""
    written: WrittenAs = WrittenAs()
    unproven: bool = False
    """Whether somebody has seen that the last batch is a rewrite which was never compared with what was there before.
    """

    @property
    def bytes(self) -> int:
        """Over all operators."""
        return sum(one.bytes for one in self.operators)

    @property
    def rows(self) -> int | None:
        """Over all operators; None where nobody has counted them."""
        counted = [one.rows for one in self.operators if one.rows is not None]
        return sum(counted) if len(counted) == len(self.operators) else None

    def with_executors(self, whereabouts: Mapping[int, Collection[str]]) -> "CheckpointState":
        """The same with where each bin lives."""
        operators = (
            msgspec.structs.replace(
                operator,
                bins=tuple(
                    msgspec.structs.replace(one, executors=tuple(sorted(whereabouts.get(one.number, ()))))
                    for one in operator.bins
                ),
            )
            for operator in self.operators
        )
        return msgspec.structs.replace(self, operators=tuple(operators))

    def with_rows(self, rows: "Sequence[Sequence[int]]") -> "CheckpointState":
        """The same with rows for each bin of each operator."""
        operators = (
            msgspec.structs.replace(
                operator,
                bins=tuple(
                    msgspec.structs.replace(one, rows=count) for one, count in zip(operator.bins, counts, strict=True)
                ),
            )
            for operator, counts in zip(self.operators, rows, strict=True)
        )
        return msgspec.structs.replace(self, operators=tuple(operators))
