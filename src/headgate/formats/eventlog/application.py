"""Events of the application as a whole: its version, settings, beginning and end, and executors that come and go.

Times are milliseconds since 1970, as Spark writes them.
"""

import msgspec
from msgspec import field


class LogStart(msgspec.Struct, frozen=True, gc=False):
    """The first line of every event log."""

    spark_version: str = field(name="Spark Version", default="")


class EnvironmentUpdate(msgspec.Struct, frozen=True):
    """The settings the application runs with; of all Spark writes here, only its own properties are kept."""

    spark_properties: dict[str, str] = field(name="Spark Properties", default_factory=dict)


class ApplicationStart(msgspec.Struct, frozen=True, gc=False):
    """The application began."""

    name: str = field(name="App Name", default="")
    id: str | None = field(name="App ID", default=None)
    timestamp: int = field(name="Timestamp", default=0)


class ApplicationEnd(msgspec.Struct, frozen=True, gc=False):
    """The application stopped in good order: the last line of a log that is complete."""

    timestamp: int = field(name="Timestamp", default=0)


class ExecutorInfo(msgspec.Struct, frozen=True, gc=False):
    """Where an executor runs and how many tasks it takes at a time (before `spark.task.cpus`)."""

    host: str = field(name="Host", default="")
    cores: int = field(name="Total Cores", default=0)


class ExecutorAdded(msgspec.Struct, frozen=True, gc=False):
    """An executor registered with the driver."""

    id: str = field(name="Executor ID")
    timestamp: int = field(name="Timestamp", default=0)
    info: ExecutorInfo = field(name="Executor Info", default=ExecutorInfo())


class ExecutorRemoved(msgspec.Struct, frozen=True, gc=False):
    """An executor left, or was lost."""

    id: str = field(name="Executor ID")
    timestamp: int = field(name="Timestamp", default=0)
    reason: str | None = field(name="Removed Reason", default=None)
