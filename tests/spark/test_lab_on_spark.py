"""A sweep as a PySpark job gives the same table as one on this machine."""

import os
import subprocess
import sys

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
    command = [
        sys.executable,
        "-m",
        "headgate",
        "lab",
        str(scenario),
        "-o",
        str(tmp_path / "out"),
        "--spark",
        "nonsense",
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ, timeout=300)
    assert ran.returncode == 2
    assert "--spark nonsense: " in ran.stderr.splitlines()[-1]
    assert "Traceback" not in ran.stderr
