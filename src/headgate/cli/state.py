"""`headgate state`: the state that a streaming query keeps, from its checkpoint; and moving it."""

import argparse
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from headgate.cli.options import Once, count, file
from headgate.cli.state_page import rewritten_page, state_page
from headgate.control.events import Command
from headgate.formats.where import on_this_machine
from headgate.model.errors import HeadgateError, InputError, in_brief
from headgate.model.migration import STRATEGIES
from headgate.model.state_files import CheckpointState

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
  headgate state show checkpoint --journal job.journal   and where each bin lived in the last batch
  headgate state move job.journal                    spread all bins evenly, while the job runs
  headgate state move job.journal 3=1 7=2            bin 3 to executor 1, bin 7 to executor 2
  headgate state repartition checkpoint 24           into 24 bins; the query must be stopped
  headgate state undo checkpoint                     take the last repartition back, before the query goes on

exit codes: 0 done, 2 something wrong with the input (one line on standard error says what and where)
"""
_MOST_DIGITS = 6
"""Of a bin's number; nobody has more bins, and Python reads no number of thousands of digits."""


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
    show.add_argument(
        "--journal",
        type=file,
        metavar="JOURNAL",
        help="of the job that runs on it: shows on which executor each bin lives",
    )
    show.add_argument("--format", choices=("table", "json"), default="table", help="(default: table)")
    move = word("move", "move bins between the executors of a running job, through its journal")
    move.add_argument("journal", type=file, metavar="JOURNAL", help="the file that was given as journal=")
    move.add_argument("bins", nargs="*", default=[], metavar="BIN=EXECUTOR", help="(default: all bins, evenly)")
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
    from headgate.formats.checkpoint.unproven import unproven_rewrite

    here = on_this_machine(given.checkpoint)
    if here is not None and given.quick:
        state = read_state(LocalFolders(here))
    else:
        state = _read_with_spark(given.checkpoint, quick=given.quick)
    if given.journal is not None:
        state = _with_executors(state, given.journal)
    if here is not None:  # what is told of a rewrite lies beside a checkpoint of this machine
        state = msgspec.structs.replace(state, unproven=unproven_rewrite(state))
    if given.format == "json":
        print(msgspec.json.format(msgspec.json.encode(state), indent=2).decode())
    else:
        print("\n".join(state_page(state)))
    return 0


def _with_executors(state: CheckpointState, path: str) -> CheckpointState:
    from headgate.model.bins import whereabouts
    from headgate.runtime.journal import Journal

    with Journal(path, read_only=True) as journal:
        last = journal.last_batch(state.query)
    if last is None:
        raise InputError(f"{path}: has no batch of query {state.query}; name the journal of the job on {state.path}")
    return state.with_executors(whereabouts(last.batch))


def _read_with_spark(checkpoint: str, *, quick: bool) -> CheckpointState:
    from headgate.formats.checkpoint.folders import LocalFolders
    from headgate.formats.checkpoint.reader import read_state

    here = on_this_machine(checkpoint)
    state = read_state(LocalFolders(here)) if here is not None else None
    if state is not None and not state.operators:
        return state  # no need for Spark
    from headgate.spark.internals.hadoop_folders import HadoopFolders
    from headgate.spark.local_session import local_session
    from headgate.spark.state_digest import digests, with_rows

    with local_session() as spark:
        state = state or read_state(HadoopFolders(spark, checkpoint))
        if quick:
            return state
        try:
            return with_rows(state, digests(spark, state, summed=False))
        except Exception as problem:
            raise InputError(f"{checkpoint}: rows cannot be counted ({in_brief(problem)}); try --quick") from problem


def _move(given: argparse.Namespace) -> int:
    from headgate.cli.listening import nobody_listens
    from headgate.runtime.journal import Journal

    command = Command(time.time(), "move", strategy=given.strategy, bins=_bins(given.bins))
    with Journal(given.journal, make=False) as journal:
        nobody = nobody_listens(journal)
        journal.tell(command)
    print(f"left for the controller: move {', '.join(given.bins) or 'all bins to where they are even'}")
    print(nobody or f"`headgate history {given.journal}` shows how it goes")
    return 0


def _bins(words: Sequence[str]) -> dict[int, str]:
    """From BIN=EXECUTOR, as many as there are."""
    found: dict[int, str] = {}
    for word in words:
        number, _, executor = word.partition("=")
        if not (number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS and executor):
            raise InputError(f"move: {word} is not BIN=EXECUTOR, such as 3=1")
        if int(number) in found:
            raise InputError(f"move: bin {number} is given twice")
        found[int(number)] = executor
    return found


def _repartition(given: argparse.Namespace) -> int:
    from headgate.formats.checkpoint.lock import locked
    from headgate.spark.rewriting import refuse, rewrite

    checkpoint = _here(given.checkpoint)
    refuse(checkpoint, given.bins)  # before Spark is started, which takes a while
    with locked(checkpoint), _session(checkpoint, given.not_running) as spark:
        done = rewrite(spark, checkpoint, given.bins, said=print, going=print)
    print("\n".join(rewritten_page(given.checkpoint, done)))
    return 0


@contextmanager
def _session(checkpoint: str, not_running: bool) -> "Iterator[SparkSession]":
    """To read and write state with, once it is sure that nobody else does."""
    from headgate.spark.local_session import local_session
    from headgate.spark.rewriting import refuse_if_in_use

    if not not_running:
        refuse_if_in_use(checkpoint)
    with local_session() as spark:
        yield spark


def _undo(given: argparse.Namespace) -> int:
    from headgate.formats.checkpoint.backup import backup_of
    from headgate.formats.checkpoint.folders import LocalFolders
    from headgate.formats.checkpoint.lock import locked
    from headgate.formats.checkpoint.reader import read_state
    from headgate.formats.checkpoint.undoing import last_begun, rewritten_at, take_back_by_hand
    from headgate.spark.rewriting import refuse_if_in_use

    checkpoint = _here(given.checkpoint)
    begun = last_begun(checkpoint)  # not from all that is there: some of it may be what has to be taken back
    if begun is None:
        read_state(LocalFolders(checkpoint))  # before a lock is put beside what is no checkpoint
    with locked(checkpoint):
        if not given.not_running:
            refuse_if_in_use(checkpoint, rewritten=rewritten_at(checkpoint))
        print(f"{given.checkpoint}: has {take_back_by_hand(checkpoint)} bins again")
        backup = backup_of(checkpoint, begun or 0)
        if backup is not None:
            shutil.rmtree(backup, ignore_errors=True)  # it is what the checkpoint is again
    return 0


def _here(checkpoint: str) -> str:
    here = on_this_machine(checkpoint)
    if here is None:
        raise InputError(f"{checkpoint}: state is rewritten on this machine's file systems only; give a path")
    return here
