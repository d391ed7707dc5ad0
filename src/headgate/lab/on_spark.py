"""The same cells through PySpark, for sweeps that one machine is too small for: the same outcomes."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import headgate
from headgate.lab.cell import Cell, Outcome, run_cell
from headgate.model.errors import InputError, in_brief

_ROUNDS = 8
"""Cells for each slot in one job: what is finished is kept after each."""


def on_spark(cells: Sequence[Cell], master: str) -> Iterator[Outcome]:
    """Job after job. Executors are sent Headgate itself; numpy and msgspec they need to have."""
    if not cells:
        return
    try:
        from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - only whoever asks for Spark needs it
        from pyspark.errors import PySparkException  # noqa: PLC0415
        from pyspark.sql import SparkSession  # noqa: PLC0415
    except ImportError:
        raise InputError('--spark needs PySpark; install it with: pip install "headgate[spark]"') from None
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # on this machine, the Python that has what is needed
    found = SparkSession.getActiveSession()
    try:
        builder = SparkSession.builder.appName("headgate lab").master(master)
        spark = found or builder.config("spark.ui.enabled", "false").getOrCreate()
    except (Py4JJavaError, PySparkException, RuntimeError) as problem:
        raise InputError(f"--spark {master}: {in_brief(problem)}; check the master's address") from None
    try:
        context = spark.sparkContext
        with tempfile.TemporaryDirectory() as folder:
            package = Path(headgate.__file__).parent
            context.addPyFile(shutil.make_archive(str(Path(folder) / "headgate"), "zip", package.parent, package.name))
            size = _ROUNDS * context.defaultParallelism
            for first in range(0, len(cells), size):
                some = list(cells[first : first + size])
                try:
                    # One cell a task: they differ too much in length to be dealt out beforehand.
                    outcomes = context.parallelize(some, len(some)).map(run_cell).collect()
                except (Py4JJavaError, PySparkException) as problem:
                    raise InputError(f"--spark {master}: {in_brief(problem)}{_remedy(problem)}") from None
                yield from outcomes
    finally:
        if found is None:
            spark.stop()


def _remedy(problem: Exception) -> str:
    """For what can be helped from here: a Python on the executors that lacks what Headgate needs."""
    if "ModuleNotFoundError" not in str(problem):
        return ""
    return "; executors need numpy and msgspec: name a Python that has them in PYSPARK_PYTHON"
