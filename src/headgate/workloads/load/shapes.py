"""Loads of a simple shape; each knows its integral exactly."""

import math
from collections.abc import Iterator

from headgate.model.errors import InputError
from headgate.workloads.load.profile import Load, above_zero, at_least_zero
from headgate.workloads.load.units import rate_text, time_text


class Constant(Load, frozen=True):
    """The same rate for ever.

    >>> Constant(50.0).records(3), str(Constant(5000.0))
    (150.0, 'constant(5k)')
    """

    per_second: float

    def __post_init__(self) -> None:
        """Refuse what is no rate."""
        at_least_zero("constant", "rate", self.per_second)

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        return self.per_second

    def records(self, seconds: float) -> float:
        """Records due up to this moment."""
        return self.per_second * seconds

    def highest(self) -> float:
        """Records per second that it never exceeds."""
        return self.per_second

    def corners(self, until: float) -> Iterator[float]:
        """None."""
        return iter(())

    def __str__(self) -> str:
        return f"constant({rate_text(self.per_second)})"


class Step(Load, frozen=True):
    """One rate up to a moment, another from then on; and further ones from further moments.

    >>> Step(10.0, 100.0, at=5.0).records(6)
    150.0
    >>> str(Step(10.0, 80.0, at=30.0, then=((120.0, 40.0),)))
    'step(10 -> 80 @ 30s -> 40 @ 2m)'
    """

    before: float
    after: float
    at: float
    then: tuple[tuple[float, float], ...] = ()
    """A moment, and the rate from then on."""

    def __post_init__(self) -> None:
        """Refuse rates and moments that are none."""
        at_least_zero("step", "rate", *(rate for _, rate in self._levels()))
        moments = [moment for moment, _ in self._levels()[1:]]
        at_least_zero("step", "moment", *moments)
        if moments != sorted(moments):
            raise InputError("step: its moments are not in order; write the earlier one first")

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        return next(rate for moment, rate in reversed(self._levels()) if seconds >= moment)

    def records(self, seconds: float) -> float:
        """Records due up to this moment."""
        levels = self._levels()
        ends = [moment for moment, _ in levels[1:]] + [math.inf]
        return sum(
            rate * max(0.0, min(seconds, end) - max(begin, 0.0))
            for (begin, rate), end in zip(levels, ends, strict=True)
        )

    def highest(self) -> float:
        """Records per second that it never exceeds."""
        return max(rate for _, rate in self._levels())

    def corners(self, until: float) -> Iterator[float]:
        """Where it steps."""
        return (moment for moment, _ in self._levels()[1:] if 0 < moment < until)

    def _levels(self) -> list[tuple[float, float]]:
        return [(-math.inf, self.before), (self.at, self.after), *self.then]

    def worth_seeing(self) -> float:
        """Seconds after which nothing new comes; of what never ends a good part."""
        return 1.5 * self._levels()[-1][0] or super().worth_seeing()

    def __str__(self) -> str:
        steps = (f"{rate_text(rate)} @ {time_text(moment)}" for moment, rate in self._levels()[1:])
        return f"step({' -> '.join([rate_text(self.before), *steps])})"


class Ramp(Load, frozen=True):
    """From one rate to another in a straight line, and then that.

    >>> Ramp(0.0, 100.0, over=10.0).records(10), Ramp(0.0, 100.0, over=10.0).records(12)
    (500.0, 700.0)
    >>> str(Ramp(0.0, 100.0, over=600.0))
    'ramp(0 -> 100 over 10m)'
    """

    start: float
    end: float
    over: float

    def __post_init__(self) -> None:
        """Refuse a line that is none."""
        at_least_zero("ramp", "rate", self.start, self.end)
        above_zero("ramp", "over", self.over)

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        return self.start + (self.end - self.start) * min(seconds, self.over) / self.over

    def records(self, seconds: float) -> float:
        """Records due up to this moment."""
        climbing = min(seconds, self.over)
        climbed = climbing * (self.start + self.rate(climbing)) / 2
        return climbed + self.end * max(0.0, seconds - self.over)

    def highest(self) -> float:
        """Records per second that it never exceeds."""
        return max(self.start, self.end)

    def corners(self, until: float) -> Iterator[float]:
        """Its end."""
        return iter((self.over,) if self.over < until else ())

    def worth_seeing(self) -> float:
        """Seconds after which nothing new comes; of what never ends a good part."""
        return 1.5 * self.over

    def __str__(self) -> str:
        return f"ramp({rate_text(self.start)} -> {rate_text(self.end)} over {time_text(self.over)})"


class Sine(Load, frozen=True):
    """A wave about a mean.

    >>> round(Sine(100.0, 50.0, period=60.0).records(60), 6)
    6000.0
    >>> str(Sine(100.0, 50.0, period=60.0))
    'sine(100 +- 50 every 1m)'
    """

    mean: float
    amplitude: float
    period: float

    def __post_init__(self) -> None:
        """Refuse a wave that dips below zero."""
        at_least_zero("sine", "rate", self.mean, self.amplitude)
        above_zero("sine", "period", self.period)
        if self.amplitude > self.mean:
            raise InputError(
                f"sine: amplitude {self.amplitude:g} is above the mean {self.mean:g}; a rate cannot be negative"
            )

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        return self.mean + self.amplitude * math.sin(2 * math.pi * seconds / self.period)

    def records(self, seconds: float) -> float:
        """Records due up to this moment."""
        turns = 2 * math.pi / self.period
        return self.mean * seconds + self.amplitude * (1 - math.cos(turns * seconds)) / turns

    def highest(self) -> float:
        """Records per second that it never exceeds."""
        return self.mean + self.amplitude

    def corners(self, until: float) -> Iterator[float]:
        """Every quarter of it, though it is smooth: no stretch is so long that its bends are missed."""
        return every(self.period / 4, until)

    def worth_seeing(self) -> float:
        """Seconds after which nothing new comes; of what never ends a good part."""
        return 2 * self.period

    def __str__(self) -> str:
        return f"sine({rate_text(self.mean)} +- {rate_text(self.amplitude)} every {time_text(self.period)})"


class Square(Load, frozen=True):
    """One rate for half of a period, another for the other half, and again.

    >>> Square(10.0, 30.0, period=60.0).records(90)
    1500.0
    >>> str(Square(10.0, 30.0, period=60.0))
    'square(10 -> 30 every 1m)'
    """

    first: float
    second: float
    period: float

    def __post_init__(self) -> None:
        """Refuse rates and periods that are none."""
        at_least_zero("square", "rate", self.first, self.second)
        above_zero("square", "period", self.period)

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        return self.first if seconds % self.period < self.period / 2 else self.second

    def records(self, seconds: float) -> float:
        """Records due up to this moment."""
        whole, rest = divmod(seconds, self.period)
        half = self.period / 2
        return whole * half * (self.first + self.second) + (
            self.first * min(rest, half) + self.second * max(0.0, rest - half)
        )

    def highest(self) -> float:
        """Records per second that it never exceeds."""
        return max(self.first, self.second)

    def corners(self, until: float) -> Iterator[float]:
        """Every half of it."""
        return every(self.period / 2, until)

    def worth_seeing(self) -> float:
        """Seconds after which nothing new comes; of what never ends a good part."""
        return 2 * self.period

    def __str__(self) -> str:
        return f"square({rate_text(self.first)} -> {rate_text(self.second)} every {time_text(self.period)})"


class Spike(Load, frozen=True):
    """One rate, another for a short while, and the first again.

    >>> Spike(10.0, 100.0, at=5.0, lasting=2.0).records(10)
    280.0
    >>> str(Spike(10.0, 100.0, at=5.0, lasting=2.0))
    'spike(10 -> 100 @ 5s for 2s)'
    """

    usual: float
    peak: float
    at: float
    lasting: float

    def __post_init__(self) -> None:
        """Refuse rates and moments that are none."""
        at_least_zero("spike", "rate", self.usual, self.peak)
        at_least_zero("spike", "moment", self.at)
        above_zero("spike", "length", self.lasting)

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        return self.peak if self.at <= seconds < self.at + self.lasting else self.usual

    def records(self, seconds: float) -> float:
        """Records due up to this moment."""
        within = min(max(seconds - self.at, 0.0), self.lasting)
        return self.usual * seconds + (self.peak - self.usual) * within

    def highest(self) -> float:
        """Records per second that it never exceeds."""
        return max(self.usual, self.peak)

    def corners(self, until: float) -> Iterator[float]:
        """Its beginning and its end."""
        return (one for one in (self.at, self.at + self.lasting) if 0 < one < until)

    def worth_seeing(self) -> float:
        """Seconds after which nothing new comes; of what never ends a good part."""
        return 1.5 * (self.at + self.lasting)

    def __str__(self) -> str:
        rates = f"{rate_text(self.usual)} -> {rate_text(self.peak)}"
        return f"spike({rates} @ {time_text(self.at)} for {time_text(self.lasting)})"


def every(step: float, until: float) -> Iterator[float]:
    """Multiples of a step before a moment.

    >>> list(every(0.1, 0.35))
    [0.1, 0.2, 0.30000000000000004]
    """
    number = 1
    while number * step < until:
        yield number * step
        number += 1
