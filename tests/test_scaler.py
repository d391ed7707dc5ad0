"""A scaler has an application to itself from its start to its stop, and who is refused leaves no trace."""

import threading
import time

import pytest

pytest.importorskip("pyspark")

from headgate.control.settings import Settings
from headgate.jobs.scaler import Executors, Scaler
from headgate.model.errors import InputError
from headgate.policies.static import Static
from headgate.runtime.entries import Began, Ended
from headgate.runtime.journal import Journal
from headgate.runtime.journal_lock import is_held


class Eyes:
    """An engine that sees nothing, and says whether it is open."""

    def __init__(self, problem=None):
        self.open, self.problem = False, problem

    def start(self):
        if self.problem is not None:
            raise self.problem
        self.open = True

    def stop(self):
        self.open = False

    def seen(self, timeout):
        threading.Event().wait(0.01)
        return ()

    def executors(self):
        return ()

    def queries(self):
        return None

    def happened(self):
        return ()


def scaler(journal=None, engine=None, **settings):
    return Scaler(engine or Eyes(), Settings(**settings), Static(), application="app-1", journal=journal)


def kinds(path):
    with Journal(path, read_only=True) as journal:
        return [type(entry) for _, entry in journal.entries() if isinstance(entry, Began | Ended)]


def test_a_second_one_is_refused_and_writes_nothing_into_the_journal_of_the_first(tmp_path):
    path = tmp_path / "journal.db"
    with scaler(path):
        second = scaler(path)
        with pytest.raises(InputError, match="this application has a scaler already; stop that one first"):
            second.start()
        assert kinds(path) == [Began]
    assert kinds(path) == [Began, Ended]
    assert is_held(path) is False
    with second:  # as the line has said: the first is stopped
        assert kinds(path) == [Began, Ended, Began]
    assert kinds(path) == [Began, Ended, Began, Ended]


def test_one_that_only_advises_may_stand_beside_it(tmp_path):
    with scaler(), scaler(tmp_path / "journal.db", mode="advise"):
        assert kinds(tmp_path / "journal.db") == [Began]


def test_where_eyes_do_not_open_nothing_is_begun_and_the_application_is_free(tmp_path):
    path = tmp_path / "journal.db"
    with pytest.raises(InputError, match="no status store"):
        scaler(path, Eyes(InputError("no status store"))).start()
    assert (kinds(path), is_held(path)) == ([], False)
    with scaler():
        pass


def test_where_the_journal_is_none_eyes_are_not_opened_and_the_application_is_free(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear Sir or Madam, " * 100)
    engine = Eyes()
    with pytest.raises(InputError, match="is not a journal of Headgate"):
        scaler(tmp_path / "letter.txt", engine).start()
    assert not engine.open
    with scaler():
        pass


def test_a_journal_that_cannot_be_gone_on_with_closes_the_eyes_again(tmp_path):
    path, engine = tmp_path / "journal.db", Eyes()
    with Journal(path) as journal:
        journal._database.execute("insert into entries (at, kind, body) values (0, 'Began', 'none')")
    with pytest.raises(InputError, match="entry 1 cannot be read"):
        scaler(path, engine).start()
    assert (engine.open, is_held(path)) == (False, False)


def test_after_its_stop_it_is_not_started_again_and_holds_nothing():
    one = scaler()
    assert one.executors == Executors(None, None, 0)
    with one:
        assert one.start() is one  # it runs already
    with pytest.raises(InputError, match="this scaler was stopped, which is for good; attach another one"):
        one.start()
    with pytest.raises(InputError, match="this scaler was stopped and takes no word any more"):
        one.tell("pause")
    with scaler() as other:
        assert other.problem is None


def test_one_that_gives_up_closes_its_eyes_and_says_so_though_nothing_can_be_written(tmp_path):
    class Blind(Eyes):
        def seen(self, timeout):
            raise OSError("no space left")

    seen, engine = [], Blind()
    with Journal(tmp_path / "journal.db") as journal:
        one = Scaler(engine, Settings(), Static(), application="app-1", journal=journal, watch=seen.append)
        one.start()
        journal.append = lambda entry: (_ for _ in ()).throw(OSError("no space left"))
        deadline = time.monotonic() + 30
        while engine.open:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert [entry.why for entry in seen if isinstance(entry, Ended)] == ["gave up: no space left"]
        assert one.problem == "no space left"
        del journal.append
        one.stop()


def test_a_journal_of_somebody_else_stays_open(tmp_path):
    with Journal(tmp_path / "journal.db") as journal:
        with scaler(journal):
            pass
        journal.append(Ended(0.0, "by its owner"))
    assert kinds(tmp_path / "journal.db") == [Began, Ended, Ended]
