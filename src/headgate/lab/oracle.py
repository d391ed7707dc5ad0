"""The clairvoyant: with the whole load known, the cheapest sizes over time that meet the objective.

    cost = sum over steps of slots * step                       what is there
         + joining * slots added                                what is held before it can be used
         + price of a change                                    by agreement

A size is good for a step if a batch of what comes (and the headroom) takes no longer than it may. A change is possible
where the batch it slows down, by cold executors and loading bins, is still in time: so it is made ahead of need. By
dynamic programming over steps and sizes, which finds the best of all schedules. It is what policies are measured
against: no schedule that holds the headroom in every step costs less. A policy that costs less is late, or keeps
less in reserve than the objective asks for.
"""

from typing import NamedTuple

import numpy as np

from headgate.lab.truth import Needs
from headgate.model.columns import Floats, Ints

_LATE = 1e9
"""Slot-seconds that a late step counts as: more than any schedule costs, so there are as few of them as can be."""


class Prices(NamedTuple):
    """In slot-seconds."""

    step: float
    """Of one executor for a step."""
    added: float
    """Of one executor before it can be used."""
    change: float = 0.0
    """Of any change, whatever its size."""


class Schedule(NamedTuple):
    """The cheapest."""

    sizes: Ints
    """Executors, one a step."""
    cost: float
    """Slot-seconds, the steps that are late not counted."""
    late: int
    """Steps in which the objective cannot be met, or not without a change that is late itself."""


def cheapest(good: Floats, slack: Floats, pauses: Floats, prices: Prices, start: int) -> Schedule:
    """By dynamic programming; sizes are 1, 2, 3 … in all arrays.

    `good` is, by step and size, how many times too long a batch is (1 or less: good enough); `slack` how much longer it
    could be; `pauses` by size before and after, how much a change adds to its first batch. `start` is what is there
    before the first step.

    >>> good = np.array([[1.0, 0.5], [2.0, 1.0], [1.0, 0.5]])
    >>> cheapest(good, np.ones((3, 2)), np.zeros((2, 2)), Prices(step=10.0, added=5.0), start=1).sizes.tolist()
    [1, 2, 1]
    """
    steps, sizes = good.shape
    held = np.arange(1, sizes + 1, dtype=np.float64)
    grown = np.maximum(held[None, :] - held[:, None], 0.0)
    moving = prices.added * grown + prices.change * (held[None, :] != held[:, None])
    # Of sizes that are all too small the one that is least so.
    running = prices.step * held[None, :] + np.where(good > 1.0, _LATE * good, 0.0)
    total = np.full(sizes, np.inf)
    total[start - 1] = 0.0
    came_from = np.zeros((steps, sizes), dtype=np.int32)
    for step in range(steps):
        by_way_of = total[:, None] + moving + np.where(pauses > slack[step][None, :], _LATE, 0.0)
        came_from[step] = by_way_of.argmin(axis=0)
        total = by_way_of[came_from[step], np.arange(sizes)] + running[step]
    best = int(total.argmin())
    chosen = np.zeros(steps, dtype=np.int64)
    for step in range(steps - 1, -1, -1):
        chosen[step] = best + 1
        best = int(came_from[step, best])
    return _priced(chosen, good, slack, pauses, moving, prices, start)


def _priced(
    chosen: Ints, good: Floats, slack: Floats, pauses: Floats, moving: Floats, prices: Prices, start: int
) -> Schedule:
    before, after = np.concatenate(([start], chosen[:-1])) - 1, chosen - 1
    steps = np.arange(chosen.size)
    cost = prices.step * float(chosen.sum()) + float(moving[before, after].sum())
    late = (good[steps, after] > 1.0) | (pauses[before, after] > slack[steps, after])
    return Schedule(chosen, cost, int(late.sum()))


def oracle(needs: Needs, longest: float, prices: Prices, start: int) -> Schedule:
    """The cheapest schedule for these needs; a batch may take the `longest`."""
    return cheapest(needs.with_headroom / longest, longest - needs.batches, needs.pauses, prices, start)
