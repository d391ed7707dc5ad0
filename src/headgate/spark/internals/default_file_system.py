"""Which file system a path without a scheme belongs to, for Spark."""

from typing import TYPE_CHECKING

from headgate.formats.where import has_scheme
from headgate.model.errors import InputError
from headgate.spark.internals.driver import driver_jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def refuse_if_elsewhere(spark: "SparkSession", path: str) -> None:
    """`InputError` where a path without a scheme, which is one of this machine for Headgate, is not for Spark.

    Needs: Hadoop's `FileSystem` in the JVM.
    """
    if has_scheme(path):
        return
    files = driver_jvm(spark).org.apache.hadoop.fs.FileSystem
    default = str(files.getDefaultUri(spark._jsc.hadoopConfiguration()).toString())
    if not default.startswith("file:"):
        raise InputError(
            f"{path} is on {default} for Spark, whose default file system that is, and on this machine for Headgate; "
            f"write file:{path} or {default.rstrip('/')}{path}"
        )
