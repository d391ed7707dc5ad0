"""List scheduling: how long the stages of a batch take on a pool of executors.

What Spark's scheduler does, in virtual time: tasks of ready stages, in order, go to executors that have a slot free,
one each in turn; a task with a home (its bin of state lives there) goes to that executor only; a stage is ready when
all stages that feed it are over. Skew, last waves and idle executors are in the answer because they are in the
schedule. Work divided by slots knows none of them.
"""

import heapq
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

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
    """When each stage began and was over, from the start of the first."""

    began: tuple[float, ...]
    over: tuple[float, ...]

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
    return _Run(stages, slots).schedule()


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
        return Schedule(tuple(self.began), tuple(self.over))

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
                heapq.heappush(self.running, (now + float(self.stages[place].seconds[task]), executor, place))
                return True
        return False
