"""Twins: a simulated copy of a real job takes as long as the job did."""

import math
from pathlib import Path
from statistics import median

import pytest

from headgate.cli.main import main
from headgate.formats.eventlog.batches import WANTED, read_batches
from headgate.formats.eventlog.reader import read_events
from headgate.formats.settings_file import read_settings
from headgate.lab.job_table import JobTable, job_from_table
from headgate.lab.twin import batch_times, twin
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


def test_a_twin_can_be_asked_what_would_happen_under_another_load(tmp_path, capsys):
    file = tmp_path / "twin.toml"
    main(["twin", str(LOGS[1]), "-o", str(file)])
    given = ["--load", "step(20 -> 40 @ 5m)", "--for", "10m", "--policies", "threshold", "--most", "8"]
    assert main(["lab", "--twin", str(file), *given, "-o", str(tmp_path / "out"), "--workers", "1"]) == 0
    assert "threshold" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "said"),
    [
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
