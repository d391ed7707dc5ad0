"""The `hpa` policy: Kubernetes' horizontal pod autoscaler.

    desired = ceil(n * busy / target)           within 10 % of the target: as it is
    missing instances count as 100 % busy on the way down and as 0 on the way up; if that turns the answer: as it is
    down: the highest recommendation of 300 s
    up: within 15 s at most to max(twice as many, 4 more)

Source: Kubernetes `pkg/controller/podautoscaler` (replica calculator, stabilisation window, default behaviour); the
target is its default of 80 %.
Changed: utilisation is slot time (on Spark) or useful time, not CPU time. It knows no objective: its target is its
headroom. Its timing is its own; Headgate's controller adds its guards when it runs it.
"""

from typing import ClassVar

import msgspec

from headgate.model.errors import InputError
from headgate.model.objective import Objective
from headgate.model.rounding import at_least_one
from headgate.model.signals import Signals
from headgate.policies.each import EachByItself

_LEAST_STEP = 4


class Recommended(msgspec.Struct, frozen=True):
    """Recommendations that may still be the highest, oldest first, and by how much it grew lately: (when, how many)."""

    lately: tuple[tuple[float, int], ...] = ()
    grew: tuple[tuple[float, int], ...] = ()


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
    up_period: float = 15.0

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

    def answer(
        self, memory: Recommended, seen: Signals, objective: Objective | None, now: float
    ) -> tuple[Recommended, int]:
        """The recommendation, with Kubernetes' default behaviour around it."""
        del objective
        ratio, now_there = self.ratio(seen), seen.instances + seen.missing
        if ratio is None:
            return memory, now_there
        desired = recommended(seen.instances, ratio, seen.missing, target=self.target, tolerance=self.tolerance)
        # What is there when it first looks counts as recommended.
        lately = memory.lately or ((now, now_there),)
        since = now - self.stable_down
        lately = (*(one for one in lately if one[0] > since and one[1] > desired), (now, desired))
        grew = tuple(one for one in memory.grew if one[0] > now - self.up_period)
        answer = desired
        if desired < now_there:
            answer = min(now_there, max(count for _, count in lately))
        elif desired > now_there:
            began = now_there - sum(count for _, count in grew)
            answer = min(desired, max(2 * began, began + _LEAST_STEP, now_there))
            if answer > now_there:
                grew = (*grew, (now, answer - now_there))
        return Recommended(lately, grew), answer
