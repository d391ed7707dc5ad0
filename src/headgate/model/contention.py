"""How much slower tasks get when more of them run at once, as far as that was seen.

Slots that share cores, disks or a network slow each other down; Spark does not say what its slots share. So this is
learned, never assumed: each pool a query ran on gives a point (so many at once: so many times as long). Beyond the
last point the slowdown grows with the number at once, which is what the universal scalability law comes to where
something is shared; and the answer says that it is beyond what was seen. Points that lie close together are drawn
out to nothing: what larger numbers do is not known then, until one was tried.

Beyond what was seen, upwards and downwards, something is known in one case: where it is known how many processors tasks
share and how much they compute. Tasks of a stage begin together, so they compute at the same time and wait at the same
time, and each has to wait for the others' turn: with n of them on K processors, computing takes n / K times as long, or
once where there are no more than processors. Waiting takes as long as ever. (Tasks that compute and wait by turns,
record by record, crowd each other less than this says: downwards it is believed to half the fewest that were seen.)
"""

from collections.abc import Sequence
from statistics import median

import msgspec

_FREE = 1.05
"""A slowdown within measurement noise is none."""
_BELIEVED_DOWN_TO = 0.5
"""Of the fewest at once that were seen: fewer still are expected to take as long as this part of them."""
_FAR_APART = 1.5
"""How many times as many at once the last point must have for its slowdown to say anything about larger numbers."""


class Computing(msgspec.Struct, frozen=True):
    """How much of the time of a task goes into computing, with the fewest at once that were seen."""

    part: float
    """Of the time that it held its slot, waiting for a processor included."""
    processors: int


class Contention(msgspec.Struct, frozen=True):
    """What was seen of an operator: pairs of tasks at once and how many times as long they took, by the former.

    >>> cpu_bound = Contention(((1, 1.0), (2, 1.0), (4, 2.0)))
    >>> cpu_bound.slowdown(2), cpu_bound.slowdown(3), cpu_bound.slowdown(8)
    (1.0, 1.5, 4.0)

    Half of it computing, eight at once on two processors: with four at once that half takes half as long.

    >>> crowded = Contention(((8, 1.0),), Computing(part=0.5, processors=2))
    >>> crowded.slowdown(8), crowded.slowdown(6), crowded.slowdown(4), crowded.slowdown(1)
    (1.0, 0.875, 0.75, 0.75)
    """

    seen: tuple[tuple[int, float], ...]
    computing: Computing | None = None

    @property
    def most_at_once(self) -> int:
        """Up to here it was seen."""
        return self.seen[-1][0] if self.seen else 0

    @property
    def crowded(self) -> bool:
        """Whether fewer at once take less time each: by what was seen, or by the processors they share."""
        slowed = any(times > _FREE for _, times in self.seen)
        return slowed or (self.computing is not None and self.most_at_once > self.computing.processors)

    def slowdown(self, at_once: int) -> float:
        """How many times as long a task takes as it did with the fewest at once that were seen."""
        if not self.seen:
            return 1.0
        (fewest, _), (last, slowest) = self.seen[0], self.seen[-1]
        if at_once < fewest:
            return self._in_turns(at_once)
        if at_once <= last:
            return self._between(at_once)
        slope = self._slope()
        if slope:
            return slowest + slope * (at_once - last)
        return slowest * self._in_turns(at_once) / self._in_turns(last)

    def _in_turns(self, at_once: int) -> float:
        """By what tasks compute on the processors they share, beside the fewest at once; 1 where nobody knows that."""
        if self.computing is None:
            return 1.0
        processors, fewest = self.computing.processors, self.seen[0][0]
        turns = max(1.0, at_once / processors, _BELIEVED_DOWN_TO * fewest / processors) / max(1.0, fewest / processors)
        return 1.0 - self.computing.part * (1.0 - turns)

    def _between(self, at_once: int) -> float:
        """On the line between the two points it falls between; numpy takes ten times as long for a handful."""
        before = self.seen[0]
        for point in self.seen:
            if point[0] >= at_once:
                (low, least), (high, most) = before, point
                return most if high == low else least + (most - least) * max(0, at_once - low) / (high - low)
            before = point
        return before[1]

    def _slope(self) -> float:
        """From the last point without a slowdown to the last point of all."""
        last, slowest = self.seen[-1]
        free = max((n for n, times in self.seen[:-1] if times <= _FREE), default=None)
        if slowest <= _FREE or free is None:
            return 0.0
        if last < _FAR_APART * self.seen[0][0]:
            # Ten at once and eleven: whatever else has changed between them, costs that drift, would be taken for
            # contention and drawn out to a multiple of itself (docs/decisions/0018).
            return 0.0
        return (slowest - 1) / (last - free)


def contention(points: Sequence[tuple[int, float]], computing: Computing | None = None) -> Contention:
    """From any number of points (so many at once, so many seconds): relative to the fewest at once.

    >>> contention([(8, 6.0), (1, 2.0), (8, 10.0)]).seen
    ((1, 1.0), (8, 4.0))
    """
    by_number: dict[int, list[float]] = {}
    for at_once, seconds in points:
        by_number.setdefault(at_once, []).append(seconds)
    middle = sorted((at_once, median(seconds)) for at_once, seconds in by_number.items())
    if not middle or middle[0][1] <= 0:
        return Contention(())
    alone = middle[0][1]
    return Contention(tuple((at_once, max(1.0, seconds / alone)) for at_once, seconds in middle), computing)
