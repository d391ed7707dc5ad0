"""Everything that touches a private API of Spark, each behind a function that says what it needs from Spark."""

from pyspark.sql import SparkSession


def registered_executors(spark: SparkSession) -> int:
    """How many executors have registered with the driver. Needs: `SparkContext.statusTracker` of the JVM."""
    return len(spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) - 1  # the driver counts as one
