"""A load that wanders."""

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate

import numpy as np

from headgate.workloads.load.profile import Load, above_zero, at_least_zero
from headgate.workloads.load.shapes import every
from headgate.workloads.load.units import part_text, rate_text, time_text
from headgate.workloads.scrambled import unit_interval

_FAR = math.log(4.0)
"""It turns back at four times its first rate, and at a quarter of it."""
_AT_A_TIME = 1024


class Walk(Load, frozen=True):
    """After every stretch a rate that is up to so much higher or lower than the one before, by chance.

    The chance is the seed's: the same walk goes the same way on every machine.

    >>> Walk(1000.0, by=0.1, every=10.0, seed=3).rate(0.0)
    1000.0
    >>> str(Walk(1000.0, by=0.1, every=10.0, seed=3))
    'walk(1k by 10% every 10s seed 3)'
    """

    start: float
    by: float = 0.1
    every: float = 10.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what is no rate, part or time."""
        at_least_zero("walk", "rate", self.start)
        at_least_zero("walk", "by", self.by)
        above_zero("walk", "every", self.every)

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        number = int(seconds // self.every)
        return self.start * _steps(self.seed, self.by, _rounded(number))[0][number]

    def records(self, seconds: float) -> float:
        """Records due up to this moment."""
        number, rest = divmod(seconds, self.every)
        rates, sums = _steps(self.seed, self.by, _rounded(int(number)))
        return self.start * (sums[int(number)] * self.every + rates[int(number)] * rest)

    def highest(self) -> float:
        """Records per second that it never exceeds."""
        return self.start * math.exp(_FAR)

    def corners(self, until: float) -> Iterator[float]:
        """Every step."""
        return every(self.every, until)

    def worth_seeing(self) -> float:
        """Seconds after which nothing new comes; of what never ends a good part."""
        return 60 * self.every

    def __str__(self) -> str:
        steps = f"by {part_text(self.by)} every {time_text(self.every)} seed {self.seed}"
        return f"walk({rate_text(self.start)} {steps})"


def _rounded(number: int) -> int:
    """So many steps that this one is among them, and that few different numbers are asked for."""
    return (number // _AT_A_TIME + 1) * _AT_A_TIME


@lru_cache(maxsize=16)
def _steps(seed: int, by: float, count: int) -> tuple[list[float], list[float]]:
    """The first steps, as multiples of the first rate; and what all before each come to."""
    drawn = unit_interval(np.arange(count, dtype=np.uint64), salt=seed) * 2 - 1
    place, rates = 0.0, [1.0]
    for change in drawn[1:].tolist():
        place += math.log1p(by) * change
        place = 2 * math.copysign(_FAR, place) - place if abs(place) > _FAR else place
        rates.append(math.exp(place))
    return rates, [0.0, *accumulate(rates)]
