"""Files that are written whole or not at all."""

import os

import pytest

from headgate.formats.whole_file import see_that_it_can_be_written, write_whole
from headgate.model.errors import InputError


def test_a_file_takes_the_place_of_the_one_before_and_nothing_else_stays(tmp_path):
    there = tmp_path / "there"
    there.write_text("before")
    there.chmod(0o640)
    see_that_it_can_be_written(str(there))
    assert there.read_text() == "before"
    write_whole(str(there), b"after")
    assert (there.read_text(), there.stat().st_mode & 0o777) == ("after", 0o640)
    assert list(tmp_path.iterdir()) == [there]


def test_a_link_goes_on_leading_to_what_is_written(tmp_path):
    (tmp_path / "file").write_text("before")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(str(tmp_path / "link"), b"after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "after"


def test_what_was_there_stays_where_writing_fails(tmp_path, monkeypatch):
    there = tmp_path / "there"
    there.write_text("before")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError, match=r"there: cannot be written \(No space left on device\)"):
        write_whole(str(there), b"after")
    assert there.read_text() == "before"
    assert list(tmp_path.iterdir()) == [there]


def test_a_device_is_written_to_and_not_replaced():
    see_that_it_can_be_written("/dev/null")
    write_whole("/dev/null", b"gone")
    assert not os.path.isfile("/dev/null")


def test_a_folder_that_is_not_there_is_said_before_anything_is_written(tmp_path):
    with pytest.raises(InputError, match=r"file: cannot be written \(No such file or directory\)"):
        see_that_it_can_be_written(str(tmp_path / "no" / "file"))
