"""A real Kafka on this machine: one broker in KRaft mode on loopback, from Maven Central's jars, for tests and trials.

It is its own controller, and its topics live in its folder. Like a `LocalCluster` it is supervised: it does not outlive
the Python process that started it, however that ends.
"""

import os
import socket
import subprocess
import tempfile
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path
from types import TracebackType
from typing import Self

from headgate.kafka.jars import KAFKA, jars
from headgate.model.errors import InputError
from headgate.spark.installation import java
from headgate.spark.supervised_process import SupervisedProcess, last_line

_LOOPBACK = "127.0.0.1"
_START_LIMIT = 60.0
_STARTED = r"Kafka Server started"
_SMALL = ["-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]

_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
log.dirs={folder}/topics
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
"""

# Without a configuration of its own, the broker's log says nothing but errors.
_LOGGING = """\
<Configuration><Appenders><Console name="out"><PatternLayout pattern="%d %p %m (%c)%n"/></Console></Appenders>
<Loggers><Root level="INFO"><AppenderRef ref="out"/></Root></Loggers></Configuration>
"""


class LocalBroker:
    """A broker, from `start` to `stop`; or as a context manager.

        with LocalBroker() as broker:
            producer = Producer({"bootstrap.servers": broker.servers})

    `folder` keeps its topics and its log; a temporary one by default, whose path is in `folder` and which is not
    deleted. A folder that a broker has used before has its topics still.
    """

    def __init__(self, *, port: int = 0, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = Path(folder) if folder else Path(tempfile.mkdtemp(prefix="headgate-kafka-"))
        self._port = port
        self._process: SupervisedProcess | None = None
        self.servers = ""
        """`127.0.0.1:port`, once started."""

    def start(self) -> Self:
        """Start it and wait until it takes records; on failure nothing is left running."""
        classpath = ":".join(str(jar) for jar in jars(*KAFKA))
        self.folder.mkdir(parents=True, exist_ok=True)
        settings, logging = self.folder / "server.properties", self.folder / "logging.xml"
        port = self._port or _free_port()
        settings.write_text(
            _SETTINGS.format(host=_LOOPBACK, port=port, controller=_free_port(), folder=self.folder.resolve())
        )
        logging.write_text(_LOGGING)
        command = [str(java()), *_SMALL, f"-Dlog4j2.configurationFile={logging}", "-cp", classpath]
        if not (self.folder / "topics" / "meta.properties").exists():
            self._format([*command, "kafka.tools.StorageTool", "format", "--config", str(settings)])
        self._process = SupervisedProcess(
            "the broker",
            [*command, "kafka.Kafka", str(settings)],
            log=self.folder / "broker.log",
            ready=_STARTED,
            patience=_START_LIMIT,
        )
        self.servers = f"{_LOOPBACK}:{port}"
        return self

    def stop(self) -> None:
        """End it and wait until it is gone."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def is_running(self) -> bool:
        """Whether it is there still."""
        return self._process is not None and self._process.is_running()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _format(self, command: list[str]) -> None:
        """Make the folder for topics, under an id of its own."""
        id = urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        # One word, not two: of some ids the first character is a dash, and by itself that would be another option.
        done = subprocess.run([*command, f"--cluster-id={id}"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise InputError(f"the folder of the broker, {self.folder}, cannot be made: {last_line(done.stderr)}")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((_LOOPBACK, 0))
        port: int = one.getsockname()[1]
        return port
