"""The `pid` policy: a controller of the textbooks on utilisation.

    e = (instances that would be busy at the target, rounded up - n) / n
    u = Kp e + Ki integral of e + Kd de/dt,   kept within -1/2 and 1
    answer = round(n (1 + u))

With Kp = 1 the first term alone is the proportional answer; the integral adds what an error that lasts shows to be
lacking, the derivative what is on its way.

Source: the textbook law with anti-windup and a clamped output. Nobody publishes gains for this; these have reasons: Kp
= 1 (above), Ki = 1/600 s (an error that lasts ten minutes is answered once more), Kd = 6 s (a tenth of a period: with
Kp = 1 the next error is d (e_before - e), d = Kd / period, which dies out only below a half). Asked once a minute: an
actuator with seconds of delay is not moved faster.
Changed: the error is in whole instances, because half of one cannot be had and an integral over the other half moves
for ever. Anti-windup: nothing is added up while the output is clamped or instances are still missing, and all is
forgotten once the error is zero or turns round. Its period is its own; Headgate's controller adds its guards when it
runs it.
"""

import math
from typing import ClassVar

import msgspec

from headgate.model.dataflow import MAX_INSTANCES
from headgate.model.errors import InputError
from headgate.model.objective import Objective
from headgate.model.rounding import at_least_one
from headgate.model.signals import Signals
from headgate.policies.each import EachByItself


class Errors(msgspec.Struct, frozen=True):
    """The sum of errors times seconds, the last error, and when that was."""

    integral: float = 0.0
    last: float | None = None
    at: float | None = None


class Pid(EachByItself, frozen=True):
    """Shares of 1, seconds.

    >>> Pid().answer(Errors(), Signals(4, busy=1.0), None, now=0.0)[1]
    6
    """

    needs: ClassVar[tuple[str, ...]] = ("busy",)

    target: float = 0.7
    kp: float = 1.0
    ki: float = 1 / 600
    kd: float = 6.0
    period: float = 60.0
    least: float = -0.5
    most: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a target nobody can meet."""
        if not 0 < self.target <= 1:
            raise InputError(f"target is {self.target}; give a share of 1, such as 0.7")

    @property
    def name(self) -> str:
        """`pid`."""
        return "pid"

    def fresh(self) -> Errors:
        """No error seen."""
        return Errors()

    def answer(self, memory: Errors, seen: Signals, objective: Objective | None, now: float) -> tuple[Errors, int]:
        """Once a period."""
        del objective
        n = seen.instances
        if memory.at is not None and now - memory.at < self.period:
            return memory, n
        if seen.busy is None:  # an error of which nobody knows whether it lasted is not added up
            return Errors(memory.integral, memory.last), n
        error = (at_least_one(n * seen.busy / self.target) - n) / n
        if error == 0:
            return Errors(0.0, 0.0, now), n
        seconds = now - memory.at if memory.at is not None else 0.0
        turned = memory.last is not None and error * memory.last < 0
        before = 0.0 if turned else memory.integral
        integral = before + error * seconds
        slope = (error - memory.last) / seconds if memory.last is not None and seconds > 0 else 0.0
        wanted = self.kp * error + self.ki * integral + self.kd * slope
        output = min(max(wanted, self.least), self.most)
        if output != wanted or seen.missing:
            integral = before
        answer = math.floor(min(n * (1 + output), MAX_INSTANCES) + 0.5)
        return Errors(integral, error, now), max(1, answer)
