"""One cell of an experiment: a policy with a job under a load, by one seed; and how it is run on the virtual Spark."""

import hashlib
import platform
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

import headgate
from headgate.control.settings import Settings
from headgate.lab.following import controlled, followed_at_once
from headgate.lab.oracle import Prices, Schedule, oracle
from headgate.lab.oracle_policy import OraclePolicy
from headgate.lab.outcome import Judged, Outcome, Ran, Taken, outcome
from headgate.lab.punctuality import deadline
from headgate.lab.scenario import ORACLE, SIMULATION, EngineName, NamedJob, NamedLoad, Scenario, Start
from headgate.lab.truth import Needs, needs
from headgate.model.durations import seconds
from headgate.model.microbatch import MicroBatch
from headgate.model.objective import Objective
from headgate.policies.pool_registry import POOL_POLICIES, pool_policy
from headgate.simulation.virtual_job import VirtualJob
from headgate.simulation.virtual_spark import VirtualSpark
from headgate.spark.installation import java_found, spark_version
from headgate.workloads.load import Load

_DECIDES = ("model", "policies", "control", "simulation", "lab", "workloads/load", "workloads/scrambled.py")
"""Parts of Headgate on which outcomes depend."""
_DECIDES_FOR_REAL = (*_DECIDES, "formats", "runtime", "spark", "workloads")


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
    engine: EngineName = SIMULATION
    key: str = ""
    """The same for the same run by the same code, and for no other; what a job or a load is called is no part of it."""

    def named(self) -> "Cell":
        """With its key."""
        job = {name: getattr(self.job.job, name) for name in VirtualJob.__struct_fields__}
        load = [self.load.text, _points(self.load.load), self.load.lasting]
        told = [_code(self.simulated), versions(simulated=self.simulated), job, *load, *self[2:-1]]
        return self._replace(key=hashlib.sha256(msgspec.json.encode(told, order="sorted")).hexdigest()[:24])

    @property
    def simulated(self) -> bool:
        """Whether it is run in virtual time; the oracle always is, since nobody knows what is to come on a real one."""
        return self.engine == SIMULATION or self.policy == ORACLE

    def judged(self) -> Judged:
        """What its run is judged by."""
        return Judged(self.job, self.load, self.objective, self.slots, self.change, self.asked())

    def asked(self) -> Needs:
        """What the load asks of the job, by its arithmetic."""
        return _needs(self.job.job, self.load.load, self.load.lasting, self.objective, self.settings.most, self.slots)

    def first(self, asked: Needs) -> int:
        """Executors to begin with."""
        least, start = asked.least, self.start
        executors = start if isinstance(start, int) else int(least[0] if start == "first" else least.max())
        return min(max(executors, self.settings.least), self.settings.most)

    def labelled(self, outcome: Outcome) -> Outcome:
        """What came of this run, by the names that job and load have now, and judged as they are now."""
        job, load = self.job, self.load
        return msgspec.structs.replace(outcome, job=job.name, fits=job.fits, load=load.name, judged=load.judged)


@lru_cache(maxsize=2)
def _code(simulated: bool) -> str:
    """What an outcome depends on: whoever changes a policy gets its cells run again."""
    here, parts = Path(headgate.__file__).parent, _DECIDES if simulated else _DECIDES_FOR_REAL
    files = sorted(file for part in parts for file in [*(here / part).rglob("*.py"), here / part] if file.is_file())
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def versions(*, simulated: bool) -> dict[str, str]:
    """Of all that runs a cell."""
    common = {"headgate": headgate.__version__, "python": platform.python_version(), "numpy": np.__version__}
    return common if simulated else {**common, "spark": spark_version(), "java": java_found().version}


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
                        scenario.prices.change, scenario.engine,
                    ).named()
                    for seed in scenario.seeds
                ]  # fmt: skip
    return found


def run_cell(cell: Cell) -> Outcome:
    """Run it on the virtual Spark. What a policy does wrong is an outcome, not an error."""
    job, load = cell.job.job, cell.load.load
    by = cell.judged()
    start = cell.first(by.asked)
    spark = VirtualSpark(
        job, load.records, executors=start, slots=cell.slots, joining=cell.joining, losing=cell.losing,
        paid_until=cell.load.lasting, seed=cell.seed,
    )  # fmt: skip
    spark.spread_bins()
    trail, failed = _Trail(start), ""
    try:
        for batch in _followed(cell, spark, by.asked, start):
            trail.note(batch, spark)
        trail.end(spark, cell.load.lasting)
    except Exception as problem:  # whatever it is, the other cells go on
        failed = f"{type(problem).__name__}: {problem}"
    ran = Ran(trail.rows, trail.batches, spark.slot_seconds, trail.changes)
    return outcome(cell.key, cell.policy, cell.seed, ran, by, failed)


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
    """What is noted of each batch, and of quiet in between."""

    def __init__(self, start: int) -> None:
        self.rows: list[Taken] = []
        self.changes: list[float] = []
        self.batches = 0
        self._asked = self._there = start

    def note(self, batch: MicroBatch, spark: VirtualSpark) -> None:
        """At the end of a batch."""
        read = batch.sources[0]
        self._quiet(spark, float(read.start))
        due, there = float(read.latest), len(batch.executors)
        self.rows.append(Taken(batch.began / 1000, spark.now, due, batch.input_rows, there))
        self.batches += 1
        if spark.asked != self._asked:
            self.changes.append(spark.now)
        self._asked, self._there = spark.asked, len(spark.executors())

    def end(self, spark: VirtualSpark, until: float) -> None:
        """Where no batch begins any more: what no batch has taken by now is as late as it is by now, at the least."""
        self._quiet(spark, spark.taken)
        due = max(spark.taken, int(spark.arrived(until)))
        if due > spark.taken or spark.now > self._until:
            self.rows.append(Taken(until, max(spark.now, until), due, due - spark.taken, len(spark.executors())))

    def _quiet(self, spark: VirtualSpark, taken: float) -> None:
        if spark.nothing_waited > self._until:
            self.rows.append(Taken(spark.nothing_waited, spark.nothing_waited, taken, 0, self._there))

    @property
    def _until(self) -> float:
        return self.rows[-1].ended if self.rows else 0.0


@lru_cache(maxsize=4)
def _needs(job: VirtualJob, load: Load, lasting: float, objective: Objective, most: int, each: int) -> Needs:
    return needs(job, load.records, lasting, deadline(objective, job), most, each)


def _schedule(cell: Cell, asked: Needs, start: int) -> Schedule:
    prices = Prices(asked.step * cell.slots, cell.joining * cell.slots, cell.change)
    return oracle(asked, deadline(cell.objective, cell.job.job).batch, prices, start)


def _points(load: Load) -> list[object]:
    """What a trace holds, wherever it is in the load: a file may change while its name stays."""
    parts = getattr(load, "parts", ())
    return [getattr(load, "points", None), *(one for part in parts for one in _points(part))]
