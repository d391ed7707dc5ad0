"""From values to places on a plot, and the round values worth a tick."""

import math
from typing import NamedTuple


class Scale(NamedTuple):
    """Values from `low` to `high` lie from `start` to `end`; y runs downward, so there `start` is the larger.

    >>> Scale(0, 10, 100, 200).at(2.5), Scale(1, 100, 0, 10, log=True).at(10)
    (125.0, 5.0)
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """Where a value lies; what is beyond either end lies at that end."""
        low, high, value = (math.log(max(one, 1e-9)) if self.log else one for one in (self.low, self.high, value))
        part = (value - low) / (high - low) if high > low else 0.0
        return self.start + min(1.0, max(0.0, part)) * (self.end - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        """Round values, about so many of them.

        >>> Scale(0, 2.4, 0, 1).ticks(), Scale(0.5, 70, 0, 1, log=True).ticks()
        ([0.0, 0.5, 1.0, 1.5, 2.0], [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0])
        """
        return self._log_ticks(about) if self.log else self._even_ticks(about)

    def _even_ticks(self, about: int) -> list[float]:
        step = round_up((self.high - self.low) / max(about, 1))
        first = math.ceil(self.low / step - 1e-9)
        # Multiplied, not added up: the tenth tick is as round as the first.
        return [float(f"{n * step:.10g}") for n in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def _log_ticks(self, about: int) -> list[float]:
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        several = len(decades) <= about
        marks = [digit * 10.0**power for power in decades for digit in ((1, 2, 5) if several else (1,))]
        return [float(f"{one:.10g}") for one in marks if self.low * 0.999 <= one <= self.high * 1.001]


def round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, …; a step that people count in.

    >>> round_up(0.3), round_up(7), round_up(0)
    (0.5, 10.0, 1.0)
    """
    if not value > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(float(f"{times * power:.10g}") for times in (1, 2, 5, 10) if times * power >= value * (1 - 1e-9))


def short(value: float) -> str:
    """A value on an axis.

    >>> [short(one) for one in (0, 0.25, 1500.4, 20_000, 3_500_000, 2e9)]
    ['0', '0.25', '1,500', '20k', '3.5M', '2G']
    """
    for least, unit, letter in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if abs(value) >= least:
            return f"{value / unit:.4g}{letter}"
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.4g}"
