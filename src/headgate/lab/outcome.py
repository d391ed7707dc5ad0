"""What came of a cell: figures, and what the pictures show over time. The same of a virtual Spark and of a real one."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import msgspec
import numpy as np

from headgate.lab.punctuality import deadline, lateness
from headgate.lab.scenario import NamedJob, NamedLoad
from headgate.lab.truth import Needs
from headgate.model.columns import Floats, Ints
from headgate.model.objective import Objective
from headgate.workloads.load import Load

_DRAWN = 360
"""Points of a picture."""
_JUMP = 1.2
"""A load that changes by so many times from one moment to the next jumps."""
_SETTLING = 1800.0
"""Rescales so long after a jump count as steps to settle."""


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


class Taken(NamedTuple):
    """A batch, or a moment at which nothing waited: that is one which takes nothing and ends as it begins. Seconds."""

    began: float
    ended: float
    due: float
    """Records that had come when it began, since the load did."""
    records: float
    executors: int


class Ran(NamedTuple):
    """All that is known of a run once it is over."""

    taken: Sequence[Taken]
    batches: int
    slot_seconds: float
    """Held, each slot from the moment it was asked for."""
    changes: Sequence[float]
    """When another number of executors was asked for."""


NOTHING = Ran([], 0, 0.0, [])
"""A run of which nothing was seen."""


class Judged(NamedTuple):
    """What a run is judged by."""

    job: NamedJob
    load: NamedLoad
    objective: Objective
    slots: int
    """Of each executor."""
    change: float
    """Slot-seconds that a change counts as."""
    asked: Needs
    """What the load asks of the job, by its arithmetic."""


def outcome(key: str, policy: str, seed: int, ran: Ran, by: Judged, failed: str = "") -> Outcome:
    """The figures of a run."""
    job, load, asked = by.job, by.load, by.asked
    began, ended, due, records, there = np.array(ran.taken or [Taken(0.0, 1.0, 0.0, 0.0, 1)], np.float64).T
    late = lateness(began, ended, due, np.cumsum(records), deadline(by.objective, job.job).bound, load.lasting)
    least = asked.least[_steps(began, asked)]
    lasted = np.diff(np.minimum(ended, load.lasting), prepend=0.0)
    weights = lasted / lasted.sum()
    edges = np.linspace(0.0, load.lasting, _DRAWN + 1)
    due_at = np.array([load.load.records(edge) for edge in edges.tolist()])
    return Outcome(
        key, job.name, job.fits, load.name, load.judged, policy, seed,
        round(ran.slot_seconds / 3600, 6), round((ran.slot_seconds + by.change * len(ran.changes)) / 3600, 6),
        round(late.time, 8), round(late.records, 8), round(late.worst, 3),
        len(ran.changes), _steps_to_settle(load, ran.changes),
        round(float((weights * np.maximum(there / least - 1, 0)).sum()), 6),
        round(float((weights * np.maximum(1 - there / least, 0)).sum()), 6),
        ran.batches,
        _drawn(edges, ended, there * by.slots), np.round(np.diff(due_at) / np.diff(edges), 3).tolist(),
        _drawn(edges, ended, late.ages), _drawn(edges, ended, least.astype(np.float64) * by.slots),
        round(load.lasting / 3600, 6), failed,
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
