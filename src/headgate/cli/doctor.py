"""`headgate doctor`: what this machine has and what Headgate can do with it."""

import argparse
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

from headgate import __version__
from headgate.cli.text_table import aligned_rows
from headgate.model.errors import InputError, in_brief

DESCRIPTION = """\
What there is on this machine (Python, Java, Spark) and which of the things Headgate does this Spark can do: it starts a
session, looks, and ends it again. It tries a cluster that it starts on this machine for the purpose; with --master it
looks at that one, asks it for nothing and changes nothing.
"""

EPILOG = """\
tried on Spark 4.3 with its standalone cluster; YARN and Kubernetes go through the same calls and are not tried.

examples:
  headgate doctor
  headgate doctor --master spark://host:7077

exit codes: 0 everything is there, 1 something is missing, 2 something wrong with the input
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument(
        "--master", metavar="URL", help="a cluster to look at (default: one that is started here for the purpose)"
    )


def run(given: argparse.Namespace) -> int:
    """Look and say."""
    if given.master is not None:
        from headgate.spark.master_url import refuse_no_master

        try:
            refuse_no_master(given.master)
        except InputError as problem:
            raise InputError(f"--master {problem}, or none for a cluster that is started here") from None
    rows = list(machine())
    missing = any(not fine for _, fine, _ in rows)
    if not missing:
        for what, there, otherwise in _spark(given.master):
            rows.append((what, there, otherwise))
    missing = any(not fine for _, fine, _ in rows)
    print("\n".join(aligned_rows([("yes" if fine else "NO", what, said) for what, fine, said in rows], left=(0, 1, 2))))
    return 1 if missing else 0


def machine() -> Iterator[tuple[str, bool, str]]:
    """What is on this machine, whether that does, and its version or what to do."""
    yield "Headgate", True, __version__
    yield "Python", True, platform.python_version()
    from headgate.spark.installation import java_found, spark_home, spark_version

    versions: dict[str, Callable[[], str]] = {
        "Java": lambda: f"{java_found().version}, {java_found().path}",
        "Spark": lambda: f"{spark_version()}, {spark_home()}",
    }
    for what, find in versions.items():
        try:
            yield what, True, find()
        except InputError as error:
            yield what, False, str(error)


def _spark(master: str | None) -> list[tuple[str, bool, str]]:
    import pyspark
    from pyspark.sql import SparkSession

    from headgate.spark.internals.capabilities import capabilities
    from headgate.spark.local_cluster import LocalCluster

    found: list[tuple[str, bool, str]] = [("PySpark", True, pyspark.__version__)]
    if master is None:
        print("trying a cluster on this machine; --master URL looks at another …", file=sys.stderr)
        found.append(("cluster", True, "started on this machine to try it; --master URL looks at another"))
    else:
        found.append(("cluster", True, f"{master}, as --master says"))
    with ExitStack() as opened:
        try:
            if master is not None:
                builder = SparkSession.builder.master(master).appName("headgate doctor")
                spark = builder.config("spark.cores.max", "1").getOrCreate()
            else:
                cluster = opened.enter_context(LocalCluster(workers=1, slots=1, memory="1g", late=True))
                spark = cluster.session("headgate doctor", executors=1, memory="512m", most=1)
        except InputError:
            raise
        except Exception as problem:
            where = master or "the cluster on this machine"
            raise InputError(f"{where}: no session could be made ({in_brief(problem)}); is it there?") from problem
        opened.callback(spark.stop)
        found += capabilities(spark)
    return found
