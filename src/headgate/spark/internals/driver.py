"""The driver's JVM, where there is one in this process."""

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
