"""`headgate produce`: what it says before it has a broker; tests/spark/test_kafka.py has one."""

import pytest

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
        (("--load", "constant("), "constant("),
        (("--events", "5", "--option", "padding"), "--option padding: give it as NAME=VALUE"),
        (("--events", "5", "--option", "pading=no"), 'nexmark: there is no option pading (did you mean "padding"?)'),
    ],
)
def test_what_is_wrong_is_said_before_a_broker_is_asked(refusal, words, said):
    assert said in refusal("nexmark", "--to", NOWHERE, *words)


def test_a_broker_that_is_not_there_is_named(refusal):
    assert f"{NOWHERE}: no broker answers" in refusal("nexmark", "--to", NOWHERE, "--events", "5")
