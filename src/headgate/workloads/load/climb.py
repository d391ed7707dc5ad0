"""A load that grows by a part of itself, stretch after stretch."""

import math
from collections.abc import Iterator

from headgate.formats.load_trace import MOST
from headgate.model.errors import InputError
from headgate.workloads.load.profile import Load, above_zero, at_least_zero
from headgate.workloads.load.shapes import every
from headgate.workloads.load.units import part_text, rate_text, time_text


class Climb(Load, frozen=True):
    """After every stretch a rate that is by so much of itself higher than the one before, up to an end, and then that.

    Downwards where the end is lower. In stretch k, from 0, the rate is r (1 + b)^k, with b below 0 on the way down, so
    that the first k of them come to r ((1 + b)^k - 1) / b times their length.

    >>> climb = Climb(100.0, 200.0, by=0.5, every=10.0)
    >>> [climb.rate(second) for second in (0, 10, 20, 30)], climb.records(25)
    ([100.0, 150.0, 200.0, 200.0], 3500.0)
    >>> str(climb)
    'ramp(100 -> 200 by 50% every 10s)'
    """

    start: float
    end: float
    by: float
    every: float

    def __post_init__(self) -> None:
        """Refuse a way that does not lead to its end."""
        at_least_zero("ramp", "rate", self.start, self.end)
        above_zero("ramp", "by", self.by)
        above_zero("ramp", "every", self.every)
        if self.start != self.end and not min(self.start, self.end):
            raise InputError("ramp: by parts of itself no rate comes from 0 or to 0; give rates above 0")
        if self.end < self.start and self.by >= 1:
            raise InputError(f"ramp: no rate falls by {self.by:.0%} of itself; give less than 100%")
        if self.every * self._stretches_and_a_part > MOST:
            raise InputError("ramp: it never comes to its end; give a larger part, or a shorter time")

    @property
    def _change(self) -> float:
        """The part by which it grows; below 0 on the way down."""
        return self.by if self.end >= self.start else -self.by

    @property
    def _stretches(self) -> int:
        """How many it takes to the end."""
        # Less a hair: 1,000 to 1,331 by 10 % are three stretches, though logarithms say a little more.
        return math.ceil(self._stretches_and_a_part - 1e-9)

    @property
    def _stretches_and_a_part(self) -> float:
        if self.start == self.end:
            return 0.0
        return (math.log(self.end) - math.log(self.start)) / math.log1p(self._change)

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        number = int(seconds // self.every)
        return self.start * (1 + self._change) ** number if number < self._stretches else self.end

    def records(self, seconds: float) -> float:
        """Records due up to this moment."""
        whole = min(int(seconds // self.every), self._stretches)
        grown = math.expm1(whole * math.log1p(self._change)) / self._change
        return self.start * grown * self.every + self.rate(seconds) * (seconds - whole * self.every)

    def highest(self) -> float:
        """Records per second that it never exceeds."""
        return max(self.start, self.end)

    def corners(self, until: float) -> Iterator[float]:
        """Where it steps."""
        return every(self.every, min(until, (self._stretches + 0.5) * self.every))

    def worth_seeing(self) -> float:
        """Seconds after which nothing new comes; of what never ends a good part."""
        return 1.5 * self._stretches * self.every or super().worth_seeing()

    def __str__(self) -> str:
        rates = f"{rate_text(self.start)} -> {rate_text(self.end)}"
        return f"ramp({rates} by {part_text(self.by)} every {time_text(self.every)})"
