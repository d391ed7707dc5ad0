"""A real standalone cluster on this machine: a master and workers on loopback, from the pip package.

A worker may offer more slots than the machine has cores, so that operators which wait can be scaled on two real
cores. Every process is supervised: none outlives the Python process that started the cluster, however that ends.
Logs stay in the cluster's folder.
"""

import os
import re
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from headgate.model.errors import InputError
from headgate.spark.installation import java, spark_home
from headgate.spark.processor_time import processor_seconds
from headgate.spark.supervised_process import SupervisedProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOPBACK = "127.0.0.1"
_START_LIMIT = 60.0
_START_LIMIT_EACH = 15.0
"""A further executor may take this much longer: many JVMs that start at once share the cores."""


GRACEFUL = {
    "spark.decommission.enabled": "true",
    "spark.storage.decommission.enabled": "true",
    "spark.storage.decommission.shuffleBlocks.enabled": "true",
    "spark.storage.decommission.rddBlocks.enabled": "true",
    # An executor that has nothing left to hand over looks again so often before it leaves: 30 s by default.
    "spark.storage.decommission.replicationReattemptInterval": "1s",
}
"""What an application needs so that its executors can leave without failing a task."""


_SMALL = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Many small JVMs share the cores of one machine: what each compiles and collects in the background slows down all of
them. So they are there after two thirds of the time (9.5 instead of 14 s for three executors on two cores)."""


class LocalCluster:
    """A master and workers, from `start` to `stop`; or as a context manager.

        with LocalCluster(workers=2, slots=4) as cluster:
            spark = cluster.session("my job", executors=2, cores=2)

    `slots` and `memory` are per worker. `folder` keeps logs and the executors' working files; a temporary one by
    default, whose path is in `folder` and which is not deleted. With `late`, workers start with the first session: the
    master gives an application all it may have as soon as there is room, and only so can it begin with less.
    """

    def __init__(
        self,
        *,
        workers: int = 1,
        slots: int = 2,
        memory: str = "4g",
        folder: str | os.PathLike[str] | None = None,
        late: bool = False,
    ) -> None:
        for name, value in (("workers", workers), ("slots", slots)):
            if value < 1:
                raise InputError(f"{name} is {value}; a cluster needs at least 1")
        if not re.fullmatch(r"\d+[mgMG]", memory):
            raise InputError(f'memory is "{memory}"; give it as 512m or 4g')
        self.workers, self.slots, self.memory, self._late = workers, slots, memory, late
        self.folder = Path(folder) if folder else Path(tempfile.mkdtemp(prefix="headgate-cluster-"))
        self.url = ""
        """`spark://127.0.0.1:port`, once started."""
        self._processes: list[SupervisedProcess] = []

    def start(self) -> Self:
        """Start everything and wait until all workers have registered; on failure nothing is left running."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self.url = self._spawn(
                "master",
                "org.apache.spark.deploy.master.Master",
                ["--host", _LOOPBACK, "--port", "0", "--webui-port", "0"],
                r"Starting Spark master at (spark://\S+)",
            )
            if not self._late:
                self._start_workers()
        except BaseException:
            self.stop()
            raise
        return self

    def _start_workers(self) -> None:
        self._late = False
        for number in range(self.workers):
            self.add_worker(f"worker-{number}")

    def add_worker(self, name: str) -> None:
        """One more worker, of the cluster's size; returns when the master knows it."""
        arguments = ["--host", _LOOPBACK, "--port", "0", "--webui-port", "0", "--cores", str(self.slots)]
        arguments += ["--memory", self.memory, "--work-dir", str(self.folder / name), self.url]
        self._spawn(
            name, "org.apache.spark.deploy.worker.Worker", arguments, r"Successfully registered with master (\S+)"
        )

    def stop(self) -> None:
        """End every process of the cluster and wait until it is gone."""
        for process in self._processes:
            process.let_go()
        for process in self._processes:
            process.end()
        self._processes.clear()

    def processor_seconds(self) -> float:
        """Processor time that the cluster has had so far: master, workers, executors and their Python."""
        return processor_seconds(process.pid for process in self._processes)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def session(
        self,
        name: str,
        *,
        executors: int = 1,
        cores: int = 1,
        memory: str = "1g",
        most: int | None = None,
        conf: dict[str, str] | None = None,
    ) -> "SparkSession":
        """A Spark session on this cluster with so many executors of so many cores; returns when they are there.

        The standalone master fills an application up to `spark.cores.max`, so that is what fixes the number. With
        `most` it may grow up to that many executors and shrink again, gracefully.
        """
        from pyspark.sql import SparkSession  # noqa: PLC0415 - a cluster may be used from another process

        from headgate.spark.internals.executors import registered_executors  # noqa: PLC0415

        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
        settings = {
            "spark.driver.host": _LOOPBACK,
            "spark.driver.bindAddress": _LOOPBACK,
            "spark.executor.cores": str(cores),
            "spark.executor.memory": memory,
            "spark.cores.max": str((most or executors) * cores),
            "spark.ui.showConsoleProgress": "false",
            "spark.executor.extraJavaOptions": _SMALL,
            **(GRACEFUL if most is not None else {}),
            **(conf or {}),
        }
        builder = SparkSession.builder.master(self.url).appName(name)
        for key, value in settings.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        if most is not None:
            begin_with(session, executors)
        if self._late:
            self._start_workers()
        patience = _START_LIMIT + _START_LIMIT_EACH * executors
        deadline = time.monotonic() + patience
        while (there := registered_executors(session)) < executors:
            if time.monotonic() > deadline:
                session.stop()
                raise InputError(
                    f"{there} of {executors} executors came within {patience:.0f} s; does the cluster have "
                    f"{executors * cores} slots, and {memory} for each executor? Its logs are in {self.folder}"
                )
            time.sleep(0.05)
        return session

    def _spawn(self, name: str, main_class: str, arguments: list[str], ready: str) -> str:
        """Start one supervised JVM and wait for the line in its log that says it is ready."""
        java()  # says in one line what is missing, before a JVM does in many
        environment = {
            **os.environ,
            "SPARK_LOCAL_IP": _LOOPBACK,
            "SPARK_HOME": str(spark_home()),
            "SPARK_NO_DAEMONIZE": "1",
        }
        process = SupervisedProcess(
            f"the {name} of the local cluster",
            [str(spark_home() / "bin" / "spark-class"), main_class, *arguments],
            log=self.folder / f"{name}.log",
            ready=ready,
            patience=_START_LIMIT,
            environment=environment,
        )
        self._processes.append(process)
        return process.said[1]


def begin_with(session: "SparkSession", executors: int) -> None:
    """Ask for so many; those that came beyond, because the master was quicker, are let go."""
    from headgate.spark.internals.executors import (  # noqa: PLC0415
        active_executors,
        kill_executors,
        request_executors,
    )

    request_executors(session, executors)
    beyond = active_executors(session)[executors:]
    if beyond:
        kill_executors(session, [executor.id for executor in beyond])
        request_executors(session, executors)
