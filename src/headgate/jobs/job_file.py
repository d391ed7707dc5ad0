"""The file that describes a job: what to build, where to run it, within which bounds, towards which objective.

    name = "word count"
    build = "word_count.py:build"
    checkpoint = "checkpoint"
    journal = "journal.db"

    [cluster]
    slots = 8                       # a cluster on this machine; or: master = "spark://host:7077"

    [executors]
    least = 1
    most = 8

    [objective]
    freshness = "10s"

Paths are relative to the file. Whatever is wrong with it is said in one line that names the file and the setting.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from headgate.control.settings import Settings
from headgate.formats.settings_file import Wanted, converted, read_settings, wanted_objective
from headgate.formats.where import has_scheme, on_this_machine
from headgate.jobs.memory import megabytes
from headgate.model.errors import InputError, did_you_mean
from headgate.policies.pool_registry import pool_policy
from headgate.spark.master_url import has_no_executors, refuse_no_master


class Cluster(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where it runs: `master`, or a cluster of its own on this machine with so many `slots`."""

    master: str | None = None
    slots: int | None = None
    cores: int = 1
    """Of each executor."""
    memory: str = "1g"
    """Of each executor."""
    conf: dict[str, str | int | float | bool] = {}
    """Further settings of Spark, as they are: `"spark.jars" = "a.jar,b.jar"`. Not those that are Headgate's own."""


_SAID_ELSEWHERE = {
    "spark.app.name": "name",
    "spark.cores.max": "most of [executors]",
    "spark.executor.cores": "cores of [cluster]",
    "spark.executor.instances": "start of [executors]",
    "spark.executor.memory": "memory of [cluster]",
    "spark.master": "master of [cluster]",
    "spark.sql.streaming.checkpointLocation": "checkpoint",
}
"""Settings of Spark that Headgate sets itself, and what sets them in a job's file."""
_KEPT = ("spark.decommission.", "spark.dynamicAllocation.", "spark.storage.decommission.")
"""Beginnings of settings about how executors come and leave, which is Headgate's affair where it acts."""


class Bounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Executors."""

    least: int = 1
    most: int = 4
    start: int | None = None
    """How many to begin with; the least, if not given. A journal that knows better is believed."""


class PolicyName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which policy decides."""

    name: str = "capacity"


class JobFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file, as it is written."""

    name: str
    build: str
    checkpoint: str
    journal: str | None = None
    mode: Literal["act", "advise"] = "act"
    cluster: Cluster = Cluster(slots=4)
    executors: Bounds = Bounds()
    objective: Wanted = Wanted()
    policy: PolicyName = PolicyName()
    control: dict[str, Any] = {}
    """Settings of the controller, by their names in `headgate.control.settings`."""
    parallelism: dict[str, int] = {}
    """Exchanges by name -> partitions; `state` is the number for all operators with state."""
    options: dict[str, Any] = {}
    """For the job itself."""


class Job(msgspec.Struct, frozen=True):
    """A job, checked."""

    file: Path
    name: str
    module: str
    """A path of a Python file, or a module's name."""
    function: str
    checkpoint: str
    journal: Path
    cluster: Cluster
    start: int
    settings: Settings
    policy: str
    parallelism: dict[str, int]
    options: dict[str, Any]


def read_job(path: str | os.PathLike[str], *, advise: bool = False) -> Job:
    """Read and check a job file; with `advise` the job only takes advice, whatever the file says."""
    file = Path(path)
    written = read_settings(file, JobFile)
    return _checked(file, msgspec.structs.replace(written, mode="advise") if advise else written)


def _checked(file: Path, written: JobFile) -> Job:
    module, colon, function = written.build.rpartition(":")
    if not colon or not function.isidentifier() or not module:
        raise InputError(f'{file}: build is "{written.build}"; give it as word_count.py:build or package.module:build')
    cluster, bounds = written.cluster, written.executors
    if (cluster.master is None) == (cluster.slots is None):
        raise InputError(
            f'{file}: [cluster] needs either master = "spark://…" or slots = N (a cluster on this machine)'
        )
    _check_master(file, cluster.master, acts=written.mode == "act")
    _check_conf(file, cluster.conf, acts=written.mode == "act")
    if cluster.cores < 1:
        raise InputError(f"{file}: [cluster] cores is {cluster.cores}; give at least 1")
    try:
        megabytes(cluster.memory)
        pool_policy(written.policy.name)
    except InputError as problem:
        raise InputError(f"{file}: {problem}") from None
    if bounds.least > bounds.most:
        raise InputError(
            f"{file}: [executors] least is {bounds.least} and most is {bounds.most}; give most the higher one"
        )
    if cluster.slots is not None and cluster.slots < bounds.most * cluster.cores:
        raise InputError(
            f"{file}: [cluster] has {cluster.slots} slots, but {bounds.most} executors of {cluster.cores} would need "
            f"{bounds.most * cluster.cores}; give it more slots, or [executors] a lower most"
        )
    start = bounds.least if bounds.start is None else bounds.start
    if not bounds.least <= start <= bounds.most:
        raise InputError(f"{file}: [executors] start is {start}; give from {bounds.least} to {bounds.most}")
    for name, partitions in written.parallelism.items():
        if partitions < 1:
            raise InputError(f"{file}: [parallelism] {name} is {partitions}; give at least 1")
    here = file.absolute().parent
    checkpoint, journal = _path(here, written.checkpoint), here / (written.journal or f"{file.stem}.journal")
    _check_places(file, on_this_machine(checkpoint), journal)
    return Job(
        file,
        written.name,
        str(here / module) if module.endswith(".py") else module,
        function,
        checkpoint,
        journal,
        cluster,
        start,
        _settings(file, written),
        written.policy.name,
        written.parallelism,
        written.options,
    )


def _check_master(file: Path, master: str | None, *, acts: bool) -> None:
    """Whether it is one at all, and has executors where they are to come and go."""
    if master is None:
        return
    try:
        refuse_no_master(master)
    except InputError as problem:
        raise InputError(f"{file}: [cluster] master {problem}, or slots = N for a cluster on this machine") from None
    if acts and has_no_executors(master):
        raise InputError(
            f"{file}: [cluster] master {master} has no executors to add or remove; give slots = N instead (a cluster "
            "on this machine), or take advice only (--advise)"
        )


def _check_conf(file: Path, conf: Mapping[str, object], *, acts: bool) -> None:
    """Whether all of it is Spark's, and none of it Headgate's own."""
    for setting in conf:
        if not setting.startswith("spark."):
            raise InputError(f"{file}: [cluster] conf: {setting} is no setting of Spark; they all begin with spark.")
        if setting in _SAID_ELSEWHERE:
            instead = _SAID_ELSEWHERE[setting]
            raise InputError(f"{file}: [cluster] conf: {setting} is set by Headgate; give {instead} instead")
        if acts and setting.startswith(_KEPT):
            raise InputError(
                f"{file}: [cluster] conf: {setting} says how executors come and leave, which Headgate does; "
                'take it out, or take advice only (mode = "advise")'
            )


def _check_places(file: Path, checkpoint: str | None, journal: Path) -> None:
    """Whether what is there already is of the right kind: the one is a folder, the other a file."""
    for setting, place in (("checkpoint", checkpoint), ("journal", journal)):
        if place is None:  # only Spark gets there
            continue
        folders = Path(place).parents if setting == "journal" else [Path(place), *Path(place).parents]
        for folder in folders:
            if os.path.exists(folder) and not os.path.isdir(folder):  # these never raise
                within = "" if folder == Path(place) else f" is to be in {folder}, which"
                raise InputError(
                    f"{file}: {setting} {place}{within} is a file; name a folder that is one, or a new one"
                )
    if os.path.isdir(journal):
        raise InputError(f"{file}: journal {journal} is a folder; name a file in it")


def _path(here: Path, text: str) -> str:
    """A path of any file system Spark knows; one without a scheme is relative to the job file.

    One with a scheme stays as it is, `file:` too: Spark has a file system of its own for paths that have none.
    """
    return text if has_scheme(text) else str(here / text)


def _settings(file: Path, written: JobFile) -> Settings:
    known = [name for name in Settings.__struct_fields__ if name not in ("objective", "least", "most", "mode")]
    for name in written.control:
        if name not in known:
            raise InputError(f"{file}: [control] {name} is no setting{did_you_mean(name, known)}")
    try:
        given = converted(file, written.control, Settings, "[control]")
        return msgspec.structs.replace(
            given,
            objective=wanted_objective(file, written.objective),
            least=written.executors.least,
            most=written.executors.most,
            mode=written.mode,
        )
    except InputError as error:
        said = str(error)
        raise InputError(said if said.startswith(f"{file}: ") else f"{file}: {said}") from None
