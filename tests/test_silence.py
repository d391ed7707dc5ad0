"""A query that reads and does not emit while its state grows is told apart from one that is healthy."""

import pytest
from msgspec.structs import replace

from batches import Op, batch
from headgate.cli.inspection_sentences import notes
from headgate.model.inspection import Question, inspection
from headgate.model.silence import Silence, silence


def run(count=6, *, emitted=(0,), removed=0, grows=100, read=40):
    """Batches 10 s apart, each of `read` records; the state has 50 rows after the first one."""
    made = []
    for number in range(count):
        counted = Op([read // 2] * 2, state=(50 + grows * number, 1000))
        one = batch({"count": counted}, number=number, began=number * 10_000)
        state = tuple(replace(kept, rows_removed=removed) for kept in one.state)
        made.append(replace(one, state=state, emitted=emitted[min(number, len(emitted) - 1)]))
    return made


def test_a_query_that_only_takes_in_is_silent():
    made = run()
    last = made[-1]
    assert silence(made) == Silence(6, (last.began + last.duration) / 1000, 6 * 40, 50, 550)


def test_one_state_that_only_grows_is_enough():
    made = [
        replace(batch, state=(replace(batch.state[0], rows=7, rows_removed=3), *batch.state)) for batch in run()
    ]  # fmt: skip
    assert silence(made).rows_now == 550


@pytest.mark.parametrize(
    "made",
    [
        run(emitted=(0, 0, 1, 0)),
        run(emitted=(None,)),
        run(removed=1),
        run(grows=0),
        run(count=4),
        run(read=0),
        [],
    ],
    ids=[
        "it-emitted-once",
        "the-sink-does-not-say",
        "state-was-dropped",
        "no-growth",
        "too-few",
        "nothing-read",
        "none",
    ],
)
def test_a_query_is_not_called_silent_without_all_signs_of_it(made):
    assert silence(made) is None


def test_inspect_says_so_in_one_sentence():
    (said,) = (note for note in notes(inspection(run(), Question())) if "emitted none" in note)
    assert said.startswith(
        "it has read 240 records in 51 s and emitted none, while state of it grew from 50 to 550 rows"
    )
