"""The jobs in examples/jobs that are queries of workloads build, and read, as `headgate run` would have them do."""

import time
from pathlib import Path

import pytest

from headgate.jobs.build_function import load_build
from headgate.jobs.job_file import read_job
from headgate.jobs.job_settings import JobSettings
from workload_streams import ready_for_workloads

JOBS = Path(__file__).parents[2] / "examples" / "jobs"


def built(spark, folder, name, exchanges):
    job = read_job(JOBS / f"{name}.toml")
    options = {**job.options, "trigger": "1 second"}
    return load_build(job)(spark, JobSettings(str(folder), options, job.parallelism, exchanges))


@pytest.mark.parametrize("name", ["nexmark", "psm", "ads", "cars"])
def test_a_workloads_job_builds_its_query_behind_an_exchange_of_its_own(spark, tmp_path, name):
    exchanges = {}
    with ready_for_workloads(spark):
        built(spark, tmp_path, name, exchanges)
    assert exchanges == {"events": 8}


@pytest.mark.parametrize("name", ["word_count_heron", "word_count_flink"])
def test_a_word_count_by_preset_has_splitters_and_counters(spark, tmp_path, name):
    exchanges = {}
    with ready_for_workloads(spark):
        built(spark, tmp_path, name, exchanges)
    assert exchanges == {"parse": 8, "count": 16}


def test_a_workloads_job_reads_its_events(spark, tmp_path):
    with ready_for_workloads(spark):
        query = built(spark, tmp_path, "ads", {}).option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        try:
            deadline = time.monotonic() + 120
            while not any(batch["numInputRows"] > 0 for batch in query.recentProgress):
                assert query.exception() is None
                assert time.monotonic() < deadline, "no batch with events"
                time.sleep(0.1)
        finally:
            query.stop()
