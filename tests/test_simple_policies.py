"""The policies that need no model: their published numbers, and their timing."""

import json

import msgspec
import pytest

from headgate.model.dataflow import Dataflow
from headgate.model.errors import InputError
from headgate.model.estimate import Estimate
from headgate.model.microbatch import Executor
from headgate.model.objective import Freshness, KeepUp
from headgate.model.signals import Signals
from headgate.policies.bare import followed
from headgate.policies.dhalion import Dhalion, scaled_up
from headgate.policies.dstreams import DStreams, change
from headgate.policies.for_pool import PATIENCE, ForPool
from headgate.policies.hpa import Hpa, recommended
from headgate.policies.managed import Managed
from headgate.policies.pid import Pid
from headgate.policies.pool import Evidence
from headgate.policies.pool_registry import POOL_POLICIES, pool_policy
from headgate.policies.reactive import Reactive
from headgate.policies.registry import POLICIES, policy
from headgate.policies.spark_dra import SparkDra, ramped
from headgate.policies.threshold import Threshold
from headgate.policies.varga import Varga
from headgate.testing.pool_batches import PoolJob


def asked(rule, *moments):
    """The answers of a rule that is shown these, each (now, signals)."""
    memory, answers = rule.fresh(), []
    for now, seen in moments:
        memory, n = rule.answer(memory, seen, KeepUp(), now)
        answers.append(n)
    return answers


# Dhalion


def test_dhalion_scales_up_as_herons_resolver_does(reference):
    vectors = json.loads((reference / "ds2/upstream_test_vectors.json").read_text())
    for case in vectors["dhalion_heron"]["cases"]:
        assert scaled_up(len(case["bp"]), sum(case["bp"])) == case["new"]


def test_dhalion_grows_to_five_times_at_the_most():
    assert scaled_up(2, 4000) == 10  # 999 / 1 is cut at 4 times as many again


CHAIN = Dataflow.of({"in": 1, "split": 2, "count": 4}, [("in", "split"), ("split", "count")])


def dhalion_sees(split=None, count=None, flow=CHAIN):
    rates = dict.fromkeys(flow.ids, (100.0, 100.0))
    calm = {"pressure": 0.0, "waiting": 0.0, "taken": 100.0}
    told = [
        Signals(n, **{**calm, **given}) for n, given in zip(flow.instances, ({}, split or {}, count or {}), strict=True)
    ]
    signals = tuple(told)
    return Estimate(
        flow, *(getattr(Estimate.of_rates(flow, rates), name) for name in
        ("known", "true_processing", "true_output", "observed_processing", "observed_output", "roundings")),
        signals=signals,
    )  # fmt: skip


def test_dhalion_resizes_the_most_upstream_one_and_then_waits():
    both = dhalion_sees(split={"pressure": 500.0}, count={"pressure": 900.0})
    memory, decision = Dhalion().decide(Dhalion().start(), both, KeepUp(), 0.0)
    assert decision.parallelism == {"split": 4, "count": 4}
    grown = CHAIN.resized({"split": 4})
    both = dhalion_sees(split={"pressure": 500.0}, count={"pressure": 900.0}, flow=grown)
    memory, decision = Dhalion().decide(memory, both, KeepUp(), 179.0)
    assert decision.parallelism == {"split": 4, "count": 4}
    memory, decision = Dhalion().decide(memory, dhalion_sees(count={"pressure": 500.0}, flow=grown), KeepUp(), 180.0)
    assert decision.parallelism == {"split": 4, "count": 8}


def test_dhalion_goes_on_saying_what_nobody_has_done_yet():
    pressed = dhalion_sees(split={"pressure": 500.0})
    memory, _ = Dhalion().decide(Dhalion().start(), pressed, KeepUp(), 0.0)
    memory, decision = Dhalion().decide(memory, dhalion_sees(), KeepUp(), 60.0)
    assert decision.parallelism == {"split": 4, "count": 4}


@pytest.mark.parametrize("fault", [{"uneven": 1.6}, {"uneven": 1.1, "uneven_queues": 25.0}])
def test_dhalion_does_not_scale_skew_or_a_slow_instance(fault):
    seen = dhalion_sees(split={"pressure": 500.0, **fault})
    _, decision = Dhalion().decide(Dhalion().start(), seen, KeepUp(), 0.0)
    assert decision.parallelism == {"split": 2, "count": 4}
    assert "do not help" in str(decision.reasons[0])


def test_dhalion_does_not_act_on_noise():
    seen = dhalion_sees(split={"pressure": 20.0, "waiting": 1000.0}, count={"waiting": 1000.0})
    _, decision = Dhalion().decide(Dhalion().start(), seen, KeepUp(), 0.0)
    assert decision.parallelism == {"split": 2, "count": 4}


def test_dhalion_undoes_a_scale_down_that_caused_back_pressure_and_does_not_repeat_it():
    calm = dhalion_sees(split={"waiting": 1000.0})
    memory, decision = Dhalion().decide(Dhalion().start(), calm, KeepUp(), 0.0)
    assert decision.parallelism["count"] == 3  # floor(0.8 x 4)
    pressed = dhalion_sees(split={"waiting": 1000.0}, count={"pressure": 100.0}, flow=CHAIN.resized({"count": 3}))
    memory, decision = Dhalion().decide(memory, pressed, KeepUp(), 180.0)
    assert decision.parallelism["count"] == 4
    memory, decision = Dhalion().decide(memory, calm, KeepUp(), 360.0)
    assert decision.parallelism["count"] == 4


def after_a_step_down_of_count(*shown):
    """What dhalion says in the end that took one of four from `count` and is then shown these, each (now, signals)."""
    policy = Dhalion()
    memory, decision = policy.decide(policy.start(), dhalion_sees(split={"waiting": 1000.0}), KeepUp(), 0.0)
    smaller = CHAIN.resized(decision.parallelism)
    for now, told in shown:
        memory, decision = policy.decide(memory, dhalion_sees(**told, flow=smaller), KeepUp(), now)
    return memory, decision.parallelism


def test_dhalion_does_not_undo_for_the_back_pressure_of_another_component():
    memory, sizes = after_a_step_down_of_count((180.0, {"split": {"pressure": 500.0}}))
    assert sizes == {"split": 4, "count": 3}  # 2 x (1 + 500 / 500)
    assert memory.too_small == ()


def test_dhalion_does_not_undo_what_has_stood_the_test():
    """Ten hours after a look without back-pressure it is the load that has changed: 3 x (1 + 500 / 500)."""
    calm = {"split": {"waiting": 1000.0}, "count": {"waiting": 1000.0}}
    pressed = {"split": {"waiting": 1000.0}, "count": {"pressure": 500.0}}
    memory, sizes = after_a_step_down_of_count((180.0, calm), (36_000.0, pressed))
    assert sizes == {"split": 2, "count": 6}
    assert memory.too_small == ()


def test_dhalion_does_not_take_a_look_without_a_measurement_for_a_test():
    unmeasured = {"split": {"waiting": 1000.0}, "count": {"pressure": None, "waiting": 1000.0}}
    pressed = {"split": {"waiting": 1000.0}, "count": {"pressure": 500.0}}
    memory, sizes = after_a_step_down_of_count((180.0, unmeasured), (240.0, pressed))
    assert sizes == {"split": 2, "count": 4}
    assert memory.too_small == (("count", 3),)


# Threshold, Kubernetes, Varga


def test_threshold_takes_one_step_at_a_time():
    assert asked(Threshold(), (0, Signals(4, busy=0.71)), (1, Signals(4, busy=0.7)), (2, Signals(4, busy=0.29))) == [
        5,
        4,
        3,
    ]
    assert asked(Threshold(), (0, Signals(1, busy=0.0))) == [1]


def test_the_managed_rule_waits_a_quarter_of_an_hour_and_six_hours():
    busy, idle, calm = Signals(4, busy=0.75), Signals(4, busy=0.09), Signals(4, busy=0.5)
    assert asked(Managed(), (0, busy), (899, busy), (900, busy)) == [4, 4, 8]
    assert asked(Managed(), (0, busy), (600, calm), (900, busy), (1799, busy), (1800, busy)) == [4, 4, 4, 4, 8]
    assert asked(Managed(), (0, idle), (21599, idle), (21600, idle)) == [4, 4, 2]


def test_thresholds_that_overlap_are_refused_in_one_line():
    with pytest.raises(InputError, match="the low one below the high"):
        policy("threshold", low=0.8, high=0.5)


@pytest.mark.parametrize(
    ("n", "busy", "target", "missing", "expected"),
    [
        (3, 0.9, 0.3, 0, 9),  # ceil(3 x 3)
        (10, 0.55, 0.5, 0, 10),  # within a tenth
        (10, 0.56, 0.5, 0, 12),  # ceil(11.2)
        (4, 0.2, 0.8, 0, 1),
        (4, 0.9, 0.5, 2, 8),  # missing as 0: 3.6 / 6 / 0.5 = 1.2 -> ceil(7.2)
        (4, 0.6, 0.5, 2, 6),  # missing as 0: 0.8, the other direction -> as it is
        (8, 0.1, 0.5, 2, 6),  # missing as 1: (0.8 + 2) / 10 / 0.5 = 0.56 -> ceil(5.6)
        (4, 0.3, 0.5, 2, 6),  # missing as 1: 3.2 / 6 / 0.5 = 1.07 -> as it is
        (4, 0.5, 0.5, 4, 8),  # neither up nor down: missing are not counted at all -> as it is
    ],
)
def test_kubernetes_replica_calculator(n, busy, target, missing, expected):
    assert recommended(n, busy / target, missing, target=target) == expected


def test_kubernetes_shrinks_to_the_highest_recommendation_of_five_minutes():
    rule = Hpa(target=0.5)
    seen = [(0, Signals(8, busy=0.25)), (100, Signals(8, busy=0.4)), (299, Signals(8, busy=0.1)),
            (301, Signals(8, busy=0.1)), (401, Signals(8, busy=0.1))]  # fmt: skip
    # At first 8 were there; then 4 and 7 are recommended, later 2. After 300 s the 8 is gone, after 400 s the 7.
    assert asked(rule, *seen) == [8, 8, 8, 7, 2]


def test_kubernetes_at_most_doubles_or_adds_four_in_fifteen_seconds():
    rule = Hpa(target=0.1)
    assert asked(rule, (0, Signals(1, busy=1.0)), (5, Signals(5, busy=1.0)), (15, Signals(5, busy=1.0))) == [5, 5, 10]


def test_kubernetes_makes_up_for_the_looks_that_a_long_batch_has_kept_from_it():
    """A minute with everybody busy is four looks: 4, 5, 7, 9, 12 at a target of 80 %."""
    full = Signals(4, busy=1.0)
    assert asked(Hpa(), (0, full), (60, Signals(5, busy=1.0)))[0] == 5
    assert asked(Hpa(), (0, Signals(4, busy=0.8)), (60, full)) == [4, 12]
    assert asked(Hpa(), (0, Signals(4, busy=0.8)), (60, Signals(4, busy=0.9))) == [4, 5]


def test_reactive_makes_up_for_looks_as_kubernetes_does_and_so_doubles_at_each():
    """1 / 0.35 is more than twice as many, which is the most for fifteen seconds: 4, 8, 16, 32, 64 within a minute."""
    assert asked(Reactive(), (0, Signals(4, busy=0.35)), (60, Signals(4, busy=1.0))) == [4, 64]


def test_varga_takes_the_growth_of_the_lag_where_that_asks_for_more():
    assert asked(Varga(), (0, Signals(4, busy=1.0, came=100.0, waiting=500.0, growth=100.0))) == [8]
    assert asked(Varga(), (0, Signals(4, busy=1.0, came=100.0, waiting=500.0, growth=10.0))) == [6]  # ceil(4 / 0.7)
    assert asked(Varga(), (0, Signals(4, busy=1.0))) == [6]


def test_varga_shrinks_where_there_is_no_lag():
    calm = Signals(4, busy=0.2, came=100.0, waiting=0.0, growth=0.0)
    assert asked(Varga(), (0, calm), (301, calm)) == [4, 2]  # ceil(4 x 0.2 / 0.7)
    behind = Signals(4, busy=0.2, came=100.0, waiting=500.0, growth=0.0)
    assert asked(Varga(), (0, behind), (301, behind)) == [4, 4]


# What is not measured

ONE = Dataflow.of({"in": 1, "map": 4}, [("in", "map")])


def map_asked(rule, *moments):
    """The answers for `map`, shown (now, signals) each; None: nobody tells anything. What takes nothing has no rate."""
    memory, answers = rule.start(), []
    for now, seen in moments:
        rates = {"in": (0.0, 100.0)} | ({"map": (200.0, 0.0)} if seen is not None and seen.taken else {})
        told = Estimate.of_rates(ONE, rates)
        if seen is not None:
            told = msgspec.structs.replace(told, signals=(Signals(1, taken=seen.taken), seen))
        memory, decision = rule.decide(memory, told, KeepUp(), float(now))
        answers.append(decision.parallelism["map"])
    return answers


@pytest.mark.parametrize("gap", [None, Signals(4), Signals(4, taken=0.0, busy=0.0)], ids=["silent", "untold", "idle"])
def test_the_managed_rule_has_no_patience_over_a_time_in_which_nothing_was_busy_or_known(gap):
    busy = Signals(4, taken=200.0, busy=1.0)
    moments = [(0, busy), *((now, gap) for now in range(60, 900, 60)), (900, busy), (1799, busy), (1800, busy)]
    assert map_asked(Managed(), *moments)[-3:] == [4, 4, 8]


def test_pid_does_not_add_up_an_error_over_a_time_of_which_nothing_is_known():
    # Ten minutes of an error of 1/4 would add another 1/4: 6.
    busy = Signals(4, busy=0.85)
    assert asked(Pid(), (0, busy), *((now, Signals(4)) for now in range(60, 600, 60)), (600, busy))[-1] == 5


def test_kubernetes_makes_up_for_no_look_over_a_time_of_which_nothing_is_known():
    full = Signals(4, busy=1.0)
    assert asked(Hpa(), (0, full), *((now, Signals(4)) for now in range(15, 300, 15)), (300, full))[-1] == 5


def test_where_input_stops_altogether_what_is_there_is_given_back():
    """It took nothing and was not busy: that is measured, though no true rate is."""
    stopped = Signals(4, came=0.0, taken=0.0, busy=0.0, busiest=0.0)
    assert map_asked(Threshold(), (0, stopped)) == [3]
    assert map_asked(Pid(), (0, stopped)) == [2]
    assert map_asked(Hpa(), (0, stopped), (299, stopped), (301, stopped)) == [4, 4, 1]
    assert map_asked(Managed(), (0, stopped), (21_600, stopped)) == [4, 2]


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("told", [None, Signals(4), Signals(4, busy=0.0), Signals(4, taken=0.0)], ids=str)
def test_what_was_not_measured_is_never_made_smaller(name, told):
    """Every six minutes for ten hours, longer than any of them waits."""
    assert set(map_asked(policy(name), *((360 * look, told) for look in range(100)))) == {4}


# Spark's two rules


def test_the_rule_of_dstreams():
    assert [change(r) for r in (0.89, 0.9, 1.4, 1.5, 2.5, 0.31, 0.3)] == [0, 1, 1, 2, 3, 0, -1]


def test_dstreams_looks_once_a_minute_at_the_batches_of_that_minute():
    # On one executor 0.3 + 16 x 0.1 + 0.0002 x 40,000 = 9.9 s of 10: r = 0.99.
    memory, answers = DStreams().start(), []
    for now, evidence in PoolJob(4000.0, trigger=10.0).run(14, 1):
        memory, answer = DStreams().size(memory, evidence, KeepUp(), now)
        answers.append(answer.executors)
    assert answers == [1] * 6 + [2] * 8  # the 2 stay wanted; after another minute on one executor they are again


def test_dstreams_takes_half_the_freshness_for_an_interval_where_there_is_none():
    run = list(PoolJob(3000.0, trigger=None, fixed=1.0).run(60, 2))

    def last(objective):
        memory, answer = DStreams().start(), None
        for now, evidence in run:
            memory, answer = DStreams().size(memory, evidence, objective, now)
        return answer.executors

    assert last(KeepUp()) == 2
    assert last(Freshness(10.0)) > 2


def test_dynamic_allocation_doubles_each_second_up_to_what_the_tasks_would_fill():
    assert [ramped(1, s, 50) for s in (0.9, 1.0, 1.9, 2.0, 3.0, 4.0)] == [1, 2, 2, 4, 8, 16]
    assert ramped(1, 30.0, 16) == 16


def test_dynamic_allocation_grows_and_does_not_shrink_while_batches_keep_coming():
    # 16 tasks of 1 s on one executor are pending for 15 s: all the 16 executors they would fill.
    answers, memory = [], SparkDra().start()
    for now, evidence in PoolJob(0.0, fixed=1.0, trigger=20.0).run(6, (1, 16)):
        memory, answer = SparkDra().size(memory, evidence, KeepUp(), now)
        answers.append(answer.executors)
    assert answers == [16] * 6


def test_dynamic_allocation_removes_executors_without_a_task_for_a_minute():
    # Sixteen tasks, twenty executors: four never get any.
    answers, memory = [], SparkDra().start()
    for now, evidence in PoolJob(0.0, fixed=0.5, trigger=20.0).run(6, 20):
        memory, answer = SparkDra().size(memory, evidence, KeepUp(), now)
        answers.append(answer.executors)
    assert answers[0] == 20
    assert answers[4] == 16


def dynamically_allocated(run):
    memory, answers = SparkDra().start(), []
    for now, evidence in run:
        memory, answer = SparkDra().size(memory, evidence, KeepUp(), now)
        answers.append(answer.executors)
    return answers


def test_dynamic_allocation_remembers_idleness_longer_than_the_batches_it_is_shown():
    """Batches of a second: the forty that are shown are no minute. The one that ends at 60.3 s is number 60."""
    run = list(PoolJob(0.0, fixed=0.01, trigger=1.0).run(70, 20))
    assert len(run[-1][1].batches) == 40
    assert dynamically_allocated(run) == [20] * 60 + [16] * 10


def test_dynamic_allocation_lets_executors_go_in_a_gap_of_minutes_and_asks_for_them_again():
    # Sixteen tasks of half a second on sixteen executors: none waits, so from the one that is left it does not grow.
    assert dynamically_allocated(PoolJob(0.0, fixed=0.5, trigger=300.0).run(3, 16)) == [16, 1, 1]
    # On one executor they wait for 7.5 s, and after 4 s it wants 2, 4, 8, 16: all that they would fill.
    assert dynamically_allocated(PoolJob(0.0, fixed=0.5, trigger=300.0).run(3, (16, 1))) == [16, 16, 16]
    # A gap of less than a minute is none: 59.2 s from the end of a task to the next batch.
    assert dynamically_allocated(PoolJob(0.0, fixed=0.8, trigger=60.0).run(3, 16)) == [16] * 3


def test_dynamic_allocation_takes_no_executor_for_idle_in_batches_that_it_was_not_shown():
    run = list(PoolJob(0.0, fixed=0.5, trigger=50.0).run(6, 16))
    (_, first), (now, last) = run[0], run[-1]
    memory, _ = SparkDra().size(SparkDra().start(), first, KeepUp(), run[0][0])
    missed = Evidence(last.batches[-1:], last.executors, last.slots_each, last.trigger)
    assert SparkDra().size(memory, missed, KeepUp(), now)[1].executors == 16


# PID


def test_pid_answers_in_proportion_and_comes_to_rest():
    assert asked(Pid(), (0, Signals(4, busy=1.0))) == [6]  # ceil(4 / 0.7) = 6: e = 0.5
    assert asked(Pid(), (0, Signals(6, busy=4 / 6)), (60, Signals(6, busy=4 / 6))) == [6, 6]


def test_pid_adds_what_an_error_that_lasts_shows_to_be_lacking():
    # e = 1/4; after a minute the integral adds 0.25 x 60 / 600 = 0.025: 4 x 1.275 rounds to 5; after ten, to 6.
    moments = [(60 * k, Signals(4, busy=0.85)) for k in range(11)]
    answers = asked(Pid(), *moments)
    assert answers[:2] == [5, 5]
    assert answers[10] == 6  # 4 x (1.25 + 0.25)


def test_pid_never_more_than_doubles_nor_halves():
    assert asked(Pid(), (0, Signals(10, busy=0.01))) == [5]
    assert asked(Pid(target=0.1), (0, Signals(10, busy=1.0))) == [20]


# The two faces


def test_a_policy_that_looks_once_a_minute_holds_its_answer_in_between_and_on_another_size_looks_again():
    job, chosen = PoolJob(6000.0), ForPool(Pid())
    ((_, two),), ((_, three),) = job.run(1, 2), job.run(1, 3)
    ((_, idle),) = PoolJob(1.0).run(1, 2)
    memory, first = chosen.size(chosen.start(), two, KeepUp(), 0.0)
    idle_on_two = Evidence(idle.batches, two.executors, 1, 60.0)
    memory, between = chosen.size(memory, idle_on_two, KeepUp(), 59.0)
    assert between.executors == first.executors
    _, later = chosen.size(memory, idle_on_two, KeepUp(), 60.0)
    assert later.executors == 1
    assert chosen.size(memory, three, KeepUp(), 59.0)[0].measured == 3


def test_executors_that_are_still_coming_stay_wanted():
    """The batch after the answer still runs on what was there; the rule would leave it, and so what is coming comes."""
    job, chosen = PoolJob(15000.0), ForPool(Threshold())
    (_, first), (_, second) = job.run(2, 2)
    memory, answer = chosen.size(chosen.start(), first, KeepUp(), 0.0)
    assert answer.executors == 3
    calm = with_batch_of(second, PoolJob(6000.0))
    memory, answer = chosen.size(memory, calm, KeepUp(), 60.0)
    assert answer.executors == 3
    _, answer = chosen.size(memory, calm, KeepUp(), PATIENCE + 1)
    assert answer.executors == 2


def with_batch_of(evidence, job):
    ((_, other),) = job.run(1, 2)
    return Evidence(other.batches, evidence.executors, 1, 60.0)


def test_a_bare_policy_is_followed_within_bounds():
    run = PoolJob(15000.0).run(1, 2)
    ((now, evidence),) = run
    chosen = pool_policy("threshold")
    assert followed(chosen, chosen.start(), evidence, KeepUp(), now, least=1, most=8)[1] == 3
    assert followed(chosen, chosen.start(), evidence, KeepUp(), now, least=1, most=2)[1] == 2
    assert followed(chosen, chosen.start(), evidence, KeepUp(), now, least=5, most=8)[1] == 5


def test_only_headgates_own_policies_leave_the_timing_to_a_controller():
    assert [name for name, entry in POOL_POLICIES.items() if not entry.own_timing] == ["capacity", "ds2"]


def test_a_pool_without_batches_is_left_as_it_is():
    there = Evidence((), tuple(Executor(str(n), "host", 1) for n in range(3)), 1)
    for name in POOL_POLICIES:
        chosen = pool_policy(name)
        assert chosen.size(chosen.start(), there, KeepUp(), 0.0)[1].executors == 3, name


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_for_operators_is_found_by_the_name_its_decisions_carry(name):
    assert policy(name).name == name
