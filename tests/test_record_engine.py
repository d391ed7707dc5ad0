"""The record-at-a-time engine: nothing is lost, queues and back-pressure as by hand; and the paper's word count."""

import pytest

from headgate.model.dataflow import Edge
from headgate.model.errors import InputError
from headgate.policies.dhalion import Dhalion
from headgate.policies.ds2 import Ds2
from headgate.policies.registry import policy
from headgate.simulation.record_engine import RecordEngine
from headgate.simulation.record_job import RecordJob, RecordOperator, chain
from headgate.simulation.record_loop import record_loop

MINUTE = 60.0


def engine(*operators, rate=100.0, instances=None, seed=0, edges=None, **job):
    made = RecordJob(operators, chain(*operators) if edges is None else edges, **job)
    sources = {one.name for one in operators} - {edge.target for edge in made.edges}
    return RecordEngine(made, {id: lambda t: rate * t for id in sources}, instances or {}, seed=seed)


def test_where_there_is_room_everything_that_comes_is_taken_at_once():
    job = engine(RecordOperator("in"), RecordOperator("map", each=200.0))
    job.advance(60)
    seen = job.observe()
    signals = seen.signals[1]
    assert signals.taken == pytest.approx(100)
    assert signals.busy == pytest.approx(0.5)
    assert signals.waiting == 0
    assert signals.pressure == 0
    assert seen.true_processing[1] == pytest.approx(200)
    assert job.lag == 0


@pytest.mark.parametrize("holds", ["upstream", "sources"])
def test_no_record_is_lost_or_made_in_the_engine(holds):
    job = engine(
        RecordOperator("in"), RecordOperator("map", each=30.0, selectivity=3.0), RecordOperator("sink", each=80.0),
        instances={"map": 2, "sink": 2}, holds=holds, spread=0.05,
    )  # fmt: skip
    job.advance(120)
    seen = job.observe()
    job.rescale({"map": 3})
    job.advance(60)
    job.observe()
    taken = seen.signals[1].taken * 120
    assert job.total.came == 18000
    assert job.total.emitted + job.lag == pytest.approx(18000)
    assert seen.signals[1].came * 120 == pytest.approx(taken + seen.signals[1].waiting)
    assert seen.signals[2].came * 120 == pytest.approx(3 * taken)


def test_two_that_feed_one_share_its_room_by_what_they_have():
    # 100/s and 300/s come for an operator of 200/s: a quarter and three quarters of that get through.
    operators = (RecordOperator("few"), RecordOperator("many"), RecordOperator("join", each=200.0))
    job = RecordEngine(
        RecordJob(operators, (Edge("few", "join"), Edge("many", "join")), buffer=10.0),
        {"few": lambda t: 100 * t, "many": lambda t: 300 * t},
    )
    job.advance(60)
    job.observe()
    job.advance(60)
    seen = job.observe()
    assert seen.observed_output[[job.flow.index["few"], job.flow.index["many"]]].tolist() == pytest.approx(
        [50, 150], rel=0.01
    )


def test_an_operator_that_can_do_half_holds_back_half():
    job = engine(RecordOperator("in", each=100.0), RecordOperator("map", each=50.0), buffer=2.0)
    job.advance(60)
    job.observe()
    job.advance(60)
    signals = job.observe().signals
    assert signals[1].pressure == pytest.approx(500)
    assert signals[1].waiting == pytest.approx(50.0 * 2 - 25)  # a queue of 2 s, after half a second of work
    assert signals[0].growth == pytest.approx(50)
    assert signals[1].busy == pytest.approx(1)


def test_back_pressure_is_of_whoever_causes_it_not_of_those_in_between():
    job = engine(RecordOperator("in"), RecordOperator("map", each=500.0), RecordOperator("sink", each=50.0))
    job.advance(60)
    job.observe()
    job.advance(60)
    _, between, slow = job.observe().signals
    assert between.pressure == 0
    assert slow.pressure > 400


def test_sources_stop_while_a_queue_drains_to_its_half():
    """Filled at 50 a second and drained at 50 it is stopped half of the time: capacity over input."""
    job = engine(
        RecordOperator("in"), RecordOperator("map", each=50.0), holds="sources", keeps=False, buffer=20.0
    )  # fmt: skip
    job.advance(600)
    job.observe()
    job.advance(600)
    assert job.observe().signals[1].pressure == pytest.approx(500, abs=30)


def test_a_hot_instance_is_full_before_the_others():
    job = engine(RecordOperator("in"), RecordOperator("map", each=50.0, hot=0.5), instances={"map": 4})
    job.advance(60)
    job.observe()
    job.advance(60)
    signals = job.observe().signals[1]
    assert signals.busiest == pytest.approx(1)
    # The first gets 0.5 + 0.5 / 4 = 0.625 of all: it is full at 50 / 0.625 = 80 a second; the others have 10 each.
    assert signals.taken == pytest.approx(80)
    assert signals.uneven == pytest.approx(5)


def test_a_rescale_is_a_pause_in_which_the_input_waits():
    job = engine(RecordOperator("in"), RecordOperator("map", each=200.0), pause=10.0)
    job.advance(30)
    assert job.rescale({"map": 2})
    assert not job.rescale({"map": 2})
    job.advance(10)
    assert job.lag == 1000
    job.advance(30)
    assert job.lag == 0


def test_what_is_measured_after_a_pause_does_not_include_it():
    job = engine(RecordOperator("in", each=100.0), RecordOperator("map", each=100.0), pause=30.0)
    job.advance(60)
    job.rescale({"map": 2})
    job.advance(60)
    assert job.observe().signals[1].busy == pytest.approx(0.5)


def test_instances_that_get_in_each_others_way_follow_their_curve():
    crowd = RecordOperator("map", curve=((1, 100.0), (2, 180.0), (4, 300.0)))
    assert [crowd.capacity(n) for n in (1, 2, 3, 4, 6)] == [100, 180, 240, 300, 420]
    job = engine(RecordOperator("in"), crowd, rate=1000.0, instances={"map": 4})
    job.advance(60)
    assert job.observe().true_processing[1] == pytest.approx(300)


def test_edges_carry_their_share():
    operators = (RecordOperator("in"), RecordOperator("a", each=500.0), RecordOperator("b", each=500.0))
    job = engine(*operators, edges=(Edge("in", "a", 0.25), Edge("in", "b", 0.75)))
    job.advance(60)
    signals = {id: one.taken for id, one in zip(job.flow.ids, job.observe().signals, strict=True)}
    assert signals["a"] == pytest.approx(25)
    assert signals["b"] == pytest.approx(75)


def test_the_same_seed_gives_the_same_run():
    def trail(seed):
        job = engine(
            RecordOperator("in"), RecordOperator("map", each=7.0), instances={"map": 3}, spread=0.1, seed=seed
        )  # fmt: skip
        return record_loop(job, policy("hpa"), until=1200.0)

    assert trail(1) == trail(1)
    assert trail(1) != trail(2)


def test_an_operator_that_can_do_nothing_is_refused_in_one_line():
    with pytest.raises(InputError, match='"map" can process nothing; give it each or a curve'):
        engine(RecordOperator("in"), RecordOperator("map"))


# The word count of the DS2 paper: a million sentences a minute, twenty words each.
WORD_COUNT = (
    RecordOperator("source"),
    RecordOperator("split", each=100_000 / MINUTE, selectivity=20),
    RecordOperator("count", each=1_000_000 / MINUTE),
)


def word_count(seed=0, **job):
    heron = {"holds": "sources", "keeps": False, "pause": 30.0, "spread": 0.02}
    return engine(*WORD_COUNT, rate=1_000_000 / MINUTE, seed=seed, **{**heron, **job})


@pytest.mark.parametrize("heron", [{}, {"holds": "upstream", "keeps": True}])
def test_ds2_sizes_the_papers_word_count_in_one_step_to_10_and_20(heron):
    job = word_count(**heron)
    record_loop(job, Ds2(), until=1200.0)
    assert job.rescales == [(60.0, {"split": 10, "count": 20})]


def test_queueing_asks_for_one_more_of_each_because_full_queues_are_not_stable():
    job = word_count()
    record_loop(job, policy("queueing"), until=300.0)
    assert job.rescales == [(60.0, {"split": 11, "count": 21})]


def test_dhalion_takes_about_six_steps_as_published():
    """Six, of which two are a step down and its undoing; 22 and 30 instances in the paper, 10 and 20 to 25 here.

    Four where the counters happen to come out at 20: those are just busy, their queues are not empty, and no step down
    is tried.
    """
    steps = []
    for seed in range(5):
        job = word_count(seed)
        trail = record_loop(job, Dhalion(), until=1500.0)
        steps.append(len(job.rescales))
        assert trail[-1].instances["split"] == 10
        assert 20 <= trail[-1].instances["count"] <= 25
    assert sorted(steps) == [4, 6, 6, 6, 6]


def test_dhalion_as_heron_has_it_takes_four_steps_up():
    job = word_count(seed=3)
    record_loop(job, Dhalion(shrinks=False), until=1500.0)
    assert [list(counts.values()) for _, counts in job.rescales] == [[2, 1], [2, 5], [10, 5], [10, 21]]
