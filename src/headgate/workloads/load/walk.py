"""A load that wanders."""

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from headgate.model.errors import InputError
from headgate.workloads.load.profile import Load, above_zero, at_least_zero
from headgate.workloads.load.shapes import every
from headgate.workloads.load.units import part_text, rate_text, time_text
from headgate.workloads.scrambled import unit_interval

_FAR = math.log(4.0)
"""It turns back at four times its first rate, and at a quarter of it."""
_AT_A_TIME = 1024
_FURTHEST = 100_000_000
"""Steps: half a minute goes by until so many are made. Of 10 s each they last for 31 years."""
_SEEDS = 2**64
"""Further ones would go the same ways again."""


class _Block(NamedTuple):
    """Some steps, as multiples of the first rate."""

    rates: list[float]
    sums: list[float]
    """What all steps before each of them come to, from the very first."""
    place: float
    """The logarithm of the last rate."""
    total: float
    """What all come to, with these."""


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
        if not 0 <= self.seed < _SEEDS:
            raise InputError(f"walk: seed is {self.seed}; give a whole number from 0 to {_SEEDS - 1}")

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        block, place = self._step(seconds // self.every)
        return self.start * block.rates[place]

    def records(self, seconds: float) -> float:
        """Records due up to this moment."""
        number, rest = divmod(seconds, self.every)
        block, place = self._step(number)
        return self.start * (block.sums[place] * self.every + block.rates[place] * rest)

    def _step(self, number: float) -> tuple[_Block, int]:
        """The block that a step is in, and its place there."""
        if not number < _FURTHEST:
            raise InputError(
                f"walk: {number:g} steps of {time_text(self.every)} are too many to go, {_FURTHEST:,} are the most; "
                "give less time, or a longer every"
            )
        which, place = divmod(int(number), _AT_A_TIME)
        return _way(self.seed, self.by).block(which), place

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


class _Way:
    """The steps of a seed. Where each block begins is kept, two numbers of it; its steps are made when asked for."""

    def __init__(self, seed: int, by: float) -> None:
        self._seed, self._by = seed, by
        # By number, not as a list: two threads that come to the same block both write the same to the same place.
        self._begins = {0: (0.0, 0.0)}

    def block(self, number: int) -> _Block:
        """The steps from `number * _AT_A_TIME` on."""
        for last in range(len(self._begins) - 1, number):
            reached = _block(self._seed, self._by, last, *self._begins[last])
            self._begins[last + 1] = (reached.place, reached.total)
        return _block(self._seed, self._by, number, *self._begins[number])


@lru_cache(maxsize=16)
def _way(seed: int, by: float) -> _Way:
    return _Way(seed, by)


@lru_cache(maxsize=64)
def _block(seed: int, by: float, number: int, place: float, total: float) -> _Block:
    first = number * _AT_A_TIME
    drawn = unit_interval(np.arange(first, first + _AT_A_TIME, dtype=np.uint64), salt=seed) * 2 - 1
    if not first:
        drawn[0] = 0.0  # it begins with its first rate
    rates, sums = [], []
    for change in drawn.tolist():
        place += math.log1p(by) * change
        while abs(place) > _FAR:  # a large step may go beyond the other end as well
            place = 2 * math.copysign(_FAR, place) - place
        rates.append(math.exp(place))
        sums.append(total)
        total += rates[-1]
    return _Block(rates, sums, place, total)
