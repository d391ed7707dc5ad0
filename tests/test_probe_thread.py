"""The probe's thread and the queue before it: without Spark, with a driver that does what the test says."""

import json
import threading
import time

import pytest

pytest.importorskip("pyspark")

from headgate.spark import probe as module
from headgate.spark.live_batches import Answer
from headgate.spark.probe import Probe
from headgate.spark.probe_notes import ReportsDropped, ReportUnreadable


class Conf:
    def get(self, name, otherwise):
        return otherwise


class Session:
    class sparkContext:  # noqa: N801 - Spark's name
        getConf = Conf  # noqa: N815


class Store:
    """Events are the numbers of batches."""

    def __init__(self, spark):
        pass

    def report(self, event):
        return json.dumps({"id": "q", "runId": "r", "batchId": event})


class Listening:
    """Stands for the listener: `now` is the one that was added last."""

    now, added = None, 0

    def __init__(self, spark, progressed, ended):
        self.progressed = progressed
        Listening.now = self
        Listening.added += 1

    def stop(self):
        pass


@pytest.fixture
def probe(monkeypatch):
    monkeypatch.setattr(module, "StatusStore", Store)
    monkeypatch.setattr(module, "Reports", Listening)
    monkeypatch.setattr(Listening, "added", 0)
    made = Probe(Session())
    yield made
    made.stop()


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "headgate-probe"]


def test_a_probe_that_cannot_listen_leaves_no_thread_behind(probe, monkeypatch):
    def refuse(*_):
        raise ConnectionError("no way back")

    monkeypatch.setattr(module, "Reports", refuse)
    with pytest.raises(ConnectionError):
        probe.start()
    assert threads() == []


def test_a_second_start_adds_neither_thread_nor_listener_and_one_after_a_stop_does(probe):
    probe.start().start()
    assert (len(threads()), Listening.added) == (1, 1)
    probe.stop()
    assert threads() == []
    probe.start()
    assert (len(threads()), Listening.added) == (1, 2)


def test_an_error_of_any_kind_is_a_note_and_the_next_batch_is_read(probe, monkeypatch):
    read = []

    def fail_first(progress):
        read.append(progress.batch_id)
        if len(read) == 1:
            raise ZeroDivisionError("nobody thought of this")
        if len(read) == 2:
            raise KeyError
        return Answer(None)

    monkeypatch.setattr(probe._reader, "read", fail_first)
    probe.start()
    for number in (4, 5, 6):
        Listening.now.progressed(number)
    deadline = time.monotonic() + 10
    while len(read) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert read == [4, 5, 6]
    assert probe.notes == (ReportUnreadable("nobody thought of this"), ReportUnreadable("KeyError"))


def test_reports_that_nobody_gets_round_to_are_dropped_the_oldest_first_with_a_note(probe, monkeypatch):
    busy, go_on, read = threading.Event(), threading.Event(), []

    def slow(progress):
        read.append(progress.batch_id)
        busy.set()
        go_on.wait(10)
        return Answer(None)

    monkeypatch.setattr(probe._reader, "read", slow)
    probe.start()
    Listening.now.progressed(0)
    assert busy.wait(10)
    for number in range(1, 5001):
        Listening.now.progressed(number)
    assert probe.notes == (ReportsDropped(4900),)
    assert str(probe.notes[0]).startswith("4,900 reports were dropped")
    go_on.set()
    probe.stop()
    assert read == [0, *range(4901, 5001)]
