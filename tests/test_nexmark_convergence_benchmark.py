"""When `benchmarks/nexmark_convergence.py` says that a run keeps up: by journals made to measure, without Spark."""

from itertools import accumulate

import pytest
from msgspec.structs import replace

from batches import Op, batch
from headgate.control.actions import SetExecutors
from headgate.model.microbatch import Executor
from headgate.runtime.entries import Cluster, Intent, Seen
from nexmark_convergence import Row, Run, came_to, over, settled
from right_size import Outcome

BEGAN = 1_800_000_000.0
"""When the first batch began, by the wall's clock."""


def seen(second, lasting):
    one = replace(batch({"a": Op([1])}), began=round((BEGAN + second) * 1000), duration=round(lasting * 1000))
    return Seen(BEGAN + second + lasting, one)


def batches(*lengths):
    """One after the other, 8 s apart or as long as the one before took."""
    begins = accumulate((max(8.0, length) for length in lengths), initial=0.0)
    return [seen(begin, length) for begin, length in zip(begins, lengths, strict=False)]


def there(second, executors):
    return Cluster(BEGAN + second, tuple(Executor(str(one), "host", 1) for one in range(executors)))


def asked(second, executors):
    return Intent(BEGAN + second, SetExecutors(1, executors))


def journal(*entries):
    return sorted(entries, key=lambda entry: entry.at)


def test_from_over_batches_that_still_run_on_the_old_executors_count_for_nothing():
    # Four are asked for at 20 s, and the other four are gone at 43 s: batches that begin at 48 s and later count.
    moved = [there(-1, 8), asked(20, 4), there(43, 4)]
    assert settled(journal(*moved, *batches(*[5.0] * 6, *[7.0] * 5)), BEGAN) == 48 + 7
    # All before are in time and all after are late: it does not keep up on four.
    assert settled(journal(*moved, *batches(*[5.0] * 6, *[8.5] * 9)), BEGAN) is None


def test_from_over_a_single_late_batch_is_one_too_many():
    moved = [there(-1, 8), asked(20, 4), there(43, 4)]
    assert settled(journal(*moved, *batches(*[5.0] * 6, 8.5, *[7.0] * 9)), BEGAN) is None
    assert settled(journal(*moved, *batches(*[5.0] * 6, *[7.0] * 8, 8.5, 7.0)), BEGAN) is None


def test_from_under_what_had_piled_up_is_worked_off_first():
    # One executor takes 10 and 20 s; the four that are asked for at 32 s are there at 35 s. The next batch begins at
    # 50 s and takes 30 s, the one after it, at 80 s, 12 s; the one at 92 s is the first in time.
    moved = [there(-1, 1), asked(32, 4), there(33, 2), there(35, 4)]
    assert settled(journal(*moved, *batches(10, 20, 20, 30, 12, *[7.5] * 5)), BEGAN) == 92 + 7.5
    # And none is late after that.
    assert settled(journal(*moved, *batches(10, 20, 20, 30, 12, 7.5, 8.5, *[7.5] * 9)), BEGAN) is None


def test_executors_that_were_asked_for_and_did_not_come_are_no_end():
    moved = [there(-1, 1), asked(32, 4), there(33, 2)]
    entries = journal(*moved, *batches(10, 20, *[7.0] * 20))
    assert settled(entries, BEGAN) is None
    # It is waited for them up to 240 s after the move.
    assert not over(entries, BEGAN, BEGAN + 32 + 239)
    assert over(entries, BEGAN, BEGAN + 32 + 241)


def test_a_few_batches_in_time_are_not_enough():
    moved = [there(-1, 8), asked(20, 4), there(43, 4)]
    few = journal(*moved, *batches(*[5.0] * 6, *[7.0] * 4))
    assert settled(few, BEGAN) is None
    assert not over(few, BEGAN, BEGAN + 20 + 81)
    enough = journal(*moved, *batches(*[5.0] * 6, *[7.0] * 5))
    assert not over(enough, BEGAN, BEGAN + 20 + 79)
    assert over(enough, BEGAN, BEGAN + 20 + 81)


@pytest.mark.parametrize(
    ("executors", "end", "took", "right"),
    [(4, 55.0, 7.0, True), (5, 55.0, 7.0, True), (6, 55.0, 7.0, False), (4, None, 7.0, False), (4, 55.0, 8.5, False)],
)
def test_a_run_ended_well_with_the_least_or_one_more_that_keep_up(executors, end, took, right):
    assert Row("q1", "over", 4, Run(Outcome(8, [(20.0, executors)], executors, took), end)).right == right


def test_a_run_is_told_from_its_journal_alone():
    entries = journal(there(-1, 8), asked(20, 4), there(43, 4), *batches(*[5.0] * 6, *[7.0] * 5))
    assert came_to(entries, 8) == Run(Outcome(8, [(20.0, 4)], 4, 7.0), 55.0)
