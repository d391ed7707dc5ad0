"""Rewrites the state of a stopped query into another number of bins.

Spark writes the new bins beside the old ones, as a batch of its own that reads nothing; the old layout stays whole and
is what counts until that batch is committed. So the checkpoint itself says how far a rewrite got:

* the batch is not begun: nothing has happened;
* begun, not committed: cut short. `rewrite` with the same number finishes it, `undoing.take_back` removes it;
* committed: done. What it holds is compared with the batch before it, which is still there.

Everything here can be cut off at any point and called again. What fails is taken back: a query cannot start on a
checkpoint with a rewrite that is not finished.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from headgate.formats.checkpoint.backup import NoHardLinksError, back_up, backup_of
from headgate.formats.checkpoint.batch_logs import bins_before_rewrite
from headgate.formats.checkpoint.folders import LocalFolders
from headgate.formats.checkpoint.reader import read_state
from headgate.formats.checkpoint.undoing import last_begun, take_back
from headgate.formats.checkpoint.unproven import compared, to_be_compared, unproven_rewrite
from headgate.formats.where import for_spark
from headgate.model.errors import HeadgateError, InputError, in_brief
from headgate.model.rewrite_cost import RewriteRate
from headgate.model.rewrite_refusals import refuse_for_good, refuse_for_now
from headgate.model.state_digest import StoreDigest, differences
from headgate.model.state_files import CheckpointState
from headgate.spark.internals.repartition import StillWritingError, can_repartition, repartition
from headgate.spark.internals.state_rows import has_key, state_rows
from headgate.spark.state_digest import digests

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_QUIET = 30.0
"""Seconds in which a checkpoint must not have changed for nobody to be writing to it."""
_AS_ONE = 1.0
"""Seconds within which files belong to one commit."""
_ROOM = 1.5
"""Free space needed, as a multiple of the state."""

Said = Callable[[str], object]


class LeftBetweenError(HeadgateError):
    """A rewrite is known to be wrong, or not known to be right, and could not be taken back: no query may run on it."""


class Phase(NamedTuple):
    """A part of a rewrite, and the seconds it took."""

    name: str
    seconds: float


class Rewritten(NamedTuple):
    """What a rewrite came to."""

    batch: int
    before: int
    """Bins."""
    bins: int
    rows: int
    bytes: int
    expected: float
    """Seconds that the rewrite itself was expected to take."""
    phases: tuple[Phase, ...]
    backup: Path | None
    done_before: bool = False
    """Nothing was rewritten: it had been, and was only compared."""

    @property
    def seconds(self) -> float:
        """All phases."""
        return sum(phase.seconds for phase in self.phases)


class _Stopwatch:
    def __init__(self) -> None:
        self.phases: list[Phase] = []
        self._since = time.monotonic()

    def over(self, name: str) -> None:
        """The phase that ends here."""
        now = time.monotonic()
        self.phases.append(Phase(name, now - self._since))
        self._since = now


def rewrite(
    spark: "SparkSession",
    path: str,
    bins: int,
    *,
    said: Said = lambda _: None,
    going: Said = lambda _: None,
    rate: RewriteRate = RewriteRate(),  # noqa: B008 - a value
    keep_backup: bool = True,
) -> Rewritten:
    """Rewrite a checkpoint on this machine; what it had before is what it has after, or else it is as it was.

    `said` is told what is to be known afterwards, too, and `going` how far it is, now and then while it takes long.
    One that was committed and never compared is compared now.
    """
    refuse(path, bins)
    _refuse_with(spark)
    watch, state = _Stopwatch(), read_state(LocalFolders(path))
    finished = finished_before(state, bins)
    proven = finished is not None and not unproven_rewrite(state)
    if finished is None:
        _refuse_without_key(spark, state)
        batch = (state.committed or 0) + 1
        backup = _backed_up(state, batch, said)
        watch.over("back up")
    else:
        said(f"{path}: has {bins} bins already; looking whether all is there")
        batch, state = state.committed or 0, finished
        backup = backup_of(path, batch)
    try:
        before = _digested(spark, state)
    except BaseException:
        if finished is None and state.rewriting is None:
            _remove(backup)  # nothing has changed since it was made
        raise
    watch.over("read before")
    for one in before:
        if one.misplaced:  # then it is the rule that does not hold here
            said(
                f"{path}: where rows of store {one.store} of operator {one.operator} belong is not known, nor compared"
            )
    rows = sum(one.rows for one in before)
    stores = sum(len(operator.stores) for operator in state.operators)
    old, slots = state.partitions or 0, spark.sparkContext.defaultParallelism
    expected = rate.seconds_here(watch.phases[-1].seconds, stores, rows, state.bytes, old, bins, slots)
    if finished is None:
        said(outlook(state, rows, watch.phases[-1].seconds, expected))
        tasks = stores * (old + bins)
        with _or_taken_back(path, backup, "the rewrite failed"):
            to_be_compared(path, batch)
            repartition(
                spark, for_spark(path), bins, lambda done: going(f"rewriting: {done:,} of {tasks:,} tasks are done")
            )
        watch.over("rewrite")
        with _or_taken_back(path, backup, "nobody could be told of the rewrite"):
            said(f"{path}: written in {bins} bins; now they are read once more and compared")
    once_more = "what was rewritten cannot be read"
    with _or_taken_back(path, backup, once_more, done_before=finished is not None, proven=proven):
        wrong = differences(before, _digested(spark, read_state(LocalFolders(path))))
    watch.over("read after")
    if wrong:
        raise taken_back(path, f"after the rewrite {'; '.join(wrong)}", backup)
    compared(path)
    if not keep_backup:
        backup = _remove(backup)
        if backup is not None:
            said(f"{backup}: cannot be removed; it is not needed any more")
    return Rewritten(
        batch, old, bins, rows, state.bytes, expected, tuple(watch.phases), backup,
        done_before=finished is not None,
    )  # fmt: skip


def outlook(state: CheckpointState, rows: int, read: float, expected: float) -> str:
    """What is about to be rewritten, and how long each part takes: reading it took so many seconds."""
    return (
        f"{rows:,} rows, {state.bytes / 1e6:,.1f} MB in {state.partitions} bins, read in {read:.1f} s; afterwards they "
        f"are read once more, before that about {expected:.0f} s to rewrite"
    )


def refuse(path: str, bins: int) -> None:
    """`InputError` where it cannot be rewritten into so many bins; Spark is not needed to say so."""
    state = read_state(LocalFolders(path))
    refuse_for_good(state, bins)
    if finished_before(state, bins) is None:
        refuse_for_now(state, bins)
        if unproven_rewrite(state):
            raise InputError(
                f"{path}: nobody has compared its last rewrite, into {state.partitions} bins, with what was there "
                f"before; have that done first (repartition to {state.partitions}) or take it back (headgate state "
                f"undo)"
            )
        if state.rewriting is None:  # one that was begun has much of its room already, and must be finished
            _refuse_without_room(state)


def refuse_while_running(spark: "SparkSession", state: CheckpointState, bins: int) -> None:
    """The same for a query that runs, and would be drained in vain: all but what draining itself brings about."""
    refuse_for_good(state, bins)
    if state.partitions == bins:
        return  # nothing will be rewritten
    _refuse_with(spark)
    _refuse_without_room(state)
    if state.partitions == 1:  # of more bins the files tell: those without a key have all of it in the first
        _refuse_without_key(spark, state)


def _refuse_with(spark: "SparkSession") -> None:
    if not can_repartition(spark):
        raise InputError(f"Spark {spark.version} cannot rewrite state; it needs 4.2")


def refuse_if_in_use(path: str, patience: float = _QUIET, rewritten: float = 0.0) -> None:
    """`InputError` where somebody wrote to the checkpoint just now, after the moment at which we did ourselves.

    A query that waits for input, or for a long interval, writes nothing and is not noticed.
    """
    changed = _last_change(Path(path))
    ago = time.time() - changed
    if ago < patience and changed > rewritten + _AS_ONE:
        raise InputError(
            f"{path}: was written to {max(ago, 0):.0f} s ago, so a query may be running on it; stop it, or wait for "
            f"{patience:.0f} s, or say --not-running"
        )


def _last_change(folder: Path) -> float:
    """When a file in it was last written; what vanishes while one looks has just been changed."""
    newest = 0.0
    try:
        for one in folder.rglob("*"):
            if not one.name.startswith("."):
                newest = max(newest, one.stat().st_mtime)
    except FileNotFoundError:
        return time.time()
    except OSError as problem:
        raise InputError(f"{problem.filename}: cannot be read ({problem.strerror})") from None
    return newest


def finished_before(state: CheckpointState, bins: int) -> CheckpointState | None:
    """The state as it was before a rewrite into so many bins that is committed; None where the last batch is none."""
    if not state.committed or state.begun != state.committed or state.partitions != bins:
        return None
    if bins_before_rewrite(LocalFolders(state.path), state.committed) is None:
        return None
    return read_state(LocalFolders(state.path), as_of=state.committed - 1)


def _refuse_without_key(spark: "SparkSession", state: CheckpointState) -> None:
    """A rewrite puts rows where their key hashes to; of an operator without one the query looks in bin 0 alone."""
    for operator in state.operators:
        for store in operator.stores:
            try:
                keyed = has_key(state_rows(spark, state, operator.id, store))
            except Exception as problem:
                raise HeadgateError(f"{state.path}: its state cannot be read ({in_brief(problem)})") from problem
            if not keyed:
                raise InputError(
                    f"{state.path}: operator {operator.id} ({operator.name}) has no key to cut its state by, and a "
                    f"rewrite would lose it; give it a key, or leave the number of bins"
                )


def _digested(spark: "SparkSession", state: CheckpointState) -> tuple[StoreDigest, ...]:
    try:
        return digests(spark, state)
    except Exception as problem:
        raise HeadgateError(f"{state.path}: its state cannot be read ({in_brief(problem)})") from problem


@contextmanager
def _or_taken_back(
    path: str, backup: Path | None, failed: str, *, done_before: bool = False, proven: bool = False
) -> Iterator[None]:
    """Whatever goes wrong, and whoever ends the program: what is left is something that a query can start on.

    Who only has a rewrite of before compared once more, and ends that, does not want it taken back. Nor is one taken
    back that was compared before and cannot be read now.
    """
    try:
        yield
    except StillWritingError as problem:
        raise LeftBetweenError(
            f"{path}: {failed} ({problem}), and tasks of it may still run; no query can start on it until, when they "
            f"are over, it is finished (say it again) or taken back (headgate state undo)"
        ) from problem
    except Exception as problem:
        if proven:
            why = f"{failed} now ({in_brief(problem)}); it was compared when it was made, and stays as it is"
            raise HeadgateError(f"{path}: {why}") from problem
        raise taken_back(path, f"{failed} ({in_brief(problem)})", backup) from problem
    except BaseException as problem:
        if done_before:
            raise
        told = taken_back(path, "the rewrite was interrupted", backup)
        if isinstance(problem, KeyboardInterrupt):
            raise told from problem
        raise


def taken_back(path: str, why: str, backup: Path | None) -> HeadgateError:
    """An error to raise, once the checkpoint is as it was; no task may be writing any more.

    A `LeftBetweenError` where that is not possible.
    """
    try:
        begun = last_begun(path)
        if begun is None or bins_before_rewrite(LocalFolders(path), begun) is None:
            compared(path)
            told = "nothing was changed"
        else:
            take_back(path)
            told = "it was taken back, and nothing is lost"
    except (InputError, OSError) as problem:
        kept = "" if backup is None else f"; the checkpoint as it was is in {backup}: put it in the place of this one"
        return LeftBetweenError(f"{path}: {why}; and it could not be taken back: {in_brief(problem)}{kept}")
    _remove(backup)  # it is what the checkpoint is
    return HeadgateError(f"{path}: {why}; {told}")


def _remove(backup: Path | None) -> Path | None:
    """None once it is gone; what cannot be removed does no harm."""
    if backup is not None:
        shutil.rmtree(backup, ignore_errors=True)
    return backup if backup is not None and backup.exists() else None


def _refuse_without_room(state: CheckpointState) -> None:
    try:
        free = shutil.disk_usage(state.path).free
    except OSError as error:
        raise InputError(f"{state.path}: how much room there is cannot be told ({error.strerror or error})") from None
    if free < _ROOM * state.bytes:
        raise InputError(
            f"{state.path}: {state.bytes / 1e6:,.0f} MB of state and {free / 1e6:,.0f} MB free; a rewrite needs room "
            f"for all of it once more"
        )


def _backed_up(state: CheckpointState, batch: int, said: Said) -> Path | None:
    if state.rewriting is not None:
        return backup_of(state.path, batch)  # one made now would have half a rewrite in it
    try:
        return back_up(state.path, batch)
    except NoHardLinksError as problem:
        said(f"{state.path}: no backup, since files cannot have a second name here ({problem})")
        return None
