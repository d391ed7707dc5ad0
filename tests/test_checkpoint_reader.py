"""What a checkpoint's files say about its state. The files are written by hand, as Spark 4.3 writes them."""

import errno
import io
import json
import os
import re
import shutil
import time
import zipfile
from pathlib import Path

import msgspec
import pytest

from headgate.cli.main import main
from headgate.control.actions import Layout, Restart
from headgate.control.said import Failed
from headgate.formats.checkpoint.backup import NoHardLinksError, back_up, backup_of
from headgate.formats.checkpoint.folders import LocalFolders
from headgate.formats.checkpoint.lock import locked
from headgate.formats.checkpoint.reader import read_state
from headgate.formats.checkpoint.undoing import take_back
from headgate.formats.checkpoint.unproven import never_compared, to_be_compared
from headgate.jobs import state_rewrites
from headgate.jobs.state_rewrites import StateRewrites
from headgate.model.errors import InputError
from headgate.model.rewrite_refusals import refuse_for_good
from headgate.model.state_digest import StoreDigest, differences
from headgate.runtime.entries import Intent, Seen
from headgate.runtime.journal import Journal
from headgate.simulation.virtual_spark import VirtualJob, VirtualOperator, VirtualSpark
from headgate.spark import rewriting
from headgate.spark.rewriting import LeftBetweenError

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
IN_MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


class Checkpoint:
    """A folder that is filled file by file."""

    def __init__(self, folder, provider=ROCKSDB):
        self.folder, self.provider = folder, provider
        self.write("metadata", '{"id":"the-query"}')
        (folder / "offsets").mkdir(parents=True, exist_ok=True)

    def write(self, path, content):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())

    def begin(self, batch, bins):
        conf = {
            "spark.sql.shuffle.partitions": str(bins),
            "spark.sql.streaming.stateStore.providerClass": self.provider,
        }
        self.write(f"offsets/{batch}", f'v1\n{json.dumps({"batchWatermarkMs": 0, "conf": conf})}\n{{"number":7}}')

    def commit(self, batch, bins):
        self.begin(batch, bins)
        self.write(f"commits/{batch}", 'v1\n{"nextBatchWatermarkMs":0}')

    def operator(self, number, name, stores, bins):
        told = {
            "operatorInfo": {"operatorId": number, "operatorName": name},
            "stateStoreInfo": [{"storeName": one, "numColsPrefixKey": 0, "numPartitions": bins} for one in stores],
        }
        self.write(f"state/{number}/_metadata/metadata", f"v1\n{json.dumps(told)}")

    def read(self):
        return read_state(LocalFolders(str(self.folder)))


def snapshot(*sizes):
    """A snapshot of RocksDB that needs files of these sizes; and how large it is itself."""
    listed = {"sstFiles": [{"localFileName": "a", "dfsSstFileName": "b", "sizeBytes": one} for one in sizes]}
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("metadata", f"v1\n{json.dumps(listed | {'numKeys': 3, 'numInternalKeys': 0})}")
    return held.getvalue()


@pytest.fixture
def checkpoint(tmp_path):
    return Checkpoint(tmp_path / "checkpoint")


def test_a_bin_is_its_newest_snapshot_with_the_files_it_needs_and_the_changes_after_it(checkpoint):
    checkpoint.commit(11, bins=1)
    checkpoint.operator(0, "stateStoreSave", ["default"], bins=1)
    checkpoint.write("state/0/0/3.zip", snapshot(9_999))
    whole = snapshot(1_000, 500)
    checkpoint.write("state/0/0/10.zip", whole)
    checkpoint.write("state/0/0/10.changelog", b"x" * 70)
    checkpoint.write("state/0/0/11.changelog", b"x" * 30)
    checkpoint.write("state/0/0/12_1f2e-aa.changelog", b"x" * 12)
    checkpoint.write("state/0/0/13.changelog", b"x" * 900)  # of a batch that is not committed
    checkpoint.write("state/0/0/.10.zip.crc", b"x" * 5000)
    (one,) = checkpoint.read().operators[0].bins
    assert (one.snapshot, one.changes) == (10, 2)
    assert (one.snapshot_bytes, one.change_bytes) == (len(whole) + 1_500, 42)


def test_a_join_keeps_four_stores_and_a_bin_is_all_of_them(checkpoint):
    stores = ["left-keyToNumValues", "left-keyWithIndexToValue", "right-keyToNumValues", "right-keyWithIndexToValue"]
    checkpoint.commit(1, bins=2)
    checkpoint.operator(0, "symmetricHashJoin", stores, bins=2)
    for store in stores:
        checkpoint.write(f"state/0/1/{store}/1.changelog", b"x" * 10)
        checkpoint.write(f"state/0/1/{store}/2.changelog", b"x" * 5)
    state = checkpoint.read()
    assert [one.bytes for one in state.operators[0].bins] == [0, 60]
    assert state.operators[0].bins[1].changes == 8
    assert state.operators[0].skew == 2.0  # all in one of two


def test_in_memory_state_has_deltas_and_snapshots_of_its_own(tmp_path):
    checkpoint = Checkpoint(tmp_path, provider=IN_MEMORY)
    checkpoint.commit(2, bins=1)
    checkpoint.operator(0, "dedupe", ["default"], bins=1)
    checkpoint.write("state/0/0/2.snapshot", b"x" * 100)
    checkpoint.write("state/0/0/3.delta", b"x" * 7)
    state = checkpoint.read()
    assert state.provider == "in-memory"
    assert state.operators[0].bins[0].bytes == 107


def test_the_number_of_bins_is_that_of_the_last_committed_batch_whatever_the_operator_file_says(checkpoint):
    checkpoint.commit(0, bins=3)
    checkpoint.operator(0, "stateStoreSave", ["default"], bins=3)
    checkpoint.commit(1, bins=5)
    assert len(checkpoint.read().operators[0].bins) == 5


def test_a_batch_begun_with_other_bins_is_a_rewrite_that_was_cut_short(checkpoint):
    checkpoint.commit(4, bins=3)
    checkpoint.begin(5, bins=8)
    state = checkpoint.read()
    assert (state.committed, state.begun, state.rewriting) == (4, 5, 8)


def test_newer_operator_files_are_told_apart_by_batch(checkpoint):
    checkpoint.commit(3, bins=2)
    checkpoint.operator(0, "old", ["default"], bins=2)
    for batch, name in ((0, "first"), (3, "second"), (9, "not yet")):
        told = {
            "operatorInfo": {"operatorId": 0, "operatorName": name, "operatorPropertiesJson": "{}"},
            "stateStoreInfo": [{"storeName": "default", "numPartitions": 2, "stateSchemaFilePaths": []}],
        }
        checkpoint.write(f"state/0/_metadata/v2/{batch}", f"v2\n{json.dumps(told)}")
    assert checkpoint.read().operators[0].name == "second"


def test_what_is_no_checkpoint_is_said_in_one_line(tmp_path, capsys):
    for wrong, why in (
        (tmp_path / "nothing", "is no checkpoint"),
        (tmp_path, "is no checkpoint"),
    ):
        assert main(["state", "show", str(wrong), "--quick"]) == 2
        assert why in capsys.readouterr().err


def test_someone_elses_version_is_refused_by_name(checkpoint):
    checkpoint.commit(0, bins=1)
    checkpoint.write("offsets/0", "v9\n{}\n1")
    with pytest.raises(InputError, match=r"offsets/0: version v9"):
        checkpoint.read()
    checkpoint.commit(0, bins=1)
    checkpoint.write("state/0/_metadata/metadata", "v7\n{}")
    with pytest.raises(InputError, match=r"_metadata/metadata: version v7"):
        checkpoint.read()


def test_damaged_files_are_named(checkpoint):
    checkpoint.commit(0, bins=1)
    checkpoint.write("state/0/_metadata/metadata", 'v1\n{"operatorInfo": 3}')
    with pytest.raises(InputError, match=r"_metadata/metadata: .*damaged"):
        checkpoint.read()
    checkpoint.write("metadata", b"\xff\xfe")
    with pytest.raises(InputError, match=r"metadata: is not text"):
        checkpoint.read()


@pytest.mark.parametrize("bins", ["abc", "0", "-3", "1_0", "99999999999999999999"])
def test_a_number_of_bins_that_nobody_can_have_written_is_damage_and_said_in_one_line(checkpoint, capsys, bins):
    checkpoint.commit(0, bins=2)
    checkpoint.commit(1, bins=bins)
    for words in (["show", "--quick"], ["undo", "--not-running"], ["repartition", "8"]):
        word, *options = words
        assert main(["state", word, str(checkpoint.folder), *options]) == 2
        said = capsys.readouterr().err
        assert f"offsets/1: spark.sql.shuffle.partitions is {bins}; the checkpoint is damaged" in said


def test_a_number_of_bins_of_more_digits_than_python_reads_is_damage_too(checkpoint, capsys):
    checkpoint.commit(0, bins="9" * 5000)
    assert main(["state", "show", str(checkpoint.folder), "--quick"]) == 2
    assert capsys.readouterr().err.endswith("999; the checkpoint is damaged\n")


def test_an_operator_that_names_no_state_store_is_damage(checkpoint):
    checkpoint.commit(0, bins=1)
    checkpoint.operator(0, "stateStoreSave", [], bins=1)
    with pytest.raises(InputError, match=r"_metadata/metadata: names no state store with bins; .*damaged"):
        checkpoint.read()


def broken(snapshot):
    """The same archive with a compressed stream that cannot be read any more."""
    held = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(snapshot)) as whole, zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("metadata", whole.read("metadata") * 20)
    damaged = bytearray(held.getvalue())
    start = damaged.index(b"metadata") + len("metadata")
    damaged[start : start + 12] = b"\xff" * 12
    return bytes(damaged)


def test_a_damaged_snapshot_counts_as_far_as_it_can_be_seen(checkpoint):
    rewritable(checkpoint, bins=1)
    held = broken(snapshot(1_000))
    checkpoint.write("state/0/0/7.zip", held)
    assert checkpoint.read().operators[0].bins[0].snapshot_bytes == len(held)


def rewritable(checkpoint, bins=4):
    checkpoint.commit(6, bins=bins)
    checkpoint.operator(0, "stateStoreSave", ["default"], bins=bins)
    for number in range(bins):
        checkpoint.write(f"state/0/{number}/7.changelog", b"x")
    return checkpoint


@pytest.mark.parametrize(
    ("spoil", "bins", "why"),
    [
        (lambda c: None, 0, "0 bins: give a number from 1"),
        (lambda c: None, -3, "-3 bins: give a number from 1"),
        (lambda c: None, 4, "has 4 bins already"),
        (lambda c: c.begin(7, bins=4), 8, "batch 7 was begun and is not committed"),
        (lambda c: c.begin(7, bins=5), 8, "a rewrite into 5 bins was begun"),
        (lambda c: (c.folder / "state/0/_metadata/metadata").unlink(), 8, "cannot be read"),
        (lambda c: c.write("state/0/0/7.zip", snapshot(10**16)), 8, "a rewrite needs room for all of it once more"),
    ],
)
def test_what_cannot_be_rewritten_is_refused_and_nothing_is_touched(checkpoint, capsys, spoil, bins, why):
    spoil(rewritable(checkpoint))
    before = {path: path.read_bytes() for path in checkpoint.folder.rglob("*") if path.is_file()}
    assert main(["state", "repartition", str(checkpoint.folder), str(bins)]) == 2
    assert why in capsys.readouterr().err
    assert {path: path.read_bytes() for path in checkpoint.folder.rglob("*") if path.is_file()} == before


def test_a_query_without_state_and_one_without_batches_are_refused(checkpoint):
    with pytest.raises(InputError, match="no batch is committed yet"):
        refuse_for_good(checkpoint.read(), 4)
    checkpoint.commit(0, bins=2)
    with pytest.raises(InputError, match="keeps no state"):
        refuse_for_good(checkpoint.read(), 4)


def test_in_memory_state_is_refused_by_name(tmp_path):
    checkpoint = rewritable(Checkpoint(tmp_path, provider=IN_MEMORY))
    with pytest.raises(InputError, match="the in-memory state store, and only RocksDB's can be rewritten"):
        refuse_for_good(checkpoint.read(), 8)


def test_an_operator_without_a_key_is_refused_since_a_rewrite_would_lose_its_row(checkpoint):
    # What such an operator keeps is in bin 0; the others have no task, and no file.
    rewritable(checkpoint)
    checkpoint.operator(1, "stateStoreSave", ["default"], bins=4)
    checkpoint.write("state/1/0/7.changelog", b"x")
    with pytest.raises(InputError, match=r"operator 1 \(stateStoreSave\) keeps all its state in bin 0"):
        refuse_for_good(checkpoint.read(), 8)


def test_state_with_ids_of_its_own_is_refused_by_name(checkpoint):
    rewritable(checkpoint)
    checkpoint.write("commits/6", 'v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{}}')
    with pytest.raises(InputError, match="checkpointFormatVersion 2"):
        refuse_for_good(checkpoint.read(), 8)


def test_of_two_that_change_a_checkpoint_the_second_is_refused(checkpoint, capsys):
    rewritable(checkpoint)
    with locked(str(checkpoint.folder)):
        assert main(["state", "repartition", str(checkpoint.folder), "8", "--not-running"]) == 2
        assert "a job runs on it under Headgate" in capsys.readouterr().err
        assert main(["state", "undo", str(checkpoint.folder), "--not-running"]) == 2
        assert "a job runs on it under Headgate" in capsys.readouterr().err


def test_a_backup_is_only_believed_if_it_is_of_the_same_query(checkpoint):
    rewritable(checkpoint)
    made = back_up(str(checkpoint.folder), 7)
    assert backup_of(str(checkpoint.folder), 7) == made
    assert (made / "offsets/6").stat().st_ino == (checkpoint.folder / "offsets/6").stat().st_ino  # no copy
    (checkpoint.folder / "metadata").unlink()  # a checkpoint is deleted, and begun anew under its path
    checkpoint.write("metadata", '{"id":"another-query"}')
    assert backup_of(str(checkpoint.folder), 7) is None
    assert (back_up(str(checkpoint.folder), 7) / "metadata").read_text() == '{"id":"another-query"}'


def files(checkpoint):
    return {
        path.relative_to(checkpoint.folder): path.read_bytes()
        for path in checkpoint.folder.rglob("*")
        if path.is_file()
    }


def rewritten(checkpoint):
    """From 2 bins into 3, in batch 7; the files as they were before."""
    rewritable(checkpoint, bins=2)
    checkpoint.write("state/0/0/7.zip", snapshot())
    before = files(checkpoint)
    checkpoint.commit(7, bins=3)
    for number in range(3):
        checkpoint.write(f"state/0/{number}/8.zip", snapshot(100))
        checkpoint.write(f"state/0/{number}/.8.zip.crc", b"crc")
        checkpoint.write(f"state/0/{number}/SSTs/b", b"x" * 100)
    for log in ("offsets", "commits"):
        checkpoint.write(f"{log}/.7.crc", b"crc")
    (checkpoint.folder / "state/0/_metadata/v2").mkdir()
    shutil.copy(checkpoint.folder / "state/0/_metadata/metadata", checkpoint.folder / "state/0/_metadata/v2/7")
    return before


def test_a_rewrite_is_taken_back_file_by_file_and_what_others_need_stays(checkpoint):
    before = rewritten(checkpoint)
    assert take_back(str(checkpoint.folder)) == 2
    assert files(checkpoint) == before


def test_a_rewrite_can_be_taken_back_at_once_unless_somebody_has_written_since(checkpoint, capsys):
    before = rewritten(checkpoint)
    table = checkpoint.folder / "state/0/1/SSTs/b"
    soon = time.time() + 5
    os.utime(table, (soon, soon))
    assert main(["state", "undo", str(checkpoint.folder)]) == 2
    assert re.search(r"was written to \d+ s ago, so a query may be running on it", capsys.readouterr().err)
    os.utime(table)
    assert main(["state", "undo", str(checkpoint.folder)]) == 0
    assert files(checkpoint) == before


def test_a_rewrite_that_is_not_committed_may_still_be_under_way(checkpoint, capsys):
    rewritten(checkpoint)
    (checkpoint.folder / "commits/7").unlink()
    assert main(["state", "undo", str(checkpoint.folder)]) == 2
    assert "so a query may be running on it" in capsys.readouterr().err


def test_a_rewrite_with_a_damaged_snapshot_is_taken_back_and_only_tables_that_nobody_names_stay(checkpoint):
    before = rewritten(checkpoint)
    checkpoint.write("state/0/1/8.zip", broken(snapshot(100)))
    assert take_back(str(checkpoint.folder)) == 2
    assert files(checkpoint) == before | {Path("state/0/1/SSTs/b"): b"x" * 100}


def test_a_rewrite_that_has_damaged_its_own_description_is_taken_back_by_hand(checkpoint, capsys):
    before = rewritten(checkpoint)
    checkpoint.write("state/0/_metadata/v2/7", "v1\n{")
    assert main(["state", "show", str(checkpoint.folder), "--quick"]) == 2
    assert main(["state", "undo", str(checkpoint.folder), "--not-running"]) == 0
    assert capsys.readouterr().out.endswith("has 2 bins again\n")
    assert files(checkpoint) == before


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
        told = rewriting._taken_back(str(checkpoint.folder), "rows are gone", backup)
    assert isinstance(told, LeftBetweenError)
    assert "rows are gone; and it could not be taken back" in str(told)
    assert backup.is_dir()
    # Whoever starts a job on it next compares it first, with a backup or without one, whoever made the rewrite.
    shutil.rmtree(backup)
    compared = []

    def stopped(spark, path, bins, **options):
        compared.append(bins)
        raise Stopped

    monkeypatch.setattr(state_rewrites, "rewrite", stopped)
    with pytest.raises(Stopped):
        StateRewrites(str(checkpoint.folder), restarting).cut(
            None, None, note=print, say=print, finish_last_batch=print
        )
    assert compared == [3]


class Stopped(Exception):  # noqa: N818 - it is none
    """That is all this test wants to see."""


def test_a_rewrite_that_is_taken_back_or_was_none_is_not_looked_at_again(checkpoint):
    before = rewritten(checkpoint)
    path = str(checkpoint.folder)
    to_be_compared(path, 7)
    assert never_compared(path, 7)
    assert str(rewriting._taken_back(path, "so", None)) == f"{path}: so; it was taken back, and nothing is lost"
    assert not never_compared(path, 7)
    assert files(checkpoint) == before
    to_be_compared(path, 7)
    assert str(rewriting._taken_back(path, "so", None)) == f"{path}: so; nothing was changed"
    assert not never_compared(path, 7)


class OldSpark:
    """A Spark that cannot rewrite state."""

    version = "4.1.0"


def test_what_is_in_the_way_of_a_rewrite_is_said_before_the_query_is_drained_and_only_where_there_is_one(
    checkpoint, restarting
):
    rewritable(checkpoint)
    job = StateRewrites(str(checkpoint.folder), restarting)
    assert job.refusal(OldSpark(), 8) == "Spark 4.1.0 cannot rewrite state; it needs 4.2"
    assert job.refusal(OldSpark(), 4) is None  # it has 4
    assert job.refusal(OldSpark(), 0) == "0 bins: give a number from 1 to 100,000"


class Killed(BaseException):
    """What nothing catches."""


def killed_at(monkeypatch, where, name, call):
    """Have the call of this number end the process, as far as anyone can tell; one that goes on is counted down."""
    real, left = getattr(where, name), [call]

    def counted(*given, **options):
        if not left[0]:
            raise Killed
        left[0] -= 1
        return real(*given, **options)

    monkeypatch.setattr(where, name, counted)


def test_taking_back_can_be_cut_off_at_every_file_and_said_again(tmp_path, monkeypatch):
    cut = 0
    while True:
        checkpoint = Checkpoint(tmp_path / str(cut) / "checkpoint")
        before = rewritten(checkpoint)
        with monkeypatch.context() as patched:
            killed_at(patched, Path, "unlink", cut)
            try:
                take_back(str(checkpoint.folder))
                break
            except Killed:
                pass
        # Whatever is left of it, it counts as a rewrite that was not finished, or is gone without a trace.
        assert checkpoint.read().rewriting in (3, None)
        assert checkpoint.read().partitions == (3 if cut < 2 else 2)  # until its commit is gone it is done
        assert take_back(str(checkpoint.folder)) == 2
        assert files(checkpoint) == before
        cut += 1
    assert cut == 15  # two of each log, three of each bin, the operator's own, and the word beside them


def test_a_backup_can_be_cut_off_at_every_file_and_made_again(checkpoint, monkeypatch):
    rewritable(checkpoint)
    cut = 0
    while True:
        with monkeypatch.context() as patched:
            killed_at(patched, os, "link", cut)
            try:
                made = back_up(str(checkpoint.folder), 7)
                break
            except Killed:
                cut += 1
        assert backup_of(str(checkpoint.folder), 7) is None  # half of one is none
    assert cut == len(files(checkpoint)) > 4
    assert files(Checkpoint(made)) == files(checkpoint)


def failing_once(problem):
    """`os.link` that fails with this the first time."""
    real, left = os.link, [problem]

    def link(source, target):
        if left:
            raise OSError(left.pop(), "no", source)
        return real(source, target)

    return link


def test_a_backup_is_made_again_where_a_file_vanishes_under_it(checkpoint, monkeypatch):
    rewritable(checkpoint)
    monkeypatch.setattr(os, "link", failing_once(errno.ENOENT))
    assert files(Checkpoint(back_up(str(checkpoint.folder), 7))) == files(checkpoint)


@pytest.mark.parametrize(
    ("problem", "error", "why"),
    [(errno.EPERM, NoHardLinksError, "^no$"), (errno.EIO, InputError, r"cannot be backed up \(no\), so nothing was")],
)
def test_no_second_names_is_one_thing_and_a_backup_that_fails_another(checkpoint, monkeypatch, problem, error, why):
    rewritable(checkpoint)
    monkeypatch.setattr(os, "link", failing_once(problem))
    with pytest.raises(error, match=why):
        back_up(str(checkpoint.folder), 7)
    assert [one.name for one in checkpoint.folder.parent.iterdir()] == ["checkpoint"]


@pytest.fixture
def restarting(tmp_path):
    """The journal of a job that was killed after it was told to cut its state into 3 bins."""
    with Journal(tmp_path / "journal") as journal:
        journal.append(Intent(1.0, Restart(5, Layout({"state": 3}))))
        yield journal


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


def test_two_names_of_one_checkpoint_have_one_lock(checkpoint, tmp_path):
    (tmp_path / "other-name").symlink_to(checkpoint.folder)
    with (
        locked(str(checkpoint.folder)),
        pytest.raises(InputError, match="a job runs on it"),
        locked(str(tmp_path / "other-name")),
    ):
        pass


def test_a_checkpoint_that_was_just_written_to_is_taken_to_be_in_use(checkpoint, capsys):
    rewritable(checkpoint)
    assert main(["state", "repartition", str(checkpoint.folder), "8"]) == 2
    assert "a query may be running on it" in capsys.readouterr().err


def test_what_a_rewrite_has_changed_is_told_store_by_store():
    before = [StoreDigest(0, "default", 10, "77"), StoreDigest(1, "default", 5, "1"), StoreDigest(2, "default", 1, "9")]
    after = [StoreDigest(0, "default", 10, "77"), StoreDigest(1, "default", 4, "1")]
    assert differences(before, after) == [
        "store default of operator 1 had 5 rows (sum 1) and has 4 (sum 1)",
        "store default of operator 2 is gone",
    ]
    assert differences(before, before) == []


def test_rows_in_bins_where_nobody_looks_for_them_are_a_difference_where_there_were_none():
    right, wrong = StoreDigest(0, "default", 10, "77"), StoreDigest(0, "default", 10, "77", misplaced=3)
    told = "3 of 10 rows of store default of operator 0 are in bins that their keys do not belong to"
    assert differences([right], [wrong]) == [told]
    assert differences([wrong], [wrong]) == []  # then it is the rule that does not hold here


def test_words_of_state_move_that_make_no_sense_are_refused(tmp_path, capsys):
    for words, why in (
        (["3"], "is not BIN=EXECUTOR"),
        (["x=1"], "is not BIN=EXECUTOR"),
        (["1=2", "1=3"], "given twice"),
    ):
        assert main(["state", "move", str(tmp_path / "j.db"), *words]) == 2
        assert why in capsys.readouterr().err


def test_where_bins_live_is_shown_from_the_journal_of_the_job(checkpoint, tmp_path, capsys):
    rewritable(checkpoint)
    count = VirtualOperator("count", 4, fixed=0.1, per_record=0.004, stateful=True)
    spark = VirtualSpark(VirtualJob((count,), trigger=10.0), lambda at: 100 * at, executors=2)
    spark.run_batch()
    spark.spread_bins()
    batch = spark.run_batch()
    with Journal(tmp_path / "journal") as journal:
        for query in ("the-query", "another"):
            journal.append(Seen(1.0, msgspec.structs.replace(batch, query=query), 10.0))
    words = ["state", "show", str(checkpoint.folder), "--quick", "--journal", str(tmp_path / "journal")]
    assert main(words) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()[:1].isdigit()]
    ran = dict(zip(batch.tasks.partition.tolist(), batch.tasks.executor, strict=True))
    assert [(int(line[0]), line[-1]) for line in shown] == [(number, ran[number]) for number in range(4)]
    assert len(set(ran.values())) == 2
    checkpoint.write("metadata", '{"id":"a-third"}')
    assert main(words) == 2
    assert "has no batch of query a-third" in capsys.readouterr().err
