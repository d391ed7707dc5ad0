"""`headgate bench` on a cluster of its own: what it measures is there, and makes sense together."""

import subprocess
import sys

import msgspec
import pytest

from headgate.jobs.bench_result import BenchResult
from headgate.spark.host_processors import available


def test_a_query_under_a_load_is_measured_and_kept(tmp_path):
    command = [sys.executable, "-m", "headgate", "bench", "nexmark", "--queries", "5", "--load", "constant(2k)"]
    command += ["--seconds", "8s", "--warm-up", "8s", "--format", "json", "--output", str(tmp_path / "result")]
    done = subprocess.run(command, capture_output=True, timeout=240, check=True)
    result = msgspec.json.decode(done.stdout, type=BenchResult)
    assert msgspec.json.decode((tmp_path / "result").read_bytes(), type=BenchResult) == result
    (found,) = result.measured
    assert found.query == "q5"
    # The arithmetic is tried on made-up batches (tests/test_workload_bench.py); how fast this machine is, nobody knows.
    assert found.asked_per_second == pytest.approx(2000)
    assert found.events_per_second == pytest.approx(found.events / found.seconds)
    assert found.seconds > 7
    assert found.events_per_second > 500
    assert 0 < found.batch.p50 <= found.batch.p95 <= found.batch.p99
    # An event waits for its batch to begin and then for it to end: less than two batches, and a little.
    assert 0 < found.freshness.p50 < 2.5 * found.batch.p99
    # Nobody knows either whether it keeps up here; by how much events wait longer is told.
    assert found.later_each_second <= 1
    assert found.per_core == pytest.approx(found.events_per_second / min(2, available()))
    assert found.state_rows > 0
    assert found.cpu_seconds_per_million > 0
