"""A cell of the lab on a real cluster: the query does what its job says, and what came of it is what it did."""

import msgspec
import numpy as np
import pytest

from headgate.lab.cell import cells
from headgate.lab.outcome import outcome
from headgate.lab.real_job import parts_of
from headgate.lab.real_run import ran_of, watched
from headgate.lab.scenario import read_scenario
from headgate.model.warm import warm
from headgate.simulation.batch_arithmetic import BatchArithmetic

SCENARIO = """
engine = "spark"
policies = [{ name = "static", start = 2 }]
[executors]
most = 3
slots = 2
[[loads]]
name = "steady"
load = "constant(20)"
lasting = "30s"
[[jobs]]
name = "shares"
trigger = "3s"
[[jobs.operators]]
name = "many"
partitions = 3
fixed = 0.1
per-record = 0.01
weight = 3.0
[[jobs.operators]]
name = "few"
partitions = 2
fixed = 0.1
per-record = 0.01
selectivity = 2.5
[[jobs.operators]]
name = "enrich"
partitions = 3
fixed = 0.1
per-record = 0.002
from = ["many", "few"]
shares = [2.0, 1.0, 1.0]
[[jobs.operators]]
name = "count it"
partitions = 5
fixed = 0.4
per-record = 0.004
from = ["enrich"]
stateful = true
selectivity = 0.5
hot = 0.2
[[jobs.operators]]
name = "write"
partitions = 2
fixed = 0.1
per-record = 0.0
from = ["count it"]
"""


@pytest.fixture
def cell(tmp_path):
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO)
    return next(one for one in cells(read_scenario(file)) if not one.simulated)


def test_every_task_of_a_real_run_has_the_records_and_waits_as_long_as_its_job_says(spark, cell, tmp_path):
    bins = spark.conf.get("spark.sql.shuffle.partitions")
    seen, failed = watched(cell, spark, str(tmp_path / "checkpoint"))
    assert not failed
    assert spark.conf.get("spark.sql.shuffle.partitions") == bins
    arithmetic, job = BatchArithmetic(cell.job.job), cell.job.job
    full = [one for one in warm(seen.batches) if one.input_rows > 20]
    assert full
    beyond = {one.name: [] for one in job.operators}
    for batch in full:
        wanted = arithmetic.records(batch.input_rows)
        for place, operator in enumerate(job.operators):
            id = _stage_of(batch, operator)
            tasks = batch.tasks.operator == batch.dataflow.index[id]
            order = np.argsort(batch.tasks.partition[tasks])
            records = batch.tasks.records_in[tasks][order]
            assert len(records) == operator.partitions, (id, records)
            expected = wanted[arithmetic.cuts[place] : arithmetic.cuts[place + 1]]
            # A stretch of numbers falls into partitions to within a few records.
            assert np.abs(records - expected).max() <= 5, (id, records, expected)
            waits = operator.fixed + operator.per_record * records
            beyond[operator.name].extend((batch.tasks.occupied_seconds[tasks][order] - waits).tolist())
    for name, seconds in beyond.items():
        # What Spark takes itself comes on top; waiting once for each key instead of each task would be 0.4 s more.
        assert min(seconds) >= -0.01, (name, seconds)
        assert np.median(seconds) < 0.35, (name, seconds)

    ran = ran_of(seen, parts_of(job, cell.load.load), cell.load.lasting, 2, cell.slots)
    came = outcome(cell.key, cell.policy, cell.seed, ran, cell.judged())
    assert came.slot_hours == pytest.approx(2 * 2 * 30 / 3600, abs=1e-6)
    read = sum(one.records for one in ran.taken[:-1])
    assert read == sum(batch.input_rows for batch in seen.batches if batch.began / 1000 < _began(seen) + 30)
    assert 0.6 * 600 < read <= 600
    assert came.rescales == 0


def _stage_of(batch, operator):
    """By the name of its function in the plan; a count with state goes by another name."""
    if operator.stateful:
        (id,) = batch.stateful
        return id
    (id,) = (one for one in batch.dataflow.index if operator.name in one)
    return id


def _began(seen):
    return min(msgspec.json.decode(read.end)["began"] for read in seen.batches[0].sources)
