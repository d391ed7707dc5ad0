"""What a running job shows."""

import io
import shutil

from headgate.cli.live_view import LiveView
from headgate.control.actions import SetExecutors
from headgate.control.events import Command
from headgate.control.said import Arrived, Failed, Held, Planned, Steady
from headgate.model.microbatch import Executor
from headgate.runtime.entries import Began, Carried, Cluster, Intent, Seen, Spoke, Told
from virtual_journals import SETTINGS, virtual


class Terminal(io.StringIO):
    def isatty(self):
        return True


def story():
    engine = virtual()
    yield Began(0.0, "app", "capacity", SETTINGS)
    yield Cluster(0.0, (Executor("0", "host", 1), Executor("1", "host", 1)))
    for _ in range(3):
        (seen,) = engine.seen(0.0)
        yield Seen(seen.at, seen.batch, 10.0)
    yield Spoke(20.0, Steady(2))
    yield Spoke(30.0, Planned(1, 2, 4, 7.5))
    yield Intent(30.0, SetExecutors(1, 4))
    yield Carried(31.0, 1, "asked the cluster for 4 executors in all")
    yield Carried(32.0, 0, "executor 7 registered")


def shown(stream, **given):
    view = LiveView(stream, began=0.0, **given)
    for entry in story():
        view(entry)
    return view, stream.getvalue()


def test_where_nobody_looks_on_only_decisions_are_written():
    _, text = shown(io.StringIO())
    assert text.splitlines() == [
        "   30.0 s  plan 1: 2 -> 4 executors; batches should then take 7.5 s",
        "   31.0 s  plan 1: asked the cluster for 4 executors in all",
        "   32.0 s  executor 7 registered",
    ]


def test_times_count_from_the_start_of_the_command_whichever_controller_follows_which():
    stream = io.StringIO()
    view = LiveView(stream, began=100.0)
    view(Carried(112.7, 0, "as restarts have left it"))
    view(Began(113.0, "app", "capacity", SETTINGS))
    view(Carried(113.5, 0, "executor 7 registered"))
    view(Began(150.0, "another app", "capacity", SETTINGS))
    view(Carried(151.0, 0, "executor 8 registered"))
    assert stream.getvalue().splitlines() == [
        "   12.7 s  as restarts have left it",
        "   13.5 s  executor 7 registered",
        "   51.0 s  executor 8 registered",
    ]


def test_what_no_journal_has_can_be_said_beside_it():
    stream = io.StringIO()
    LiveView(stream).say("starting a cluster")
    assert stream.getvalue() == "    0.0 s  starting a cluster\n"


def test_whoever_wants_to_know_is_told_why_nothing_is_done():
    _, text = shown(io.StringIO(), chatty=True)
    assert "2 executors are what is needed" in text


def test_the_answer_to_a_word_is_shown_whatever_it_is_and_only_that():
    stream = io.StringIO()
    view = LiveView(stream, began=0.0)
    view(Spoke(1.0, Steady(2)))
    view(Told(2.0, Command(2.0, "scale", 9)))
    view(Spoke(2.0, Held("plan 1 is under way; say it again when that is over")))
    view(Spoke(3.0, Steady(2)))
    assert stream.getvalue().splitlines() == [
        "    2.0 s  told: scale 9",
        "    2.0 s  nothing is changed: plan 1 is under way; say it again when that is over",
    ]


def test_on_a_terminal_a_line_stays_up_to_date():
    view, text = shown(Terminal())
    assert view.status().startswith("executors: 4 desired, 4 requested, 2 observed; virtual: ")
    assert "records/s, batch 2 took" in view.status()
    view(Cluster(40.0, tuple(Executor(str(n), "host", 1) for n in range(4))))
    view(Spoke(40.0, Arrived(1, 10.0)))
    assert view.status().startswith("executors: 4 desired, 4 observed; ")
    view(Intent(50.0, SetExecutors(2, 6)))
    view(Spoke(60.0, Failed(2, "the cluster says no")))
    assert view.status().startswith("executors: 4 observed; ")
    lines = text.replace("\n", "\r").split("\r")
    assert max(map(len, lines)) <= shutil.get_terminal_size().columns + len("\x1b[K")
    view.close()
    assert text.count("\r\x1b[K") > 3
