"""A job from its file on a Spark that is none: what is refused, and what is said where it does not start again."""

import time
from contextlib import contextmanager
from types import SimpleNamespace

import msgspec
import pytest

pytest.importorskip("pyspark")

from headgate.control.actions import Layout, Restart
from headgate.control.events import BatchSeen
from headgate.control.said import Failed
from headgate.jobs import running
from headgate.jobs.job_file import read_job
from headgate.jobs.running import NotStartedError, Running
from headgate.jobs.state_rewrites import StateRewrites
from headgate.model.errors import HeadgateError, InputError
from headgate.runtime.entries import Carried, Intent, Spoke
from headgate.runtime.journal import Journal
from headgate.simulation.virtual_spark import VirtualJob, VirtualOperator, VirtualSpark
from headgate.spark.rewriting import LeftBetweenError

JOB = """
name = "count"
build = "count.py:build"
checkpoint = "checkpoint"
[parallelism]
{parallelism}
"""
BUILD = """
def build(spark, settings):
    return settings.exchange(spark.events, "parse").writeStream
"""


class Conf(dict):
    def set(self, name, value):
        self[name] = value


class Events:
    """A DataFrame that is cut and written to nowhere; its writer counts how often it is started."""

    def __init__(self, spark):
        self.sparkSession, self.writeStream, self.partitions = spark, self, []

    def repartition(self, partitions):
        self.partitions.append(partitions)
        return self

    def queryName(self, name):  # noqa: N802 - Spark's own name
        return self

    def option(self, name, value):
        return self

    def start(self):
        return self.sparkSession.start(len(self.partitions))


class Session:
    """As much of a SparkSession as a job needs; `start` is told how many starts there were, this one included."""

    def __init__(self, start):
        self.conf, self.start = Conf({"spark.sql.shuffle.partitions": "200"}), start
        self.sparkContext = SimpleNamespace(uiWebUrl=None, applicationId="app-1", addPyFile=lambda path: None)
        self.events = Events(self)
        self.stopped, self.layouts = False, []

    def begun_with(self, layout):
        self.layouts.append(layout)
        return self

    def stop(self):
        self.stopped = True


class Eyes:
    """An engine that sees nothing."""

    def __init__(self, spark, *, restart, **given):
        pass

    def start(self):
        return self

    def stop(self):
        pass

    def seen(self, timeout):
        return ()

    def executors(self):
        return ()

    def queries(self):
        return None

    def happened(self):
        return ()


@pytest.fixture
def job(tmp_path, monkeypatch):
    """A job of this file, and the session it is to run in."""

    def made(parallelism, start=lambda times: None, eyes=Eyes):
        (tmp_path / "count.py").write_text(BUILD)
        (tmp_path / "job.toml").write_text(JOB.format(parallelism=parallelism))
        session = Session(start)

        @contextmanager
        def applications(job, say):
            yield SimpleNamespace(session=lambda executors, layout, on_trial: session.begun_with(layout))

        monkeypatch.setattr(running, "applications", applications)
        monkeypatch.setattr(running, "SparkEngine", eyes)
        monkeypatch.setattr(running, "_terminated", lambda query: True)
        monkeypatch.setattr(running, "unfinished_batch", lambda query: None)
        return Running(read_job(tmp_path / "job.toml")), session

    return made


def test_a_name_that_is_no_exchange_of_the_job_is_refused_by_file_and_setting_before_the_query_starts(job, tmp_path):
    started = []
    one, session = job("state = 8\nprase = 16", started.append)
    with pytest.raises(InputError) as refused:
        one.run()
    said = '[parallelism] prase is no exchange of the job (did you mean "parse"?)'
    assert str(refused.value) == f"{tmp_path / 'job.toml'}: {said}"
    assert (started, session.stopped) == ([], True)


def over():
    """A query that has come to its end."""
    return SimpleNamespace(isActive=False, exception=lambda: None)


def test_an_exchange_by_its_name_has_the_partitions_that_the_file_says(job):
    one, session = job("state = 8\nparse = 16", lambda times: over())
    one.run()
    assert session.events.partitions == [16]
    assert session.conf["spark.sql.shuffle.partitions"] == "8"


class Restarts(Eyes):
    """An engine that is told at once to start the job again with six partitions."""

    def __init__(self, spark, *, restart, **given):
        restart(Restart(1, Layout({"parse": 6})))


def test_a_job_whose_state_is_between_two_layouts_ends_and_does_not_start_its_query(job, tmp_path, monkeypatch):
    def left_between(*given, **options):
        raise LeftBetweenError("checkpoint: 3 rows are gone; and it could not be taken back: read-only")

    one, session = job("state = 8\nparse = 4", lambda times: over(), Restarts)
    monkeypatch.setattr(StateRewrites, "cut", failing_from_the_second_time(left_between))
    with pytest.raises(HeadgateError, match=r"could not be taken back: read-only; the job does not go on with it"):
        one.run()
    assert session.events.partitions == [4]
    with Journal(tmp_path / "job.journal", read_only=True) as journal:
        entries = [entry for _, entry in journal.entries()]
    assert any("could not be taken back" in one.what for one in entries if isinstance(one, Carried))
    # It has not failed: whoever starts the job next looks at the state again before the query runs.
    assert not [one for one in entries if isinstance(one, Spoke) and isinstance(one.said, Failed)]


def test_a_restart_whose_rewrite_fails_changes_nothing_also_where_a_new_application_was_begun_for_it(
    job, tmp_path, monkeypatch
):
    asked, calls = Restart(1, Layout({"state": 12}, memory="2g")), []

    class AsksOnce(Eyes):
        def __init__(self, spark, *, restart, **given):
            self.restart = restart

        def start(self):  # the query runs by now
            if len(session.layouts) == 1:
                with Journal(tmp_path / "job.journal") as journal:
                    journal.append(Intent(time.time(), asked))
                self.restart(asked)
            return self

    def cut(self, spark, bins, **options):
        calls.append(bins)
        if bins is not None:
            raise HeadgateError("no room")

    one, session = job("state = 8\nparse = 4", lambda times: over(), AsksOnce)
    monkeypatch.setattr(StateRewrites, "cut", cut)
    one.run()
    assert calls == [None, 12, None]
    assert session.layouts == [Layout(), asked.layout, Layout()]
    assert len(session.events.partitions) == 2  # the query did not start in the application on trial
    with Journal(tmp_path / "job.journal", read_only=True) as journal:
        failed = [entry.said for _, entry in journal.entries() if isinstance(entry, Spoke)]
    assert [(one.plan, one.why) for one in failed if isinstance(one, Failed)] == [(1, "no room")]


def test_only_the_batch_that_was_left_is_waited_for_before_state_is_cut(job, monkeypatch):
    # Batch 7 was left; it is followed by others at once, so that none is ever seen to be committed.
    begun, waited = iter([7, 7, 8]), []
    one, session = job("state = 8\nparse = 4", lambda times: over())
    monkeypatch.setattr(running, "unfinished_batch", lambda query: next(begun, 9))
    monkeypatch.setattr(running, "_terminated", lambda query: waited.append(query) is not None)
    monkeypatch.setattr(running, "left_uncommitted", lambda query: False)
    monkeypatch.setattr(Running, "_end", lambda self, spark, query: None)
    one._finish_last_batch(session, Layout())
    assert len(waited) == 1
    assert len(session.events.partitions) == 1


def failing_from_the_second_time(fail):
    """The first one is what is asked of every start."""
    calls = []

    def cut(*given, **options):
        calls.append(given)
        return fail(*given, **options) if len(calls) > 1 else None

    return cut


class SeesOneBatch(Restarts):
    """The same, with one batch of the second run."""

    def __init__(self, spark, *, restart, **given):
        super().__init__(spark, restart=restart, **given)
        self.spark = spark

    def seen(self, timeout):
        if self.spark.query is None or self.spark.query.runId != "run 2" or not self.spark.query.isActive:
            return ()
        job = VirtualJob((VirtualOperator("map", 4, fixed=0.1, per_record=0.004),), trigger=10.0)
        batch = VirtualSpark(job, lambda at: 100 * at, executors=1).run_batch()
        self.spark.query.isActive = False
        return [BatchSeen(time.time(), msgspec.structs.replace(batch, run="run 2", duration=2_340), 10.0)]


def test_the_journal_says_how_long_the_first_batch_after_a_restart_took(job, tmp_path, monkeypatch):
    def start(times):
        session.query = SimpleNamespace(isActive=True, exception=lambda: None, runId=f"run {times}")
        return session.query

    one, session = job("state = 8\nparse = 4", start, SeesOneBatch)
    session.query = None
    monkeypatch.setattr(running, "end_after_this_batch", lambda spark, query, at_once: None)
    one.run()
    with Journal(tmp_path / "job.journal", read_only=True) as journal:
        carried = [(entry.plan, entry.what) for _, entry in journal.entries() if isinstance(entry, Carried)]
    assert carried[-1] == (1, "the first batch after it took 2.3 s")
    assert carried[-2][1].startswith("started again with")


def test_a_query_that_starts_neither_with_the_new_layout_nor_with_the_old_one_ends_in_one_line(job, tmp_path):
    def start(times):
        if times == 1:
            return over()
        raise RuntimeError(f"start {times} failed\n\tat org.apache.spark.Somewhere")

    one, session = job("state = 8\nparse = 4", start, Restarts)
    with pytest.raises(NotStartedError, match=r"^the query could not be started: start 3 failed$"):
        one.run()
    assert session.events.partitions == [4, 6, 4]
    with Journal(tmp_path / "job.journal", read_only=True) as journal:
        said = [str(entry.said) for _, entry in journal.entries() if isinstance(entry, Spoke)]
    assert "plan 1 could not be carried out: start 2 failed" in said
