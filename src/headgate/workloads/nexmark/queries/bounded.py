"""Joins that forget: only what happened within so long of each other belongs together.

NexMark joins streams for ever, so that the state of q3, q20 and q23 grows as long as they run. Where it must not,
`WITHIN` bounds it: pairs whose events lie further apart, in event time and in either direction, are left out, and what
the watermark has left so far behind is forgotten.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from headgate.workloads.query import WATERMARK

WITHIN = "10 seconds"


def timed(stream: DataFrame, within: str | None) -> DataFrame:
    """With a watermark, if anything is to be forgotten."""
    return stream if within is None else stream.withWatermark("dateTime", WATERMARK)


def near(one: Column, other: Column, within: str | None) -> Column:
    """Whether two moments are so near; always, if nothing is said."""
    if within is None:
        return f.lit(True)
    reach = f.expr(f"interval {within}")
    return other.between(one - reach, one + reach)
