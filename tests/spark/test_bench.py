"""`headgate bench` on a cluster of its own: what it measures is what the source was asked for."""

import subprocess
import sys

import msgspec
import pytest

from headgate.jobs.bench_result import BenchResult


def test_a_query_that_keeps_up_reads_at_the_rate_of_its_load(tmp_path):
    command = [sys.executable, "-m", "headgate", "bench", "nexmark", "--queries", "5", "--load", "constant(2k)"]
    command += ["--seconds", "12s", "--warm-up", "15s", "--format", "json", "--output", str(tmp_path / "result")]
    done = subprocess.run(command, capture_output=True, timeout=240, check=True)
    result = msgspec.json.decode(done.stdout, type=BenchResult)
    assert msgspec.json.decode((tmp_path / "result").read_bytes(), type=BenchResult) == result
    (found,) = result.measured
    assert found.query == "q5"
    assert found.events_per_second == pytest.approx(2000, rel=0.15)
    assert 0 < found.batch.p50 <= found.batch.p95 <= found.batch.p99
    # An event waits for its batch to begin and then for it to end: less than two batches, and a little.
    assert 0 < found.freshness.p50 < 2.5 * found.batch.p99
    assert found.state_rows > 0
    assert found.cpu_seconds_per_million > 0
