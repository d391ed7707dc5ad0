"""A person's word to a controller: refused where it is none, and told as it was said."""

import pytest

from headgate.control.actions import Layout
from headgate.control.events import ClusterSeen, Command
from headgate.control.reducer import step
from headgate.control.settings import Settings
from headgate.control.state import State
from headgate.model.errors import InputError
from headgate.model.microbatch import Executor
from headgate.policies.static import Static


@pytest.mark.parametrize(
    ("word", "executors", "said"),
    [
        ("foo", None, '"foo" is no word for a controller'),
        ("scale 3", None, '"scale 3" is no word for a controller (did you mean "scale"?)'),
        ("scale", None, "scale needs a number of executors"),
        ("scale", 0, "0 executors: give a number from 1 to 100,000"),
        ("scale", "3", "3 executors: give a number from 1 to 100,000"),
        ("pause", 3, "pause takes no number of executors; only scale does"),
    ],
)
def test_what_is_no_word_never_gets_into_a_journal(word, executors, said):
    with pytest.raises(InputError) as refused:
        Command(0.0, word, executors)
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (Command(0.0, "pause"), "pause"),
        (Command(0.0, "scale", 6), "scale 6"),
        (Command(0.0, "restart", layout=Layout({"parse": 16}, memory="2g")), "restart parse=16, memory=2g"),
        (Command(0.0, "move"), "move all bins"),
        (Command(0.0, "move", strategy="fluid", bins={3: "1", 7: "2"}), "move 3=1 7=2 (fluid)"),
    ],
)
def test_a_command_is_told_with_all_its_values(command, told):
    assert str(command) == told


def test_a_person_who_asks_for_more_than_is_allowed_is_told_so():
    there = ClusterSeen(1.0, (Executor("0", "host", 1),))
    state = step(State(), there, Settings(most=3), Static()).state
    _, actions, said = step(state, Command(2.0, "scale", 99), Settings(most=3), Static())
    assert [action.executors for action in actions] == [3]
    assert [str(one) for one in said] == [
        "99 executors are asked for; lowered to the most allowed, 3",
        "plan 1: 1 -> 3 executors",
    ]
