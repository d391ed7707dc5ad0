"""Where Headgate cannot act it says so in one line; and advises all the same. In processes of their own: a process has
one driver, and here it is another kind of driver than that of all other tests."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys, tempfile, time
import headgate
from headgate.model.errors import InputError
from headgate.spark.internals.driver import mute
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
for setting in sys.argv[1:]:
    builder = builder.config(*setting.split("="))
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", "10").load()
query = rows.writeStream.format("noop").option("checkpointLocation", tempfile.mkdtemp()).start()
try:
    headgate.attach(spark, query)
    print("attached")
except InputError as refused:
    print(f"refused: {refused}")
seen = []
with headgate.attach(spark, query, mode="advise", watch=seen.append):
    deadline = time.monotonic() + 60
    while len(seen) < 5 and time.monotonic() < deadline:
        time.sleep(0.1)
print(f"advised after {len(seen) >= 5}")
spark._jvm.java.lang.System.err.println("said before")
mute(spark)
spark._jvm.java.lang.System.err.println("said after")
query.stop()
spark.stop()
"""


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ([], "refused: local[2] has no executors to add or remove"),
        (["spark.dynamicAllocation.enabled=true"], "refused: spark.dynamicAllocation.enabled is on"),
    ],
)
def test_without_executors_of_its_own_or_under_dynamic_allocation_it_refuses_to_act_and_advises(settings, why):
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, *settings], capture_output=True, text=True, check=True, timeout=180
    )
    acting, advising = [line for line in ran.stdout.splitlines() if line.startswith(("refused", "a"))]
    assert acting.startswith(why)
    assert 'mode="advise"' in acting
    assert advising == "advised after True"
    assert "said before" in ran.stderr
    assert "said after" not in ran.stderr  # as where a job is ended at once


JOB = """
name = "refused"
build = "job.py:build"
checkpoint = "checkpoint"
mode = "{mode}"
[cluster]
master = "local[2]"
[cluster.conf]
"spark.ui.enabled" = false
"spark.driver.bindAddress" = "127.0.0.1"
"spark.driver.host" = "127.0.0.1"
"""

BUILD = """
def build(spark, settings):
    spark.sparkContext.setLogLevel("OFF")
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", "10").load()
    return rows.groupBy("value").count().writeStream.format("noop").outputMode("append")
"""


@pytest.mark.parametrize(
    ("mode", "conf", "code", "why"),
    [
        ("act", "", 2, "local[2] has no executors to add or remove; give slots = N instead"),
        ("advise", "", 1, "the query could not be started: [STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION]"),
        ("advise", '"spark.hadoop.fs.defaultFS" = "hdfs://127.0.0.1:1"', 2, "job.toml: checkpoint: "),
    ],
)
def test_a_job_that_cannot_be_scaled_or_started_is_refused_in_one_line(tmp_path, mode, conf, code, why):
    (tmp_path / "job.toml").write_text(JOB.format(mode=mode) + conf)
    (tmp_path / "job.py").write_text(BUILD)
    command = [sys.executable, "-m", "headgate", "run", str(tmp_path / "job.toml")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    said = [line for line in ran.stderr.splitlines() if line.startswith("headgate:")]
    assert (ran.returncode, len(said)) == (code, 1)
    assert why in said[0]
    assert "Traceback" not in ran.stderr
