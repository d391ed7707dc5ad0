"""`headgate history` and `headgate tell`: what a person sees of a journal, and leaves in it."""

import json
import subprocess
import sys
import time

import pytest

from headgate.control.actions import SetExecutors
from headgate.control.events import Command
from headgate.control.said import (
    Arrived,
    AsPredicted,
    Gathering,
    Held,
    Lost,
    OffPrediction,
    Planned,
    Proposed,
    Resumed,
    Short,
    Steady,
    Undone,
)
from headgate.control.settings import Settings
from headgate.model.microbatch import Executor
from headgate.model.objective import Freshness
from headgate.runtime.chronicle import chronicle
from headgate.runtime.entries import Began, Carried, Cluster, Ended, Intent, Needed, Spoke, Told
from headgate.runtime.journal import Journal
from headgate.runtime.journal_lock import lock_beside
from virtual_journals import constant, controller, turn_until, virtual, written

NOON = 1_794_830_400.0  # 2026-11-16 12:00:00 UTC
TWO = (Executor("0", "host", 1), Executor("1", "host", 1))
STORY = (
    Began(NOON, "app-1", "capacity", Settings(objective=Freshness("10s"), most=4)),
    Cluster(NOON + 1, TWO),
    Spoke(NOON + 10, Gathering("words", 0, 3)),
    Needed(NOON + 40, 3),
    Spoke(NOON + 40, Planned(1, 2, 3, 4.5)),
    Intent(NOON + 40, SetExecutors(1, 3)),
    Carried(NOON + 41, 1, "asked the cluster for 3 executors in all"),
    Spoke(NOON + 52, Arrived(1, 12.0)),
    Spoke(NOON + 100, OffPrediction(1, 4.5, 5.4)),
    Spoke(NOON + 160, Steady(3)),
    Told(NOON + 200, Command(NOON + 200, "pause")),
    Spoke(NOON + 200, Held("paused")),
    Spoke(NOON + 210, Held("paused")),
    Ended(NOON + 300, "stopped"),
)


@pytest.fixture(autouse=True)
def east_of_greenwich(monkeypatch):
    """Two hours: local time is not UTC, and nobody's own."""
    monkeypatch.setenv("TZ", "XYZ-2")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def journal(tmp_path):
    def write(*entries):
        path = tmp_path / "job.journal"
        with Journal(path) as one:
            for entry in entries:
                one.append(entry)
        return path

    return write


def test_the_list_is_what_happened_oldest_first_in_local_time(headgate, journal):
    ran = headgate("history", journal(*STORY))
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "time                 plan  predicted  measured  what",
        "2026-11-16 14:00:00                             a controller began: capacity, results within 10 s, 1 to 4 "
        "executors",
        "2026-11-16 14:00:40     1     4.50 s    5.40 s  2 -> 3 executors",
        "2026-11-16 14:00:41     1                       asked the cluster for 3 executors in all",
        "2026-11-16 14:00:52     1                       the executors are as asked after 12 s",
        "2026-11-16 14:01:40     1     4.50 s    5.40 s  batches take 5.40 s, 1.20 times the predicted 4.50 s; the "
        "next decision knows",
        "2026-11-16 14:03:20                             told to pause",
        "2026-11-16 14:03:20                             nothing is changed: paused",
        "2026-11-16 14:05:00                             the controller ended: stopped",
        "6 lines about waiting and steady states are left out; --all shows them",
    ]


def test_all_of_it_is_there_for_who_asks(headgate, journal):
    lines = headgate("history", journal(*STORY), "--all").out.splitlines()
    assert len(lines) == 1 + len(STORY)
    assert lines[2].endswith("2 executors there: 0, 1")
    assert lines[4].endswith("the policy asks for 3 executors")
    assert lines[6].endswith("to be done: have 3 executors")


def test_one_plan_is_shown_with_all_that_belongs_to_it(headgate, journal):
    ran = headgate("history", journal(*STORY, Spoke(NOON + 400, Planned(2, 3, 4, None))), "--plan", 1)
    times = [line[11:19] for line in ran.out.splitlines()[1:]]
    assert times == ["14:00:40", "14:00:40", "14:00:41", "14:00:52", "14:01:40"]


def test_json_has_seconds_and_figures(headgate, journal):
    lines = json.loads(headgate("history", journal(*STORY), "--format", "json").out)
    plan = next(line for line in lines if line["kind"] == "decision")
    assert plan == {
        "at": NOON + 40, "kind": "decision", "what": "2 -> 3 executors", "plan": 1, "predicted": 4.5, "measured": 5.4,
        "routine": False,
    }  # fmt: skip


def test_a_plan_that_is_not_there_is_said_not_to_be(headgate, journal):
    ran = headgate("history", journal(*STORY), "--plan", 7)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith("job.journal: no plan 7 in it; there are 1 to 1\n")


def test_a_journal_without_a_word_is_said_to_be_empty(headgate, journal):
    ran = headgate("history", journal())
    assert ran.code == 2
    assert "nothing is written in it yet" in ran.err


@pytest.mark.parametrize("command", ["history", "replay", "report", "tell"])
@pytest.mark.parametrize("kind", ["missing", "text"])
def test_what_is_no_journal_is_refused_in_one_line(headgate, tmp_path, command, kind):
    path = tmp_path / "job.journal"
    if kind == "text":
        path.write_text("once upon a time\n")
    ran = headgate(command, path, *(["pause"] if command == "tell" else []))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert ("no such journal" if kind == "missing" else "is not a journal of Headgate") in ran.err
    assert path.exists() == (kind == "text")


def test_executors_that_were_lost_belong_to_the_plan_that_brings_them_back():
    lines = chronicle([Spoke(1.0, Lost(3, 2)), Intent(1.0, SetExecutors(5, 3)), Spoke(130.0, Short(3, 2))])
    assert [(line.plan, line.kind) for line in lines] == [(5, "decision"), (5, "intent"), (5, "outcome")]


def test_a_cluster_that_gives_less_is_part_of_the_story(headgate, tmp_path):
    # Two executors, three wanted, and the cluster has no third: after two minutes that is said, and asked for no more.
    path = tmp_path / "job.journal"
    with Journal(path) as kept:
        one = controller(virtual(constant(392), most=2), kept)
        turn_until(one, 900.0)
    ran = headgate("history", path, "--all")
    assert ran.code == 0
    assert "short of executors: 3 wanted, the cluster gives 2; making do with those" in ran.out
    assert "to be done: ask for no more executors than there are" in ran.out


def test_what_an_undone_plan_did_stands_beside_it():
    planned, undone = chronicle([Spoke(1.0, Planned(1, 2, 4, 3.0)), Spoke(99.0, Undone(1, 4.0, 6.0, 2))])
    assert (planned.predicted, planned.measured) == (3.0, 6.0)
    assert undone.what == "plan 1 made things worse (4.00 -> 6.00 s a batch); back to 2 executors"


def test_advice_has_no_outcome_of_another_plan():
    lines = chronicle(
        [Spoke(1.0, Planned(1, 2, 4, 3.0)), Spoke(2.0, AsPredicted(1, 3.0, 3.1)), Spoke(3.0, Proposed(4, 2, 5.0))]
    )
    assert [(line.predicted, line.measured) for line in lines] == [(3.0, 3.1), (3.0, 3.1), (5.0, None)]


def test_a_controller_that_left_no_end_is_mentioned_at_the_next_beginning():
    began = Began(1.0, "", "capacity", Settings())
    assert [line.what.endswith("left no word of its end") for line in chronicle([began, began])] == [False, True]
    assert not chronicle([began, Ended(2.0, "stopped"), began])[-1].what.endswith("left no word of its end")


def test_a_real_run_reads_as_a_story(headgate, tmp_path):
    lines = headgate("history", written(tmp_path / "job.journal")).out.splitlines()
    assert [line[19:].split("  ")[-1].strip() for line in lines[1:-1]] == [
        "a controller began: capacity, keep up with 10 % to spare, 1 to 8 executors",
        "2 -> 3 executors",
        "asked the cluster for 3 executors in all",
        "executor 2 is there after 10 s",
        "the executors are as asked after 10 s",
        "state spread over 3 executors",
        "batches take 7.66 s, 7.66 s were predicted",
        "the controller ended: stopped",
    ]


# A word.


def test_a_word_is_left_for_the_controller(headgate, journal):
    path = journal(STORY[0])
    with Journal(path):  # as long as a controller has it open, there is one to take it
        assert headgate("tell", path, "pause").out == "left for the controller: pause\n"
        assert headgate("tell", path, "scale", 6).out == "left for the controller: scale 6\n"
        assert headgate("state", "move", path, "3=1").out.splitlines() == [
            "left for the controller: move 3=1",
            f"`headgate history {path}` shows how it goes",
        ]
    with Journal(path) as one:
        words = list(iter(lambda: one.take_command(0.0), None))
    assert [(command.word, command.executors) for command in words] == [("pause", None), ("scale", 6), ("move", None)]


WRITTEN_BEFORE = Carried(NOON + 900, 0, "as restarts have left it, whatever the file says: state=5")


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (STORY, "the last one ended at 2026-11-16 14:05:00; the next one takes it"),
        ((*STORY, WRITTEN_BEFORE), "the last one ended at 2026-11-16 14:05:00; the next one takes it"),
        # Killed: its lock went with it, and the last that it wrote is from 12 s after noon.
        (
            (STORY[0], Spoke(NOON + 12, Steady(2))),
            "the last one wrote last at 2026-11-16 14:00:12, without a word of its end; the next one takes it",
        ),
        ((), "none has begun with this journal yet; the first one takes it"),
        ((WRITTEN_BEFORE,), "none has begun with this journal yet; the first one takes it"),
    ],
)
@pytest.mark.parametrize("words", [("tell", "resume"), ("state", "move")])
def test_who_tells_where_nobody_listens_is_told_so(headgate, journal, entries, said, words):
    path = journal(*entries)
    given = ("tell", path, "resume") if words[0] == "tell" else ("state", "move", path)
    assert headgate(*given).out.splitlines()[1:] == [f"none is running: {said}"]


def test_a_controller_that_was_killed_leaves_its_journal_to_nobody(headgate, journal):
    path = journal(STORY[0])
    opened = f"from headgate.runtime.journal import Journal; kept = Journal({str(path)!r})"
    code = f"{opened}; print('open', flush=True); input()"
    holding = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holding.stdout.readline() == b"open\n"
    alive = headgate("tell", path, "pause").out
    holding.kill()
    holding.communicate()
    assert "none is running" not in alive
    assert "none is running: the last one wrote last at 2026-11-16 14:00:00" in headgate("tell", path, "pause").out


def test_a_journal_without_a_lock_tells_nothing_about_who_listens(headgate, journal):
    path = journal(STORY[0])  # as a Headgate before locks has left it
    lock_beside(path).unlink()
    assert headgate("tell", path, "pause").out == "left for the controller: pause\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("scale",), "scale needs a number of executors"),
        (("pause", 3), "pause takes no number"),
        (("scale", 0), "give a number from 1"),
        (("scale", "many"), '"many" is not a whole number'),
        (("stop",), "invalid choice"),
    ],
)
def test_what_is_no_word_is_refused_in_one_line(headgate, journal, words, said):
    path = journal(STORY[0])
    ran = headgate("tell", path, *words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    with Journal(path) as one:
        assert one.take_command(0.0) is None


def test_one_executor_is_one():
    said = (Steady(1), Steady(2), Planned(1, 3, 1, None), Proposed(3, 1, None), Undone(1, 4.0, 6.0, 1), Resumed(2, 1))
    assert [str(one) for one in said] == [
        "1 executor is what is needed",
        "2 executors are what is needed",
        "plan 1: 3 -> 1 executor",
        "advice: 3 -> 1 executor",
        "plan 1 made things worse (4.00 -> 6.00 s a batch); back to 1 executor",
        "plan 2 was under way when the controller before ended; wanted: 1 executor",
    ]
