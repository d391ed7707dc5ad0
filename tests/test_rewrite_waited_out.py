"""When a rewrite that has failed may be taken back: not before its last task is over, wherever that ran."""

import subprocess
import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark")

from headgate.spark.internals import repartition
from headgate.spark.internals.repartition import StillWritingError


@pytest.fixture
def driver():
    """A session whose JVM does not answer any more; the process is a real one."""
    made = []

    def of(master, *command):
        made.append(subprocess.Popen(command))

        def unreachable(group):
            raise ConnectionRefusedError

        return SimpleNamespace(
            sparkContext=SimpleNamespace(
                master=master, _gateway=SimpleNamespace(proc=made[-1]), cancelJobGroup=unreachable
            )
        )

    yield of
    for process in made:
        process.kill()
        process.wait()


def waited_out(spark):
    """For a rewrite whose own thread has not come to its end."""
    repartition._wait_out(spark, threading.Event(), RuntimeError("the JVM is gone"))


def test_tasks_within_a_jvm_that_has_ended_have_ended_with_it(driver):
    waited_out(driver("local[*]", "true"))


def test_tasks_within_a_jvm_that_only_does_not_answer_may_still_run(driver, monkeypatch):
    monkeypatch.setattr(repartition, "_ENDING", 0.1)
    with pytest.raises(StillWritingError, match="the JVM is gone"):
        waited_out(driver("local[2]", "sleep", "60"))


@pytest.mark.parametrize("master", ["spark://127.0.0.1:7077", "local-cluster[2,1,1024]", "yarn"])
def test_executors_outlive_a_driver_whose_jvm_has_ended(driver, master):
    with pytest.raises(StillWritingError):
        waited_out(driver(master, "true"))
