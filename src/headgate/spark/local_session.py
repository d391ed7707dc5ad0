"""A small Spark on this machine, to read or to rewrite what a query that is not running has left behind."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def local_session() -> "Iterator[SparkSession]":
    """Inside this process, with all its processors; ended afterwards."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - Spark is optional

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[*]").appName("headgate")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        with suppress(OSError):  # its JVM has ended before it: what went wrong then is told elsewhere
            session.stop()
