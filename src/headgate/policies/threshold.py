"""The `threshold` policy: one more where busy, one fewer where idle. The rule most people write first.

    busy > 0.7  ->  n + 1
    busy < 0.3  ->  n - 1

Source: the step rule of cloud autoscalers (CPU above 70 % adds one, below 30 % removes one). `managed` is the same with
patience.

Changed: utilisation is slot time (on Spark) or useful time, not CPU time, which Spark does not count in Python workers.
It acts whenever it is asked: with Headgate's controller around it, only when that lets it.
"""

from typing import ClassVar, Literal

import msgspec

from headgate.model.errors import InputError
from headgate.model.objective import Objective
from headgate.model.signals import Signals
from headgate.policies.each import EachByItself


class Since(msgspec.Struct, frozen=True):
    """Since when it has been busy, and since when idle; None where it is not."""

    busy: float | None = None
    idle: float | None = None


class Threshold(EachByItself, frozen=True):
    """Shares of 1, seconds.

    >>> Threshold().answer(Since(), Signals(4, busy=0.8), None, now=0.0)[1]
    5
    """

    needs: ClassVar[tuple[str, ...]] = ("busy",)

    high: float = 0.7
    low: float = 0.3
    busy_for: float = 0.0
    """So long it must have been busy."""
    idle_for: float = 0.0
    step: Literal["one", "double"] = "one"

    def __post_init__(self) -> None:
        """Refuse thresholds that overlap."""
        if not 0 <= self.low < self.high <= 1:
            raise InputError(
                f"low {self.low} and high {self.high}: give shares from 0 to 1, the low one below the high"
            )

    @property
    def name(self) -> str:
        """`threshold`."""
        return "threshold"

    def fresh(self) -> Since:
        """Neither busy nor idle yet."""
        return Since()

    def answer(self, memory: Since, seen: Signals, objective: Objective | None, now: float) -> tuple[Since, int]:
        """One step, once it has been busy or idle for long enough."""
        del objective
        n, use = seen.instances, seen.busy
        if use is None:
            return Since(), n
        # Ratios of floats: 0.7 of the time is not above 0.7 because of the last bit.
        busy = use > self.high + 1e-9 if self.step == "one" else use >= self.high - 1e-9
        idle = use < self.low - 1e-9
        memory = Since(_since(memory.busy, now) if busy else None, _since(memory.idle, now) if idle else None)
        if memory.busy is not None and now - memory.busy >= self.busy_for:
            return Since(), n + 1 if self.step == "one" else 2 * n
        if memory.idle is not None and now - memory.idle >= self.idle_for:
            return Since(), max(1, n - 1 if self.step == "one" else n // 2)
        return memory, n


def _since(before: float | None, now: float) -> float:
    return now if before is None else before
