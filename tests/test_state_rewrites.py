"""A job's rewrites of its state: never gone on with before they are finished and compared."""

import errno
import shutil
from pathlib import Path

import pytest

from checkpoint_files import IN_MEMORY, ROCKSDB, files, rewritable, rewritten
from headgate.cli.main import main
from headgate.control.actions import Layout, Restart
from headgate.control.said import Failed
from headgate.formats.checkpoint.backup import back_up
from headgate.formats.checkpoint.unproven import never_compared, to_be_compared
from headgate.jobs import state_rewrites
from headgate.jobs.state_rewrites import StateRewrites
from headgate.model.errors import HeadgateError
from headgate.runtime.entries import Carried, Intent
from headgate.runtime.journal import Journal
from headgate.spark import rewriting
from headgate.spark.rewriting import LeftBetweenError


@pytest.fixture
def restarting(tmp_path):
    """The journal of a job that was killed after it was told to cut its state into 3 bins."""
    with Journal(tmp_path / "journal") as journal:
        journal.append(Intent(1.0, Restart(5, Layout({"state": 3}))))
        yield journal


class OldSpark:
    """A Spark that cannot rewrite state."""

    version = "4.1.0"


def cut_with(spark, checkpoint, journal, bins=None):
    """What a job does before its query starts; notes go to the plan that is undone."""
    rewrites = StateRewrites(str(checkpoint.folder), journal)
    plan, _ = rewrites.left_undone()
    rewrites.cut(
        spark,
        bins,
        note=lambda what: journal.append(Carried(2.0, plan, what)),
        say=print,
        finish_last_batch=print,
    )
    return rewrites


def unreadable(monkeypatch, checkpoint, name):
    """A disk that gives back everything but this file."""
    real = Path.read_bytes

    def read(path):
        if path == checkpoint.folder / name:
            raise OSError(errno.EIO, "Input/output error", str(path))
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", read)


def write_protected(monkeypatch, checkpoint, name):
    """A disk that has become read-only."""

    def unlink(path, missing_ok=False):
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "unlink", unlink)


@pytest.mark.parametrize("spoil", [unreadable, write_protected])
def test_what_cannot_be_taken_back_is_known_for_that_keeps_its_backup_and_is_looked_at_again(
    checkpoint, restarting, monkeypatch, spoil
):
    rewritten(checkpoint)
    backup = back_up(str(checkpoint.folder), 7)
    to_be_compared(str(checkpoint.folder), 7)
    with monkeypatch.context() as patched:
        spoil(patched, checkpoint, "offsets/7")
        told = rewriting.taken_back(str(checkpoint.folder), "rows are gone", backup)
    assert isinstance(told, LeftBetweenError)
    assert "rows are gone; and it could not be taken back" in str(told)
    assert backup.is_dir()
    # Whoever starts a job on it next compares it first, with a backup or without one, whoever made the rewrite.
    shutil.rmtree(backup)
    with pytest.raises(LeftBetweenError, match="so nobody has compared its rewrite"):
        cut_with(OldSpark(), checkpoint, restarting)


def test_a_rewrite_that_a_person_took_back_is_not_done_again_by_the_job(checkpoint, restarting, capsys):
    rewritten(checkpoint)
    rewrites = StateRewrites(str(checkpoint.folder), restarting)
    assert rewrites.left_undone() == (5, 3)
    assert main(["state", "undo", str(checkpoint.folder), "--not-running"]) == 0
    assert "has 2 bins again" in capsys.readouterr().out
    assert rewrites.left_undone() == (5, 3)  # to ask changes nothing
    rewrites.give_up_what_was_taken_back()
    assert rewrites.left_undone() == (0, None)
    *_, (_, last) = restarting.entries()
    assert last.said == Failed(5, "the rewrite was taken back by hand")


def test_a_rewrite_that_was_taken_back_once_may_be_wanted_again(checkpoint, restarting):
    rewritten(checkpoint)
    rewrites = StateRewrites(str(checkpoint.folder), restarting)
    assert main(["state", "undo", str(checkpoint.folder), "--not-running"]) == 0
    rewrites.give_up_what_was_taken_back()
    restarting.append(Intent(2.0, Restart(6, Layout({"state": 3}))))
    rewrites.give_up_what_was_taken_back()
    assert rewrites.left_undone() == (6, 3)


def test_what_was_taken_back_before_the_query_went_on_says_nothing_about_a_later_rewrite(checkpoint, restarting):
    rewritten(checkpoint)
    assert main(["state", "undo", str(checkpoint.folder), "--not-running"]) == 0
    checkpoint.commit(7, bins=2)
    rewrites = StateRewrites(str(checkpoint.folder), restarting)
    rewrites.give_up_what_was_taken_back()
    assert rewrites.left_undone() == (5, 3)


def test_a_job_that_asks_for_another_state_store_than_its_checkpoint_has_is_refused_by_name(checkpoint, restarting):
    rewritable(checkpoint)
    rewrites = StateRewrites(str(checkpoint.folder), restarting)
    assert rewrites.other_store(None) is None
    assert rewrites.other_store(ROCKSDB) is None
    refused = rewrites.other_store(IN_MEMORY)
    assert refused.startswith(
        f"{checkpoint.folder}: its state is kept by {ROCKSDB}, and spark.sql.streaming.stateStore"
    )
    assert "a checkpoint keeps its state store for life" in refused


def test_what_is_in_the_way_of_a_rewrite_is_said_before_the_query_is_drained_and_only_where_there_is_one(
    checkpoint, restarting
):
    rewritable(checkpoint)
    job = StateRewrites(str(checkpoint.folder), restarting)
    assert job.refusal(OldSpark(), 8) == "Spark 4.1.0 cannot rewrite state; it needs 4.2"
    assert job.refusal(OldSpark(), 4) is None  # it has 4
    assert job.refusal(OldSpark(), 0) == "0 bins: give a number from 1 to 100,000"


def test_a_job_does_not_start_on_a_rewrite_that_could_not_be_compared_and_looks_again_the_next_time(
    checkpoint, restarting
):
    rewritten(checkpoint)
    there = files(checkpoint)
    to_be_compared(str(checkpoint.folder), 7)
    for _ in range(2):
        with pytest.raises(LeftBetweenError, match=r"Spark 4\.1\.0 cannot .*; so nobody has compared its rewrite"):
            cut_with(OldSpark(), checkpoint, restarting)
    assert files(checkpoint) == there


def test_half_a_rewrite_that_cannot_be_finished_is_taken_back_so_that_the_job_can_start(checkpoint, restarting):
    before = rewritten(checkpoint)
    for name in ("7", ".7.crc"):
        (checkpoint.folder / "commits" / name).unlink()
    with pytest.raises(HeadgateError) as raised:
        cut_with(OldSpark(), checkpoint, restarting)
    assert not isinstance(raised.value, LeftBetweenError)
    told = "Spark 4.1.0 cannot rewrite state; it needs 4.2; it was taken back, and nothing is lost"
    assert str(raised.value) == f"{checkpoint.folder}: {told}"
    assert files(checkpoint) == before


def test_a_rewrite_that_is_done_counts_as_done_also_where_the_journal_did_not_come_to_say_so(checkpoint, restarting):
    rewritten(checkpoint)
    rewrites = cut_with(None, checkpoint, restarting, bins=3)
    assert rewrites.left_undone() == (0, None)
    *_, (_, last) = restarting.entries()
    assert (last.plan, last.what) == (5, "state is as asked, in 3 bins")


def test_bins_are_known_from_the_operators_where_batches_do_not_say_them(checkpoint, restarting):
    rewritable(checkpoint)
    checkpoint.write("offsets/6", 'v1\n{"batchWatermarkMs":0,"conf":{}}\n{"number":7}')
    assert StateRewrites(str(checkpoint.folder), restarting).bins == 4


def interrupted(monkeypatch, checkpoint, journal):
    """Ctrl-C in the middle of a rewrite into 3 bins, with the checkpoint as it is; what is raised."""

    def rewrite(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(state_rewrites, "rewrite", rewrite)
    with pytest.raises((KeyboardInterrupt, HeadgateError)) as raised:
        cut_with(None, checkpoint, journal, bins=3)
    return raised.value


def test_a_rewrite_that_is_interrupted_before_it_begins_has_failed(checkpoint, restarting, monkeypatch):
    rewritable(checkpoint, bins=2)
    there = files(checkpoint)
    assert str(interrupted(monkeypatch, checkpoint, restarting)) == f"{checkpoint.folder}: the rewrite was interrupted"
    assert files(checkpoint) == there


def test_half_a_rewrite_that_is_interrupted_is_taken_back(checkpoint, restarting, monkeypatch):
    before = rewritten(checkpoint)
    for name in ("7", ".7.crc"):
        (checkpoint.folder / "commits" / name).unlink()
    told = "the rewrite was interrupted; it was taken back, and nothing is lost"
    assert str(interrupted(monkeypatch, checkpoint, restarting)) == f"{checkpoint.folder}: {told}"
    assert files(checkpoint) == before


def test_a_rewrite_that_is_interrupted_when_it_is_over_stays_and_is_compared_at_the_next_start(
    checkpoint, restarting, monkeypatch
):
    rewritten(checkpoint)
    there = files(checkpoint)
    to_be_compared(str(checkpoint.folder), 7)
    assert isinstance(interrupted(monkeypatch, checkpoint, restarting), KeyboardInterrupt)
    assert files(checkpoint) == there
    assert never_compared(str(checkpoint.folder), 7)
    assert StateRewrites(str(checkpoint.folder), restarting).left_undone() == (0, None)
