"""Applications of a job: a session after the other, on a cluster of its own or on one that is there."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headgate.control.actions import Layout
from headgate.jobs.job_file import Job
from headgate.jobs.memory import megabytes
from headgate.model.errors import HeadgateError, InputError
from headgate.spark.internals.default_file_system import refuse_if_elsewhere
from headgate.spark.internals.executors import registered_executors, why_executors_are_fixed
from headgate.spark.local_cluster import GRACEFUL, LocalCluster, begin_with
from headgate.spark.state_store_settings import ROCKSDB

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DEFAULTS = {
    **ROCKSDB,
    "spark.ui.showConsoleProgress": "false",
}
_GLANCE = 0.25
_ROOM = 8
"""A worker on this machine has so many times the memory that the job asks for: a restart may ask for more."""
_FIRST_EXECUTORS = 60.0
"""Seconds that executors may take to come, before the job begins with those there are."""


class Applications:
    """Where a job's applications run."""

    def __init__(self, job: Job, cluster: LocalCluster | None) -> None:
        self._job, self._cluster = job, cluster

    def session(self, executors: int, layout: Layout, *, on_trial: bool = False) -> "SparkSession":
        """A new application with so many executors, laid out like this.

        One that is only on trial must get an executor within a while; others wait for as long as it takes. `InputError`
        where the checkpoint is on another file system for Spark than for Headgate.
        """
        session = self._begun(executors, layout, on_trial)
        try:
            refuse_if_elsewhere(session, self._job.checkpoint)
        except InputError as problem:
            session.stop()
            raise InputError(f"{self._job.file}: checkpoint: {problem}") from None
        return session

    def _begun(self, executors: int, layout: Layout, on_trial: bool) -> "SparkSession":
        job = self._job
        cores, memory = layout.cores or job.cluster.cores, layout.memory or job.cluster.memory
        conf = {**_DEFAULTS, **{key: _text(value) for key, value in job.cluster.conf.items()}}
        if self._cluster is not None:
            return self._cluster.session(
                job.name, executors=executors, cores=cores, memory=memory, most=job.settings.most, conf=conf
            )
        from pyspark.sql import SparkSession  # noqa: PLC0415

        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(str(job.cluster.master)).appName(job.name)
        settings = {
            "spark.executor.cores": str(cores),
            "spark.executor.memory": memory,
            "spark.executor.instances": str(executors),
            "spark.cores.max": str(job.settings.most * cores),
            **GRACEFUL,
            **conf,
        }
        for key, value in settings.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        came = _begin_with(session, executors) if why_executors_are_fixed(session) is None else 1
        if on_trial and not came:
            session.stop()
            raise HeadgateError(f"no executor with {cores} cores and {memory} came within {_FIRST_EXECUTORS:.0f} s")
        return session


def _begin_with(session: "SparkSession", executors: int) -> int:
    """As many as the job begins with, or those there are when patience is over."""
    begin_with(session, executors)
    deadline = time.monotonic() + _FIRST_EXECUTORS
    while registered_executors(session) < executors and time.monotonic() < deadline:
        time.sleep(_GLANCE)
    begin_with(session, executors)  # those that came beyond
    return registered_executors(session)


@contextmanager
def applications(job: Job, say: Callable[[str], object] = lambda _: None) -> Iterator[Applications]:
    """On a cluster of its own, if the job asks for one: it ends with this."""
    if job.cluster.slots is None:
        say(f"asking {job.cluster.master} for a session …")
        yield Applications(job, None)
        return
    say(f"starting a cluster on this machine, with {job.cluster.slots} slots …")
    with LocalCluster(workers=1, slots=job.cluster.slots, memory=f"{room(job)}m", late=True) as local:
        yield Applications(job, local)


def room(job: Job) -> int:
    """Megabytes of the worker on this machine, which only counts: slots are the limit."""
    return _ROOM * megabytes(job.cluster.memory) * job.settings.most


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
