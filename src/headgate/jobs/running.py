"""A job from its file: started, kept right-sized, started again where it must be, drained in the end.

Everything that a new process must know to go on where this one stopped is in the job's checkpoint and its journal: the
executors wanted last, and what restarts have changed. So a driver that is killed at whatever moment is simply started
again.
"""

import importlib
import importlib.util
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from headgate.control.actions import Layout, Restart
from headgate.control.said import Failed
from headgate.formats.checkpoint.backup import backup_of
from headgate.formats.checkpoint.folders import LocalFolders
from headgate.formats.checkpoint.lock import locked
from headgate.formats.checkpoint.reader import read_state
from headgate.jobs.job_file import Job
from headgate.jobs.job_settings import STATE, JobSettings
from headgate.jobs.scaler import Scaler
from headgate.model.bin_count import bins_to_start_with
from headgate.model.errors import HeadgateError, InputError, did_you_mean, in_brief, one_line
from headgate.model.objective import Freshness
from headgate.model.rewrite import refuse_for_good
from headgate.policies.pool_registry import pool_policy
from headgate.runtime.entries import Carried, Entry, Intent, Seen, Spoke
from headgate.runtime.journal import Journal
from headgate.runtime.recovery import recovered
from headgate.spark.engine import SparkEngine
from headgate.spark.internals.executors import registered_executors
from headgate.spark.internals.queries import end_after_this_batch, has_ended, left_uncommitted
from headgate.spark.local_cluster import GRACEFUL, LocalCluster, begin_with
from headgate.spark.moving import way_of
from headgate.spark.rewriting import rewrite
from headgate.spark.state_store_settings import ROCKSDB

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

Build = Callable[["SparkSession", JobSettings], "DataStreamWriter"]
Word = Literal["drain", "stop"]

_DEFAULTS = {
    **ROCKSDB,
    "spark.ui.showConsoleProgress": "false",
}
_GLANCE = 0.25
_ROOM = 8
_USUAL_INTERVAL = 10.0
"""Seconds that a batch is taken to have, where the objective does not say."""
_PARTITIONS = "spark.sql.shuffle.partitions"
_REWRITTEN = "state rewritten"
"""How the journal says that it is done."""
_DRAINS = 5
"""How often a query is started again to finish its last batch, before something else must be wrong."""
_FIRST_EXECUTORS = 60.0
"""Seconds that executors may take to come, before the job begins with those there are."""


def load_build(job: Job) -> Build:
    """The job's function, from its file or module."""
    try:
        if job.module.endswith(".py"):
            if not Path(job.module).is_file():
                raise InputError(f"{job.file}: build names {job.module}, which does not exist")
            name = Path(job.module).stem
            # Its folder can be imported from, as if it were run by itself.
            sys.path.insert(0, str(Path(job.module).parent))
            spec = importlib.util.spec_from_file_location(name, job.module)
            if spec is None or spec.loader is None:
                raise InputError(f"{job.file}: {job.module} cannot be imported")
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(job.module)
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"{job.file}: importing {job.module} failed: {one_line(f'{type(error).__name__}: {error}')}"
        ) from error
    build: Build | None = getattr(module, job.function, None)
    if not callable(build):
        raise InputError(f"{job.file}: {job.module} has no function {job.function}")
    return build


class Running:
    """One job, run by the thread that calls `run`; others may ask and tell."""

    def __init__(
        self,
        job: Job,
        watch: Callable[[Entry | Seen], object] = lambda _: None,
        session_made: Callable[[], object] = lambda: None,
    ) -> None:
        self.job = job
        self._session_made = session_made
        """Called after each: PySpark sets signal handlers of its own when it makes one."""
        self._exchanges: dict[str, int] = {}
        """Those that `build` has named, once it has run."""
        self.scaler: Scaler | None = None
        self.query: StreamingQuery | None = None
        self._build = load_build(job)
        self._watch = watch
        self._journal = Journal(job.journal)
        self._restarts: queue.SimpleQueue[Restart] = queue.SimpleQueue()
        self._word: Word | None = None
        self._said = threading.Event()

    @property
    def told(self) -> bool:
        """Whether it was told to end."""
        return self._said.is_set()

    def tell(self, word: Word) -> None:
        """End it: after the batch under way, or at once."""
        self._word = word
        self._said.set()

    def run(self) -> str:
        """Until it ends by itself or is told to; how it ended, in words."""
        before = recovered(self._journal)
        layout = before.layout if before is not None else Layout()
        wanted = before.desired if before is not None and before.desired is not None else self.job.start
        bounds = self.job.settings
        executors = min(max(wanted, bounds.least), bounds.most)
        with self._journal, self._checkpoint_held(), self._cluster() as cluster:
            if layout != Layout():
                self._note(0, f"as restarts have left it, whatever the file says: {layout}")
            while True:
                spark = self._session(cluster, executors, layout)
                self._session_made()
                if self.job.module.endswith(".py"):
                    spark.sparkContext.addPyFile(self.job.module)  # executors import it by its name
                try:
                    restart, layout = self._in_one_application(spark, layout)
                    executors = max(bounds.least, self.scaler.executors.observed if self.scaler else executors)
                finally:
                    spark.stop()
                if restart is None:
                    return "stopped at once" if self._word == "stop" else "drained"
                layout = layout.then(restart.layout)

    def _in_one_application(self, spark: "SparkSession", layout: Layout) -> tuple[Restart | None, Layout]:
        """Run and restart the query in one application; what asks for another one (None at the end), and the layout."""
        job = self.job
        engine = SparkEngine(
            spark, must_act=job.settings.mode == "act", way=way_of(job.settings), restart=self._restarts.put
        )
        self._finish_rewrite(spark, layout)
        self.query = self._start(spark, layout)
        self.scaler = Scaler(
            engine, job.settings, pool_policy(job.policy), application=spark.sparkContext.applicationId,
            journal=self._journal, closes_journal=False, watch=self._watch,
        )  # fmt: skip
        with self.scaler:
            while True:
                restart = self._until_something_happens(self.query)
                if restart is None:
                    self._end(spark, self.query)
                    return None, layout
                refused = self._refusal(restart.layout)
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
            began = time.monotonic()
            self.query = self._start(spark, changed)
        except Exception as problem:
            self._write(Spoke(time.time(), Failed(restart.plan, in_brief(problem))))
            self.query = self._start(spark, layout)
            return layout
        self._note(restart.plan, f"started again with {restart.layout} after {time.monotonic() - began:.1f} s")
        return changed

    def _cut_state(self, spark: "SparkSession", layout: Layout, plan: int, bins: int | None) -> None:
        """Rewrite the state of the stopped query into so many bins, if it has others.

        One that was begun before, by this job or by another that was killed, is finished, or compared if it is over.
        """
        checkpoint = self.job.checkpoint
        if not self._has_checkpoint:
            return
        state = read_state(LocalFolders(checkpoint))
        unchecked = backup_of(checkpoint, state.committed or 0) is not None
        bins = state.rewriting or (state.partitions if unchecked else bins)
        if not state.operators or bins is None or (bins == state.partitions and not unchecked and not state.rewriting):
            return
        if state.rewriting is None and state.begun != state.committed:
            self._finish_last_batch(spark, layout)
        done = rewrite(spark, checkpoint, bins, said=lambda what: self._note(plan, what), keep_backup=False)
        phases = ", ".join(f"{phase.name} {phase.seconds:.1f} s" for phase in done.phases)
        self._note(
            plan,
            f"{_REWRITTEN} from {done.before} into {done.bins} bins, {done.rows:,} rows the same before and after; "
            f"expected {done.expected:.1f} s, took: {phases}",
        )

    def _finish_rewrite(self, spark: "SparkSession", layout: Layout) -> None:
        """What was under way when the job before this one was killed; a job that cannot do it goes on without."""
        plan, bins = self._rewrite_left_undone()
        try:
            self._cut_state(spark, layout, plan, bins)
        except HeadgateError as problem:
            self._write(Spoke(time.time(), Failed(plan, in_brief(problem))))

    def _rewrite_left_undone(self) -> tuple[int, int | None]:
        """The plan and the bins of a restart that was to rewrite state, and neither did nor failed."""
        plan, bins = 0, None
        for _, entry in self._journal.entries():
            match entry:
                case Intent(action=Restart() as asked) if STATE in asked.layout.parallelism:
                    plan, bins = asked.plan, asked.layout.parallelism[STATE]
                case Carried() if entry.plan == plan and entry.what.startswith(_REWRITTEN):
                    plan, bins = 0, None
                case Spoke(said=Failed() as failed) if failed.plan == plan:
                    plan, bins = 0, None
        return plan, bins

    def _finish_last_batch(self, spark: "SparkSession", layout: Layout) -> None:
        """A batch that was begun and is not committed comes again with the next start; it must be over first."""
        for _ in range(_DRAINS):
            query = self._start(spark, layout)
            while left_uncommitted(query) and not _terminated(query):
                if self._said.is_set():
                    query.stop()
                    raise HeadgateError("told to end")
            self._end(spark, query)
            if not left_uncommitted(query):
                return
        raise HeadgateError("the last batch does not come to its end")

    @property
    def _has_checkpoint(self) -> bool:
        """Whether there is one on this machine, with a batch in it."""
        return Path(self.job.checkpoint, "offsets").is_dir()

    def _refusal(self, layout: Layout) -> str | None:
        """What is wrong with a layout, before anything is touched."""
        known = [STATE, *self._exchanges]
        for name in layout.parallelism:
            if name not in known:
                return f"the job has no exchange {name}{did_you_mean(name, known)}"
            if name == STATE and "://" in self.job.checkpoint:
                return f"state is rewritten on this machine only, and the checkpoint is {self.job.checkpoint}"
            if name == STATE and self._has_checkpoint:
                try:
                    refuse_for_good(read_state(LocalFolders(self.job.checkpoint)), layout.parallelism[name])
                except InputError as problem:
                    return str(problem)
        slots, most = self.job.cluster.slots, self.job.settings.most
        if slots is not None and layout.cores is not None and layout.cores * most > slots:
            return f"{most} executors of {layout.cores} cores need {layout.cores * most} slots, [cluster] has {slots}"
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
            end_after_this_batch(spark, query)
        # Not `isActive`: that is over as soon as the end was asked for, with the last batch still running.
        while not _terminated(query):
            if self._word == "stop":
                query.stop()
                return

    def _start(self, spark: "SparkSession", layout: Layout) -> "StreamingQuery":
        parallelism = {**self.job.parallelism, **layout.parallelism}
        if STATE not in parallelism and "://" not in self.job.checkpoint and _PARTITIONS not in self.job.cluster.conf:
            parallelism[STATE] = self._bins_there() or self._bins_chosen()
        if STATE in parallelism:
            spark.conf.set(_PARTITIONS, str(parallelism[STATE]))
        settings = JobSettings(str(self.job.file.absolute().parent), self.job.options, parallelism, {})
        try:
            writer = self._build(spark, settings)
        except HeadgateError:
            raise
        except Exception as problem:
            said = f"{type(problem).__name__}: {in_brief(problem)}"
            raise InputError(f"{self.job.file}: {self.job.function} failed: {said}") from problem
        self._exchanges = settings.exchanges
        if not hasattr(writer, "start"):
            raise InputError(f"{self.job.file}: {self.job.function} gave {type(writer).__name__}; give df.writeStream…")
        return writer.queryName(self.job.name).option("checkpointLocation", self.job.checkpoint).start()

    def _bins_there(self) -> int | None:
        """As the checkpoint has them; None before the first batch."""
        return read_state(LocalFolders(self.job.checkpoint)).partitions if self._has_checkpoint else None

    def _bins_chosen(self) -> int:
        """For a job that has no state yet and does not say into how many bins it is to be cut."""
        settings, objective = self.job.settings, self.job.settings.objective
        interval = float(objective.within) / 2 if isinstance(objective, Freshness) else _USUAL_INTERVAL
        chosen = bins_to_start_with(settings.least, settings.most, self.job.cluster.cores, interval)
        self._note(0, str(chosen))
        return chosen.bins

    @contextmanager
    def _checkpoint_held(self) -> Iterator[None]:
        """No second job on it, and nobody who changes its state; only on this machine can that be seen to."""
        if "://" in self.job.checkpoint:
            yield
            return
        with locked(self.job.checkpoint):
            yield

    @contextmanager
    def _cluster(self) -> Iterator[LocalCluster | None]:
        cluster = self.job.cluster
        if cluster.slots is None:
            yield None
            return
        with LocalCluster(workers=1, slots=cluster.slots, memory=_worker_memory(self.job), late=True) as local:
            yield local

    def _session(self, cluster: LocalCluster | None, executors: int, layout: Layout) -> "SparkSession":
        job = self.job
        cores, memory = layout.cores or job.cluster.cores, layout.memory or job.cluster.memory
        conf = {**_DEFAULTS, **{key: _text(value) for key, value in job.cluster.conf.items()}}
        if cluster is not None:
            return cluster.session(
                job.name, executors=executors, cores=cores, memory=memory, most=job.settings.most, conf=conf
            )
        from pyspark.sql import SparkSession  # noqa: PLC0415

        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(str(job.cluster.master)).appName(job.name)
        settings = {
            "spark.executor.cores": str(cores),
            "spark.executor.memory": memory,
            "spark.executor.instances": str(executors),
            "spark.cores.max": str(job.settings.most * cores),
            **GRACEFUL,
            **conf,
        }
        for key, value in settings.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        begin_with(session, executors)
        deadline = time.monotonic() + _FIRST_EXECUTORS
        while registered_executors(session) < executors and time.monotonic() < deadline:
            time.sleep(_GLANCE)
        begin_with(session, executors)  # those that came beyond
        return session

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


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _worker_memory(job: Job) -> str:
    """Enough for the most executors."""
    number, unit = int(job.cluster.memory[:-1]), job.cluster.memory[-1].lower()
    megabytes = number * (1024 if unit == "g" else 1)
    # A worker on this machine only counts; slots are the limit, and a restart may ask for more memory.
    return f"{_ROOM * megabytes * job.settings.most}m"
