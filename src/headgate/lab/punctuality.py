"""What late is. Everything follows from the age of results and one bound on it.

At any moment the results that are there cover the records that came up to some earlier moment; the time since then is
the age of the results. With batches every T seconds that take B it swings between B and T + B. While nothing comes,
results that cover all that came do not grow old.

    bound = F          Freshness within F
            2 T        KeepUp, CatchUp: a batch that ends before the next is due
    late  = age > bound

Time is late while the age is above the bound; a record is late if its result came later than the bound after itself.
"""

from typing import NamedTuple

import numpy as np

from headgate.model.columns import Floats
from headgate.model.errors import InputError
from headgate.model.objective import Freshness, KeepUp, Objective
from headgate.simulation.virtual_job import VirtualJob


class Deadline(NamedTuple):
    """What an objective comes to for a job. Seconds."""

    bound: float
    """The highest age of results."""
    interval: float
    """From one batch to the next: the trigger, or for batches as soon as possible the longest that is fresh enough."""
    batch: float
    """A batch may take so long."""
    headroom: float
    """Part of the records that must be carried beyond those that come."""


def deadline(objective: Objective, job: VirtualJob) -> Deadline:
    """What must hold of each batch for the objective to be met for ever.

    >>> from headgate.simulation.virtual_job import VirtualOperator
    >>> job = VirtualJob((VirtualOperator("map", 1, 0.1, 0.1),), trigger=10.0)
    >>> deadline(Freshness("15s"), job)
    Deadline(bound=15.0, interval=10.0, batch=5.0, headroom=0.0)
    """
    headroom = objective.headroom if isinstance(objective, KeepUp) else 0.0
    if not isinstance(objective, Freshness):
        if job.trigger is None:
            raise InputError("a job without a trigger always keeps up somehow; give it a freshness as its objective")
        return Deadline(2 * job.trigger, job.trigger, job.trigger, headroom)
    bound = float(objective.within)
    if job.trigger is None:
        return Deadline(bound, bound / 2, bound / 2, headroom)
    if bound <= job.trigger:
        raise InputError(f"a freshness of {bound:g} s cannot be had with a batch every {job.trigger:g} s")
    return Deadline(bound, job.trigger, min(job.trigger, bound - job.trigger), headroom)


class Lateness(NamedTuple):
    """Of a whole run."""

    time: float
    """Part of the time in which results were older than the bound."""
    records: float
    """Part of the records whose result came later than the bound."""
    worst: float
    """The highest age of results, in seconds."""
    ages: Floats
    """The age of results when each batch ended, just before."""


def lateness(
    began: Floats, ended: Floats, due: Floats, taken: Floats, bound: float, until: float | None = None
) -> Lateness:
    """Of batches: when each began and ended, records that had come when it began, and records taken by then in all.

    A moment at which nothing waited is a batch that takes nothing and ends as it begins. Time counts up to `until`, or
    up to the last end; records are late by when their batch ended, also after it.

    >>> began, ended = np.array([10.0, 20.0, 45.0]), np.array([14.0, 44.0, 49.0])
    >>> due = np.array([100.0, 200.0, 450.0])
    >>> said = lateness(began, ended, due, due, bound=20.0)
    >>> round(said.time * 49, 6), round(said.records * 450, 6), said.worst
    (19.0, 190.0, 34.0)
    """
    moments, counts = np.concatenate(([0.0], began)), np.concatenate(([0.0], due))
    # Up to when records are in the results: the last moment at which no more had come than were taken.
    covers = np.interp(taken, counts, moments)
    # When the last of them came: of moments at which as many had come, the first.
    came_by = np.interp(-taken, -counts[::-1], moments[::-1])
    before = np.concatenate((np.interp([0.0], counts, moments), covers[:-1]))
    lasting = float(ended[-1]) if until is None else until
    ends = np.minimum(ended, lasting)
    since = np.concatenate(([0.0], ends[:-1]))
    late = np.maximum(0.0, ends - np.maximum(since, before + bound))
    came = np.diff(taken, prepend=0.0)
    spans = np.maximum(came_by - before, 1e-9)
    late_part = np.clip((ended - bound - before) / spans, 0.0, 1.0)
    return Lateness(
        float(late.sum() / lasting),
        float((came * late_part).sum() / max(float(came.sum()), 1.0)),
        float((ends - before).max()),
        ends - before,
    )
