"""The policies with a model of their own: published vectors, and what can be worked out by hand."""

import json
import math
from fractions import Fraction

import msgspec
import numpy as np
import pytest

from headgate.model.dataflow import Dataflow
from headgate.model.estimate import Estimate
from headgate.model.objective import Freshness, KeepUp
from headgate.model.reasons import DemandIncomplete, KeptWithoutRates
from headgate.model.signals import Signals
from headgate.policies.conttune import ContTune, expected, smallest
from headgate.policies.daedalus import Daedalus, forecast, scale_out
from headgate.policies.flink import Flink, scaled, thresholds, true_rate
from headgate.policies.latency_rule import LatencyRule, adds_node, downtime, instances
from headgate.policies.mpc import Mpc, kingman
from headgate.policies.queueing import Queueing, Station, allocated, erlang_c, sojourn
from headgate.testing.dataflows import jobs


@pytest.fixture
def vectors(reference):
    return json.loads((reference / "ds2/upstream_test_vectors.json").read_text())["flink_autoscaler"]


# Flink's autoscaler


def test_flink_scales_as_its_own_tests_say(vectors):
    for case in vectors["scale_target"]:
        limits = {
            ours: case[theirs]
            for ours, theirs in (("most_down", "max_scale_down"), ("most_up", "max_scale_up"))
            if theirs in case
        }
        # Asked once, without averages, thresholds and waits: what is left is the size.
        policy = Flink(
            target=case["util"], boundary=0.0, restart=0.0, window=0.0, stabilisation=0.0, down_after=0.0,
            partitions=720, **limits,
        )  # fmt: skip
        seen = flink_sees(case["p"], taken=float(case["target"]), true=float(case["tpr"]))
        _, decision = policy.decide(policy.start(), seen, KeepUp(), 0.0)
        assert decision.parallelism["map"] == case["new"], case
        if "outside" in case:
            low, high = case["util"] - 0.3, case["util"] + 0.3
            least, most = thresholds(case["target"], 0, low, high, restart=0, within=0)
            assert (not least <= case["tpr"] <= most * (1 + 1e-9)) == case["outside"], case


def test_flink_aligns_to_partitions_as_its_own_tests_say(vectors):
    def factor(value):
        return math.inf if value == "INT_MAX" else value

    for n, most, by, expected_count in vectors["scale_no_alignment"]:
        assert scaled(n, factor(by), most=most) == expected_count
    for n, most, by, expected_count in vectors["scale_legacy_evenly_spread"]:
        assert scaled(n, factor(by), most=most, partitions=most) == expected_count


def test_flink_thresholds_are_those_of_its_own_tests(vectors):
    given = vectors["thresholds"]
    for case in given["cases"]:
        least, most = thresholds(
            case["target"], case["catch"], given["util_min"], given["util_max"],
            restart=given["restart_s"], within=case["catchup_s"], behind=case.get("backlog", False),
        )  # fmt: skip
        assert round(least) == case["up"]
        assert (math.inf if case["down"] == "inf" else case["down"]) == (most if most == math.inf else round(most))


def test_flink_true_rate_as_observed_is_that_of_its_own_tests(vectors):
    given = vectors["observed_tpr"]
    by_busy = given["input_rate"] / (given["busy_ms"] / 1000)
    for case in given["cases"]:
        found = true_rate(by_busy, given["samples"], switch=case["switch"], least=case.get("min_obs", 2))
        assert found == pytest.approx(case["tpr"])


def flink_sees(instances, *, lag=0.0, growth=0.0, taken=100.0, true=400.0, out=2.0, sink=1e4):
    flow = Dataflow.of({"in": 1, "map": instances, "sink": 1}, [("in", "map"), ("map", "sink")])
    seen = Estimate.of_rates(flow, {"in": (0, taken, 0, taken), "map": (true, out * true), "sink": (sink, 0)})
    told = (
        Signals(1, taken=taken, waiting=lag, growth=growth),
        Signals(instances, taken=taken, busy=taken / true, busiest=taken / true),
        Signals(1, taken=out * taken, busy=out * taken / sink, busiest=out * taken / sink),
    )
    return msgspec.structs.replace(seen, signals=told)


def run_flink(policy, times, **given):
    memory, answers = policy.start(), []
    for now in times:
        memory, decision = policy.decide(memory, flink_sees(**given), KeepUp(), float(now))
        answers.append(decision.parallelism["map"])
    return answers


@pytest.mark.parametrize(
    ("catch_up", "told", "sizes"),
    [
        # 500 + 150 / 0.7 = 714.3 and, twice of each, 1,000 + 300 / 0.7 = 1,428.6, over true rates of 100.
        (2.0, "catch_up_2s", {"map": 8, "sink": 15}),
        # 1,000 + 214.3 = 1,214.3 and 2,000 + 428.6 = 2,428.6.
        (1.0, "catch_up_1s", {"map": 13, "sink": 25}),
        # Of what waits nothing is to be worked off: 214.3 and 428.6.
        (0.0, None, {"map": 3, "sink": 5}),
    ],
)
def test_flink_provisions_for_the_growth_of_the_lag_and_its_catch_up(vectors, catch_up, told, sizes):
    """Its own case: lag 950 and then 1,000 a second later, 100 taken and 200 passed on."""
    given = vectors["lag"]
    policy = Flink(window=0.0, stabilisation=0.0, catch_up=catch_up, restart=0.0, boundary=0.0)
    seen = flink_sees(
        1, lag=given["lag"][1], growth=given["lag"][1] - given["lag"][0], taken=given["in_"][1], true=100.0, sink=100.0
    )
    _, decision = policy.decide(policy.start(), seen, KeepUp(), 0.0)
    assert decision.parallelism == sizes
    # The same from the figures that its own test gives for the source and for the sink.
    caught_up = given[told] if told else [0, 0]
    by_its_figures = zip(caught_up, (given["source_target"], given["sink_target"]), strict=True)
    assert [math.ceil((behind + target / 0.7) / 100) for behind, target in by_its_figures] == list(sizes.values())


def test_flink_does_nothing_until_its_averages_are_full_and_then_gives_1_6_times_the_target():
    answers = run_flink(Flink(), range(0, 1500, 60), instances=4, taken=400.0, true=400.0, growth=20.0)
    assert answers[: 1200 // 60] == [4] * 20
    assert answers[1200 // 60] == 7  # 4 x 1.595 x 420 / 400 = 6.7


def test_flink_leaves_what_is_just_busy_all_the_time():
    """Seven tenths and three more are all there is: the default bound above is full use."""
    assert set(run_flink(Flink(), range(0, 5400, 60), instances=4, taken=400.0, true=400.0)) == {4}


def test_flink_shrinks_after_an_hour_by_no_more_than_six_tenths():
    answers = run_flink(Flink(), range(0, 5400, 60), instances=10, taken=10.0, true=400.0)
    first = next(at for at, count in enumerate(answers) if count < 10)
    assert 60 * first == 1200 + 3600
    assert answers[first] == 4


def test_flink_does_not_shrink_while_it_is_minutes_behind():
    policy = Flink(lagging=math.inf)  # by busy time alone it has forty times what it needs
    assert set(run_flink(policy, range(0, 5400, 60), instances=10, taken=10.0, true=400.0, lag=3100.0)) == {10}


def test_flink_believes_what_it_took_while_there_was_a_lag_rather_than_busy_time():
    answers = run_flink(Flink(), range(0, 1260, 60), instances=10, taken=10.0, true=400.0, lag=3100.0)
    assert answers[-1] == 18  # (3,100 / 1,800 + 10 x 1.595) / 10 = 1.77


def fan_out(job_load=1.0, *, unmeasured=()):
    """The fan-out of the test kit, without the measurements of some."""
    job = next(job for job in jobs() if job.name == "fan-out")
    seen = job.seen(load=job_load)
    known = seen.known.copy()
    told = list(seen.signals)
    for id in unmeasured:
        at = seen.dataflow.position(id)
        known[at] = False
        told[at] = Signals(told[at].instances)
    return msgspec.structs.replace(seen, known=known, signals=tuple(told))


def flink_answers(shown):
    """Decisions of every minute, shown what `shown` gives for it."""
    memory, decisions = Flink().start(), []
    for minute, seen in enumerate(shown):
        memory, decision = Flink().decide(memory, seen, KeepUp(), 60.0 * minute)
        decisions.append(decision)
    return decisions


def test_flink_sizes_what_it_knows_where_one_branch_gets_no_records():
    """At twice the load 1,980 come: parse (1,050) and its other branches are too few for that, alert is not known."""
    answered = flink_answers([fan_out(2.0, unmeasured=["alert"])] * 25)[-1]
    # 1.595 x 1,980 = 3,158.6 over 210, 350 and 120 each.
    assert answered.parallelism == {"parse": 16, "store": 10, "alert": 12, "index": 27}
    assert KeptWithoutRates("alert", 12) in answered.reasons


def test_flink_does_not_shrink_what_is_fed_by_what_it_does_not_know():
    nearly_idle = fan_out(0.01, unmeasured=["parse"])
    answered = flink_answers([nearly_idle] * 120)[-1]
    assert answered.parallelism == {"parse": 5, "store": 1, "alert": 12, "index": 3}
    assert DemandIncomplete("alert", ("parse",)) in answered.reasons


def test_flink_does_not_shrink_on_averages_of_an_hour_ago():
    """Nearly idle for twenty-five minutes, which would shrink it an hour later; then nothing is measured."""
    all_of_it = ["events", "parse", "store", "alert", "index"]
    shown = [fan_out(0.01)] * 25 + [fan_out(0.01, unmeasured=all_of_it)] * 95
    answered = flink_answers(shown)
    assert {tuple(one.parallelism.items()) for one in answered} == {tuple(answered[0].parallelism.items())}
    assert "nothing was measured in the last 900 s" in str(answered[-1].reasons[-1])
    # Measured again it waits its hour again.
    answered = flink_answers([*shown, *[fan_out(0.01)] * 70])
    shrank = next(minute for minute, one in enumerate(answered) if one.parallelism["alert"] < 12)
    assert shrank == 120 + 60


def test_flink_does_not_shrink_what_one_source_feeds_while_another_is_minutes_behind():
    """People and their filter, which is nearly idle, stand before bids in the order of the flow, or after them."""
    job = next(job for job in jobs() if job.name == "two sources")
    for made in (job, job.declared_backwards()):
        calm = made.seen()
        quick = calm.dataflow.position("filter")
        at = calm.dataflow.position("bids")
        rates = calm.true_processing.copy()
        rates[quick] = 10 * calm.signals[quick].taken
        idle = msgspec.structs.replace(calm.signals[quick], busy=0.1, busiest=0.1)
        behind = msgspec.structs.replace(calm.signals[at], waiting=700.0 * calm.signals[at].taken)

        def shown(bids, *, calm=calm, rates=rates, idle=idle, quick=quick, at=at):
            told = list(calm.signals)
            told[quick], told[at] = idle, bids
            return msgspec.structs.replace(calm, true_processing=rates, signals=tuple(told))

        assert flink_answers([shown(behind)] * 90)[-1].parallelism["filter"] == 4
        assert flink_answers([shown(calm.signals[at])] * 90)[-1].parallelism["filter"] < 4


# Queueing


def exact_erlang_c(servers, offered):
    """The textbook's sums, in whole fractions."""
    a = Fraction(offered)
    waiting = a**servers / math.factorial(servers) * Fraction(servers) / (servers - a)
    return float(waiting / (sum(a**j / math.factorial(j) for j in range(servers)) + waiting))


@pytest.mark.parametrize(("servers", "offered"), [(1, "1/2"), (3, "5/2"), (13, 12), (20, 19), (40, "79/2"), (200, 150)])
def test_erlang_c_agrees_with_exact_fractions_beyond_where_the_original_breaks(servers, offered):
    assert erlang_c(servers, float(Fraction(offered))) == pytest.approx(exact_erlang_c(servers, offered), rel=1e-9)


def test_erlang_c_of_thousands_of_servers_is_a_number():
    assert 0 < erlang_c(10_000, 9_950.0) < 1


def test_a_single_queue_waits_as_the_textbook_says():
    # M/M/1: T = 1 / (mu - l)
    assert sojourn(Station(3.0, 4.0), 1, erlang_c(1, 0.75)) == pytest.approx(1.0)


def test_each_further_server_goes_where_it_shortens_the_whole_most():
    stations = [Station(10.0, 4.0), Station(20.0, 7.0, 2.0)]

    def whole(servers):
        return sum(
            one.visits * sojourn(one, k, exact_erlang_c(k, Fraction(one.arrivals) / Fraction(one.service)))
            for one, k in zip(stations, servers, strict=True)
        )

    assert allocated(stations, None) == [3, 3]
    target = 0.65
    found = allocated(stations, target)
    assert whole(found) <= target
    # By trying them all: no fewer servers in all do it.
    every = [(k, m) for k in range(3, 12) for m in range(3, 12) if whole((k, m)) <= target]
    assert sum(found) == min(map(sum, every))
    assert sum(allocated(stations, 0.0001, budget=9)) == 6  # out of reach: service alone takes longer
    assert sum(allocated(stations, 0.54, budget=7)) == 7


def test_queueing_takes_a_freshness_for_its_target():
    flow = Dataflow.of({"in": 1, "map": 1}, [("in", "map")])
    seen = Estimate.of_rates(flow, {"in": (0, 10), "map": (4, 0)})
    answer = Queueing().decide(Queueing().start(), seen, Freshness(0.31), 0.0)[1]
    assert answer.parallelism == {"map": 4}  # 0.303 s; three would take 0.60
    assert Queueing().decide(Queueing().start(), seen, KeepUp(), 0.0)[1].parallelism == {"map": 3}
    refused = Queueing().decide(Queueing().start(), seen, Freshness(0.2), 0.0)[1]
    assert "out of reach" in str(refused.reasons[-1])


# The latency rule


def test_the_latency_rule_gives_what_the_thesis_reports():
    assert instances(386950.418, 178376.65, 12) == 27
    assert instances(373572.12, 176560.373, 12) == 26
    assert instances(378713.917, 177471.566, 12) == 26
    assert instances(1.0, 1.0, 12, windowed=True) == 14
    assert instances(1e9, 1.0, 12) == 128
    assert instances(1500.0, 1000.0, 140) == 140  # 210 are lacking: the cap is for what is added
    assert instances(1.0, 1.0, 127, windowed=True) == 128
    assert instances(1.0, 1.0, 140, windowed=True) == 140
    assert instances(500.0, 1000.0, 12) == 12
    assert downtime(1_193_084_155) == pytest.approx(19.1, abs=0.05)
    assert downtime(3_491_781_642) == pytest.approx(55.9, abs=0.05)
    assert adds_node(0.525, 0.654, 1_193_084_155)
    assert not adds_node(0.399, 0.471, 3_491_781_642)
    assert adds_node(0.7, 0.0, 1e12)
    assert not adds_node(0.6, 0.8, 1e12)


def test_the_latency_rule_acts_at_three_clears_and_pauses_for_six_intervals():
    flow = Dataflow.of({"in": 1, "map": 4}, [("in", "map")])
    memory, answers, n = LatencyRule().start(), [], 4
    for minute in range(14):
        plain = Estimate.of_rates(flow.resized({"map": n}), {"in": (0, 200), "map": (100, 0)})
        told = (Signals(1), Signals(n, came=200.0, taken=100.0, latency=100.0 + minute))
        seen = msgspec.structs.replace(plain, signals=told)
        memory, decision = LatencyRule().decide(memory, seen, Freshness(10.0), 60.0 * minute)
        n = decision.parallelism["map"]
        answers.append(n)
    # At first there is nothing to rise from; it rises in minutes 1, 2 and 3. After the pause, to minute 9, there is
    # nothing to rise from again; then 10, 11 and 12. What comes is twice what is taken, and stays so.
    assert answers == [4, 4, 4, 8, 8, 8, 8, 8, 8, 8, 8, 8, 16, 16]


@pytest.mark.parametrize(("came", "answer"), [(200.0, 6), (0.0, 4)])
def test_the_latency_rule_gives_two_to_an_operator_that_took_nothing_of_what_came(came, answer):
    """Of four operators it acts on three, and three others have latencies; one for which nothing came is left alone."""
    others = dict.fromkeys(("a", "b", "c"), Signals(1, taken=came, latency=1.0))
    flow = Dataflow.of({"in": 1, **dict.fromkeys(others, 1), "stuck": 4}, [("in", id) for id in (*others, "stuck")])
    plain = Estimate.of_rates(flow, {"in": (0, came), **dict.fromkeys(others, (1e6, 0))})
    stuck = Signals(4, came=came, taken=0.0, busy=0.0)
    memory = LatencyRule().start()
    for minute in range(4):
        told = {"in": Signals(1, latency=100.0 + minute), **others, "stuck": stuck}
        seen = msgspec.structs.replace(plain, signals=tuple(told[id] for id in flow.ids))
        assert not seen.known[flow.position("stuck")]
        memory, decision = LatencyRule().decide(memory, seen, Freshness(10.0), 60.0 * minute)
    assert decision.parallelism == {"a": 1, "b": 1, "c": 1, "stuck": answer}


def test_a_latency_that_falls_is_none_of_its_business():
    flow = Dataflow.of({"in": 1, "map": 4}, [("in", "map")])
    plain = Estimate.of_rates(flow, {"in": (0, 200), "map": (100, 0)})
    memory = LatencyRule().start()
    for minute in range(20):
        told = (Signals(1), Signals(4, came=200.0, taken=100.0, latency=100.0 - minute))
        seen = msgspec.structs.replace(plain, signals=told)
        memory, decision = LatencyRule().decide(memory, seen, Freshness(10.0), 60.0 * minute)
        assert decision.parallelism["map"] == 4


# Daedalus


def test_daedalus_takes_the_least_that_keeps_up_and_recovers():
    assert scale_out(100.0, 350.0, 0.0, 600.0) == 4
    assert scale_out(100.0, 400.0, 0.0, 600.0) == 5  # capacity must be above the rate
    assert scale_out(100.0, 350.0, 30_000.0, 600.0) == 4  # 30,000 / 50 = 600 s
    assert scale_out(100.0, 350.0, 30_001.0, 600.0) == 5


def test_daedalus_forecasts_the_straight_line_and_never_less_than_now():
    rising = tuple((60.0 * k, 10.0 + 6 * k) for k in range(5))
    assert forecast(rising, 600.0) == pytest.approx(34 + 60)
    assert forecast(tuple((at, 50.0 - rate) for at, rate in rising), 600.0) == pytest.approx(16)
    assert forecast(rising[:4], 600.0) == 28.0  # too few to tell a trend


def test_daedalus_expects_no_less_than_what_comes_now_right_after_a_step():
    """Fourteen minutes of 100 and one of 1,000. The line: mean 160, slope 900 x 7 / 280 = 22.5 a minute."""
    step = tuple((60.0 * k, 1000.0 if k == 14 else 100.0) for k in range(15))
    # In the middle of them, minute 7, it is at 160: 317.5 in minute 14 and 655 a quarter of an hour later.
    assert forecast(step, 900.0) == 1000.0
    # An hour and a half ahead it is above the step: 317.5 + 22.5 x 90.
    assert forecast(step, 5400.0) == pytest.approx(2342.5)


def test_daedalus_sizes_by_the_busiest_worker_and_rests_after_a_rescale():
    rule = Daedalus()
    memory = rule.fresh()
    even = Signals(4, taken=100.0, came=100.0, busy=0.4, busiest=0.4, waiting=0.0)
    skewed = Signals(4, taken=100.0, came=100.0, busy=0.4, busiest=0.8, waiting=0.0)
    assert rule.answer(memory, even, None, 0.0)[1] == 2  # 25 / 0.4 = 62.5 each: two do 125
    assert rule.answer(memory, skewed, None, 0.0)[1] == 4  # 25 / 0.8 = 31.25 each: three do 93.75
    heavy = Signals(2, taken=180.0, came=180.0, busy=0.9, busiest=0.9, waiting=60_000.0)
    memory, n = rule.answer(memory, heavy, None, 0.0)
    assert n == 3  # 100 each; (180 + 60,000 / 600) / 100 = 2.8
    grown = Signals(3, taken=180.0, came=180.0, busy=0.6, busiest=0.6, waiting=120_000.0)
    memory, n = rule.answer(memory, grown, None, 60.0)
    assert n == 3
    memory, n = rule.answer(memory, grown, None, 239.0)
    assert n == 3
    assert rule.answer(memory, grown, None, 300.0)[1] == 4  # (180 + 200) / 100


# Model-predictive control


def test_kingman_waits_as_m_m_1_does():
    # At 0.95 of the rate the formula is M/M/1's: rho / (1 - rho) T.
    assert kingman(0.95 * 8.0, 0.1, 1) == pytest.approx(0.8 / 0.2 * 0.1)
    assert kingman(10.0, 0.1, 1) == math.inf


def test_mpc_finds_the_cheapest_three_steps():
    """Against all triples, one by one."""
    rule, n, rate, longest = Mpc(), 4, 350.0, 0.1
    seen = Signals(n, came=rate, taken=rate, busy=rate / (100.0 * n))
    found = rule.answer(rule.fresh(), seen, Freshness(longest), 0.0)[1]

    def price(m, before):
        rho = rate / 100 / m / 0.95
        late = math.exp(min((0.01 + kingman(rate, 0.01, m)) / longest, 50)) if rho < 1 else math.inf
        return 3 * late + 0.5 * m + 0.4 * (m - before) ** 2

    span = range(2, 11)
    best = min((price(a, n) + price(b, a) + price(c, b), a) for a in span for b in span for c in span)
    assert found == best[1]


@pytest.mark.parametrize(("n", "need"), [(100, 700.0), (1, 700.0), (100, 150.0), (8, 20.0)])
def test_mpc_grows_to_what_keeps_up_however_large_the_overload_is(n, need):
    """One record a second each, 0.95 of it usable: n instances would be short of need / 0.95, and are in all steps."""
    seen = Signals(n, came=need, taken=float(n), busy=1.0)
    found = Mpc().answer(Mpc().fresh(), seen, KeepUp(), 0.0)[1]
    enough = math.ceil(need / 0.95)
    assert enough <= found <= enough + 2


def test_mpc_does_not_shrink_where_no_number_is_enough():
    seen = Signals(100, came=1e300, taken=100.0, busy=1.0)
    assert Mpc().answer(Mpc().fresh(), seen, KeepUp(), 0.0)[1] > 100


def test_mpc_corrects_its_waits_by_those_that_were_measured():
    rule = Mpc()
    seen = Signals(4, came=350.0, taken=350.0, busy=350.0 / 400)
    late = Signals(4, came=350.0, taken=350.0, busy=350.0 / 400, latency=5.0)
    calm = rule.answer(rule.fresh(), seen, Freshness(1.0), 0.0)[1]
    assert rule.answer(rule.fresh(), late, Freshness(1.0), 0.0)[1] > calm


# ContTune


def test_the_process_goes_through_what_was_seen_and_back_to_its_line_far_away():
    seen = [(2, 210.0), (4, 380.0), (8, 640.0)]
    assert expected(seen, np.array([2.0, 4.0, 8.0])) == pytest.approx([210.0, 380.0, 640.0], rel=1e-3)
    each = (105 + 95 + 80) / 3
    assert expected(seen, np.array([60.0])) == pytest.approx([60 * each], rel=1e-3)


def test_conttune_takes_ds2s_answer_where_nothing_near_was_seen():
    assert smallest([(2, 200.0)], 2000.0, linear=20) == 20
    assert smallest([(20, 1500.0)], 300.0, linear=4) == 4


def conttune_answers(policy, memory, n, rate, pressure, now):
    """What it answers for an operator of n instances that do so much, 300 a second wanted."""
    flow = Dataflow.of({"in": 1, "map": n}, [("in", "map")])
    seen = Estimate.of_rates(flow, {"in": (0, 300.0), "map": (rate, 0)})
    seen = msgspec.structs.replace(seen, signals=(Signals(1), Signals(n, pressure=pressure)))
    memory, decision = policy.decide(memory, seen, KeepUp(), now)
    return memory, decision.parallelism["map"]


def test_conttune_doubles_while_there_is_back_pressure_whatever_the_rate_says():
    policy = ContTune()
    memory, first = conttune_answers(policy, policy.start(), 3, 330.0, 100.0, 0.0)
    memory, second = conttune_answers(policy, memory, 6, 600.0, 100.0, 60.0)
    # Without it: the least that is expected to do 300, of 110 and of 100 each.
    memory, third = conttune_answers(policy, memory, 12, 1100.0, 0.0, 120.0)
    assert (first, second, third) == (6, 12, 3)
    # What is within the noise is none.
    assert conttune_answers(policy, policy.start(), 3, 330.0, 19.0, 0.0)[1] == 3


def test_conttune_goes_by_rates_once_a_size_was_enough_without_back_pressure():
    """What has piled up makes back-pressure until it is gone; the size that it went to may well be enough."""
    policy = ContTune()
    memory, _ = conttune_answers(policy, policy.start(), 5, 500.0, 0.0, 0.0)
    memory, _ = conttune_answers(policy, memory, 2, 210.0, 100.0, 60.0)
    assert conttune_answers(policy, memory, 3, 320.0, 100.0, 120.0)[1] == 3


def test_conttune_doubles_until_something_was_enough_and_then_takes_the_least():
    flow = Dataflow.of({"in": 1, "map": 1}, [("in", "map")])
    curve = {1: 100.0, 2: 190.0, 3: 270.0, 4: 340.0, 5: 400.0, 8: 540.0}
    policy, n, trail = ContTune(), 1, []
    memory = policy.start()
    for minute in range(8):
        seen = Estimate.of_rates(flow.resized({"map": n}), {"in": (0, 300.0), "map": (curve[n], 0)})
        memory, decision = policy.decide(memory, seen, KeepUp(), 60.0 * minute)
        n = decision.parallelism["map"]
        trail.append(n)
    assert trail[:2] == [2, 4]
    assert trail[-1] == trail[-2] == 4
    assert 8 not in trail
