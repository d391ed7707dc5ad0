"""The shell around the pure controller, on a virtual Spark: what it writes down, and how it goes on after a death."""

import sqlite3
import threading
import zlib

import msgspec
import numpy as np
import pytest

from batches import Op, batch
from headgate.control.actions import Layout, Restart, SetExecutors, SpreadBins
from headgate.control.events import ActionFailed, Command
from headgate.control.said import Arrived, AsPredicted, Failed, Held, Lost, NotHelping, Planned, Resumed, Short
from headgate.control.settings import Period, Settings
from headgate.formats.packed_batch import pack, unpack
from headgate.model.errors import InputError
from headgate.model.limits import Skew
from headgate.model.microbatch import Executor, Processors, SourceRead
from headgate.model.objective import CatchUp, Freshness
from headgate.policies.capacity import CapacityPolicy
from headgate.runtime.entries import Began, Carried, Cluster, Ended, Intent, Needed, Seen, Spoke, Told
from headgate.runtime.journal import Journal
from headgate.runtime.recovery import recovered
from headgate.simulation.closed_loop import closed_loop
from same_batches import differences
from virtual_journals import SETTINGS, constant, controller, stepping, turn_until, virtual, written


@pytest.fixture
def path(tmp_path):
    return tmp_path / "job.journal"


def entries(path):
    with Journal(path, read_only=True) as journal:
        return [entry for _, entry in journal.entries()]


def all_said(path):
    return [entry.said for entry in entries(path) if isinstance(entry, Spoke)]


def place(found, wanted):
    """Where the first entry of a kind, or the first thing of a kind that was said, stands."""
    return next(n for n, one in enumerate(found) if isinstance(getattr(one, "said", one), wanted))


# The engine.


def test_the_shell_on_the_virtual_engine_does_what_the_pure_loop_does():
    engine = virtual(stepping(250, 600, 1200.0))
    turn_until(controller(engine), 2400.0)
    history = closed_loop(virtual(stepping(250, 600, 1200.0)).spark, SETTINGS, CapacityPolicy(), until=2400.0)
    moves = [action.executors for action in engine.actions if isinstance(action, SetExecutors)]
    assert moves == [executors for _, executors in history.moves]
    assert len(moves) >= 1
    assert engine.spark.now == history.moments[-1].at


def test_two_executors_too_few_become_four_in_one_move():
    engine = virtual(constant(600))
    turn_until(controller(engine), 900.0)
    assert [action for action in engine.actions if isinstance(action, SetExecutors)] == [SetExecutors(1, 4)]
    assert engine.spark.run_batch().duration == 7350  # 0.3 + 28.2 / 4


# What is written down.


def test_what_is_about_to_be_done_is_on_disk_before_it_is_done(path):
    class Watched:
        """An engine that reads the journal, as another process would, whenever it is asked to do something."""

        def __init__(self, engine):
            self._engine, self.found = engine, []

        def __getattr__(self, name):
            return getattr(self._engine, name)

        def carry_out(self, action):
            self.found.append((action, entries(path)[-1]))
            self._engine.carry_out(action)

    engine = Watched(virtual())
    with Journal(path) as journal:
        turn_until(controller(engine, journal), 600.0)
    assert [type(action) for action, _ in engine.found] == [SetExecutors, SpreadBins]
    assert all(isinstance(last, Intent) and last.action == action for action, last in engine.found)


def test_a_plan_is_decided_then_intended_then_carried_out_then_there_then_judged(path):
    found = entries(written(path))
    order = [
        place(found, Began), place(found, Needed), place(found, Planned), place(found, Intent), place(found, Carried),
        place(found, AsPredicted), place(found, Ended),
    ]  # fmt: skip
    assert order == sorted(order)
    assert next(entry.executors for entry in found if isinstance(entry, Needed)) == 3
    outcome = found[place(found, AsPredicted)].said
    assert outcome.plan == 1
    assert outcome.measured == pytest.approx(7.66)
    assert outcome.expected == pytest.approx(7.66, rel=0.02)


def test_batches_are_kept_with_their_trigger_and_the_others_are_listed_without_them(path):
    with Journal(path) as journal:
        engine = virtual()
        one = controller(engine, journal)
        for _ in range(3):
            one.turn()
        seen = [entry for entry in journal.everything() if isinstance(entry, Seen)]
        assert not [entry for _, entry in journal.entries() if isinstance(entry, Seen)]
    again = virtual().spark
    assert [(entry.batch.number, entry.trigger) for entry in seen] == [(0, 10.0), (1, 10.0), (2, 10.0)]
    assert [d for entry in seen for d in differences(entry.batch, again.run_batch())] == []


def test_the_executors_that_are_there_are_written_down_when_they_change_and_not_else(path):
    clusters = [entry for entry in entries(written(path)) if isinstance(entry, Cluster)]
    assert [len(entry.executors) for entry in clusters] == [2, 3]


@pytest.mark.parametrize(
    "entry",
    [
        Began(1.5, "app", "capacity", Settings(objective=Freshness("10s"), off=(Period(1.0, 2.0),))),
        Began(1.5, "", "ds2", Settings(objective=CatchUp("5m"), mode="advise")),
        Cluster(2.0, (Executor("0", "host", 4),)),
        Needed(2.5, 3),
        Spoke(3.0, Planned(1, 2, 3, None)),
        Spoke(3.0, Held("cooling down", 99.5)),
        Spoke(3.0, NotHelping(Skew("count", 3, 0.5, 0.125))),
        Intent(4.0, SetExecutors(1, 3)),
        Intent(4.0, SpreadBins(1, "query")),
        Carried(5.0, 1, "asked the cluster for 3 executors in all"),
        Told(6.0, Command(6.0, "scale", 3)),
        Ended(7.0, "stopped"),
    ],
)
def test_an_entry_comes_back_as_it_was(path, entry):
    with Journal(path) as journal:
        journal.append(entry)
    assert entries(path) == [entry]


def test_only_the_last_batches_are_kept_and_everything_else_for_ever(path, monkeypatch):
    monkeypatch.setattr("headgate.runtime.journal._BATCHES_KEPT", 20)
    monkeypatch.setattr("headgate.runtime.journal._PRUNE_EVERY", 10)
    written(path, until=700.0)
    with Journal(path, read_only=True) as journal:
        numbers = [entry.batch.number for entry in journal.everything() if isinstance(entry, Seen)]
    assert 20 <= len(numbers) < 30
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert isinstance(entries(path)[0], Began)


# Batches as bytes.


def test_a_packed_batch_is_the_same_batch_to_the_last_figure():
    operators = {
        "scan": Op([100, 300, 7], out=[10, 20, 30]),
        "count": Op([50, 50], feeders=("scan",), homes=["1", "0"], state=(7, 3_000_000)),
    }
    whole = msgspec.structs.replace(
        batch(operators, number=3, slots=(1, 2), waiting=17),
        reading=frozenset({"scan"}),
        writing=frozenset({"count"}),
        attempts_lost=2,
        processors=Processors(2, 1.25),
    )
    assert differences(whole, unpack(pack(whole))) == []


def test_a_batch_in_a_journal_of_an_earlier_version_lacks_what_was_added_since():
    plain = msgspec.msgpack.decode(zlib.decompress(pack(batch({"scan": Op([1])}))))
    del plain["processors"]
    assert unpack(zlib.compress(msgspec.msgpack.encode(plain))).processors is None


def test_a_rate_that_is_no_number_and_a_name_in_another_script_survive_packing():
    odd = msgspec.structs.replace(
        batch({"zählen → 数": Op([1])}), sources=(SourceRead("", "", "", "", 0, float("nan")),), name="\x00"
    )
    assert differences(odd, unpack(pack(odd))) == []


def test_columns_of_an_unpacked_batch_are_closed_to_writing():
    column = unpack(pack(batch({"scan": Op([1, 2])}))).tasks.records_in
    assert isinstance(column, np.ndarray)
    with pytest.raises(ValueError, match="read-only"):
        column[0] = 5


# Deaths.


def killed_after_its_intent(path, arrived=None, executors=2, settings=SETTINGS):
    """A controller that is gone right after it wrote its first intent: it is never carried out."""

    class KilledError(Exception):
        pass

    engine = virtual(arrived, executors=executors)
    engine.carry_out = lambda _: (_ for _ in ()).throw(KilledError)
    with Journal(path) as journal, pytest.raises(KilledError):
        turn_until(controller(engine, journal, settings), 3600.0)
    del engine.carry_out
    return engine


def test_after_a_death_in_the_middle_of_a_plan_the_next_controller_goes_on_with_it(path):
    engine = killed_after_its_intent(path)
    assert len(engine.executors()) == 2
    with Journal(path) as journal:
        turn_until(controller(engine, journal), engine.clock() + 300.0)
    assert Resumed(1, 4) in all_said(path)
    assert len(engine.executors()) == 4
    assert [entry.action for entry in entries(path) if isinstance(entry, Intent)][:2] == [SetExecutors(1, 4)] * 2
    assert not [one for one in all_said(path) if isinstance(one, Lost)]


def test_what_was_asked_for_again_is_written_before_what_came_of_it(path):
    killed_after_its_intent(path)
    with Journal(path) as journal:  # a job begins with what was wanted last, so all are there at the first look
        controller(virtual(executors=4), journal).turn()
    found = entries(path)
    order = [place(found, Resumed), place(found, Carried), place(found, Arrived)]
    assert order == sorted(order)
    assert found[place(found, Carried)].what == "asked the cluster for 4 executors in all"


def test_a_plan_to_shrink_is_gone_on_with_as_well(path):
    quick = msgspec.structs.replace(SETTINGS, down_stretch=60.0)
    # At 200 records/s: 0.8 + 8 s of map, 0.4 + 1 s of count: 10.5 s on one executor, too long; 5.4 s on two.
    engine = killed_after_its_intent(path, constant(200), executors=6, settings=quick)
    with Journal(path) as journal:
        turn_until(controller(engine, journal, quick), engine.clock() + 60.0)
    assert Resumed(1, 2) in all_said(path)
    assert len(engine.executors()) == 2


def test_who_only_advises_does_not_go_on_with_what_another_began(path):
    engine = killed_after_its_intent(path)
    with Journal(path) as journal:
        turn_until(controller(engine, journal, msgspec.structs.replace(SETTINGS, mode="advise")), engine.clock() + 60)
    assert engine.actions == []
    assert not [one for one in all_said(path) if isinstance(one, Resumed)]


def test_the_number_of_a_plan_is_never_given_twice(path):
    written(path)
    with Journal(path) as journal:
        engine = virtual(constant(1000), executors=4)
        turn_until(controller(engine, journal), 600.0)
    planned = [one.plan for one in all_said(path) if isinstance(one, Planned)]
    assert planned == [1, 2]


def test_after_a_quiet_end_nothing_is_resumed(path):
    written(path)
    with Journal(path) as journal:
        known = recovered(journal)
        assert (known.plans, known.desired, known.under_way, known.in_order, known.before) == (1, 3, None, True, 2)
        assert (known.paused, known.layout, known.unproven) == (False, Layout(), None)
        controller(virtual(constant(392), executors=3), journal).turn()
    assert not [one for one in all_said(path) if isinstance(one, Resumed)]


ONE_TO_FOUR = (
    Began(0.0, "", "capacity", SETTINGS),
    Cluster(0.0, (Executor("0", "host", 1),)),
    Spoke(1.0, Planned(1, 1, 4, None)),
    Intent(1.0, SetExecutors(1, 4)),
)


def journal_of(path, *of):
    with Journal(path) as journal:
        for entry in of:
            journal.append(entry)
        return recovered(journal)


def test_a_plan_the_cluster_was_short_for_is_not_under_way(path):
    # The wish is taken back in the name of the plan that is over.
    found = journal_of(
        path,
        *ONE_TO_FOUR,
        Spoke(200.0, Short(4, 1)),
        Intent(200.0, SetExecutors(1, 1)),
    )
    assert (found.desired, found.under_way) == (1, None)


def test_after_a_plan_that_failed_what_was_there_before_is_what_is_wanted(path):
    found = journal_of(
        path,
        *ONE_TO_FOUR,
        Spoke(2.0, Failed(1, "no such call")),
    )
    assert (found.desired, found.under_way) == (1, None)


def test_a_new_controller_keeps_to_its_own_bounds(path):
    engine = killed_after_its_intent(path)
    with Journal(path) as journal:
        turn_until(controller(engine, journal, msgspec.structs.replace(SETTINGS, most=3)), engine.clock() + 60.0)
    assert Resumed(1, 3) in all_said(path)
    assert len(engine.executors()) == 3


def test_who_was_paused_stays_paused_after_a_restart(path):
    with Journal(path) as journal:
        journal.tell(Command(0.0, "pause"))
        controller(virtual(), journal).turn()
    with Journal(path) as journal:
        engine = virtual()
        one = controller(engine, journal)
        turn_until(one, 600.0)
        assert one.state.paused
    assert engine.actions == []


def test_an_executor_lost_while_a_plan_was_under_way_is_asked_for_once_that_is_over():
    engine = virtual()
    one = controller(engine)
    turn_until(one, 100.0)
    assert one.state.plan is not None
    assert one.state.plan.arrived is not None
    engine.spark.lose_executor()
    turn_until(one, 900.0)
    assert len(engine.executors()) == 4


def test_an_action_that_fails_is_said_and_ends_its_plan(path):
    engine = virtual()
    carry_out = engine.carry_out

    def fail(action):
        engine.carry_out = carry_out
        engine._happened.append(ActionFailed(engine.clock(), action.plan, "the cluster says no"))

    engine.carry_out = fail
    with Journal(path) as journal:
        turn_until(controller(engine, journal), 100.0)
    assert Failed(1, "the cluster says no") in all_said(path)


# A person's word.


def test_a_word_is_taken_exactly_once(path):
    with Journal(path) as journal:
        journal.tell(Command(1.0, "pause"))
        journal.tell(Command(2.0, "scale", 3))
        assert journal.take_command(5.0) == Command(5.0, "pause")
        assert journal.take_command(6.0) == Command(6.0, "scale", 3)
        assert journal.take_command(7.0) is None
    with Journal(path) as journal:
        assert journal.take_command(8.0) is None
    assert [(entry.at, entry.command.word) for entry in entries(path)] == [(5.0, "pause"), (6.0, "scale")]


def test_of_several_that_ask_at_the_same_time_one_gets_the_word(path):
    with Journal(path) as journal:
        for number in range(40):
            journal.tell(Command(0.0, "scale", number + 1))
    taken = []

    def ask():
        with Journal(path) as mine:
            while (command := mine.take_command(0.0)) is not None:
                taken.append(command)

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert sorted(command.executors for command in taken) == list(range(1, 41))


def test_a_word_left_long_ago_begins_when_it_is_taken(path):
    engine = virtual(constant(200))
    turn_until(controller(engine), 500.0)
    with Journal(path) as journal:
        journal.tell(Command(-10_000.0, "scale", 3))
        one = controller(engine, journal)
        turn_until(one, 560.0)
    told = next(entry for entry in entries(path) if isinstance(entry, Told))
    assert told.at > 500.0
    assert len(engine.executors()) == 3
    assert not [said for said in all_said(path) if isinstance(said, Short)]


# What is no journal.


def foreign(path):
    with sqlite3.connect(path) as database:
        database.execute("create table entries (id integer)")
        database.execute("pragma user_version = 1")
    database.close()


def newer(path):
    Journal(path).close()
    database = sqlite3.connect(path)
    database.execute("pragma user_version = 99")
    database.close()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: None, "no such journal; check the path"),
        (lambda path: path.write_text("once upon a time\n" * 100), "is not a journal of Headgate"),
        (lambda path: path.write_bytes(b""), "is not a journal of Headgate; name another file"),
        (lambda path: path.mkdir(), "is a folder; name the file of a journal"),
        (foreign, "is not a journal of Headgate; name another file"),
        (newer, "is a journal of a newer Headgate (format 99, 1 is known)"),
    ],
    ids=["missing", "text", "empty", "folder", "another-database", "newer"],
)
def test_what_is_no_journal_is_refused_in_one_line(path, make, said):
    make(path)
    with pytest.raises(InputError) as refused:
        Journal(path, read_only=True)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_something_else_is_not_written_to(path):
    path.write_text("once upon a time\n")
    with pytest.raises(InputError, match="is not a journal of Headgate"):
        Journal(path)
    assert path.read_text() == "once upon a time\n"


def test_a_damaged_entry_is_said_to_be_one(path):
    with Journal(path) as journal:
        journal.append(Ended(1.0, "stopped"))
        journal.append(Seen(2.0, batch({"scan": Op([1])})))
    database = sqlite3.connect(path)
    database.execute("update entries set body = x'00'")
    database.commit()
    database.close()
    with Journal(path, read_only=True) as journal:
        with pytest.raises(InputError, match="entry 1 cannot be read"):
            list(journal.entries())
        with pytest.raises(InputError, match="entry 1 cannot be read"):
            list(journal.everything())


def test_reading_changes_nothing(path):
    written(path, until=100.0)
    with Journal(path, read_only=True) as journal, pytest.raises(InputError, match="cannot be written to"):
        journal.tell(Command(0.0, "pause"))


# What restarts have changed.


def test_a_restart_that_nothing_ran_with_is_told_from_those_that_work(path):
    with Journal(path) as journal:
        journal.append(Began(1.0, "app", "capacity", SETTINGS))
        journal.append(Intent(2.0, Restart(1, Layout({"parse": 4}))))
        journal.append(Carried(3.0, 1, "started again with parse=4 after 1.0 s"))
        journal.append(Intent(4.0, Restart(2, Layout(memory="64g"))))
        known = recovered(journal)
        assert (known.layout, known.unproven) == (Layout({"parse": 4}, memory="64g"), 2)
        assert known.proven_layout == Layout({"parse": 4})
        journal.append(Began(5.0, "another app", "capacity", SETTINGS))  # it does work
        assert recovered(journal).unproven is None
        journal.append(Intent(6.0, Restart(3, Layout(cores=9))))
        journal.append(Spoke(7.0, Failed(3, "no executor came")))
        assert recovered(journal).layout == Layout({"parse": 4}, memory="64g")


def test_a_plan_of_long_ago_is_not_gone_on_with(path):
    engine = virtual(constant(200))
    turn_until(controller(engine), 100.0)
    with Journal(path) as journal:
        journal.append(Began(1.0, "app", "capacity", SETTINGS))
        journal.append(Cluster(1.0, (Executor("0", "host", 1),)))
        journal.append(Intent(2.0, SetExecutors(1, 4)))
        engine.spark.now += SETTINGS.forgotten
        one = controller(engine, journal)
        assert one.state.plan is None
        before = len(engine.actions)
        one.turn()
        assert engine.actions[before:] == []
    (failed,) = [one for one in all_said(path) if isinstance(one, Failed)]
    assert "which says nothing about now" in str(failed)


def test_what_was_wanted_long_ago_is_not_asked_for_again(path):
    with Journal(path) as journal:
        journal.append(Began(1.0, "app", "capacity", SETTINGS))
        journal.append(Cluster(1.0, (Executor("0", "host", 1),)))
        journal.append(Intent(2.0, SetExecutors(1, 4)))
        journal.append(Spoke(3.0, Arrived(1, 1.0)))  # and then it was killed: no word of its end
        engine = virtual(constant(200), executors=1)
        engine.spark.now = 3.0 + SETTINGS.forgotten + 1
        one = controller(engine, journal)
        one.turn()
        assert (one.state.desired, engine.actions) == (None, [])
    assert not [one for one in all_said(path) if isinstance(one, Lost)]


def test_whoever_says_something_is_answered_even_if_that_was_said_before(path):
    engine = virtual(constant(200))
    with Journal(path) as journal:
        one = controller(engine, journal)
        turn_until(one, 1500.0)  # it has said that so many executors are what is needed
        there = len(engine.executors())
        journal.tell(Command(0.0, "scale", there))
        told = len(all_said(path))
        one.turn()
    assert str(all_said(path)[told]) == f"{there} executors are what is needed"


def test_a_word_that_nobody_understands_is_said_and_the_next_one_is_taken(path):
    with Journal(path) as journal:
        journal.tell(Command(1.0, "pause"))
    with sqlite3.connect(path) as database:
        database.execute("update commands set body = ?", (b'{"at": 1.0, "word": "dance"}',))
    with Journal(path) as journal:
        journal.tell(Command(2.0, "resume"))
        assert journal.take_command(3.0) == Command(3.0, "resume")
    assert "a word that this version of Headgate does not know" in str(all_said(path)[0])


def test_a_word_from_the_same_process_is_in_the_journal_too(path):
    engine = virtual(constant(200))
    with Journal(path) as journal:
        controller(engine, journal).take(Command(1.0, "pause"))
        assert recovered(journal).paused
    assert [entry.command.word for entry in entries(path) if isinstance(entry, Told)] == ["pause"]


def test_what_a_job_writes_before_it_has_a_controller_makes_an_old_plan_no_younger(path):
    with Journal(path) as journal:
        journal.append(Began(1.0, "app", "capacity", SETTINGS))
        journal.append(Intent(2.0, SetExecutors(1, 4)))
        journal.append(Carried(5000.0, 0, "as restarts have left it"))
        assert recovered(journal).last == 2.0
