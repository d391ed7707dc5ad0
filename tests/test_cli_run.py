"""`headgate run` as far as it goes without Spark: what it says at once, and how it is ended before anything runs."""

import os
import signal
import subprocess
import sys
import time

import pytest

from headgate.cli.main import main

JOB = 'name = "mine"\nbuild = "job.py:build"\ncheckpoint = "checkpoint"\n'


@pytest.fixture
def starting(tmp_path):
    """A job whose cluster takes for ever to start: its Spark and its Java are scripts."""
    for program, does in (("bin/spark-class", "exec sleep 60"), ("bin/java", "echo 'version \"17\"' >&2")):
        path = tmp_path / program
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{does}\n")
        path.chmod(0o755)
    (tmp_path / "job.py").write_text("def build(spark, settings): ...")
    (tmp_path / "job.toml").write_text(JOB)
    process = subprocess.Popen(
        [sys.executable, "-m", "headgate", "run", str(tmp_path / "job.toml")],
        env=os.environ | {"SPARK_HOME": str(tmp_path), "JAVA_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


def next_line(process):
    """Without its time, which is to be a number of seconds."""
    at, _, said = process.stderr.readline().strip().partition(" s  ")
    assert 0 <= float(at) < 60
    return said


def test_it_says_at_once_what_is_waited_for_and_how_to_end_it_sooner(starting, tmp_path):
    journal = tmp_path / "job.journal"
    assert next_line(starting) == f"journal, for `headgate tell` and `headgate history`: {journal}"
    assert next_line(starting) == "starting a cluster on this machine, with 4 slots …"
    time.sleep(0.3)
    starting.send_signal(signal.SIGINT)
    assert next_line(starting) == "no query has started yet: waiting for Spark; Ctrl-C again ends at once"
    starting.send_signal(signal.SIGINT)
    out, err = starting.communicate(timeout=60)
    assert out == f"mine: stopped before the query started; journal: {journal}\n"
    assert "Traceback" not in err
    assert starting.returncode == 0


def test_the_doctor_refuses_what_is_no_master_in_one_line(capsys):
    assert main(["doctor", "--master", "foo"]) == 2
    said = capsys.readouterr().err
    assert said.startswith('headgate: --master "foo" is no master of Spark; give spark://host:7077, yarn, ')
    assert said.count("\n") == 1


def test_what_is_wrong_with_a_job_is_the_only_line_and_leaves_nothing_behind(tmp_path, capsys):
    (tmp_path / "job.py").write_text("def build(spark): ...")
    (tmp_path / "job.toml").write_text(JOB)
    assert main(["run", str(tmp_path / "job.toml")]) == 2
    assert capsys.readouterr().err == (
        f"headgate: {tmp_path}/job.toml: {tmp_path}/job.py has build(spark); give it two arguments: spark, settings\n"
    )
    assert not list(tmp_path.glob("*.journal*")) + list(tmp_path.glob("*.lock"))
