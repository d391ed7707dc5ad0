"""A job from its file: started, kept right-sized, started again where it must be, drained in the end.

Everything that a new process must know to go on where this one stopped is in the job's checkpoint and its journal: the
executors wanted last, and what restarts have changed. So a driver that is killed at whatever moment is simply started
again.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.control.actions import Layout, Restart
from headgate.control.said import Failed
from headgate.formats.checkpoint.batch_logs import PROVIDER
from headgate.formats.checkpoint.lock import locked
from headgate.formats.where import on_this_machine
from headgate.jobs.applications import Applications, applications, room
from headgate.jobs.build_function import built, load_build
from headgate.jobs.ending import Ending, Word
from headgate.jobs.job_file import Job
from headgate.jobs.job_settings import STATE, JobSettings, no_exchange
from headgate.jobs.memory import megabytes
from headgate.jobs.scaler import Scaler
from headgate.jobs.state_rewrites import StateRewrites
from headgate.model.bin_count import bins_to_start_with
from headgate.model.errors import HeadgateError, InputError, in_brief
from headgate.model.objective import Freshness
from headgate.policies.pool_registry import pool_policy
from headgate.runtime.entries import Carried, Entry, Seen, Spoke
from headgate.runtime.journal import Journal
from headgate.runtime.recovery import recovered
from headgate.spark.engine import SparkEngine
from headgate.spark.internals.driver import mute
from headgate.spark.internals.queries import end_after_this_batch, has_ended, left_uncommitted, unfinished_batch
from headgate.spark.moving import way_of
from headgate.spark.rewriting import LeftBetweenError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_GLANCE = 0.25
_USUAL_INTERVAL = 10.0
"""Seconds that a batch is taken to have, where the objective does not say."""
_PARTITIONS = "spark.sql.shuffle.partitions"
_DRAINS = 5
"""How often a query is started again to finish its last batch, before something else must be wrong."""


class NotStartedError(HeadgateError):
    """An application or its query could not be started; what it was to do is not under way."""


def _journal(path: Path) -> Journal:
    """In a folder that is made where it is not there, as Spark makes that of a checkpoint."""
    folder = path.absolute().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror}); name another place for the journal") from None
    return Journal(path)


class Running:
    """One job, run by the thread that calls `run`; others may ask and tell."""

    def __init__(
        self,
        job: Job,
        watch: Callable[[Entry | Seen], object] = lambda _: None,
        session_made: Callable[[], object] = lambda: None,
        say: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.job = job
        self._say = say
        """What whoever waits wants to know, and a journal does not."""
        self._policy = pool_policy(job.policy)
        self._session_made = session_made
        """Called after each: PySpark sets signal handlers of its own when it makes one."""
        self._exchanges: dict[str, int] = {}
        """Those that `build` has named, once it has run."""
        self.scaler: Scaler | None = None
        self.query: StreamingQuery | None = None
        self._build = load_build(job)
        self._watch = watch
        self._journal = _journal(job.journal)
        self._rewrites = StateRewrites(job.checkpoint, self._journal)
        self._restarts: queue.SimpleQueue[Restart] = queue.SimpleQueue()
        self._word: Word | None = None
        self._said = threading.Event()
        self._unfinished: int | None = None
        """The batch that the last query has left begun."""
        self._started_again: tuple[str, int] | None = None
        """The run of a query that was started again, and the plan that asked for it, until its first batch is over."""

    @property
    def rewrites_state(self) -> bool:
        """Right now: then nothing looks at a word until that is over, or interrupted."""
        return self._rewrites.under_way

    @property
    def told(self) -> bool:
        """Whether it was told to end."""
        return self._said.is_set()

    def tell(self, word: Word) -> None:
        """End it: after the batch under way, or at once; that is not taken back."""
        self._word = "stop" if self._word == "stop" else word
        self._said.set()

    def run(self) -> Ending:
        """Until it ends by itself or is told to; how it ended."""
        with self._journal, self._checkpoint_held(), applications(self.job, self._say) as cluster:
            self._rewrites.give_up_what_was_taken_back()  # first: what a person took back is no layout to go on with
            before = recovered(self._journal)
            layout = before.layout if before is not None else Layout()
            unproven = before.unproven if before is not None else None
            proven = before.proven_layout if before is not None else Layout()
            wanted = before.desired if before is not None and before.desired is not None else self.job.start
            executors = min(max(wanted, self.job.settings.least), self.job.settings.most)
            if layout != Layout():
                self._note(0, f"as restarts have left it, whatever the file says: {layout}")
            while not self._said.is_set():
                try:
                    restart, layout = self._one_application(cluster, executors, layout, on_trial=unproven is not None)
                except NotStartedError as problem:
                    if unproven is None:
                        raise
                    # What a restart has asked for does not work: it has failed, and what was there before does.
                    self._write(Spoke(time.time(), Failed(unproven, str(problem))))
                    unproven, layout = None, proven
                    continue
                executors = max(self.job.settings.least, self.scaler.executors.observed if self.scaler else executors)
                if restart is None:
                    break
                proven, unproven, layout = layout, restart.plan, layout.then(restart.layout)
        return self.ending

    @property
    def ending(self) -> Ending:
        """How it ended, once it has."""
        return Ending(self._word, started=self.query is not None, unfinished=self._unfinished)

    def _one_application(
        self, cluster: Applications, executors: int, layout: Layout, *, on_trial: bool
    ) -> tuple[Restart | None, Layout]:
        """Run the query in one application; what asks for another one (None at the end), and the layout it had."""
        try:
            spark = cluster.session(executors, layout, on_trial=on_trial)
        except Exception as problem:
            if isinstance(problem, InputError) and not on_trial:
                raise
            where = self.job.cluster.master or "the cluster on this machine"
            raise NotStartedError(f"no application could be started on {where}: {in_brief(problem)}") from problem
        finally:
            self._session_made()
        try:
            if spark.sparkContext.uiWebUrl is not None:
                self._say(f"Spark's own pages: {spark.sparkContext.uiWebUrl}")
            if self.job.module.endswith(".py"):
                spark.sparkContext.addPyFile(self.job.module)  # executors import it by its name
            return self._run_in(spark, layout, on_trial=on_trial)
        finally:
            spark.stop()

    def _run_in(self, spark: "SparkSession", layout: Layout, *, on_trial: bool) -> tuple[Restart | None, Layout]:
        """Run and restart the query in an application."""
        job = self.job
        engine = SparkEngine(
            spark, must_act=job.settings.mode == "act", warm=job.settings.mode == "act", way=way_of(job.settings),
            restart=self._restarts.put,
        )  # fmt: skip
        if self._said.is_set():  # while the cluster started
            return None, layout
        self._finish_rewrite(spark, layout, on_trial=on_trial)
        if self._said.is_set():  # while state was rewritten
            return None, layout
        self.query = self._started(spark, layout)
        self._say("the query has started")
        self.scaler = Scaler(
            engine, job.settings, self._policy, application=spark.sparkContext.applicationId,
            journal=self._journal, watch=self._saw,
        )  # fmt: skip
        with self.scaler:
            while True:
                restart = self._until_something_happens(self.query)
                if restart is None:
                    self._end(spark, self.query)
                    return None, layout
                refused = self._refusal(spark, restart.layout)
                if refused is not None:
                    self._write(Spoke(time.time(), Failed(restart.plan, refused)))
                    continue
                began = time.monotonic()
                self._end(spark, self.query)
                if self._said.is_set():
                    return None, layout
                self._note(restart.plan, f"drained after {time.monotonic() - began:.1f} s")
                if restart.layout.needs_another_application:
                    self._note(restart.plan, "the application ends; another begins")
                    return restart, layout
                layout = self._start_again(spark, layout, restart)

    def _start_again(self, spark: "SparkSession", layout: Layout, restart: Restart) -> Layout:
        """With the new layout; or, where that fails, with the old one."""
        changed = layout.then(restart.layout)
        try:
            self._cut_state(spark, layout, restart.plan, restart.layout.parallelism.get(STATE))
            if self._said.is_set():  # while state was rewritten; the next start goes on with it
                return changed
            began = time.monotonic()
            self.query = self._start(spark, changed)
        except LeftBetweenError as problem:
            raise self._between(restart.plan, problem) from problem
        except Exception as problem:
            self._write(Spoke(time.time(), Failed(restart.plan, in_brief(problem))))
            if not self._said.is_set():  # who has interrupted it does not want it to go on
                self.query = self._started(spark, layout)
            return layout
        self._started_again = str(self.query.runId), restart.plan
        self._note(restart.plan, f"started again with {restart.layout} after {time.monotonic() - began:.1f} s")
        return changed

    def _cut_state(self, spark: "SparkSession", layout: Layout, plan: int, bins: int | None) -> None:
        self._rewrites.cut(
            spark,
            bins,
            note=lambda what: self._note(plan, what),
            say=self._say,
            finish_last_batch=lambda: self._finish_last_batch(spark, layout),
        )

    def _finish_rewrite(self, spark: "SparkSession", layout: Layout, *, on_trial: bool) -> None:
        """What this application was started for, or was under way when the job before this one was killed.

        A job that cannot do it goes on without; and where all of the application is on trial, not with the rest of it.
        """
        plan, bins = self._rewrites.left_undone()
        try:
            self._cut_state(spark, layout, plan, bins)
        except LeftBetweenError as problem:
            raise self._between(plan, problem) from problem
        except Exception as problem:
            if plan and on_trial and not self._said.is_set():
                raise NotStartedError(in_brief(problem)) from problem
            if plan:
                self._write(Spoke(time.time(), Failed(plan, in_brief(problem))))
            else:  # nobody here has asked for it: it was begun by hand
                self._note(0, in_brief(problem))

    def _between(self, plan: int, problem: LeftBetweenError) -> HeadgateError:
        """A query must not go on with such state. The plan has not failed: the next start of the job looks again."""
        self._note(plan, in_brief(problem))
        return HeadgateError(f"{problem}; the job does not go on with it: see to that and start it again")

    def _finish_last_batch(self, spark: "SparkSession", layout: Layout) -> None:
        """A batch that was begun and is not committed comes again with the next start; it must be over first."""
        for _ in range(_DRAINS):
            query = self._start(spark, layout)
            first = unfinished_batch(query)
            # That one alone: with records waiting, the next one begins as soon as it is over.
            while first is not None and unfinished_batch(query) == first and not _terminated(query):
                if self._said.is_set():
                    query.stop()
                    raise HeadgateError("told to end")
            self._end(spark, query)
            if not left_uncommitted(query):
                return
        raise HeadgateError("the last batch does not come to its end")

    def _refusal(self, spark: "SparkSession", layout: Layout) -> str | None:
        """What is wrong with a layout, before anything is touched."""
        if (why := no_exchange(layout.parallelism, self._exchanges)) is not None:
            return why
        bins = layout.parallelism.get(STATE)
        if bins is not None and (why := self._rewrites.refusal(spark, bins)) is not None:
            return why
        slots, most = self.job.cluster.slots, self.job.settings.most
        if slots is not None and layout.cores is not None and layout.cores * most > slots:
            return f"{most} executors of {layout.cores} cores need {layout.cores * most} slots, [cluster] has {slots}"
        if layout.memory is not None:
            try:
                asked = megabytes(layout.memory)
            except InputError as problem:
                return str(problem)
            if slots is not None and asked * most > room(self.job):
                return f"{most} executors of {layout.memory} need more than the {room(self.job)}m of [cluster]"
        return None

    def _until_something_happens(self, query: "StreamingQuery") -> Restart | None:
        """Until a restart is asked for; None when the job is to end. A query that fails is an error."""
        while not self._said.is_set():
            try:
                return self._restarts.get_nowait()
            except queue.Empty:
                pass
            if not query.isActive:
                problem = query.exception()
                if problem is not None:
                    raise HeadgateError(f"the query failed: {in_brief(problem)}")
                return None
            self._said.wait(_GLANCE)
        return None

    def _end(self, spark: "SparkSession", query: "StreamingQuery") -> None:
        """Drain: the batch under way is the last. A second word ends it at once."""
        if self._word != "stop" and query.isActive:
            end_after_this_batch(spark, query, at_once=lambda: self._word == "stop")
        # Not `isActive`: that is over as soon as the end was asked for, with the last batch still running.
        while not _terminated(query):
            if self._word == "stop":
                mute(spark)
                query.stop()
                break
        self._unfinished = unfinished_batch(query)

    def _started(self, spark: "SparkSession", layout: Layout) -> "StreamingQuery":
        """One that must start, or else the job cannot go on: why it does not is one line."""
        try:
            return self._start(spark, layout)
        except InputError:
            raise
        except Exception as problem:
            raise NotStartedError(f"the query could not be started: {in_brief(problem)}") from problem

    def _start(self, spark: "SparkSession", layout: Layout) -> "StreamingQuery":
        parallelism = {**self.job.parallelism, **layout.parallelism}
        here = on_this_machine(self.job.checkpoint) is not None
        if STATE not in parallelism and here and _PARTITIONS not in self.job.cluster.conf:
            parallelism[STATE] = self._rewrites.bins or self._bins_chosen()
        if STATE in parallelism:
            spark.conf.set(_PARTITIONS, str(parallelism[STATE]))
            there = self._rewrites.bins if here else None
            if there is not None and there != parallelism[STATE]:
                word = f"headgate tell {self.job.journal} restart state={parallelism[STATE]}"
                self._note(0, f"state stays in {there} bins, whatever [parallelism] state says; `{word}` changes that")
        settings = JobSettings(str(self.job.file.absolute().parent), self.job.options, parallelism, {})
        writer = built(self.job, self._build, spark, settings)
        # Only now: what exchanges there are is known once `build` has named them.
        if (why := no_exchange(self.job.parallelism, settings.exchanges)) is not None:
            raise InputError(f"{self.job.file}: [parallelism] {why}")
        self._exchanges = settings.exchanges
        return writer.queryName(self.job.name).option("checkpointLocation", self.job.checkpoint).start()

    def _bins_chosen(self) -> int:
        """For a job that has no state yet and does not say into how many bins it is to be cut."""
        settings, objective = self.job.settings, self.job.settings.objective
        interval = float(objective.within) / 2 if isinstance(objective, Freshness) else _USUAL_INTERVAL
        chosen = bins_to_start_with(settings.least, settings.most, self.job.cluster.cores, interval)
        self._note(0, str(chosen))
        return chosen.bins

    @contextmanager
    def _checkpoint_held(self) -> Iterator[None]:
        """No second job on it, and nobody who changes its state; only on this machine can that be seen to.

        A state store that it does not have is refused, before a cluster is started: Spark would go on with the old one.
        """
        path = on_this_machine(self.job.checkpoint)
        asked = self.job.cluster.conf.get(PROVIDER)
        if (why := self._rewrites.other_store(None if asked is None else str(asked))) is not None:
            raise InputError(f"{self.job.file}: [cluster] conf: {why}")
        if path is None:
            yield
            return
        with locked(path):
            yield

    def _saw(self, entry: Entry | Seen) -> None:
        """What the scaler writes and sees. The first batch after a restart is the last part of the pause it made."""
        self._watch(entry)
        if isinstance(entry, Seen) and self._started_again is not None:
            run, plan = self._started_again
            if entry.batch.run == run:
                self._started_again = None
                self._note(plan, f"the first batch after it took {entry.batch.duration / 1000:.1f} s")

    def _note(self, plan: int, what: str) -> None:
        self._write(Carried(time.time(), plan, what))

    def _write(self, entry: Entry) -> None:
        self._journal.append(entry)
        with suppress(Exception):  # whoever looks on must not disturb
            self._watch(entry)


def _terminated(query: "StreamingQuery") -> bool:
    """Whether a query has come to its end; a moment is waited for it."""
    try:
        query.awaitTermination(_GLANCE)  # type: ignore[arg-type]
    except Exception as problem:
        raise HeadgateError(f"the query failed: {in_brief(problem)}") from problem
    return has_ended(query)
