"""What stands in the way of a rewrite of state is said in one line, and nothing is touched."""

import json
import shutil
from typing import NamedTuple

import pytest

from checkpoint_files import IN_MEMORY, Checkpoint, files, rewritable, rewritten, snapshot
from headgate.cli.main import main
from headgate.formats.checkpoint.lock import locked
from headgate.formats.checkpoint.unproven import compared, to_be_compared
from headgate.model.errors import InputError
from headgate.model.rewrite_refusals import refuse_for_good
from headgate.spark.rewriting import refuse


@pytest.mark.parametrize(
    ("spoil", "bins", "why"),
    [
        (lambda c: None, 0, "0 bins: give a number from 1"),
        (lambda c: None, -3, "-3 bins: give a number from 1"),
        (lambda c: None, 4, "has 4 bins already"),
        (lambda c: c.begin(7, bins=4), 8, "batch 7 was begun and is not committed"),
        (lambda c: c.begin(7, bins=5), 8, "a rewrite into 5 bins was begun"),
        (lambda c: (c.folder / "state/0/_metadata/metadata").unlink(), 8, "does not say what operator 0 is (Spark"),
        (lambda c: c.write("state/0/0/7.zip", snapshot(10**16)), 8, "a rewrite needs room for all of it once more"),
    ],
)
def test_what_cannot_be_rewritten_is_refused_and_nothing_is_touched(checkpoint, capsys, spoil, bins, why):
    spoil(rewritable(checkpoint))
    before = {path: path.read_bytes() for path in checkpoint.folder.rglob("*") if path.is_file()}
    assert main(["state", "repartition", str(checkpoint.folder), str(bins)]) == 2
    assert why in capsys.readouterr().err
    assert {path: path.read_bytes() for path in checkpoint.folder.rglob("*") if path.is_file()} == before


def test_a_rewrite_that_nobody_has_compared_is_not_rewritten_again_and_shown_as_such(checkpoint, capsys):
    rewritten(checkpoint)  # into 3 bins, in batch 7
    to_be_compared(str(checkpoint.folder), 7)
    before, path = files(checkpoint), str(checkpoint.folder)
    assert main(["state", "repartition", path, "5", "--not-running"]) == 2
    said = "nobody has compared its last rewrite, into 3 bins, with what was there before; have that done first"
    assert said in capsys.readouterr().err
    assert files(checkpoint) == before
    assert main(["state", "show", path, "--quick"]) == 0
    assert "a rewrite which nobody has compared" in capsys.readouterr().out
    assert main(["state", "show", path, "--quick", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["unproven"] is True
    compared(path)
    assert main(["state", "show", path, "--quick"]) == 0
    assert "nobody has compared" not in capsys.readouterr().out
    refuse(path, 5)  # nothing stands in the way any more


def test_what_went_on_after_a_rewrite_may_be_rewritten_whatever_was_noted_of_it(checkpoint):
    rewritten(checkpoint)
    to_be_compared(str(checkpoint.folder), 7)
    checkpoint.commit(8, bins=3)
    refuse(str(checkpoint.folder), 5)


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


def test_commits_of_a_version_that_nobody_rewrites_are_refused_before_anything_is_read(checkpoint):
    rewritable(checkpoint)
    checkpoint.write("commits/6", 'v3\n{"nextBatchWatermarkMs":0}')
    assert len(checkpoint.read().operators) == 1  # it can be looked at
    with pytest.raises(InputError, match="version v3 of the log of commits; only v1 can be rewritten"):
        refuse_for_good(checkpoint.read(), 8)


def test_of_two_that_change_a_checkpoint_the_second_is_refused(checkpoint, capsys):
    rewritable(checkpoint)
    with locked(str(checkpoint.folder)):
        assert main(["state", "repartition", str(checkpoint.folder), "8", "--not-running"]) == 2
        assert "a job runs on it under Headgate" in capsys.readouterr().err
        assert main(["state", "undo", str(checkpoint.folder), "--not-running"]) == 2
        assert "a job runs on it under Headgate" in capsys.readouterr().err


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


def test_room_is_asked_for_before_a_rewrite_and_not_again_to_finish_one(checkpoint, monkeypatch):
    rewritable(checkpoint)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(free=1))
    with pytest.raises(InputError, match=r"0 MB free; a rewrite needs room for all of it once more"):
        refuse(str(checkpoint.folder), 8)
    checkpoint.begin(7, bins=8)
    refuse(str(checkpoint.folder), 8)


class Usage(NamedTuple):
    """Of a disk that is as good as full."""

    free: int
