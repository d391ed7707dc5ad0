"""A load as it was recorded."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from headgate.model.errors import InputError
from headgate.workloads.load.profile import Load, above_zero, at_least_zero
from headgate.workloads.load.units import number_text

_Column = npt.NDArray[np.float64]


class Trace(Load, frozen=True, dict=True):
    """Rates at moments, in straight lines from one to the next; before the first that one, after the last the last.

    >>> Trace(((0.0, 10.0), (10.0, 30.0)), scale=2.0, speed=5.0).rate(1.0)
    40.0
    >>> Trace(((0.0, 10.0), (10.0, 30.0))).records(12)
    260.0
    """

    points: tuple[tuple[float, float], ...]
    """Seconds, and records per second from there on."""
    scale: float = 1.0
    """Every rate times this."""
    speed: float = 1.0
    """The trace goes by so many times as fast, its rates the same."""
    file: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no trace."""
        above_zero("trace", "speed", self.speed)
        at_least_zero("trace", "scale", self.scale)
        if not self.points:
            raise InputError(f"trace {self.file}: has no points")
        at_least_zero(f"trace {self.file}", "rate", *(self.scale * rate for _, rate in self.points))
        at_least_zero(f"trace {self.file}", "moment", *(moment / self.speed for moment, _ in self.points))

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        moments, rates, _ = self._columns
        return self.scale * float(np.interp(seconds * self.speed, moments, rates))

    def records(self, seconds: float) -> float:
        """Records due up to this moment."""
        moments, rates, areas = self._columns
        at = seconds * self.speed
        before = int(np.searchsorted(moments, at, side="right")) - 1
        if before < 0:
            area = float(rates[0]) * at
        else:
            here = float(np.interp(at, moments, rates))
            area = float(areas[before]) + (at - float(moments[before])) * (float(rates[before]) + here) / 2
        return self.scale * area / self.speed

    def highest(self) -> float:
        """Records per second that it never exceeds."""
        return self.scale * max(rate for _, rate in self.points)

    def corners(self, until: float) -> Iterator[float]:
        """Every point."""
        return (moment / self.speed for moment, _ in self.points if 0 < moment < until * self.speed)

    def worth_seeing(self) -> float:
        """Seconds after which nothing new comes; of what never ends a good part."""
        return self.points[-1][0] / self.speed or super().worth_seeing()

    @cached_property
    def _columns(self) -> tuple[_Column, _Column, _Column]:
        """Moments, rates, and records due at each moment, at the trace's own speed."""
        moments, rates = np.array(self.points, dtype=np.float64).T
        first = moments[0] * rates[0]
        pieces = np.diff(moments) * (rates[1:] + rates[:-1]) / 2
        return moments, rates, np.concatenate(([first], first + np.cumsum(pieces)))

    def __str__(self) -> str:
        changed = {"scale": self.scale, "speed": self.speed}
        said = [f" {name} {number_text(value)}" for name, value in changed.items() if value != 1.0]
        return f'trace("{self.file}"{"".join(said)})'
