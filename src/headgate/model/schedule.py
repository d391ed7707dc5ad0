"""List scheduling: how long the stages of a batch take on a pool of executors.

What Spark's scheduler does, in virtual time: tasks of ready stages, in order, go to executors that have a slot free,
one each in turn; a task with a home (its bin of state lives there) goes to that executor only; a stage is ready when
all stages that feed it are over. Skew, last waves and idle executors are in the answer because they are in the
schedule. Work divided by slots knows none of them.
"""

import heapq
from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from headgate.model.columns import Floats

ANYWHERE = -1


class Stage(NamedTuple):
    """Tasks that wait for the same inputs."""

    seconds: Floats
    """One a task: how long it holds a slot."""
    feeders: tuple[int, ...] = ()
    """Places of the stages that must be over first."""
    homes: tuple[int, ...] = ()
    """One a task: the place of the executor it runs on, or `ANYWHERE`; empty where that holds for all."""


class Schedule(NamedTuple):
    """When each stage began and was over, from the start of the first; and which task ran where from when on."""

    began: tuple[float, ...]
    over: tuple[float, ...]
    started: tuple[tuple[float, ...], ...]
    """By stage, one a task."""
    executor: tuple[tuple[int, ...], ...]

    @property
    def makespan(self) -> float:
        """How long all of them took together."""
        return max(self.over, default=0.0)


def scheduled(stages: Sequence[Stage], slots: Sequence[int]) -> Schedule:
    """Run the stages on executors with so many slots each. A home that is not there counts as anywhere.

    >>> import numpy as np
    >>> scheduled([Stage(np.array([3.0, 1.0, 1.0, 1.0]))], slots=[1, 1]).makespan
    3.0
    >>> scheduled([Stage(np.array([1.0] * 4), homes=(0, 0, 0, 0))], slots=[1, 1]).makespan
    4.0
    """
    if _one_after_the_other(stages, slots):
        return _chain(stages, slots)
    return _Run(stages, slots).schedule()


def times(stages: Sequence[Stage], slots: Sequence[int]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """When each stage began and was over: the same as `scheduled`, without saying which task ran where.

    >>> import numpy as np
    >>> times([Stage(np.array([3.0, 1.0, 1.0, 1.0])), Stage(np.array([2.0]), feeders=(0,))], slots=[1, 1])
    ((0.0, 3.0), (3.0, 5.0))
    """
    if not _one_after_the_other(stages, slots):
        schedule = _Run(stages, slots).schedule()
        return schedule.began, schedule.over
    now, began, over = 0.0, [], []
    for stage in stages:
        began.append(now)
        now += _lasts(stage, slots)
        over.append(now)
    return tuple(began), tuple(over)


def _lasts(stage: Stage, slots: Sequence[int]) -> float:
    """How long a stage takes that has all slots to itself."""
    if not stage.seconds.size:
        return 0.0
    if not stage.homes:
        return _on(sum(slots), stage.seconds.tolist())
    if all(count == 1 for count in slots):  # each home works through its own, one after the other
        return float(np.bincount(np.array(stage.homes), weights=stage.seconds).max())
    at_home: dict[int, list[float]] = {}
    for home, seconds in zip(stage.homes, stage.seconds.tolist(), strict=True):
        at_home.setdefault(home, []).append(seconds)
    return max(_on(slots[home], seconds) for home, seconds in at_home.items())


def _on(slots: int, seconds: list[float]) -> float:
    """List scheduling in its barest form."""
    if len(seconds) <= slots:
        return max(seconds)
    free = seconds[:slots]
    heapq.heapify(free)
    for took in seconds[slots:]:
        heapq.heapreplace(free, free[0] + took)
    return max(free)


@lru_cache(maxsize=64)
def in_turns(slots: tuple[int, ...]) -> tuple[int, ...]:
    """The executor of each slot, one slot of each executor in turn, as Spark makes its offers.

    >>> in_turns((2, 1))
    (0, 1, 0)
    """
    turns = sorted((place, executor) for executor, count in enumerate(slots) for place in range(count))
    return tuple(executor for _, executor in turns)


def _one_after_the_other(stages: Sequence[Stage], slots: Sequence[int]) -> bool:
    """Whether stages follow one another, each with all slots free when it begins."""
    chain = all(stage.feeders == ((place - 1,) if place else ()) for place, stage in enumerate(stages))
    return chain and sum(slots) > 0 and all(_simple(stage, slots) for stage in stages)


def _simple(stage: Stage, slots: Sequence[int]) -> bool:
    """All tasks anywhere, or each at a home that is there."""
    homes = stage.homes
    if not homes:
        return True
    if not all(slots):
        return all(0 <= home < len(slots) and slots[home] for home in homes)
    return min(homes) >= 0 and max(homes) < len(slots)


def _chain(stages: Sequence[Stage], slots: Sequence[int]) -> Schedule:
    """Stages that follow one another: the common case, in a tenth of the time.

    Each stage starts with all slots free, so a task goes to the slot it may have that is free first, and that is all.
    """
    order = in_turns(tuple(slots))
    now, began, over, started, ran_on = 0.0, [], [], [], []
    for stage in stages:
        began.append(now)
        tasks = len(stage.seconds)
        if not stage.homes and 0 < tasks <= len(order):  # a slot for each: nobody waits
            started.append((now,) * tasks)
            ran_on.append(order[:tasks])
            now += float(stage.seconds.max())
            over.append(now)
            continue
        # A heap as it is: all are equal. Slots beyond the number of tasks stay empty.
        anywhere = [(now, place) for place in range(min(len(order), len(stage.seconds)))]
        at_home = {home: [(now, home)] * slots[home] for home in stage.homes}
        starts, places, ends = [], [], now
        for task, took in enumerate(stage.seconds.tolist()):
            free = at_home[stage.homes[task]] if stage.homes else anywhere
            start, place = free[0]
            heapq.heapreplace(free, (start + took, place))
            ends = max(ends, start + took)
            starts.append(start)
            places.append(place if stage.homes else order[place])
        now = ends
        over.append(now)
        started.append(tuple(starts))
        ran_on.append(tuple(places))
    return Schedule(tuple(began), tuple(over), tuple(started), tuple(ran_on))


class _Run:
    """One schedule in the making."""

    def __init__(self, stages: Sequence[Stage], slots: Sequence[int]) -> None:
        self.stages = stages
        self.size, self.free = tuple(slots), list(slots)
        if sum(self.free) < 1:
            raise ValueError("a schedule needs at least one slot")
        self.anywhere: list[deque[int]] = [deque() for _ in stages]
        self.at_home: list[dict[int, deque[int]]] = [{} for _ in stages]
        self.left = [len(stage.seconds) for stage in stages]
        self.waits_for = [set(stage.feeders) for stage in stages]
        self.began = [0.0] * len(stages)
        self.over = [0.0] * len(stages)
        self.ready: list[int] = []
        self.started = [[0.0] * len(stage.seconds) for stage in stages]
        self.executor = [[ANYWHERE] * len(stage.seconds) for stage in stages]
        self.running: list[tuple[float, int, int]] = []
        """(When it ends, its executor, its stage), soonest first."""

    def schedule(self) -> Schedule:
        self._make_ready(0.0, [place for place, feeders in enumerate(self.waits_for) if not feeders])
        while self.running:
            now, executor, place = heapq.heappop(self.running)
            self.free[executor] += 1
            self.left[place] -= 1
            if not self.left[place]:
                self._finish(now, place)
            self._give(now, executor)
        where = (tuple(map(tuple, self.started)), tuple(map(tuple, self.executor)))
        return Schedule(tuple(self.began), tuple(self.over), *where)

    def _finish(self, now: float, place: int) -> None:
        self.over[place] = now
        self.ready = [other for other in self.ready if other != place]
        freed = []
        for other, feeders in enumerate(self.waits_for):
            if place in feeders:
                feeders.discard(place)
                if not feeders:
                    freed.append(other)
        self._make_ready(now, freed)

    def _make_ready(self, now: float, places: Sequence[int]) -> None:
        for place in places:
            stage = self.stages[place]
            self.began[place] = now
            for task, home in enumerate(stage.homes or (ANYWHERE,) * len(stage.seconds)):
                if 0 <= home < len(self.free) and self.size[home]:
                    self.at_home[place].setdefault(home, deque()).append(task)
                else:
                    self.anywhere[place].append(task)
            if self.left[place]:
                self.ready = sorted([*self.ready, place])
            else:
                self._finish(now, place)
        given = True
        while given:  # one to each in turn, as Spark makes its offers
            given = False
            for executor, free in enumerate(self.free):
                given |= bool(free) and self._give_one(now, executor)

    def _give(self, now: float, executor: int) -> None:
        while self.free[executor] and self._give_one(now, executor):
            pass

    def _give_one(self, now: float, executor: int) -> bool:
        """Start the next task that may run on this executor, if there is one."""
        for place in self.ready:
            waiting = self.at_home[place].get(executor) or self.anywhere[place]
            if waiting:
                task = waiting.popleft()
                self.free[executor] -= 1
                self.started[place][task], self.executor[place][task] = now, executor
                heapq.heappush(self.running, (now + float(self.stages[place].seconds[task]), executor, place))
                return True
        return False
