"""What tasks beside each other cost, as far as it was seen."""

import msgspec
import pytest

from batches import Op, batches
from headgate.model.arrivals import Arrivals
from headgate.model.capacity import Pool, Setting
from headgate.model.contention import Computing, Contention, contention
from headgate.model.keeping_up import Wish, least_pool
from headgate.model.learned_capacity import capacity
from headgate.model.microbatch import Processors


def test_what_was_seen_far_apart_is_drawn_out_to_larger_numbers():
    # Twice as many at once take twice as long: a shared core, which eight share as well as sixteen.
    assert Contention(((4, 1.0), (8, 2.0))).slowdown(16) == 4.0


def test_what_was_seen_close_together_says_nothing_about_far_larger_numbers():
    # Ten at once and eleven, an hour later and 15 % slower: that may be anything, and twice as many need not be slower.
    near = contention([(10, 1.0), (11, 1.15), (11, 1.15)])
    assert near.slowdown(11) == near.slowdown(22) == 1.15


def eight_at_once(processors, *, cpu=0.1):
    """Batches of 8 tasks of 2 s, on 8 executors of one machine; `cpu` is the part that tasks account for themselves."""
    seen = batches(6, {"map": Op([100] * 8, fixed=1000, per_record=10, cpu=cpu)}, slots=(1,) * 8)
    return [msgspec.structs.replace(one, processors=processors) for one in seen]


def on(executors, seen):
    return capacity(seen).predict(Setting(pool=Pool((1,) * executors))).batch.value


def test_fewer_at_once_wait_less_for_the_processors_they_share():
    # 8 tasks account for 0.2 s each, the machine for as much again: 0.4 s, which took 4 times as long with 8 on 2.
    # So 0.4 s of each task was waiting for nobody; with 4 on 2, computing takes twice as long as alone, 0.8 s.
    seen = eight_at_once(Processors(2, 3.2))
    assert on(8, seen) == pytest.approx(2.0 + 0.3)
    assert on(4, seen) == pytest.approx(2 * (0.4 + 0.8) + 0.3)
    assert on(2, seen) == pytest.approx(4 * (0.4 + 0.8) + 0.3)  # not believed to be faster than half as many are
    assert on(1, seen) == pytest.approx(8 * (0.4 + 0.8) + 0.3)


def test_more_at_once_than_were_seen_take_turns_at_the_processors_they_share():
    # One at a time: 2 s a task, 0.2 s of it accounted for and as much again spent; four on two take turns with it.
    seen = [
        msgspec.structs.replace(one, processors=Processors(2, 3.2))
        for one in batches(6, {"map": Op([100] * 8, fixed=1000, per_record=10)})
    ]
    assert on(2, seen) == pytest.approx(4 * 2.0 + 0.3)
    assert on(4, seen) == pytest.approx(2 * (1.6 + 2 * 0.4) + 0.3)


def test_what_small_batches_compute_is_not_taken_for_a_part_of_large_ones():
    # A task computes for 0.1 s, whatever it takes: half of its time with 10 records, a twentieth with 190, after the
    # load has grown. Eight at once on two processors take four turns at that: 1.9 s and 0.4 s, and 0.3 s of the driver.
    small = Op([10] * 8, fixed=100, per_record=10, cpu=0.5)
    large = Op([190] * 8, fixed=100, per_record=10, cpu=0.05)
    seen = [
        msgspec.structs.replace(one, processors=Processors(2, 0.8))
        for one in batches(8, lambda number: {"map": small if number < 6 else large})
    ]
    said = capacity(seen).predict(Setting(pool=Pool((1,) * 8), records=8 * 190))
    assert said.batch.value == pytest.approx(1.9 + 0.4 + 0.3)


def test_what_was_seen_of_more_at_once_is_believed_before_what_processors_say():
    crowd = Contention(((1, 1.0), (4, 1.0)), Computing(part=0.5, processors=2))
    assert crowd.slowdown(4) == 1.0  # seen
    assert crowd.slowdown(8) == pytest.approx(2.5 / 1.5)  # beyond: in turns, from what was seen on
    assert Contention(((1, 1.0), (4, 2.0)), Computing(0.1, 2)).slowdown(8) == pytest.approx(2.0 + 4 / 3)


def test_what_the_machine_spends_far_beyond_its_tasks_is_taken_for_somebody_elses():
    # 1 s a task is said; more than 3 times what tasks account for, 0.06 s each, is not believed: 0.24 s of 4 turns.
    seen = eight_at_once(Processors(2, 8.0), cpu=0.01)
    assert on(4, seen) == pytest.approx(2 * (2.0 - 0.06 * 4 + 0.06 * 2) + 0.3)


@pytest.mark.parametrize("processors", [None, Processors(16, 3.2)])
def test_without_a_crowd_or_word_of_one_fewer_at_once_take_as_long_as_now(processors):
    assert on(4, eight_at_once(processors)) == pytest.approx(2 * 2.0 + 0.3)


def test_a_crowd_that_was_seen_is_left_for_fewer_also_where_both_were_tried():
    # Alone a task takes 0.4 s, with eight at once 1.0 s: on 8 executors 1.3 s a batch; on 7 in two waves 2.1 s, on 4
    # 1.6 s. Eight at once do within 2 s, seven do not, and four do again.
    def tried(executors, task):
        return batches(6, {"map": Op([100] * 8, fixed=0, per_record=task * 10)}, slots=(1,) * executors, run=str(task))

    taught = capacity([*tried(1, 0.4), *tried(8, 1.0)])
    assert taught.predict(Setting(pool=Pool((1,) * 7))).batch.value > 2.0
    come = Arrivals(400.0, 400.0, 2.0, 2.0, None, None)
    assert len(least_pool(taught, come, Wish(400.0)).slots) <= 4


def test_where_the_next_fewer_do_not_do_but_far_fewer_would_those_are_found():
    # On 7, 6, 5 and 4 there are two waves; the fewer the shorter: 3.8, 3.3, 3.0 and 2.7 s, and 3.9 s in three on 3.
    seen = eight_at_once(Processors(2, 3.2))
    come = Arrivals(800 / 2.75, 800 / 2.75, 2.75, 2.75, None, None)
    assert on(5, seen) > 2.75 > on(4, seen)
    assert least_pool(capacity(seen), come, Wish(come.rate)) == Pool((1,) * 4)
