"""A real cluster on this machine, and that nothing of it stays behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headgate.model.errors import InputError
from headgate.spark.internals.executors import registered_executors
from headgate.spark.local_cluster import LocalCluster


def processes_of(folder):
    """Process ids whose command line names the folder of a cluster: its workers, and their executors."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(folder).encode() in command and int(entry.name) != os.getpid():
                found.append(int(entry.name))
    return found


def gone_within(seconds, folder):
    deadline = time.monotonic() + seconds
    while processes_of(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not processes_of(folder)


def test_executors_are_as_many_and_as_large_as_asked_for(spark):
    assert registered_executors(spark) == 2
    assert spark.sparkContext.defaultParallelism == 4


def test_a_job_runs_on_it(spark):
    assert spark.range(1000).selectExpr("sum(id)").first()[0] == 499_500


def test_it_stops_without_leaving_a_process(tmp_path):
    with LocalCluster(workers=2, slots=8, folder=tmp_path) as cluster:
        assert cluster.url.startswith("spark://127.0.0.1:")
        assert len(processes_of(tmp_path)) >= 2
    assert processes_of(tmp_path) == []
    assert "Successfully registered" in (tmp_path / "worker-1.log").read_text()


def test_none_of_it_outlives_a_caller_that_is_killed(tmp_path):
    program = (
        "import sys; from headgate.spark.local_cluster import LocalCluster\n"
        f"cluster = LocalCluster(slots=2, folder={str(tmp_path)!r}).start()\n"
        "print(cluster.url, flush=True); sys.stdin.read()"
    )
    caller = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert caller.stdout.readline().startswith("spark://")
    assert processes_of(tmp_path)
    caller.send_signal(signal.SIGKILL)
    caller.wait()
    caller.stdin.close()
    caller.stdout.close()
    assert gone_within(20, tmp_path)


def test_a_cluster_that_cannot_start_says_why_and_leaves_nothing(tmp_path, monkeypatch):
    cluster = LocalCluster(folder=tmp_path)
    monkeypatch.setenv("SPARK_DAEMON_JAVA_OPTS", "-agentlib:nosuch")
    with pytest.raises(InputError, match=r"the master of the local cluster did not start .*; its log is"):
        cluster.start()
    assert processes_of(tmp_path) == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"workers": 0}, "workers is 0; a cluster needs at least 1"),
        ({"slots": 0}, "slots is 0; a cluster needs at least 1"),
        ({"memory": "lots"}, 'memory is "lots"; give it as 512m or 4g'),
    ],
)
def test_a_cluster_that_makes_no_sense_is_refused(settings, said):
    with pytest.raises(InputError, match=said):
        LocalCluster(**settings)
