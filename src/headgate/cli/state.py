"""`headgate state`: the state that a streaming query keeps, from its checkpoint; and moving it."""

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from headgate.cli.options import Once, count, file
from headgate.cli.text_table import aligned_rows
from headgate.control.events import Command
from headgate.model.errors import HeadgateError, InputError, in_brief
from headgate.model.migration import STRATEGIES, LoadTime
from headgate.model.rewrite import RewriteRate
from headgate.model.state_files import BinFiles, CheckpointState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DESCRIPTION = """\
The state that a streaming query keeps from batch to batch, cut into bins (state partitions): look at it, move bins
between executors while the query runs, or cut it into another number of bins while it does not.
"""

EPILOG = """\
examples:
  headgate state show checkpoint                     operators, bins, rows, bytes; no query need run
  headgate state show checkpoint --quick             the same without rows; of a path without starting Spark
  headgate state move job.journal                    spread all bins evenly, while the job runs
  headgate state move job.journal 3=1 7=2            bin 3 to executor 1, bin 7 to executor 2
  headgate state repartition checkpoint 24           into 24 bins; the query must be stopped
  headgate state undo checkpoint                     take the last repartition back, before the query goes on

exit codes: 0 done, 2 something wrong with the input (one line on standard error says what and where)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be done with it, and the options of each."""
    words = parser.add_subparsers(dest="word", metavar="WORD", required=True, title="words")

    def word(name: str, summary: str) -> argparse.ArgumentParser:
        made = words.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        made.register("action", None, Once)
        return made

    show = word("show", "what a checkpoint holds, from its files")
    show.add_argument("checkpoint", type=file, metavar="CHECKPOINT")
    show.add_argument("--quick", action="store_true", help="do not count rows, which takes Spark")
    show.add_argument("--format", choices=("table", "json"), default="table", help="(default: table)")
    move = word("move", "move bins between the executors of a running job, through its journal")
    move.add_argument("journal", type=file, metavar="JOURNAL", help="the file that was given as journal=")
    move.add_argument("bins", nargs="*", metavar="BIN=EXECUTOR", help="(default: all bins, evenly)")
    move.add_argument("--strategy", choices=STRATEGIES, help="in which steps (default: as the job is set up)")
    again = word("repartition", "cut the state of a stopped query into another number of bins")
    again.add_argument("checkpoint", type=file, metavar="CHECKPOINT")
    again.add_argument("bins", type=count, metavar="N", help="bins of every operator")
    again.add_argument("--not-running", action="store_true", help="no query runs on it, though it was just written to")
    undo = word("undo", "take the last repartition back; the query must not have gone on since")
    undo.add_argument("checkpoint", type=file, metavar="CHECKPOINT")
    undo.add_argument("--not-running", action="store_true", help="no query runs on it, though it was just written to")


def run(given: argparse.Namespace) -> int:
    """The word that was given."""
    try:
        return {"show": _show, "move": _move, "repartition": _repartition, "undo": _undo}[given.word](given)
    except InputError:
        raise
    except HeadgateError as problem:
        raise InputError(str(problem)) from problem


def _show(given: argparse.Namespace) -> int:
    from headgate.formats.checkpoint.folders import LocalFolders
    from headgate.formats.checkpoint.reader import read_state

    if "://" not in given.checkpoint and given.quick:
        state = read_state(LocalFolders(given.checkpoint))
    else:
        state = _read_with_spark(given.checkpoint, quick=given.quick)
    if given.format == "json":
        print(msgspec.json.format(msgspec.json.encode(state), indent=2).decode())
    else:
        print("\n".join(_page(state)))
    return 0


def _read_with_spark(checkpoint: str, *, quick: bool) -> CheckpointState:
    from headgate.formats.checkpoint.folders import LocalFolders
    from headgate.formats.checkpoint.reader import read_state

    state = read_state(LocalFolders(checkpoint)) if "://" not in checkpoint else None
    if state is not None and not state.operators:
        return state  # no need for Spark
    from headgate.spark.internals.hadoop_folders import HadoopFolders
    from headgate.spark.reading_session import reading_session
    from headgate.spark.state_digest import digests, with_rows

    with reading_session() as spark:
        state = state or read_state(HadoopFolders(spark, checkpoint))
        if quick:
            return state
        try:
            return with_rows(state, digests(spark, state))
        except Exception as problem:
            raise InputError(f"{checkpoint}: rows cannot be counted ({in_brief(problem)}); try --quick") from problem


def _page(state: CheckpointState) -> list[str]:
    lines = [f"query {state.query}: {_standing(state)}"]
    if not state.operators:
        return [*lines, "it keeps no state"]
    kept = {"rocksdb": "RocksDB", "in-memory": "the in-memory store", "other": state.provider_class}[state.provider]
    lines.append(f"state in {kept}, {state.partitions} bins, {_megabytes(state.bytes)}{_rows(state.rows)}")
    for operator in state.operators:
        stores = f", {len(operator.stores)} stores a bin" if len(operator.stores) > 1 else ""
        lines += [
            "",
            f"operator {operator.id}, {operator.name}{stores}: largest bin {operator.skew:.2f} of an even share",
        ]
        lines += aligned_rows([("bin", "rows", "size", "snapshot", "changes after it"), *map(_bin, operator.bins)])
    return [*lines, "", *_costs(state)]


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
        seconds = RewriteRate().pause(stores, state.bytes // 200 if state.rows is None else state.rows, state.bytes)
        lines.append(f"to cut it into another number of bins takes about {seconds:.0f} s, with the query stopped")
    else:
        lines.append("its number of bins is fixed: only RocksDB's state can be rewritten")
    return lines


def _numbers(state: CheckpointState) -> range:
    return range(min(len(operator.bins) for operator in state.operators))


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 100_000 else f"{size / 1e3:,.1f} kB"


def _rows(rows: int | None) -> str:
    return "" if rows is None else f", {rows:,} rows"


def _move(given: argparse.Namespace) -> int:
    from headgate.runtime.journal import Journal

    command = Command(time.time(), "move", strategy=given.strategy, bins=_bins(given.bins))
    with Journal(given.journal, make=False) as journal:
        journal.tell(command)
    print(f"left for the controller: move {', '.join(given.bins) or 'all bins to where they are even'}")
    print(f"`headgate history {given.journal}` shows how it goes")
    return 0


def _bins(words: Sequence[str]) -> dict[int, str]:
    """From BIN=EXECUTOR, as many as there are."""
    found: dict[int, str] = {}
    for word in words:
        number, _, executor = word.partition("=")
        if not (number.isascii() and number.isdigit() and executor):
            raise InputError(f"move: {word} is not BIN=EXECUTOR, such as 3=1")
        if int(number) in found:
            raise InputError(f"move: bin {number} is given twice")
        found[int(number)] = executor
    return found


def _repartition(given: argparse.Namespace) -> int:
    from headgate.formats.checkpoint.lock import locked
    from headgate.spark.rewriting import refuse, rewrite

    _refuse_elsewhere(given.checkpoint)
    refuse(given.checkpoint, given.bins)  # before Spark is started, which takes a while
    with locked(given.checkpoint), _session(given) as spark:
        done = rewrite(spark, given.checkpoint, given.bins, said=print)
    print(f"{done.before} -> {done.bins} bins in {done.seconds:.1f} s; {done.rows:,} rows, the same before and after")
    for phase in done.phases:
        print(f"  {phase.name:12} {phase.seconds:6.1f} s")
    print(f"to take it back, before the query goes on: headgate state undo {given.checkpoint}")
    if done.backup is not None:
        print(f"a backup without a copy (hard links) is in {done.backup}; delete it when the query has gone on")
    return 0


@contextmanager
def _session(given: argparse.Namespace) -> "Iterator[SparkSession]":
    """To read and write state with, once it is sure that nobody else does."""
    from headgate.spark.reading_session import reading_session
    from headgate.spark.rewriting import refuse_if_in_use

    if not given.not_running:
        refuse_if_in_use(given.checkpoint)
    with reading_session() as spark:
        yield spark


def _undo(given: argparse.Namespace) -> int:
    from headgate.formats.checkpoint.folders import LocalFolders
    from headgate.formats.checkpoint.lock import locked
    from headgate.formats.checkpoint.reader import read_state
    from headgate.formats.checkpoint.undoing import take_back
    from headgate.spark.rewriting import refuse_if_in_use

    _refuse_elsewhere(given.checkpoint)
    read_state(LocalFolders(given.checkpoint))  # before a lock is put beside what is no checkpoint
    with locked(given.checkpoint):
        if not given.not_running:
            refuse_if_in_use(given.checkpoint)
        print(f"{given.checkpoint}: has {take_back(given.checkpoint)} bins again")
    return 0


def _refuse_elsewhere(checkpoint: str) -> None:
    if "://" in checkpoint:
        raise InputError(f"{checkpoint}: state is rewritten on this machine's file systems only; give a path")
