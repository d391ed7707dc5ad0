"""`headgate produce`: what it says before it has a broker; tests/spark/test_kafka.py has one."""

import json

import numpy as np
import pytest

from headgate.cli.produce import summary
from headgate.kafka.address import Address
from headgate.kafka.produce_plan import ProducePlan, Progress
from headgate.workloads.json_rows import json_rows
from headgate.workloads.sentences import SentencesSource, Text

NOWHERE = "kafka://127.0.0.1:1/topic"


@pytest.fixture
def refusal(headgate):
    def refused(*words):
        done = headgate("produce", *words)
        assert (done.code, done.out) == (2, "")
        (line,) = done.err.splitlines()
        return line

    return refused


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:9092/topic", "is no address of a topic; give it as kafka://HOST:PORT/TOPIC"),
        ("kafka://127.0.0.1:9092", "is no address of a topic; give it as kafka://HOST:PORT/TOPIC"),
        ("kafka://127.0.0.1/topic", "127.0.0.1 is no broker; give it as kafka://HOST:PORT/TOPIC"),
        ("kafka://127.0.0.1:9092,/topic", "nothing is no broker; give it as kafka://HOST:PORT/TOPIC"),
        ("kafka://127.0.0.1:9092/a/b", "a/b is no name of a topic"),
    ],
)
def test_an_address_that_is_none_is_refused_with_the_form_that_is_one(refusal, address, said):
    assert said in refusal("nexmark", "--to", address, "--events", "5")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--for", "5s"), "--for is the time of a load; give --load too, or --events instead"),
        (("--events", "0"), "--events is 0; give a whole number from 1 on"),
        (("--events", "5", "--first", "-1"), "--first is -1; give a whole number from 0 to 1,000,000,000,000,000"),
        (("--events", "5", "--first", "9" * 17), "give a whole number from 0 to 1,000,000,000,000,000"),
        (("--load", "constant("), "constant("),
        (("--load", "constant(0)", "--for", "10s"), "--load constant(0) brings no event within 10s; give another"),
        (("--load", "step(0 -> 5 @ 1m)", "--for", "60s"), "--load step(0 -> 5 @ 1m) brings no event within 60s"),
        (("--load", "constant(0)", "--events", "5"), "--load constant(0) never brings an event; give another"),
        (("--events", "5", "--option", "padding"), "--option padding: give it as NAME=VALUE"),
        (("--events", "5", "--option", "pading=no"), 'nexmark: there is no option pading (did you mean "padding"?)'),
    ],
)
def test_what_is_wrong_is_said_before_a_broker_is_asked(refusal, words, said):
    assert said in refusal("nexmark", "--to", NOWHERE, *words)


def test_a_broker_that_is_not_there_is_named(refusal):
    assert f"{NOWHERE}: no broker answers" in refusal("nexmark", "--to", NOWHERE, "--events", "5")


def test_sentences_have_options_of_their_own(refusal):
    said = refusal("sentences", "--to", NOWHERE, "--events", "5", "--option", "words=3", "--option", "key=5")
    assert 'sentences: there is no option key (did you mean "keys"?)' in said


def test_a_sentence_is_written_whole_under_the_key_it_has():
    producing = pytest.importorskip("headgate.kafka.producing")
    plan = ProducePlan("sentences", Address("127.0.0.1:1", "text"), None, 2, options={"words": "3", "keys": "5"})
    rows = producing.plan_rows(plan)(np.arange(2, dtype=np.uint64))
    assert producing.keys(rows, SentencesSource.key) == [str(key) for key in rows["key"].to_pylist()]
    first, second = map(json.loads, json_rows(rows).to_pylist())
    text = Text(words=3, vocabulary=1000, keys=5, hot=0.0)
    assert [first["sentence"], second["sentence"]] == text.sentences(np.arange(2, dtype=np.uint64)).to_pylist()
    assert (first["number"], second["number"], set(first)) == (0, 1, {"number", "sentence", "key"})


def test_it_ends_with_the_rate_that_came_beside_the_one_that_was_asked_for():
    to = Address("127.0.0.1:9092", "all")
    # All 6,000 events of a minute at 100 a second, which took 75 s: 80 a second.
    slow = summary(Progress(seconds=75.0, delivered=6000, due=6000), "constant(100)", to)
    assert slow == "6,000 events in 75.0 s, 80 a second of 100 asked for, to kafka://127.0.0.1:9092/all"
    # 1,000 events of 10 s at 100 a second, the last one delivered 30 ms late; nothing after the step was asked for.
    step = summary(Progress(seconds=10.03, delivered=1000, due=1000), "step(100 -> 100k @ 10s)", to)
    assert step == "1,000 events in 10.0 s, 100 a second of 100 asked for, to kafka://127.0.0.1:9092/all"
    # Stopped after 15 s, when 10 s at 100 and 5 s at 400 had come to 3,000, and 1,500 were written.
    stopped = summary(Progress(seconds=15.0, delivered=1500, due=3000), "step(100 -> 400 @ 10s)", to)
    assert stopped == "1,500 events in 15.0 s, 100 a second of 200 asked for, to kafka://127.0.0.1:9092/all"
    fast = summary(Progress(seconds=2.0, delivered=6000, due=None), None, to)
    assert fast == "6,000 events in 2.0 s, 3,000 a second, to kafka://127.0.0.1:9092/all"
    assert summary(Progress(seconds=0.0, delivered=0, due=0), "constant(100)", to).startswith("0 events in 0.0 s, 0 a")


def test_what_is_due_is_counted_from_the_first_event_that_is_asked_for():
    producing = pytest.importorskip("headgate.kafka.producing")
    plan = ProducePlan("nexmark", Address("127.0.0.1:1", "all"), "constant(100k)", 1000, processes=2, first=12_345)
    shared = producing.Shared(plan.processes)
    # 100,000 a second, and the first of them when the load begins: all are due after 10 ms, of which 5 ms are half.
    assert producing.progress(plan, shared, shared.began.value + 0.005).due in (499, 500)
    assert producing.progress(plan, shared, shared.began.value + 1.0).due == 1000
