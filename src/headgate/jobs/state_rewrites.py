"""A job's state, cut into another number of bins between two runs of its query; and what a killed job left of that.

How far a rewrite got is in the checkpoint itself, and that one was wanted is in the journal: so whoever starts the job
next can finish it. A query never goes on with half a rewrite, nor with one that nobody has compared with what was there
before: whatever fails, what is left of it is looked at, and taken back or not started on.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.control.actions import Restart
from headgate.control.said import Failed
from headgate.formats.checkpoint.backup import backup_of
from headgate.formats.checkpoint.batch_logs import PROVIDER
from headgate.formats.checkpoint.folders import LocalFolders
from headgate.formats.checkpoint.reader import provider_of, read_state
from headgate.formats.checkpoint.undoing import forget_that_it_was_taken_back, taken_back_by_hand
from headgate.formats.checkpoint.unproven import unproven_rewrite
from headgate.formats.where import on_this_machine
from headgate.jobs.job_settings import STATE
from headgate.model.errors import HeadgateError, InputError, in_brief
from headgate.model.state_files import CheckpointState
from headgate.runtime.entries import Carried, Intent, Spoke
from headgate.runtime.journal import Journal
from headgate.spark.rewriting import (
    LeftBetweenError,
    refuse_while_running,
    rewrite,
    taken_back,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_REWRITTEN, _AS_ASKED = "state rewritten", "state is as asked"
"""How the journal says that it is done, or was."""


class StateRewrites:
    """Of one job."""

    def __init__(self, checkpoint: str, journal: Journal) -> None:
        self._checkpoint, self._journal = checkpoint, journal
        self.under_way = False
        """Right now: then nothing looks at a word until that is over, or interrupted."""

    @property
    def bins(self) -> int | None:
        """As the checkpoint has them; None before the first batch, and where it cannot be seen from here."""
        state = self._state()
        if state is None:
            return None
        # Where batches do not say it, the operators' files do.
        return state.partitions or max((len(operator.bins) for operator in state.operators), default=None)

    def refusal(self, spark: "SparkSession", bins: int) -> str | None:
        """Why the state cannot be cut into so many bins, before its query is stopped for it; None where it can."""
        if on_this_machine(self._checkpoint) is None:
            return f"state is rewritten on this machine only, and the checkpoint is {self._checkpoint}"
        try:
            state = self._state()
            if state is not None:
                refuse_while_running(spark, state, bins)
        except InputError as problem:
            return str(problem)
        except HeadgateError:  # a query that runs changes what is read; it is asked again once that is over
            return None
        return None

    def cut(
        self,
        spark: "SparkSession",
        bins: int | None,
        *,
        note: Callable[[str], object],
        say: Callable[[str], object],
        finish_last_batch: Callable[[], object],
    ) -> None:
        """Rewrite the state of the stopped query into so many bins, if it has others.

        One that was begun before, by this job or by another that was killed, is finished, or compared if it is over.
        """
        state = self._state()
        if state is None or not state.operators:
            return
        unchecked = unproven_rewrite(state)
        bins = state.rewriting or (state.partitions if unchecked else bins)
        if bins is None:
            return
        if bins == state.partitions and not unchecked and not state.rewriting:
            # Said, or it would count as undone for ever, and be done after somebody has cut the state otherwise.
            note(f"{_AS_ASKED}, in {bins} bins")
            return
        if state.rewriting is None and state.begun != state.committed:
            finish_last_batch()
        self.under_way = True
        try:
            done = rewrite(spark, state.path, bins, said=note, going=say, keep_backup=False)
        except LeftBetweenError:
            raise
        except KeyboardInterrupt as problem:
            if self._is_in(bins):  # it came too late; one that is not compared yet is, at the next start
                note(f"{_AS_ASKED}, in {bins} bins")
                raise
            raise self._not_gone_on_with(state.path, problem) from problem
        except Exception as problem:
            raise self._not_gone_on_with(state.path, problem) from problem
        finally:
            self.under_way = False
        phases = ", ".join(f"{phase.name} {phase.seconds:.1f} s" for phase in done.phases)
        meant = "before, and compared now" if done.done_before else f"expected {done.expected:.1f} s"
        note(
            f"{_REWRITTEN} from {done.before} into {done.bins} bins, {done.rows:,} rows the same before and after; "
            f"{meant}, took: {phases}"
        )

    def left_undone(self) -> tuple[int, int | None]:
        """The plan and the bins of a restart that was to rewrite state, and neither did nor failed."""
        plan, bins = 0, None
        for _, entry in self._journal.entries():
            match entry:
                case Intent(action=Restart() as asked) if STATE in asked.layout.parallelism:
                    plan, bins = asked.plan, asked.layout.parallelism[STATE]
                case Carried() if entry.plan == plan and entry.what.startswith(
                    (_REWRITTEN, _AS_ASKED, "started again")
                ):
                    plan, bins = 0, None
                case Spoke(said=Failed() as failed) if failed.plan == plan:
                    plan, bins = 0, None
        return plan, bins

    def give_up_what_was_taken_back(self) -> None:
        """A rewrite that a person took back has failed: who did so does not want it again."""
        path = on_this_machine(self._checkpoint)
        if path is None or not Path(path, "offsets").is_dir():
            return
        plan, _ = self.left_undone()
        if plan and taken_back_by_hand(path):
            self._journal.append(Spoke(time.time(), Failed(plan, "the rewrite was taken back by hand")))
        forget_that_it_was_taken_back(path)

    def other_store(self, asked: str | None) -> str | None:
        """Why a job that asks for a state store by this class cannot go on; None where it can, or asks for none."""
        state = self._state()
        if asked is None or state is None or not state.operators or provider_of(asked) == state.provider:
            return None
        return (
            f"{state.path}: its state is kept by {state.provider_class}, and {PROVIDER} asks for {asked}; a checkpoint "
            f"keeps its state store for life: take the setting out, or name another checkpoint"
        )

    def _is_in(self, bins: int) -> bool:
        """Whether the state is in so many bins now, and no rewrite of it is left half done."""
        state = self._state()
        return state is not None and (state.partitions, state.rewriting) == (bins, None)

    def _not_gone_on_with(self, path: str, problem: BaseException) -> HeadgateError:
        """An error to raise, once what has failed left nothing behind that a query must not start on."""
        interrupted = isinstance(problem, KeyboardInterrupt)
        why = "the rewrite was interrupted" if interrupted else in_brief(problem).removeprefix(f"{path}: ")
        try:
            state = read_state(LocalFolders(path))
            half, unchecked = state.rewriting is not None, unproven_rewrite(state)
        except InputError as unreadable:
            return LeftBetweenError(f"{path}: {why}; and what is left of it cannot be read: {unreadable}")
        if half:
            return taken_back(path, why, backup_of(path, state.begun or 0))
        if unchecked:
            return LeftBetweenError(f"{path}: {why}; so nobody has compared its rewrite with what was there before")
        return HeadgateError(f"{path}: {why}")

    def _state(self) -> CheckpointState | None:
        path = on_this_machine(self._checkpoint)
        return read_state(LocalFolders(path)) if path is not None and Path(path, "offsets").is_dir() else None
