"""The pages of `headgate state show` and `headgate state repartition`."""

from typing import TYPE_CHECKING

from headgate.cli.text_table import aligned_rows
from headgate.model.migration import LoadTime
from headgate.model.rewrite_cost import RewriteRate
from headgate.model.state_files import BinFiles, CheckpointState, StateOperator

if TYPE_CHECKING:
    from headgate.spark.rewriting import Rewritten


def state_page(state: CheckpointState) -> list[str]:
    """What `headgate state show` prints."""
    lines = [f"query {state.query}: {_standing(state)}"]
    if state.unproven:
        lines.append(
            f"that is a rewrite which nobody has compared with what was there before; have that done (repartition to "
            f"{state.partitions}) or take it back (headgate state undo)"
        )
    if not state.operators:
        return [*lines, "it keeps no state"]
    kept = {"rocksdb": "RocksDB", "in-memory": "the in-memory store", "other": state.provider_class}[state.provider]
    bins = state.partitions or max(len(operator.bins) for operator in state.operators)
    lines.append(f"state in {kept}, {bins} bins, {_megabytes(state.bytes)}{_rows(state.rows)}")
    lines.append(_format(state))
    for operator in state.operators:
        stores = f", {len(operator.stores)} stores a bin" if len(operator.stores) > 1 else ""
        layout = f", format {operator.format}" if operator.format is not None else ""
        lines += [
            "",
            f"operator {operator.id}, {operator.name}{layout}{stores}: {_skew(operator)}",
        ]
        rows = [("bin", "rows", "size", "snapshot", "changes after it"), *map(_bin, operator.bins)]
        if any(one.executors is not None for one in operator.bins):
            lives = ["executor", *(", ".join(one.executors or ()) for one in operator.bins)]
            rows = [(*row, where) for row, where in zip(rows, lives, strict=True)]
        lines += aligned_rows(rows)
    return [*lines, "", *_costs(state)]


def rewritten_page(checkpoint: str, done: "Rewritten") -> list[str]:
    """What `headgate state repartition` prints when it is over."""
    if done.done_before:
        lines = [
            f"nothing was rewritten: batch {done.batch} is the rewrite from {done.before} into {done.bins} bins; "
            f"{done.rows:,} rows, the same before and after it, compared in {done.seconds:.1f} s"
        ]
    else:
        lines = [
            f"{done.before} -> {done.bins} bins in {done.seconds:.1f} s; {done.rows:,} rows, the same before and after"
        ]
    lines += [f"  {phase.name:12} {phase.seconds:6.1f} s" for phase in done.phases]
    lines.append(f"to take it back, before the query goes on: headgate state undo {checkpoint}")
    if done.backup is not None:
        lines.append(f"a backup without a copy (hard links) is in {done.backup}; delete it when the query has gone on")
    return lines


def _format(state: CheckpointState) -> str:
    """How its files are written, as far as the checkpoint says."""
    written = state.written
    said = [
        f"rows as {written.rows}" if written.rows is not None else "",
        f"RocksDB's format {written.rocksdb}" if written.rocksdb is not None else "",
        f"changes packed with {written.codec}" if written.codec is not None else "",
        f"commits {state.commits}",
    ]
    return f"format: {', '.join(filter(None, said))}"


def _skew(operator: StateOperator) -> str:
    """By what is known: files of bins that differ much in rows can be of nearly one size."""
    if operator.rows is None:
        return f"largest bin {operator.skew:.2f} of an even share by bytes; rows are not counted"
    return f"largest bin {operator.skew:.2f} of an even share by rows"


def _standing(state: CheckpointState) -> str:
    if state.committed is None:
        return "no batch is committed yet"
    if state.rewriting is not None:
        return f"batch {state.committed} is committed; a rewrite into {state.rewriting} bins was begun and not finished"
    if state.begun != state.committed:
        return f"batch {state.committed} is committed, batch {state.begun} begun (running, or cut short)"
    return f"batch {state.committed} is committed"


def _bin(one: BinFiles) -> tuple[str, ...]:
    rows = "" if one.rows is None else f"{one.rows:,}"
    snapshot = "none" if one.snapshot is None else f"version {one.snapshot}"
    return str(one.number), rows, _megabytes(one.bytes), snapshot, f"{one.changes} ({_megabytes(one.change_bytes)})"


def _costs(state: CheckpointState) -> list[str]:
    """What a move or a rewrite would cost, by figures that were measured elsewhere."""
    largest = max(sum(operator.bins[number].bytes for operator in state.operators) for number in _numbers(state))
    stores = sum(len(operator.stores) for operator in state.operators)
    lines = [f"to move the largest bin adds about {LoadTime().of([largest]):.1f} s to one batch"]
    if state.provider == "rocksdb":
        # A row has some hundred bytes where nobody has counted them.
        rows = state.bytes // 200 if state.rows is None else state.rows
        seconds = RewriteRate().pause(stores, rows, state.bytes, state.partitions or 1)
        lines.append(
            f"to cut it into about as many bins takes about {seconds:.0f} s beside what Spark needs to start, with the "
            "query stopped; far more bins take longer"
        )
    else:
        lines.append("its number of bins is fixed: only RocksDB's state can be rewritten")
    return lines


def _numbers(state: CheckpointState) -> range:
    return range(min(len(operator.bins) for operator in state.operators))


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 100_000 else f"{size / 1e3:,.1f} kB"


def _rows(rows: int | None) -> str:
    return "" if rows is None else f", {rows:,} rows"
