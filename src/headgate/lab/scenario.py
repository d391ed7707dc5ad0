"""A scenario: which jobs, loads and policies, towards which objective, on what cluster, with which seeds.

    policies = ["capacity", "ds2", {name = "static", start = "peak"}]
    seeds = [1, 2, 3]

    [objective]
    keep-up = 0.2

    [executors]
    most = 40
    joining = "20s"

    [[loads]]
    name = "a step"
    load = "step(2k -> 8k @ 1h)"
    lasting = "3h"

    [[jobs]]
    …                               (`job_table`), or: twins = ["twin.toml"]

Files are looked for beside the scenario. Whatever is wrong is said in one line that names the file and the setting.
"""

import os
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from headgate.control.settings import Settings
from headgate.formats.load_trace import read_load_trace
from headgate.formats.settings_file import Wanted, converted, read_settings, wanted_objective
from headgate.lab.job_table import JobTable, job_from_table, lasts
from headgate.lab.punctuality import deadline
from headgate.model.errors import InputError, did_you_mean
from headgate.model.objective import Objective
from headgate.policies.pool_registry import pool_policy
from headgate.simulation.virtual_job import VirtualJob
from headgate.workloads.load import Load, load_from_text

ORACLE = "oracle"
MOST = 500
"""Executors: the oracle looks at every way from one number to another, for each interval of the load. And slots of one.
"""
_BATCHES = 100_000
"""Of a load: 11 days of one every 10 s; what the oracle knows of each size at each of them has to fit into memory."""
_DEAREST = 1_000_000
"""Slot-seconds of a change: any schedule must be cheaper than to be late."""
SET_ELSEWHERE = frozenset({"objective", "least", "most", "mode", "slots_each"})
"""Settings of the controller that are none of `[control]`: the objective and the executors say them."""
Start = int | Literal["first", "peak"]


class PolicyTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A policy, and what it begins with."""

    name: str
    start: Start | None = None
    """Executors; `first` for what the load needs at its beginning, `peak` for the most it ever needs."""


class LoadTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A load."""

    name: str
    load: str
    lasting: str
    optional: bool = False
    """Left out, with a line that says so, where a file it needs is not there."""
    judged: bool = False
    """Whether the targets are for this load."""


class ExecutorsTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The virtual cluster."""

    least: int = 1
    most: int = 32
    slots: int | None = None
    """Of each executor; None: those of a twin's original, 1 for a job that is made up."""
    joining: str = "20s"
    """An executor that is asked for is there after this time."""
    losing: str | None = None
    """On average one is lost every so often."""
    start: Start | None = None
    """None: what a twin's original ran on, `first` for a job that is made up."""


class PricesTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Beyond time."""

    change: float = 0.0
    """Slot-seconds that a change counts as for the oracle, beyond what it does to batches."""


class ScenarioFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file, as it is written."""

    policies: list[str | PolicyTable]
    loads: list[LoadTable]
    jobs: list[JobTable] = []
    twins: list[str] = []
    name: str = ""
    seeds: tuple[int, ...] = (1,)
    engine: Literal["simulation"] = "simulation"
    objective: Wanted = Wanted()
    executors: ExecutorsTable = ExecutorsTable()
    prices: PricesTable = PricesTable()
    control: dict[str, Any] = {}
    """Settings of the controller, by their names in `headgate.control.settings`: to try others than the defaults."""


class NamedLoad(NamedTuple):
    """A load, checked."""

    name: str
    text: str
    load: Load
    lasting: float
    judged: bool


class NamedJob(NamedTuple):
    """A job, checked."""

    name: str
    job: VirtualJob
    fits: bool
    about: str
    executors: int | None = None
    """What a twin's original ran on."""
    slots: int | None = None
    """Of each of those."""


class Scenario(NamedTuple):
    """All of it, checked."""

    name: str
    policies: tuple[PolicyTable, ...]
    loads: tuple[NamedLoad, ...]
    jobs: tuple[NamedJob, ...]
    seeds: tuple[int, ...]
    objective: Objective
    executors: ExecutorsTable
    prices: PricesTable
    settings: Settings
    """Of the controller: the defaults but for what is given, within the bounds."""
    left_out: tuple[str, ...]
    """What is not run, and why, a line each."""


def read_scenario(path: str | os.PathLike[str]) -> Scenario:
    """Read and check a scenario."""
    file = Path(path)
    return checked(file, read_settings(file, ScenarioFile))


def checked(file: Path, written: ScenarioFile, instead: Objective | None = None) -> Scenario:
    """What a file says, if it makes sense; with another objective instead of its own, if one is given."""
    try:
        objective = instead or wanted_objective(file, written.objective)
        jobs = _jobs(file, written)
        loads, left_out = _loads(file, written.loads)
        policies = _policies(written)
        _check_executors(written.executors)
        for job in jobs:
            try:
                interval = deadline(objective, job.job).interval
            except InputError as problem:
                raise InputError(f"job {job.name}: {problem}") from None
            for load in loads:
                _check_lasting(load, job, interval)
        _check_seeds(written.seeds)
        if not 0 <= written.prices.change <= _DEAREST:
            raise InputError(f"[prices] change is {written.prices.change}; give slot-seconds from 0 to {_DEAREST:,}")
    except InputError as problem:
        said = str(problem)
        raise InputError(said if said.startswith(str(file)) else f"{file}: {said}") from None
    return Scenario(
        written.name or file.stem, policies, loads, jobs, written.seeds, objective, written.executors,
        written.prices, _settings(file, written, objective), left_out,
    )  # fmt: skip


def _settings(file: Path, written: ScenarioFile, objective: Objective) -> Settings:
    known = [one for one in Settings.__struct_fields__ if one not in SET_ELSEWHERE]
    for name in written.control:
        if name not in known:
            raise InputError(f"{file}: [control] {name} is no setting{did_you_mean(name, known)}")
    given, bounds = converted(file, written.control, Settings, "[control]"), written.executors
    return msgspec.structs.replace(
        given, objective=objective, least=bounds.least, most=bounds.most, slots_each=bounds.slots or 1
    )


def _jobs(file: Path, written: ScenarioFile) -> tuple[NamedJob, ...]:
    tables = [*written.jobs, *(read_settings(file.parent / twin, JobTable) for twin in written.twins)]
    if not tables:
        raise InputError("there is no job; give [[jobs]], or twins")
    _once("job", [table.name for table in tables])
    for table in tables:
        for setting, count in (("executors", table.executors), ("slots", table.slots)):
            if count is not None and not 1 <= count <= MOST:
                raise InputError(f"job {table.name}: {setting} is {count}; give a number from 1 to {MOST}")
    return tuple(
        NamedJob(one.name, job_from_table(one), one.fits, one.about, one.executors, one.slots) for one in tables
    )


def _loads(file: Path, tables: list[LoadTable]) -> tuple[tuple[NamedLoad, ...], tuple[str, ...]]:
    _once("load", [table.name for table in tables])
    loads, left_out = [], []

    def beside(path: str) -> tuple[tuple[float, float], ...]:
        return read_load_trace(str(file.parent / path))

    for table in tables:
        try:
            load = load_from_text(table.load, beside)
            loads.append(NamedLoad(table.name, table.load, load, lasts("lasting", table.lasting), table.judged))
        except InputError as problem:
            if table.optional and "cannot be read" in str(problem):
                left_out.append(f"load {table.name} is left out: {problem}")
            else:
                raise InputError(f"load {table.name}: {problem}") from None
    if not loads:
        raise InputError(f"there is no load{': ' + left_out[0] if left_out else '; give [[loads]]'}")
    return tuple(loads), tuple(left_out)


def _policies(written: ScenarioFile) -> tuple[PolicyTable, ...]:
    policies = tuple(PolicyTable(one) if isinstance(one, str) else one for one in written.policies)
    _once("policy", [one.name for one in policies])
    for one in policies:
        if one.name != ORACLE:
            pool_policy(one.name)
        if isinstance(one.start, int) and not written.executors.least <= one.start <= written.executors.most:
            raise InputError(f"policy {one.name}: start is {one.start}, which is not from least to most")
    # The oracle is what all are measured against: it is always there.
    last = next((one for one in policies if one.name == ORACLE), PolicyTable(ORACLE))
    return (*(one for one in policies if one.name != ORACLE), last)


def _once(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{what} {name} is there {names.count(name)} times; give each a name of its own")


def _check_seeds(seeds: tuple[int, ...]) -> None:
    if len(set(seeds)) != len(seeds) or not seeds:
        raise InputError("seeds: give each number once, and one at least")
    for seed in seeds:
        if not 0 <= seed < 2**63:
            raise InputError(f"seeds: {seed} is none; give whole numbers from 0 to below 2^63")


def _check_lasting(load: NamedLoad, job: NamedJob, interval: float) -> None:
    if load.lasting < interval:
        raise InputError(
            f"load {load.name}: lasting is {load.lasting:g} s, less than the {interval:g} s from one batch of job "
            f"{job.name} to the next; give it longer"
        )
    if load.lasting > _BATCHES * interval:
        raise InputError(
            f"load {load.name}: lasting is {load.lasting:,.10g} s, more than {_BATCHES:,} batches of job {job.name}, "
            f"one every {interval:g} s; give it shorter"
        )


def _check_executors(given: ExecutorsTable) -> None:
    if not 1 <= given.least <= given.most <= MOST:
        raise InputError(f"[executors] least {given.least}, most {given.most}: give 1 <= least <= most <= {MOST}")
    if given.slots is not None and not 1 <= given.slots <= MOST:
        raise InputError(f"[executors] slots is {given.slots}; give a number from 1 to {MOST}")
    if isinstance(given.start, int) and not given.least <= given.start <= given.most:
        raise InputError(f"[executors] start is {given.start}, which is not from least to most")
    lasts("[executors] joining", given.joining)
    if given.losing is not None:
        lasts("[executors] losing", given.losing)
