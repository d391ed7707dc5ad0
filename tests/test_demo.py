"""What the demonstration says of itself, and what it prints when little could be measured; without a cluster."""

import re
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from batches import Op, batch
from headgate.cli.demo import table
from headgate.cli.main import main
from headgate.jobs.demo import VOCABULARY, WORDS, Outcome
from headgate.jobs.demo_verdicts import summary, verdicts
from headgate.workloads.sentences import Text

README = (Path(__file__).parent.parent / "README.md").read_text()
SENTENCES = 50
COUNTS = Text(words=WORDS, vocabulary=VOCABULARY, keys=1, hot=0.0).word_counts(SENTENCES)


def ran(began, *, seconds, executors):
    """A batch that began so many seconds after the query; the driver and the one task take 0.2 s."""
    took = {"split": Op([0], fixed=round(1000 * seconds) - 200)}
    return batch(took, began=round(1000 * began), driver=200, slots=(1,) * executors, waiting=0)


def outcome(batches, moves=()):
    return Outcome(SENTENCES, COUNTS, tuple(moves), tuple(batches), Path("journal.db"), began=0.0)


def as_it_should():
    """Every 4 s a batch; four executors from second 60 on, two from second 150 on."""
    batches = [ran(at, seconds=2.5, executors=1 if at < 60 else 4 if at < 150 else 2) for at in range(4, 204, 4)]
    return outcome(batches, [(50.0, 4), (140.0, 2)])


def test_all_holds_where_all_went_well_and_the_readme_shows_the_same_words():
    said = [(verdict.held, re.sub(r" \(.*\)", "", verdict.what)) for verdict in verdicts(as_it_should())]
    shown = re.findall(r"^yes  (.*)$", README, re.M)
    assert said == [(True, re.sub(r" \(.*\)", "", line)) for line in shown]
    assert re.sub(" +", " ", table(as_it_should())[0]) in re.sub(" +", " ", README)


def test_a_stretch_without_a_batch_is_not_known_and_is_said_not_to_be():
    # Two batches in all, as on a machine that is busy with other things: one of 50.2 s at the beginning, one at 130.
    few = outcome([ran(1, seconds=50.2, executors=1), ran(130, seconds=60.0, executors=1)])
    assert [(one.batches, one.executors, one.batch, one.waiting) for one in summary(few)] == [
        (1, 1, pytest.approx(50.2), 0),
        (0, None, None, None),
        (1, 1, pytest.approx(60.0), 0),
    ]
    assert [re.split(" {2,}", line.strip()) for line in table(few)[1:]] == [
        ["10", "0", "30", "0", "1", "1", "50.2", "0"],
        ["90", "30", "120", "0", "?", "4", "?", "?"],
        ["40", "120", "205", "0", "1", "2", "60.0", "0"],
    ]
    exact, busy = verdicts(few)
    assert exact.held
    assert not busy.held
    assert busy.what == (
        "enough batches to judge by: none began from second 30 to 120 (2 in all ended); this machine is too busy for "
        "the demonstration"
    )


def test_without_any_batch_there_is_a_table_all_the_same():
    assert all(line.endswith("?") for line in table(outcome([]))[1:])
    assert [verdict.held for verdict in verdicts(outcome([]))] == [True, False]


def test_a_controller_that_does_nothing_is_judged_where_enough_was_measured():
    # One executor all the time, and a batch every 9 s that takes 9 s: three in the first stretch, more in the others.
    still = outcome([ran(at, seconds=9.0, executors=1) for at in range(1, 204, 9)])
    assert min(one.batches for one in summary(still)) >= 3
    failed = [verdict.what for verdict in verdicts(still) if not verdict.held]
    assert failed == [
        "each change of the load took one move",
        "the least executors that do, or one more",
        "no backlog in the end: a batch takes 9.0 s of 4 s",
    ]


@pytest.mark.parametrize("left", ["checkpoint", "journal.db"])
def test_a_folder_that_a_demonstration_was_in_is_refused_in_one_line_before_anything_is_started(left, tmp_path, capsys):
    (tmp_path / left).mkdir()
    assert main(["demo", "--folder", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"headgate: {tmp_path} has a {left} of an earlier demonstration; name a new folder, or an empty one\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == [left]
