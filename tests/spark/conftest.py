"""One cluster and one session for all tests that need Spark: starting them is most of what such a test costs."""

from pathlib import Path

import pytest
from pyspark import SparkContext

from headgate.model.errors import InputError
from headgate.spark.installation import java, spark_home
from headgate.spark.local_cluster import LocalCluster
from headgate.workloads.sentences import SentencesSource


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in Path(item.fspath).parents:
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session", autouse=True)
def java_is_here():
    try:
        java(), spark_home()
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def event_logs(tmp_path_factory):
    return tmp_path_factory.mktemp("event-logs")


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    # Room for a third executor; workers come with the session, or the master would fill it at once.
    with LocalCluster(workers=1, slots=6, memory="4g", folder=folder, late=True) as running:
        yield running


@pytest.fixture(scope="session")
def spark(cluster, event_logs):
    session = cluster.session(
        "headgate tests",
        executors=2,
        cores=2,
        most=3,
        conf={
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": event_logs.as_uri(),
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
            "spark.sql.shuffle.partitions": "4",
            "spark.ui.port": "0",
        },
    )
    session.sparkContext.setLogLevel("OFF")
    session.dataSource.register(SentencesSource)
    yield session
    session.stop()
    # PySpark leaves its JVM to the end of the process; here it ends with the session, and is waited for.
    gateway = SparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
