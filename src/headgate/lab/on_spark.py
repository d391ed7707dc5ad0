"""The same cells through PySpark, for sweeps that one machine is too small for: the same outcomes, in any order."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import headgate
from headgate.lab.cell import Cell, Outcome, run_cell
from headgate.model.errors import InputError


def on_spark(cells: Sequence[Cell], master: str) -> Iterator[Outcome]:
    """As they come; executors are sent Headgate itself, and need numpy and msgspec."""
    if not cells:
        return
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - only whoever asks for Spark needs it
    except ImportError:
        raise InputError('--spark needs PySpark; install it with: pip install "headgate[spark]"') from None
    builder = SparkSession.builder.appName("headgate lab").master(master).config("spark.ui.enabled", "false")
    spark = builder.getOrCreate()
    try:
        with tempfile.TemporaryDirectory() as folder:
            package = Path(headgate.__file__).parent
            archive = shutil.make_archive(str(Path(folder) / "headgate"), "zip", package.parent, package.name)
            spark.sparkContext.addPyFile(archive)
            # One cell a task: they differ too much in length to be dealt out beforehand.
            outcomes = spark.sparkContext.parallelize(list(cells), len(cells)).map(run_cell)
            yield from outcomes.toLocalIterator(prefetchPartitions=True)
    finally:
        spark.stop()
