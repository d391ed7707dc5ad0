"""One cell of an experiment: a policy with a job under a load, by one seed; and what came of it."""

import hashlib
import platform
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

import headgate
from headgate.control.settings import Settings
from headgate.lab.following import controlled, followed_at_once
from headgate.lab.oracle import Prices, Schedule, oracle
from headgate.lab.oracle_policy import OraclePolicy
from headgate.lab.punctuality import deadline, lateness
from headgate.lab.scenario import ORACLE, NamedJob, NamedLoad, Scenario, Start
from headgate.lab.truth import Needs, needs
from headgate.model.columns import Floats, Ints
from headgate.model.durations import seconds
from headgate.model.microbatch import MicroBatch
from headgate.model.objective import Objective
from headgate.policies.pool_registry import POOL_POLICIES, pool_policy
from headgate.simulation.virtual_job import VirtualJob
from headgate.simulation.virtual_spark import VirtualSpark
from headgate.workloads.load import Load

_DRAWN = 360
"""Points of a picture."""
_JUMP = 1.2
"""A load that changes by so many times from one moment to the next jumps."""
_DECIDES = ("model", "policies", "control", "simulation", "lab", "workloads/load", "workloads/scrambled.py")
"""Parts of Headgate on which outcomes depend."""
_SETTLING = 1800.0
"""Rescales so long after a jump count as steps to settle."""


class Cell(NamedTuple):
    """What is run."""

    job: NamedJob
    load: NamedLoad
    policy: str
    start: Start
    seed: int
    objective: Objective
    settings: Settings
    slots: int
    joining: float
    losing: float | None
    change: float
    key: str = ""
    """The same for the same run by the same code, and for no other; what a job or a load is called is no part of it."""

    def named(self) -> "Cell":
        """With its key."""
        job = {name: getattr(self.job.job, name) for name in VirtualJob.__struct_fields__}
        load = [self.load.text, _points(self.load.load), self.load.lasting]
        told = [_code(), versions(), job, *load, *self[2:-1]]
        return self._replace(key=hashlib.sha256(msgspec.json.encode(told, order="sorted")).hexdigest()[:24])

    def labelled(self, outcome: "Outcome") -> "Outcome":
        """What came of this run, by the names that job and load have now, and judged as they are now."""
        job, load = self.job, self.load
        return msgspec.structs.replace(outcome, job=job.name, fits=job.fits, load=load.name, judged=load.judged)


class Outcome(msgspec.Struct, frozen=True):
    """What came of a cell; JSON and Parquet carry it."""

    key: str
    job: str
    fits: bool
    load: str
    judged: bool
    policy: str
    seed: int
    slot_hours: float
    cost: float
    """Slot-hours, and what changes of the number of executors were priced at: what regret is reckoned by."""
    late_time: float
    late_records: float
    worst_age: float
    rescales: int
    steps_to_settle: float | None
    """Rescales within half an hour of a jump of the load, or until the next jump; mean. None: it never jumps."""
    over: float
    """Executors beyond the least that would do, as a part of that, mean over time."""
    under: float
    """Executors short of it."""
    batches: int
    slots: list[float]
    """There, over time."""
    rates: list[float]
    """Records per second that came, over time."""
    ages: list[float]
    """The highest age of results, over time."""
    least: list[float]
    """Slots that would just do, over time."""
    hours: float
    failed: str = ""
    """What went wrong with the policy; the figures mean nothing then."""


@lru_cache(maxsize=1)
def _code() -> str:
    """What an outcome depends on: whoever changes a policy gets its cells run again."""
    here = Path(headgate.__file__).parent
    files = sorted(file for part in _DECIDES for file in [*(here / part).rglob("*.py"), here / part] if file.is_file())
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def versions() -> dict[str, str]:
    """Of all that runs a cell."""
    return {"headgate": headgate.__version__, "python": platform.python_version(), "numpy": np.__version__}


def cells(scenario: Scenario) -> list[Cell]:
    """All of them: long loads first, and those that share a job and a load next to each other."""
    executors, found = scenario.executors, []
    for load in sorted(scenario.loads, key=lambda one: -one.lasting):
        for job in scenario.jobs:
            slots = executors.slots or job.slots or 1
            settings = msgspec.structs.replace(scenario.settings, slots_each=slots)
            for policy in scenario.policies:
                start: Start = policy.start or executors.start or job.executors or "first"
                found += [
                    Cell(
                        job, load, policy.name, start, seed, scenario.objective, settings, slots,
                        seconds(executors.joining), None if executors.losing is None else seconds(executors.losing),
                        scenario.prices.change,
                    ).named()
                    for seed in scenario.seeds
                ]  # fmt: skip
    return found


def run_cell(cell: Cell) -> Outcome:
    """Run it. What a policy does wrong is an outcome, not an error."""
    job, load, settings = cell.job.job, cell.load.load, cell.settings
    asked = _needs(job, load, cell.load.lasting, cell.objective, settings.most, cell.slots)
    start = _start(cell.start, asked, settings)
    spark = VirtualSpark(
        job, load.records, executors=start, slots=cell.slots, joining=cell.joining, losing=cell.losing,
        paid_until=cell.load.lasting, seed=cell.seed,
    )  # fmt: skip
    spark.spread_bins()
    trail, failed = _Trail(start), ""
    try:
        for batch in _followed(cell, spark, asked, start):
            trail.note(batch, spark)
        trail.end(spark, cell.load.lasting)
    except Exception as problem:  # whatever it is, the other cells go on
        failed = f"{type(problem).__name__}: {problem}"
    return _outcome(cell, spark, trail, asked, failed)


def _followed(cell: Cell, spark: VirtualSpark, asked: Needs, start: int) -> Iterator[MicroBatch]:
    """The batches, with the policy in charge."""
    until = cell.load.lasting
    if cell.policy == ORACLE:
        policy = OraclePolicy(_schedule(cell, asked, start).sizes, asked.step, cell.joining)
        return followed_at_once(spark, policy, cell.settings, until, every=asked.step)
    if POOL_POLICIES[cell.policy].own_timing:
        return followed_at_once(spark, pool_policy(cell.policy), cell.settings, until)
    return controlled(spark, pool_policy(cell.policy), cell.settings, until)


class _Trail:
    """What is noted of each batch, and of quiet in between: began, ended, records due by then, taken, executors."""

    def __init__(self, start: int) -> None:
        self.rows: list[tuple[float, float, float, float, float]] = []
        self.changes: list[float] = []
        self.batches = 0
        self._asked = self._there = start

    def note(self, batch: MicroBatch, spark: VirtualSpark) -> None:
        """At the end of a batch."""
        read = batch.sources[0]
        self._quiet(spark, float(read.start))
        self.rows.append((batch.began / 1000, spark.now, float(read.latest), batch.input_rows, len(batch.executors)))
        self.batches += 1
        if spark.asked != self._asked:
            self.changes.append(spark.now)
        self._asked, self._there = spark.asked, len(spark.executors())

    def end(self, spark: VirtualSpark, until: float) -> None:
        """Where no batch begins any more: what no batch has taken by now is as late as it is by now, at the least."""
        self._quiet(spark, spark.taken)
        due = max(spark.taken, int(spark.arrived(until)))
        if due > spark.taken or spark.now > self._until:
            self.rows.append((until, max(spark.now, until), due, due - spark.taken, len(spark.executors())))

    def _quiet(self, spark: VirtualSpark, taken: float) -> None:
        if spark.nothing_waited > self._until:
            self.rows.append((spark.nothing_waited, spark.nothing_waited, taken, 0, self._there))

    @property
    def _until(self) -> float:
        return self.rows[-1][1] if self.rows else 0.0


def _outcome(cell: Cell, spark: VirtualSpark, trail: _Trail, asked: Needs, failed: str) -> Outcome:
    rows = np.array(trail.rows or [(0.0, 1.0, 0.0, 0.0, 1.0)])
    began, ended, due, records, there = rows.T
    bound = deadline(cell.objective, cell.job.job).bound
    late = lateness(began, ended, due, np.cumsum(records), bound, cell.load.lasting)
    least = asked.least[_steps(began, asked)]
    lasted = np.diff(np.minimum(ended, cell.load.lasting), prepend=0.0)
    weights = lasted / lasted.sum()
    edges = np.linspace(0.0, cell.load.lasting, _DRAWN + 1)
    due_at = np.array([cell.load.load.records(edge) for edge in edges.tolist()])
    return Outcome(
        cell.key, cell.job.name, cell.job.fits, cell.load.name, cell.load.judged, cell.policy, cell.seed,
        round(spark.slot_seconds / 3600, 6), round((spark.slot_seconds + cell.change * len(trail.changes)) / 3600, 6),
        round(late.time, 8), round(late.records, 8), round(late.worst, 3),
        len(trail.changes), _steps_to_settle(cell.load, trail.changes),
        round(float((weights * np.maximum(there / least - 1, 0)).sum()), 6),
        round(float((weights * np.maximum(1 - there / least, 0)).sum()), 6),
        trail.batches,
        _drawn(edges, ended, there * cell.slots), np.round(np.diff(due_at) / np.diff(edges), 3).tolist(),
        _drawn(edges, ended, late.ages), _drawn(edges, ended, least.astype(np.float64) * cell.slots),
        round(cell.load.lasting / 3600, 6), failed,
    )  # fmt: skip


def _steps(began: Floats, asked: Needs) -> Ints:
    """Whose records a batch takes: those of the step at whose end it begins."""
    steps: Ints = np.clip(np.rint(began / asked.step).astype(np.int64) - 1, 0, len(asked.least) - 1)
    return steps


def _drawn(edges: Floats, ended: Floats, values: Floats) -> list[float]:
    """The highest value of each stretch of time; where no batch ended that of the next one."""
    places = np.searchsorted(ended, edges)
    last = len(values) - 1
    return [
        round(float(values[min(begin, last) : max(end, min(begin, last) + 1)].max()), 3)
        for begin, end in pairwise(places.tolist())
    ]


def _steps_to_settle(load: NamedLoad, changes: Sequence[float]) -> float | None:
    jumps = _jumps(load.load, load.lasting)
    if not jumps:
        return None
    ends = [*jumps[1:], load.lasting]
    steps = [
        sum(jump < change <= min(end, jump + _SETTLING) for change in changes)
        for jump, end in zip(jumps, ends, strict=True)
    ]
    return round(sum(steps) / len(steps), 4)


@lru_cache(maxsize=16)
def _jumps(load: Load, until: float) -> tuple[float, ...]:
    """Moments from which on the rate is quite another."""
    found: list[float] = []
    for corner in load.corners(until):
        before, after = load.rate(corner - 1e-3), load.rate(corner + 1e-3)
        if max(before, after) > _JUMP * max(min(before, after), 1e-9) and (not found or corner > found[-1]):
            found.append(corner)
    return tuple(found)


@lru_cache(maxsize=4)
def _needs(job: VirtualJob, load: Load, lasting: float, objective: Objective, most: int, each: int) -> Needs:
    return needs(job, load.records, lasting, deadline(objective, job), most, each)


def _start(start: Start, asked: Needs, settings: Settings) -> int:
    executors = start if isinstance(start, int) else int(asked.least[0] if start == "first" else asked.least.max())
    return min(max(executors, settings.least), settings.most)


def _schedule(cell: Cell, asked: Needs, start: int) -> Schedule:
    prices = Prices(asked.step * cell.slots, cell.joining * cell.slots, cell.change)
    return oracle(asked, deadline(cell.objective, cell.job.job).batch, prices, start)


def _points(load: Load) -> list[object]:
    """What a trace holds, wherever it is in the load: a file may change while its name stays."""
    parts = getattr(load, "parts", ())
    return [getattr(load, "points", None), *(one for part in parts for one in _points(part))]
