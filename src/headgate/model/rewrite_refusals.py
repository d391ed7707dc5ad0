"""What stands in the way of a rewrite of state into another number of bins: for good, or for now."""

from headgate.model.errors import InputError
from headgate.model.state_files import UNKNOWN, CheckpointState

MOST_BINS = 100_000


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
    if state.commits == "v2":
        raise InputError(
            f"{state.path}: has ids in the names of its state (spark.sql.streaming.stateStore.checkpointFormatVersion "
            f"2), which Headgate does not rewrite yet"
        )
    if state.commits != "v1":
        raise InputError(
            f"{state.path}: version {state.commits or '(none)'} of the log of commits; only v1 can be rewritten, so "
            f"leave the number of bins"
        )
    for operator in state.operators:
        if operator.name == UNKNOWN:
            raise InputError(
                f"{state.path}: does not say what operator {operator.id} is (Spark writes that from 4.0 on), so its "
                f"state cannot be read; run the query on this Spark first, for a batch"
            )
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
