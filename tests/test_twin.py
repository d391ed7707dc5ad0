"""Twins: a simulated copy of a real job takes as long as the job did."""

import math
from itertools import compress
from pathlib import Path
from statistics import median

import msgspec
import pytest

from headgate.cli.main import main
from headgate.formats.eventlog.batches import WANTED, read_batches
from headgate.formats.eventlog.reader import read_events
from headgate.formats.settings_file import read_settings
from headgate.lab.cell import cells
from headgate.lab.job_table import JobTable, job_from_table
from headgate.lab.results import read_results
from headgate.lab.scenario import read_scenario
from headgate.lab.twin import batch_times, twin
from headgate.model.columns import read_only
from headgate.model.warm import on_the_last_pool, warm
from headgate.simulation.virtual_spark import VirtualJob, VirtualOperator, VirtualSpark

ROOT = Path(__file__).parent.parent
LOGS = [
    ROOT / "examples" / "slow-job" / "slow.zstd",
    ROOT / "examples" / "slow-job" / "salted.zstd",
    ROOT / "tests" / "data" / "eventlogs" / "wordcount-4.3.0.zstd",
]


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_a_twin_takes_within_15_percent_of_what_the_log_says(log, tmp_path, capsys):
    file = tmp_path / "twin.toml"
    assert main(["twin", str(log), "-o", str(file)]) == 0
    assert "a twin of" in capsys.readouterr().err
    batches = list(read_batches(read_events(str(log), wanted=WANTED)))
    counted = on_the_last_pool(warm(batches))
    real = median(batch.duration / 1000 for batch in counted)
    copied = median(batch_times(job_from_table(read_settings(file, JobTable)), counted))
    assert copied == pytest.approx(real, rel=0.15)


def test_the_twin_of_a_virtual_job_has_its_costs():
    words = VirtualOperator("split", 8, fixed=0.2, per_record=0.002, selectivity=2.0, shares=(0.3, *[0.1] * 7))
    count = VirtualOperator("count", 8, fixed=0.1, per_record=0.001, feeders=(0,), stateful=True)
    job = VirtualJob((words, count), driver=0.4, trigger=20.0)
    # Batches of several sizes, so that fixed cost and cost per record can be told apart.
    virtual = VirtualSpark(job, lambda at: 100 * at + 2000 * math.sin(at / 40), executors=4)
    copy = job_from_table(twin([virtual.run_batch() for _ in range(30)]))
    split, counted = copy.operators
    assert (split.fixed, split.per_record) == pytest.approx((0.2, 0.002), rel=0.05)
    assert (counted.fixed, counted.per_record) == pytest.approx((0.1, 0.001), rel=0.05)
    assert split.shares == pytest.approx(words.shares, abs=0.01)
    assert split.selectivity == pytest.approx(2.0, rel=0.01)
    assert (copy.driver, copy.trigger, counted.feeders, counted.stateful) == (
        pytest.approx(0.4, abs=0.01),
        20.0,
        (0,),
        True,
    )
    assert counted.shares == ()


def test_noise_makes_the_tasks_of_a_twin_no_longer_on_average():
    job = VirtualJob((VirtualOperator("map", 64, fixed=0.5, per_record=0.01),), trigger=60.0, noise=0.5)
    virtual = VirtualSpark(job, lambda at: 100 * at, executors=8)
    seen = [virtual.run_batch() for _ in range(40)]
    copy = job_from_table(twin(seen))
    again = VirtualSpark(copy, lambda at: 100 * at, executors=8)
    took = [sum(batch.tasks.finished - batch.tasks.launched) for batch in seen[5:]]
    takes = [sum((batch := again.run_batch()).tasks.finished - batch.tasks.launched) for _ in range(40)][5:]
    assert median(takes) == pytest.approx(median(took), rel=0.03)  # exp(0.5 ** 2 / 2) is 1.13


def without(batch, place):
    """The batch as if an operator had not run in it."""
    kept = batch.tasks.operator != place
    columns = {name: getattr(batch.tasks, name) for name in batch.tasks.__struct_fields__}
    fewer = {
        name: tuple(compress(column, kept)) if isinstance(column, tuple) else read_only(column[kept])
        for name, column in columns.items()
    }
    return msgspec.structs.replace(batch, tasks=type(batch.tasks)(**fewer))


def test_an_operator_that_ran_once_in_thirty_batches_costs_a_twin_nothing():
    split = VirtualOperator("split", 8, fixed=0.2, per_record=0.002)
    clean = VirtualOperator("clean up", 8, fixed=0.1, per_record=0.0, feeders=(0,))
    virtual = VirtualSpark(VirtualJob((split, clean), trigger=20.0), lambda at: 100 * at, executors=4)
    batches = [virtual.run_batch() for _ in range(30)]
    once = [batch if batch.number == 6 else without(batch, 1) for batch in batches]
    _, rare = twin(once).operators
    assert (rare.name, rare.partitions, rare.fixed, rare.per_record) == ("clean up", 8, 0.0, 0.0)


def test_a_twin_can_be_asked_what_would_happen_under_another_load(tmp_path, capsys):
    file = tmp_path / "twin.toml"
    main(["twin", str(LOGS[1]), "-o", str(file)])
    given = ["--load", "step(20 -> 40 @ 5m)", "--for", "10m", "--policies", "threshold", "--most", "8"]
    assert main(["lab", "--twin", str(file), *given, "-o", str(tmp_path / "out"), "--workers", "1"]) == 0
    assert "threshold" in capsys.readouterr().out


SMALL = """\
name = "small"
trigger = "10s"
driver = 0.0
executors = 3
slots = 2

[[operators]]
name = "map"
partitions = 4
fixed = 0.0
per-record = 0.1
"""


@pytest.fixture
def small(tmp_path):
    """A twin of a job on three executors of two slots."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


def lab(file, *given, load="constant(8)"):
    """The one outcome of `static` and of the oracle."""
    out = file.parent / "out"
    always = ["lab", "--twin", str(file), "--policies", "static", "--for", "2m", "-o", str(out), "--workers", "1"]
    assert main([*always, "--load", load, *given]) == 0
    return {one.policy: one for one in read_results(out / "results.parquet")}


def test_a_twin_begins_with_the_executors_and_slots_of_its_original(small):
    # Six slots from the beginning to the end of the batch at 120 s, 80 records in four tasks of 2 s.
    assert lab(small)["static"].slot_hours * 3600 == pytest.approx(6 * 120, abs=0.01)
    assert lab(small, "--slots", "5")["static"].slot_hours * 3600 == pytest.approx(15 * 120, abs=0.01)
    assert lab(small, "--most", "2")["static"].slot_hours * 3600 == pytest.approx(4 * 120, abs=0.01)


def test_a_scenario_says_otherwise_than_its_twins_or_nothing(small):
    scenario = small.parent / "scenario.toml"
    load = '[[loads]]\nname = "load"\nload = "constant(8)"\nlasting = "2m"\n'
    told = 'policies = ["static", { name = "oracle", start = 2 }]\ntwins = ["small.toml"]\n'

    def asked(executors):
        scenario.write_text(f"{told}{executors}\n{load}")
        return {
            (cell.policy, cell.start, cell.slots, cell.settings.slots_each) for cell in cells(read_scenario(scenario))
        }

    assert asked("") == {("static", 3, 2, 2), ("oracle", 2, 2, 2)}
    assert asked('executors = { start = "peak", slots = 4 }') == {("static", "peak", 4, 4), ("oracle", 2, 4, 4)}


def test_executors_come_as_late_as_is_said(small):
    # One slot is busy for 8 s of 10, then it takes two: the oracle asks for the second so early that it is there.
    small.write_text(SMALL.replace("executors = 3", "executors = 1").replace("slots = 2", "slots = 1"))
    soon, late = (
        lab(small, "--headroom", "0", "--joining", joining, load="step(8 -> 16 @ 1m)")["oracle"]
        for joining in ("1s", "30s")
    )
    assert soon.late_time == late.late_time == 0
    assert late.slot_hours > soon.slot_hours


def test_a_twin_without_a_trigger_can_be_asked_for_a_freshness(small, capsys):
    small.write_text(SMALL.replace('trigger = "10s"\n', ""))
    assert main(["lab", "--twin", str(small), "--load", "constant(8)"]) == 2
    assert "always keeps up somehow; give a --freshness, such as 30s" in capsys.readouterr().err
    assert lab(small, "--freshness", "10s")["oracle"].late_time == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--most", "0"], "--most is 0; give from 1 to 500"),
        (["--most", "501"], "--most is 501; give from 1 to 500"),
        (["--slots", "0"], "--slots is 0; give from 1 to 500"),
        (["--joining", "soon"], '--joining: "soon" is no duration'),
        (["--for", "ever"], '--for: "ever" is no duration'),
        (["--for", "5s"], "--for is 5s, less than the 10 s from one batch of the twin to the next"),
        (["--load", "stp(2)"], "--load: load, character 1: there is no load stp"),
        (["--policies", "capasity"], '--policies: policy "capasity" is not one for executors'),
        (["--policies", "pid,pid"], "--policies: pid is there 2 times; give each once"),
        (["--freshness", "5s"], "--freshness: a freshness of 5 s cannot be had with a batch every 10 s"),
        (["--headroom", "-1"], "--headroom: headroom is -1.0"),
    ],
)
def test_what_is_wrong_with_an_option_names_that_option(small, given, said, capsys):
    load = [] if "--load" in given else ["--load", "constant(8)"]
    assert main(["lab", "--twin", str(small), *load, *given]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"headgate: {said}")
    assert error.count("\n") == 1


def test_what_is_wrong_with_a_twin_names_its_file(small, capsys):
    small.write_text(SMALL.replace("partitions = 4", "partitions = 0"))
    assert main(["lab", "--twin", str(small), "--load", "constant(8)"]) == 2
    assert f"{small}: job small: operator map: partitions is 0; give at least 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["lab", "scenario.toml", "--most", "4"], "--most goes with --twin"),
        (["lab", "scenario.toml", "--freshness", "4s"], "--freshness goes with --twin"),
        (["lab"], "give a scenario, or --twin and --load"),
        (["lab", "--twin", "twin.toml"], "--twin needs a --load"),
        (["lab", "scenario.toml", "--load", "5k"], "--load goes with --twin"),
        (["twin", "nowhere.zstd"], "nowhere.zstd: cannot be read"),
    ],
)
def test_what_is_missing_is_said_in_one_line(given, said, capsys):
    assert main(given) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
