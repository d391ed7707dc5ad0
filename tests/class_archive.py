"""An archive of Spark's classes as Java has them in memory once they are loaded and checked.

Loading some ten thousand classes is most of what a Java process of Spark does in its first seconds. A campaign starts
hundreds of such processes; with the archive each is there sooner. It holds for one Java and one installation of Spark;
where it does not fit, Java leaves it alone and loads the classes as always.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

JAVA_OPTIONS = "JDK_JAVA_OPTIONS"
"""What every `java` reads from its surroundings."""
SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For Java processes that do not live long enough for the best compiler to pay."""
_SILENT = "-Xlog:disable"
"""Java has a line for every process that an archive does not fit."""


def short_lived(*options: str) -> dict[str, str]:
    """The surroundings of a process whose Java processes are small, and have these options besides."""
    given = os.environ.get(JAVA_OPTIONS, "")
    return dict(os.environ) | {JAVA_OPTIONS: " ".join([given, SMALL, *options]).strip()}


def short_lived_with_archive(folder: Path) -> dict[str, str]:
    """The same, with an archive that is made in this folder now."""
    archive = folder / "classes.jsa"
    making = short_lived(_SILENT, f"-XX:ArchiveClassesAtExit={archive}")
    subprocess.run([sys.executable, __file__], check=True, env=making)
    return short_lived(_SILENT, f"-XX:SharedArchiveFile={archive}")


def load_what_a_streaming_query_needs() -> None:
    """A small stateful query from beginning to end; returns when its Java process, which then writes, has ended."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
        spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
        java = spark.sparkContext._gateway.proc
        numbers = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
        counts = numbers.groupBy((f.col("value") % 7).alias("key")).count()
        query = (
            counts.writeStream.outputMode("update")
            .foreachBatch(lambda rows, _: rows.collect())
            .option("checkpointLocation", folder)
            .start()
        )
        while len(query.recentProgress) < 3:
            query.awaitTermination(0.5)
        query.stop()
        spark.stop()
        java.stdin.close()
        java.wait(120)


if __name__ == "__main__":
    load_what_a_streaming_query_needs()
