"""The jobs in examples/jobs that are queries of workloads build, and read, as `headgate run` would have them do."""

import time
from pathlib import Path

import pytest

from headgate.jobs.build_function import load_build
from headgate.jobs.job_file import read_job
from headgate.jobs.job_settings import JobSettings
from workload_streams import ready_for_workloads

JOBS = Path(__file__).parents[2] / "examples" / "jobs"


@pytest.mark.parametrize("name", ["nexmark", "psm", "ads", "cars"])
def test_a_workloads_job_reads_its_events(spark, tmp_path, name):
    job = read_job(JOBS / f"{name}.toml")
    exchanges = {}
    settings = JobSettings(str(tmp_path), {**job.options, "trigger": "1 second"}, job.parallelism, exchanges)
    with ready_for_workloads(spark):
        query = load_build(job)(spark, settings).option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        try:
            deadline = time.monotonic() + 120
            while not any(batch["numInputRows"] > 0 for batch in query.recentProgress):
                assert query.exception() is None
                assert time.monotonic() < deadline, "no batch with events"
                time.sleep(0.1)
        finally:
            query.stop()
    assert exchanges == {"events": 8}
