"""What commands say of themselves, and of what is missing on a command line."""

import re

import pytest

from headgate.cli.main import COMMANDS, main
from headgate.control.actions import Layout
from headgate.control.events import Command
from virtual_journals import constant, controller, turn_until, virtual


@pytest.mark.parametrize(
    ("words", "required"),
    [
        (["tell", "job.journal"], "WORD"),
        (["tell"], "JOURNAL, WORD"),
        (["bench"], "WORKLOAD | compare"),
        (["state", "move"], "JOURNAL"),
    ],
)
def test_only_what_is_always_needed_is_said_to_be_required(headgate, words, required):
    ran = headgate(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"headgate: the following arguments are required: {required}; ")


def help_of(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main([*words, "--help"])
    assert left.value.code == 0
    return capsys.readouterr().out


def test_every_command_has_an_example(capsys):
    examples = help_of(capsys).partition("examples:")[2]
    assert set(re.findall(r"^  headgate (\w+)", examples, re.M)) == set(COMMANDS)


def test_every_exit_code_of_a_command_is_among_those_of_all(capsys):
    said = help_of(capsys).partition("Exit codes:")[2]
    with_one = {name for name in COMMANDS if re.search(r"\b1 ", help_of(capsys, name).partition("exit codes:")[2])}
    assert set(re.search(r"1 .*?\((.*?)\)", said, re.S)[1].split(", ")) == with_one


def test_every_word_of_tell_is_in_the_list_of_commands(capsys):
    words = re.findall(r"^  (\w+) ", help_of(capsys, "tell").partition("words:")[2].partition("examples:")[0], re.M)
    assert words == ["pause", "resume", "approve", "scale", "restart"]
    assert COMMANDS["tell"].endswith(": " + ", ".join(words))


@pytest.mark.parametrize(
    "word",
    [
        Command(50.0, "scale", 3),
        Command(50.0, "restart", layout=Layout({"map": 16})),
        Command(50.0, "move"),
    ],
)
def test_what_a_person_says_is_done_while_paused_as_the_help_of_pause_says(capsys, word):
    said = help_of(capsys, "tell").partition("pause ")[2].partition("resume ")[0]
    assert word.word in said
    engine = virtual(constant(100))
    one = controller(engine)
    turn_until(one, 40.0)
    one.take(Command(engine.clock(), "pause"))
    before = one.state.plans
    one.take(word)
    assert (one.state.plans, one.state.paused) == (before + 1, True)
