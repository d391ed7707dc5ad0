"""Bins that move step by step: what is told, tried again and given up. The query behind the port is a script."""

from types import MappingProxyType

import pytest

from batches import Op, batch
from headgate.model.bins import homes
from headgate.model.microbatch import Executor
from headgate.simulation.virtual_spark import VirtualJob, VirtualOperator, VirtualSpark
from headgate.spark.boundaries import usual_interval
from headgate.spark.moving import Moving, Query, Way

JOB = VirtualJob((VirtualOperator("count", 8, fixed=0.1, per_record=0.01, stateful=True),), trigger=10.0)


class Scripted:
    """A virtual query whose bins go where they are placed, unless they are said to be stuck."""

    def __init__(self, executors=2, stuck=(), late=0, silent=False, rate=10):
        self.spark = VirtualSpark(JOB, lambda at: rate * at, executors=executors)
        self.spark.homes["count"] = ["0"] * 8
        self.batches = [self.spark.run_batch() for _ in range(3)]
        self.stuck, self.late, self.silent = set(stuck), late, silent
        self.there = {one.id for one in self.spark.executors()}
        self.placed = []

    def place(self, moved):
        self.placed.append(dict(moved))
        if self.late:  # the batch under way does not know of it yet
            self.late -= 1
            self.batches.append(self.spark.run_batch())
        for number, home in moved.items():
            if number not in self.stuck:
                self.spark.homes["count"][number] = home

    def next_batch(self):
        if not self.silent:
            self.batches.append(self.spark.run_batch())
        return not self.silent

    def settle(self, strategy="fluid", to=None, way=Way(), trigger=10.0, sizes=MappingProxyType({}), executors=None):  # noqa: B008
        query = Query(
            "counting",
            trigger,
            lambda: self.batches,
            self.place,
            self.next_batch,
            lambda: frozenset(self.there),
            sizes,
        )
        return list(Moving(way).settle(query, executors or self.spark.executors(), strategy, to))


def test_fluid_moves_one_bin_after_the_other_until_both_executors_have_four():
    script = Scripted()
    said = script.settle("fluid")
    assert [len(step) for step in script.placed] == [1] * 4
    assert sorted(homes(script.batches[-1]).values()) == ["0"] * 4 + ["1"] * 4
    assert said[0].startswith("bin 4 to executor 1: 1 of 1 there in batch 3, which took")
    assert said[-1] == "4 bins of counting have moved: all are where they should be"


def test_sudden_moves_all_of_them_in_one_step():
    script = Scripted()
    assert script.settle("sudden")[-1] == "4 bins of counting have moved: all are where they should be"
    assert [len(step) for step in script.placed] == [4]


def test_what_a_step_is_expected_to_take_goes_by_the_size_of_its_own_bin():
    # 0.3 s and 10 ns a byte: 200 MB take 2.3 s, and a bin of which nobody knows anything its fixed time alone.
    said = Scripted().settle("fluid", sizes={4: 200_000_000})
    assert said[0].startswith("bin 4 to executor 1")
    assert said[0].endswith("2.3 s of it were expected for that")
    assert Scripted().settle("fluid")[0].endswith("0.3 s of it were expected for that")


def test_loads_that_take_no_time_count_as_much_as_those_that_do():
    # The virtual query loads its bins in no time: from the second step on a twentieth of 0.3 s is expected.
    said = Scripted().settle("fluid")
    assert [line.rpartition("; ")[2] for line in said[1:4]] == ["0.0 s of it were expected for that"] * 3


@pytest.mark.parametrize(("hosts", "expected"), [("hhhhh", "0.9 s"), ("abcde", "0.6 s"), ("onnnn", "0.9 s")])
def test_machines_load_side_by_side_and_executors_of_one_in_turns(hosts, expected):
    # Six bins go to four executors, two at the most to each: 0.6 s. On one machine, which loads two at once, 1.8 / 2 s,
    # and no less where the machine that gives them away is another one.
    script = Scripted(executors=5)
    there = [Executor(str(number), host, 1) for number, host in enumerate(hosts)]
    assert script.settle("sudden", executors=there)[0].endswith(f"{expected} of it were expected for that")
    assert len(script.placed[0]) == 6


def test_a_query_that_is_late_already_gets_all_of_them_at_once_unless_somebody_says_otherwise():
    # 1,000 records/s of 10 ms each on one executor: every batch takes far longer than its interval.
    script = Scripted(rate=1000)
    script.settle(None)
    assert [len(step) for step in script.placed] == [4]
    told = Scripted(rate=1000)
    told.settle("fluid")
    assert [len(step) for step in told.placed] == [1] * 4


def test_a_bin_that_stays_is_told_five_times_and_then_given_up():
    script = Scripted(stuck={6})
    said = script.settle("fluid")
    assert sum(6 in step for step in script.placed) == 5
    assert said[-1] == "1 bin of counting did not move: 6"


@pytest.mark.parametrize("strategy", ["sudden", "fluid", "batched"])
def test_where_no_batch_comes_all_bins_are_told_and_nothing_is_claimed(strategy):
    script = Scripted(silent=True)
    assert script.settle(strategy) == ["4 bins of counting are told to move; no batch has shown it"]
    assert len({number for step in script.placed for number in step}) == 4


def test_a_batch_is_waited_for_as_long_as_batches_take_or_are_apart():
    quick = [batch({"map": Op([100])}, number=number, began=number * 120_000) for number in range(3)]  # 0.7 s each
    assert usual_interval(quick, None) == 120.0
    assert usual_interval(quick[:1], None) == pytest.approx(0.7)
    assert usual_interval(quick[:1], 300.0) == 300.0
    night = [*quick, batch({"map": Op([100])}, number=3, began=30_000_000)]  # and then nothing came for eight hours
    assert usual_interval(night, None) == 120.0
    long = [batch({"map": Op([45_000])}, number=number, began=number * 10_000) for number in range(2)]
    assert usual_interval(long, 10.0) == pytest.approx(90.5)


def test_a_bin_whose_stages_ran_in_two_places_moves_in_a_step_of_its_own():
    # Nobody has placed anything yet: the two stages of bins 0 to 3 ran on different executors, each loaded where it is.
    two = {"count": Op([1] * 4, homes=list("0101")), "distinct": Op([1] * 4, feeders=("count",), homes=list("1010"))}
    seen = [batch(two, slots=(1, 1)), batch(two, slots=(1, 1), number=1)]
    placed = []

    def run(moved):
        placed.append(dict(moved))
        home = {**dict.fromkeys(range(4)), **{k: v for step in placed for k, v in step.items()}}
        first = [home[number] or "0101"[number] for number in range(4)]
        second = [home[number] or "1010"[number] for number in range(4)]
        seen.append(
            batch(
                {"count": Op([1] * 4, homes=first), "distinct": Op([1] * 4, feeders=("count",), homes=second)},
                slots=(1, 1),
                number=len(seen),
            )
        )

    there = [Executor("0", "host", 1), Executor("1", "host", 1)]
    query = Query("counting", 10.0, lambda: seen, run, lambda: True, lambda: frozenset("01"))
    list(Moving(Way()).settle(query, there, "fluid"))
    assert [len(step) for step in placed] == [1] * 4
    # By hand, too, where most bins have no home yet.
    placed.clear()
    del seen[2:]
    list(Moving(Way()).settle(query, there, "fluid", {2: "1"}))
    assert placed == [{2: "1"}]


def test_bins_go_where_they_are_told_and_the_others_stay():
    script = Scripted()
    script.settle("fluid", to={2: "1", 5: "1"})
    assert [number for number, home in homes(script.batches[-1]).items() if home == "1"] == [2, 5]


def test_what_is_there_already_is_said_to_be():
    script = Scripted()
    assert script.settle("fluid", to={2: "0"}) == ["0 bins of counting have moved: all are where they should be"]


def test_an_executor_that_is_gone_ends_the_migration():
    script = Scripted(executors=3)
    script.there.discard("2")
    (said,) = script.settle("fluid")
    assert said == "executor 2 is gone; bins of counting stay where they are for now"
    assert script.placed == []


def test_executors_that_do_not_stay_are_emptied_whatever_the_strategy():
    script = Scripted(executors=3)
    script.spark.homes["count"] = ["0", "0", "0", "1", "1", "1", "2", "2"]
    script.batches.append(script.spark.run_batch())
    query = Query("counting", 10.0, lambda: script.batches, script.place, script.next_batch, lambda: frozenset("01"))
    list(Moving(Way()).settle(query, script.spark.executors()[:2], "hottest-first"))
    assert set(homes(script.batches[-1]).values()) == {"0", "1"}


@pytest.mark.parametrize(
    ("way", "took", "trigger", "allowed"),
    [
        (Way(), 4.0, 10.0, 6.0),  # what is left of the interval
        (Way(), 12.0, 10.0, 0.0),
        (Way(), 4.0, None, 2.0),  # half a batch
        (Way(freshness=20.0), 4.0, 10.0, 6.0),  # 20 less the interval and the batch
        (Way(freshness=10.0), 4.0, None, 2.0),
    ],
)
def test_what_a_batch_may_take_longer_is_what_is_left_of_what_was_promised(way, took, trigger, allowed):
    assert Moving(way).allowed(took, trigger) == pytest.approx(allowed)


def test_before_the_first_batch_there_is_nothing_to_move():
    query = Query("counting", 10.0, lambda: [], lambda _: None, lambda: True, lambda: frozenset("0"))
    assert list(Moving(Way()).settle(query, [Executor("0", "h", 1)])) == []


def test_one_bin_is_said_to_be_one():
    script = Scripted()
    said = script.settle("sudden", {6: "1"})
    assert said[-1] == "1 bin of counting has moved: all are where they should be"
