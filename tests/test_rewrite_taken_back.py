"""A rewrite of state is backed up and taken back, cut off wherever it may be."""

import errno
import os
import re
import time
from pathlib import Path

import pytest

from checkpoint_files import Checkpoint, broken, files, rewritable, rewritten, snapshot
from headgate.cli.main import main
from headgate.formats.checkpoint.backup import NoHardLinksError, back_up, backup_of
from headgate.formats.checkpoint.undoing import take_back
from headgate.formats.checkpoint.unproven import never_compared, to_be_compared
from headgate.model.errors import InputError
from headgate.spark import rewriting


def test_a_backup_is_only_believed_if_it_is_of_the_same_query(checkpoint):
    rewritable(checkpoint)
    made = back_up(str(checkpoint.folder), 7)
    assert backup_of(str(checkpoint.folder), 7) == made
    assert (made / "offsets/6").stat().st_ino == (checkpoint.folder / "offsets/6").stat().st_ino  # no copy
    (checkpoint.folder / "metadata").unlink()  # a checkpoint is deleted, and begun anew under its path
    checkpoint.write("metadata", '{"id":"another-query"}')
    assert backup_of(str(checkpoint.folder), 7) is None
    assert (back_up(str(checkpoint.folder), 7) / "metadata").read_text() == '{"id":"another-query"}'


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


def test_a_rewrite_that_is_taken_back_or_was_none_is_not_looked_at_again(checkpoint):
    before = rewritten(checkpoint)
    path = str(checkpoint.folder)
    to_be_compared(path, 7)
    assert never_compared(path, 7)
    assert str(rewriting.taken_back(path, "so", None)) == f"{path}: so; it was taken back, and nothing is lost"
    assert not never_compared(path, 7)
    assert files(checkpoint) == before
    to_be_compared(path, 7)
    assert str(rewriting.taken_back(path, "so", None)) == f"{path}: so; nothing was changed"
    assert not never_compared(path, 7)


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
