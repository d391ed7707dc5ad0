"""The driver's JVM, where there is one in this process."""

import os
from typing import Any

from headgate.model.errors import InputError


def driver_jvm(spark: Any) -> Any:
    """The driver's JVM. Needs: a classic session, whose driver is this process; Spark Connect has none."""
    if getattr(spark, "_jsparkSession", None) is None or getattr(spark, "_jsc", None) is None:
        raise InputError(
            "this session has no driver in this process (Spark Connect, or stopped); run the probe where the driver "
            "is, or read the event log instead"
        )
    return spark._jvm


def driver_processes(spark: Any) -> tuple[int, int]:
    """The ids of this process and of its JVM. Needs: Java 9, whose processes know their ids."""
    return os.getpid(), int(driver_jvm(spark).java.lang.ProcessHandle.current().pid())


def mute(spark: Any) -> None:
    """No word more from the driver's JVM on the terminal: for an end at once, which Spark takes for a failure.

    A query that is stopped in the middle of a batch may end with a thousand lines of StackOverflowError from a thread
    of Spark's, which no log level holds back. Needs: Java 11, which has an output that leads nowhere.
    """
    jvm = driver_jvm(spark)
    spark.sparkContext.setLogLevel("OFF")
    jvm.java.lang.System.setErr(jvm.java.io.PrintStream(jvm.java.io.OutputStream.nullOutputStream()))
