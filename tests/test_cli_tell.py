"""`headgate tell`: words for a running controller."""

import pytest

from headgate.control.actions import Layout
from headgate.runtime.journal import Journal


@pytest.fixture
def journal(tmp_path):
    Journal(tmp_path / "j").close()
    return tmp_path / "j"


def left(path):
    with Journal(path) as journal:
        return list(iter(lambda: journal.take_command(0.0), None))


def test_a_restart_says_what_is_to_change(headgate, journal):
    told = headgate("tell", str(journal), "restart", "parse=16", "memory=2g", "cores=2")
    assert told.out.startswith("left for the controller: restart parse=16 memory=2g cores=2")
    (command,) = left(journal)
    assert (command.word, command.layout) == ("restart", Layout({"parse": 16}, cores=2, memory="2g"))


def test_a_number_of_executors_goes_along(headgate, journal):
    headgate("tell", str(journal), "scale", "6")
    (command,) = left(journal)
    assert (command.word, command.executors) == ("scale", 6)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["scale"], "scale needs a number of executors"),
        (["scale", "many"], '"many" is not a whole number'),
        (["scale", "0"], "give a number from 1"),
        (["pause", "3"], "pause takes no number"),
        (["restart", "parse"], "parse is not NAME=VALUE"),
        (["restart", "parse=none"], "needs a number from 1"),
        (["restart", "memory=much"], "memory is much; give it as 512m or 4g"),
    ],
)
def test_a_word_that_makes_no_sense_is_refused_and_nothing_is_left(headgate, journal, words, said):
    refused = headgate("tell", str(journal), *words)
    assert refused.code == 2
    assert said in refused.err
    assert left(journal) == []
