"""A sweep as a PySpark job gives the same table as one on this machine."""

import os
import re
import subprocess
import sys
from pathlib import Path

from lab_scenario import SCENARIO


def test_a_sweep_through_spark_gives_the_same_bytes(tmp_path):
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO)

    def lab(out, *more):
        # A process of its own: the session of the other tests must not be the one it stops.
        command = [sys.executable, "-m", "headgate", "lab", str(scenario), "-o", str(tmp_path / out), *more]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ, timeout=300)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.splitlines()[:-1]  # the last line says where the pictures are

    assert lab("here", "--workers", "1") == lab("spark", "--spark", "local[2]")
    here, spark = ((tmp_path / out / "results.parquet").read_bytes() for out in ("here", "spark"))
    assert here == spark


def test_a_master_that_makes_no_sense_is_one_line(tmp_path):
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO)
    ran = through_spark(scenario, "nonsense", os.environ)
    assert ran.returncode == 2
    assert "--spark nonsense: " in ran.stderr.splitlines()[-1]
    assert "Traceback" not in ran.stderr


def test_executors_without_what_headgate_needs_are_one_line_that_says_what(tmp_path):
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO)
    # A Python that sees nothing but what it came with; Spark brings its own part along.
    bare = tmp_path / "bare-python"
    bare.write_text(f'#!/bin/sh\nexec "{Path(sys.executable).resolve()}" -S "$@"\n')
    bare.chmod(0o755)
    ran = through_spark(scenario, "local[1]", {**os.environ, "PYSPARK_PYTHON": str(bare)})
    assert ran.returncode == 2
    last = ran.stderr.splitlines()[-1]
    assert re.search(r"--spark local\[1\]: .*No module named '(numpy|msgspec)'", last), last
    assert last.endswith("name a Python that has them in PYSPARK_PYTHON")


def through_spark(scenario, master, environment):
    command = [sys.executable, "-m", "headgate", "lab", str(scenario), "-o", str(scenario.parent / "out")]
    command += ["--spark", master]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=300)
