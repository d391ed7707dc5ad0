"""Virtual jobs as tables of TOML, and back: `[[jobs]]` of a scenario, or a twin's whole file.

name = "word count"
trigger = "10s"
driver = 0.3                # seconds a batch

[[operators]]
name = "split"
partitions = 16
fixed = 0.1                 # seconds a task
per-record = 0.0004         # seconds a record

[[operators]]
name = "count"
partitions = 16
fixed = 0.1
per-record = 0.0001
from = ["split"]
stateful = true
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import asdict, fields, replace

from headgate.model.durations import seconds
from headgate.model.errors import InputError, did_you_mean
from headgate.simulation.virtual_job import VirtualJob, VirtualOperator


class OperatorTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """An operator as it is written; what feeds it stands before it."""

    name: str
    partitions: int
    fixed: float
    per_record: float
    feeders: list[str] | None = msgspec.field(name="from", default=None)
    selectivity: float = 1.0
    hot: float = 0.0
    stateful: bool = False
    shares: list[float] = []
    distinct: float = 0.0
    contention: list[tuple[int, float]] = []
    weight: float = 1.0


class JobTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """A job as it is written."""

    name: str
    operators: list[OperatorTable]
    about: str = ""
    """What it stands for, in a sentence."""
    fits: bool = True
    """Whether it has only such effects as the capacity model knows."""
    trigger: str | float | None = None
    limit: int | None = None
    driver: float = 0.3
    driver_per_task: float = 0.0
    noise: float = 0.0
    cores: int | None = None
    stragglers: float = 0.0
    straggling: float = 4.0
    drift: float = 0.0
    drift_period: str | float = "1d"
    cold: float = 0.0
    bin_load: float = 0.0
    restart: float = 0.0
    executors: int | None = None
    """What a twin's original ran on: a run begins with so many, unless the scenario says otherwise."""
    slots: int | None = None
    """Of each of those executors, and of those in a run, unless the scenario says otherwise."""


_SAME = [one.name for one in fields(VirtualJob) if one.name not in ("operators", "trigger", "drift_period", "slow")]


def job_from_table(table: JobTable) -> VirtualJob:
    """The job that a table describes.

    >>> table = JobTable("words", [OperatorTable("split", 4, 0.1, 0.001)], trigger="10s")
    >>> job_from_table(table).trigger
    10.0
    """
    names: list[str] = []
    operators = []
    try:
        for one in table.operators:
            feeders = []
            for name in one.feeders or ():
                if name not in names:
                    hint = did_you_mean(name, names) if names else ""
                    raise InputError(f'operator {one.name}: "{name}" in from does not stand before it{hint}')
                feeders.append(names.index(name))
            if one.name in names:
                raise InputError(f"operator {one.name} is there twice")
            names.append(one.name)
            given = asdict(one) | {"feeders": tuple(feeders), "shares": tuple(one.shares)}
            operators.append(VirtualOperator(**(given | {"contention": tuple(one.contention)})))
        return VirtualJob(
            tuple(operators),
            trigger=None if table.trigger is None else lasts("trigger", table.trigger),
            drift_period=lasts("drift-period", table.drift_period),
            **{name: getattr(table, name) for name in _SAME},
        )
    except InputError as problem:
        raise InputError(f"job {table.name}: {problem}") from None


def lasts(setting: str, given: str | float) -> float:
    """Seconds; what is wrong with it names the setting.

    >>> lasts("trigger", "10s")
    10.0
    """
    try:
        return seconds(given)
    except InputError as problem:
        raise InputError(f"{setting}: {problem}") from None


def table_from_job(name: str, job: VirtualJob, **more: Any) -> JobTable:
    """The table that describes a job; `job_from_table` of it is the job again."""
    names = [one.name for one in job.operators]
    operators = [
        OperatorTable(
            one.name,
            one.partitions,
            one.fixed,
            one.per_record,
            [names[up] for up in one.feeders] or None,
            one.selectivity,
            one.hot,
            one.stateful,
            list(one.shares),
            one.distinct,
            list(one.contention),
            one.weight,
        )
        for one in job.operators
    ]
    same = {field: getattr(job, field) for field in _SAME}
    table = JobTable(name, operators, trigger=job.trigger, drift_period=job.drift_period, **same)
    return replace(table, **more)


def written(table: JobTable) -> str:
    """The table as TOML; what is as usual is left out."""
    said = msgspec.to_builtins(table)
    usual = msgspec.to_builtins(JobTable("", [], drift_period=table.drift_period))
    lines = [
        f"{key} = {_value(value)}" for key, value in said.items() if key != "operators" and _told(value, usual[key])
    ]
    for operator in said["operators"]:
        lines += ["", "[[operators]]", *_operator(operator)]
    return "\n".join(lines) + "\n"


def _operator(said: dict[str, Any]) -> Iterator[str]:
    usual = msgspec.to_builtins(OperatorTable("", 0, -1.0, -1.0))
    for key, value in said.items():
        if _told(value, usual[key]):
            yield f"{key} = {_value(value)}"


def _told(value: object, usual: object) -> bool:
    return value is not None and value != usual


def _value(value: object) -> str:
    """TOML's own words: JSON has the same for texts, numbers and lists of them."""
    return msgspec.json.encode(value).decode()
