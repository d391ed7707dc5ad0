"""The scenario that options of `headgate lab` describe: one twin under one load; what is wrong names its option."""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from headgate.cli.options import add_objective, count, file, objective
from headgate.formats.load_trace import read_load_trace
from headgate.formats.settings_file import read_settings
from headgate.lab.job_table import JobTable, job_from_table
from headgate.lab.punctuality import Deadline, deadline
from headgate.lab.scenario import MOST, ORACLE, ExecutorsTable, LoadTable, Scenario, ScenarioFile, checked
from headgate.model.durations import seconds
from headgate.model.errors import InputError
from headgate.model.objective import Freshness, KeepUp, Objective
from headgate.policies.pool_registry import pool_policy
from headgate.simulation.virtual_job import VirtualJob
from headgate.workloads.load import load_from_text

_LASTING, _POLICIES, _MOST, _JOINING = "2h", "capacity", 32, "20s"
_KEEP_UP = KeepUp(headroom=0.2)
_Found = TypeVar("_Found")


def add_twin_options(parser: argparse.ArgumentParser) -> None:
    """Those that take the place of a scenario."""
    twin = parser.add_argument_group("a twin instead of a scenario")
    twin.add_argument("--twin", type=file, metavar="FILE", help="made by `headgate twin`")
    twin.add_argument("--load", metavar="LOAD", help="for example 'step(2k -> 8k @ 30m)'")
    twin.add_argument("--for", dest="lasting", metavar="TIME", help=f"(default: {_LASTING})")
    twin.add_argument("--policies", metavar="NAMES", help=f"with commas (default: {_POLICIES})")
    twin.add_argument(
        "--most", type=count, metavar="N", help=f"executors (default: {_MOST}, or twice what the twin ran on)"
    )
    twin.add_argument("--slots", type=count, metavar="N", help="of each executor (default: as the twin had)")
    twin.add_argument("--joining", metavar="TIME", help=f"until an executor is there (default: {_JOINING})")
    wanted = parser.add_argument_group("what is wanted of the twin (default: --headroom 0.2)")
    add_objective(wanted.add_mutually_exclusive_group())


def of_a_twin(given: argparse.Namespace) -> Iterator[tuple[str, object]]:
    """Options that mean nothing without a twin, and what was given for them."""
    yield from (("--load", given.load), ("--for", given.lasting), ("--policies", given.policies))
    yield from (("--most", given.most), ("--slots", given.slots), ("--joining", given.joining))
    yield from (("--headroom", given.headroom), ("--freshness", given.freshness), ("--catch-up", given.catch_up))


def twin_scenario(given: argparse.Namespace) -> Scenario:
    """One job, one load; executors as the twin's original had them, unless they are given."""
    if given.load is None:
        raise InputError("--twin needs a --load, such as 'step(2k -> 8k @ 30m)'")
    path = Path(given.twin).absolute()
    table = read_settings(given.twin, JobTable)
    job = _named(given.twin, lambda: job_from_table(table))
    wanted = objective(given) or _KEEP_UP
    aim = _aim(given.twin, wanted, job)
    lasting = _LASTING if given.lasting is None else given.lasting
    if _named("--for", lambda: seconds(lasting)) < aim.interval:
        raise InputError(f"--for is {lasting}, less than the {aim.interval:g} s from one batch of the twin to the next")
    _named("--load", lambda: load_from_text(given.load, read_load_trace))
    most = _up_to_most("--most", given.most) or min(MOST, max(_MOST, 2 * (table.executors or 1)))
    joining = _JOINING if given.joining is None else given.joining
    _named("--joining", lambda: seconds(joining))
    written = ScenarioFile(
        [*_policies(_POLICIES if given.policies is None else given.policies)],
        [LoadTable("load", given.load, lasting)],
        twins=[str(path)],
        name=path.stem,
        executors=ExecutorsTable(most=most, slots=_up_to_most("--slots", given.slots), joining=joining),
    )
    # Files that a load names are looked for from here, as those of any option.
    return checked(Path("--twin"), written, wanted)


def _aim(twin: str, wanted: Objective, job: VirtualJob) -> Deadline:
    if job.trigger is None and not isinstance(wanted, Freshness):
        raise InputError(f"{twin}: a job without a trigger always keeps up somehow; give a --freshness, such as 30s")
    return _named("--freshness", lambda: deadline(wanted, job))


def _policies(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name != ORACLE:
            _named("--policies", partial(pool_policy, name))
        if names.count(name) > 1:
            raise InputError(f"--policies: {name} is there {names.count(name)} times; give each once")
    return names


def _up_to_most(option: str, value: int | None) -> int | None:
    if value is not None and not 1 <= value <= MOST:
        raise InputError(f"{option} is {value}; give from 1 to {MOST}")
    return value


def _named(option: str, found: Callable[[], _Found]) -> _Found:
    try:
        return found()
    except InputError as problem:
        said = str(problem)
        raise InputError(said if said.startswith(option) else f"{option}: {said}") from None
