"""A virtual job as a real query: numbers, keys and refusals, without Spark; and what is reckoned of a run."""

import os
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from batches import Op, batch
from headgate.lab.cell import cells
from headgate.lab.outcome import NOTHING, Taken, outcome
from headgate.lab.real_job import Out as Passes
from headgate.lab.real_job import Route, going_on, waiting
from headgate.lab.real_run import Watched, ran_of
from headgate.lab.scenario import read_scenario
from headgate.lab.sweep import Finished, sweep
from headgate.model.errors import InputError
from headgate.model.microbatch import SourceRead
from headgate.simulation.virtual_job import VirtualOperator
from headgate.workloads.load import Constant, Square, load_from_text
from lab_scenario import SCENARIO

REAL = f'engine = "spark"\n{SCENARIO}'


@given(
    st.sampled_from([0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 3.7]),
    st.lists(st.integers(0, 200), min_size=1, max_size=6),
    st.integers(0, 100_000),
)
def test_records_that_go_on_are_as_many_as_the_selectivity_says_however_they_are_cut(selectivity, cuts, begin):
    edges = np.concatenate(([begin], begin + np.cumsum(cuts)))
    pieces = [going_on(np.arange(one, other), selectivity) for one, other in pairwise(edges)]
    whole = np.concatenate(pieces)
    first, last = int(np.floor(begin * selectivity)), int(np.floor(edges[-1] * selectivity))
    assert whole.tolist() == list(range(first, last))


def test_any_stretch_of_numbers_falls_into_partitions_by_their_shares():
    keys = np.array([[10, 11], [20, 21], [30, 31]])
    route = Route(np.cumsum([0.5, 0.25, 0.25]), keys, np.sqrt(2))
    for begin in (0, 17, 123_456):
        found = route.key(np.arange(begin, begin + 400))
        counts = [int(np.isin(found, some).sum()) for some in keys]
        assert sum(counts) == 400
        assert abs(counts[0] - 200) <= 4
        assert abs(counts[1] - 100) <= 4
        assert set(found.tolist()) == {10, 11, 20, 21, 30, 31}


def test_an_operator_waits_for_its_fixed_time_and_for_each_record_and_passes_numbers_on(monkeypatch):
    slept = []
    monkeypatch.setattr("headgate.lab.real_job.time.sleep", slept.append)
    run = waiting(VirtualOperator("split it", 2, 0.25, 0.0, selectivity=2.0), Passes(2.0, None))
    assert run.__name__ == "split_it"
    numbers = pa.array([3, 4], pa.int64())
    (out,) = run(iter([pa.RecordBatch.from_arrays([numbers, numbers], names=["number", "key"])]))
    assert out.column(0).to_pylist() == [6, 7, 8, 9]
    assert slept[0] == 0.25


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        (
            "noise = 0.1",
            "drift = 0.1",
            "job words: drift cannot be acted out on a real cluster; leave that out, or run",
        ),
        ("noise = 0.1", "stragglers = 0.1", "job words: stragglers cannot be acted out"),
        ("noise = 0.1", "cores = 2", "job words: cores cannot be acted out"),
        ("fixed = 0.05", "fixed = 0.05\ncontention = [[1, 1.0]]", "operator split: contention cannot be acted out"),
        ("fixed = 0.05", "fixed = 0.05\ndistinct = 9", "operator split: distinct cannot be acted out"),
        ("fixed = 0.05", "fixed = 0.05\nhot = 0.5", "operator split: it reads the stream, which comes in even parts"),
        ("fixed = 0.05", "fixed = 0.05\nstateful = true", "operator split: it reads the stream and keeps state"),
        (
            "[[jobs.operators]]",
            '[[jobs.operators]]\nname = "table"\npartitions = 1\nfixed = 0.1\nper-record = 0\nweight = 0\n\n'
            "[[jobs.operators]]",
            "operators table and count feed nothing",
        ),
        ('from = ["split"]\n', "", "operators split and count feed nothing, and a query ends in one sink"),
        ("most = 6", 'most = 6\nlosing = "1h"', "[executors] losing: executors are lost with engine = "),
        ("most = 6", "most = 65", "65 slots in all are more than a cluster on this machine is given"),
    ],
)
def test_what_spark_cannot_be_made_to_do_is_refused_in_one_line_that_names_it(tmp_path, written, instead, said):
    file = tmp_path / "scenario.toml"
    assert REAL.count(written) >= 1
    file.write_text(REAL.replace(written, instead, 1))
    with pytest.raises(InputError) as told:
        read_scenario(file)
    assert said in str(told.value)
    assert str(told.value).startswith(str(file))
    assert "\n" not in str(told.value)


def test_an_operator_that_feeds_two_others_is_refused(tmp_path):
    file = tmp_path / "scenario.toml"
    third = (
        '\n[[jobs.operators]]\nname = "write"\npartitions = 1\nfixed = 0.1\nper-record = 0.0\nfrom = ["count", "split"]'
    )
    file.write_text(f"{REAL}{third}\n")
    with pytest.raises(InputError, match="operator split feeds 2 others"):
        read_scenario(file)


def test_an_operator_that_reads_a_table_is_refused(tmp_path):
    file = tmp_path / "scenario.toml"
    table = '[[jobs.operators]]\nname = "table"\npartitions = 1\nfixed = 0.1\nper-record = 0\nweight = 0\n\n'
    first = "[[jobs.operators]]"
    text = REAL.replace(first, f"{table}{first}", 1).replace('["split"]', '["split", "table"]')
    file.write_text(text)
    with pytest.raises(InputError, match="operator table: weight is 0: it reads nothing that could be run"):
        read_scenario(file)


def test_two_operators_with_state_are_refused(tmp_path):
    file = tmp_path / "scenario.toml"
    third = '\n[[jobs.operators]]\nname = "sum"\npartitions = 1\nfixed = 0.1\nper-record = 0.0\nfrom = ["count"]'
    file.write_text(f"{REAL}{third}\nstateful = true\n")
    with pytest.raises(InputError, match="operators count and sum keep state"):
        read_scenario(file)


def test_a_trace_is_found_by_a_source_in_another_folder(tmp_path, monkeypatch):
    (tmp_path / "day.csv").write_text("0,10\n60,30\n")
    file = tmp_path / "scenario.toml"
    file.write_text(REAL.replace("step(20 -> 60 @ 5m)", "2 * trace(day.csv) + constant(1)"))
    (load,) = read_scenario(file).loads
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert load_from_text(str(load.load)).rate(30.0) == 2 * 20.0 + 1.0
    assert not os.listdir(elsewhere)


def test_one_run_after_the_other_has_the_machine_to_itself(tmp_path, headgate):
    file = tmp_path / "scenario.toml"
    file.write_text(REAL)
    for option, value in (("--spark", "local[2]"), ("--workers", "2")):
        ran = headgate("lab", file, "-o", tmp_path / "out", option, value)
        assert ran.code == 2
        assert f'{option} spreads simulated runs; with engine = "spark"' in ran.err


def _batch(began, duration, *, rows, upto, executors=1):
    """Of a load that began at 1,000 s; `upto` is the record it ends before."""
    made = batch({"read": Op([rows])}, slots=(1,) * executors, began=round(began * 1000), rows=rows)
    read = SourceRead("sentences", "", f'{{"number": {upto}, "began": 1000.0}}', "", rows, 0.0)
    return replace(made, duration=round(duration * 1000), sources=(read,))


def test_a_run_is_reckoned_in_seconds_since_its_load_began():
    seen = Watched(
        [_batch(1005, 2, rows=50, upto=50), _batch(1010, 8, rows=40, upto=90, executors=2)],
        asked=[(1008.0, 2), (1012.0, 2), (1015.0, 1)],  # the same once more is no change
        there=[(1000.5, 1), (1009.0, 2), (1016.0, 1)],
    )
    ran = ran_of(seen, [Constant(10.0)], 20.0, start=1, slots=3)
    # Ten of the hundred that had come at 10 s were left by a limit; of what came up to 20 s 110 wait in the end.
    # Before a tenth of a second nothing had come.
    quiet, *taken = ran.taken
    assert quiet == Taken(0.1, 0.1, 0, 0, 1)
    assert taken == [Taken(5, 7, 50, 50, 1), Taken(10, 18, 100, 40, 2), Taken(20, 20, 200, 110, 2)]
    assert ran.batches == 2
    assert ran.changes == [8.0, 15.0]
    # One executor until 8 s, two (one of them asked for, then there) until 16 s, one until 20 s; of three slots each.
    assert ran.slot_seconds == 3 * (8 * 1 + 8 * 2 + 4 * 1)


def test_where_nothing_comes_for_a_while_results_do_not_grow_old():
    # Ten seconds of 10 a second, then ten of nothing, and so on.
    seen = Watched([_batch(1010, 1, rows=100, upto=100), _batch(1025, 1, rows=50, upto=150)], asked=[], there=[])
    ran = ran_of(seen, [Square(10.0, 0.0, period=20.0)], 25.5, start=1, slots=1)
    assert [(one.began, one.records) for one in ran.taken] == [
        (0.1, 0),
        (10.0, 100),
        (pytest.approx(20.1, abs=0.01), 0),  # the next record is due a tenth of a second after the pause
        (25.0, 50),
        (25.5, 5),
    ]


def test_the_first_batch_begins_before_its_source_is_asked_and_what_walks_has_no_time_before_it_began():
    walk = load_from_text("walk(10 by 5% every 1s seed 7)")
    seen = Watched([_batch(999.9, 3, rows=0, upto=0), _batch(1005, 1, rows=40, upto=40)], asked=[], there=[])
    first, *_, second, _ = ran_of(seen, [walk], 8.0, start=1, slots=1).taken
    assert (first.began, first.ended, first.records) == (0.0, pytest.approx(2.9), 0)
    assert (second.began, second.records) == (5.0, 40)


def test_a_batch_that_was_not_seen_is_counted_with_the_next_one():
    seen = Watched([_batch(1005, 1, rows=50, upto=50), _batch(1015, 1, rows=50, upto=150)], asked=[], there=[])
    ran = ran_of(seen, [Constant(10.0)], 15.5, start=1, slots=1)
    assert [one.records for one in ran.taken] == [0, 50, 100, 5]


def test_of_two_sources_each_hands_out_whole_records_and_in_a_pause_nothing_waits():
    # In the first ten seconds a third and two thirds of 100 records: 33 and 66.
    loads = [Square(10.0 / 3, 0.0, period=20.0), Square(20.0 / 3, 0.0, period=20.0)]
    batch = _batch(1011, 1, rows=99, upto=33)
    (read,) = batch.sources
    other = SourceRead("sentences", "", '{"number": 66, "began": 1000.0}', "", 66, 0.0)
    seen = Watched([replace(batch, sources=(read, other))], asked=[], there=[])
    *_, taken, quiet = ran_of(seen, loads, 19.0, start=1, slots=1).taken
    assert (taken.due, taken.records) == (99, 99)
    assert quiet == Taken(19.0, 19.0, 99, 0, 1)


def test_a_real_run_that_failed_is_tried_again_and_a_simulated_one_is_not(tmp_path):
    file = tmp_path / "scenario.toml"
    for text, tried_again in ((REAL, True), (SCENARIO, False)):
        file.write_text(text)
        cell = cells(read_scenario(file))[0]
        finished, ran = Finished(tmp_path / f"{cell.key}.jsonl"), []
        failed = outcome(cell.key, cell.policy, cell.seed, NOTHING, cell.judged(), "it failed")

        def run_all(some, ran=ran, failed=failed):
            for one in some:
                ran.append(one.key)
                yield failed

        for _ in range(2):
            sweep([cell], finished, run_all)
        assert len(ran) == 1 + tried_again
