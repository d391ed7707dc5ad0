"""The `hpa` policy: Kubernetes' horizontal pod autoscaler.

    desired = ceil(n * busy / target)           within 10 % of the target: as it is
    missing instances count as 100 % busy on the way down and as 0 on the way up; if that turns the answer: as it is
    down: the highest recommendation of 300 s
    up: within 15 s at most to max(twice as many, 4 more)

Source: Kubernetes `pkg/controller/podautoscaler` (replica calculator, stabilisation window, default behaviour); the
target is its default of 80 %.
Changed: utilisation is slot time (on Spark) or useful time, not CPU time. It knows no objective: its target is its
headroom. It looks every 15 s, and is asked here when a batch is over: of one that takes longer, and keeps all busy, the
looks in between are made up for, each as if what it asked for had come and was busy too (tasks that wait would see to
that), not as if it were missing. Its timing is its own; Headgate's controller adds its guards when it runs it.
"""

from typing import ClassVar

import msgspec

from headgate.model.errors import InputError
from headgate.model.objective import Objective
from headgate.model.rounding import at_least_one
from headgate.model.signals import Signals
from headgate.policies.each import EachByItself

_LEAST_STEP = 4
_FULL, _MOST_LOOKS = 0.95, 20
"""All are busy from here on; of a batch that takes for ever, so many looks are made up for."""


class Recommended(msgspec.Struct, frozen=True):
    """Recommendations that may still be the highest, oldest first, and by how much it grew lately: (when, how many)."""

    lately: tuple[tuple[float, int], ...] = ()
    grew: tuple[tuple[float, int], ...] = ()
    at: float | None = None
    """When it last looked."""


def recommended(n: int, ratio: float, missing: int = 0, *, target: float, tolerance: float = 0.1) -> int:
    """The replica calculator: `ratio` is what was measured over the target.

    >>> recommended(4, 0.9 / 0.6, target=0.6), recommended(4, 0.63 / 0.6, target=0.6)
    (6, 4)

    Two of four do not report, the others are at half of their target: counted as busy they turn the answer round.

    >>> recommended(2, 0.5, missing=2, target=0.5)
    4
    """
    if not missing:
        return n if _within(ratio, tolerance) else at_least_one(n * ratio)
    total = n + missing
    if _within(ratio, 0.0):  # neither up nor down: nobody needs to know what the missing ones do
        return total
    silent = missing * max(1.0, target) / target if ratio < 1 else 0.0
    again = (n * ratio + silent) / total
    if _within(again, tolerance) or (again > 1) != (ratio > 1):
        return total
    desired = at_least_one(again * total)
    return total if (desired > total) != (again > 1) else desired


def _within(ratio: float, tolerance: float) -> bool:
    return abs(ratio - 1) <= tolerance + 1e-9


class Hpa(EachByItself, frozen=True):
    """Shares of 1, seconds."""

    needs: ClassVar[tuple[str, ...]] = ("busy",)

    target: float = 0.8
    tolerance: float = 0.1
    stable_down: float = 300.0
    """Fewer only down to the highest recommendation of so long."""
    every: float = 15.0
    """It looks so often, and grows so often."""

    def __post_init__(self) -> None:
        """Refuse a target nobody can meet."""
        if not 0 < self.target <= 1:
            raise InputError(f"target is {self.target}; give a share of 1, such as 0.8")

    @property
    def name(self) -> str:
        """`hpa`."""
        return "hpa"

    def fresh(self) -> Recommended:
        """No recommendation yet."""
        return Recommended()

    def ratio(self, seen: Signals) -> float | None:
        """What is measured over the target; None where it was not measured."""
        return None if seen.busy is None else seen.busy / self.target

    def looks(self, memory: Recommended, seen: Signals, now: float) -> int:
        """How often it would have looked since it was last asked, while all were busy and stayed so."""
        full = seen.busy is not None and seen.busy >= _FULL
        return min(max(1, int((now - memory.at) / self.every)), _MOST_LOOKS) if full and memory.at is not None else 1

    def answer(
        self, memory: Recommended, seen: Signals, objective: Objective | None, now: float
    ) -> tuple[Recommended, int]:
        """The recommendation, with Kubernetes' default behaviour around it."""
        del objective
        ratio, there = self.ratio(seen), seen.instances + seen.missing
        if ratio is None:  # it has looked and seen nothing: no look is made up for over such a time
            return msgspec.structs.replace(memory, at=now), there
        looks = self.looks(memory, seen, now)
        n, missing = seen.instances, seen.missing
        for before in range(looks - 1, -1, -1):
            memory, n = self._look(memory, ratio, n, missing, now - before * self.every)
            missing = 0
        return memory, n

    def _look(self, memory: Recommended, ratio: float, n: int, missing: int, now: float) -> tuple[Recommended, int]:
        there = n + missing
        desired = recommended(n, ratio, missing, target=self.target, tolerance=self.tolerance)
        # What is there when it first looks counts as recommended.
        lately = memory.lately or ((now, there),)
        since = now - self.stable_down
        lately = (*(one for one in lately if one[0] > since and one[1] > desired), (now, desired))
        grew = tuple(one for one in memory.grew if one[0] > now - self.every)
        answer = desired
        if desired < there:
            answer = min(there, max(count for _, count in lately))
        elif desired > there:
            began = there - sum(count for _, count in grew)
            answer = min(desired, max(2 * began, began + _LEAST_STEP, there))
            if answer > there:
                grew = (*grew, (now, answer - there))
        return Recommended(lately, grew, now), answer
