"""Load profiles: how many records per second a source emits, as a function of the time since it began.

A profile knows its integral exactly, so the number of records due by any moment is known, not simulated: two runs
of one profile emit the same rows, however often the source is asked.
"""

import math
from typing import TypeAlias

import msgspec

from headgate.model.errors import InputError


class _Profile(msgspec.Struct, frozen=True, tag_field="load"):
    """Common shape: a rate, and how much of it has come together by a moment."""

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        raise NotImplementedError

    def records(self, seconds: float) -> float:
        """Records due from the beginning up to this moment."""
        raise NotImplementedError

    def __add__(self, other: "Load") -> "Sum":
        return Sum((self, other))  # type: ignore[arg-type]


class Constant(_Profile, frozen=True, tag="constant"):
    """The same rate for ever.

    >>> Constant(50.0).records(3)
    150.0
    """

    per_second: float

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        return self.per_second

    def records(self, seconds: float) -> float:
        """Records due up to this moment."""
        return self.per_second * seconds


class Step(_Profile, frozen=True, tag="step"):
    """One rate up to a moment, another from then on.

    >>> Step(10.0, 100.0, at=5.0).records(6)
    150.0
    """

    before: float
    after: float
    at: float

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        return self.before if seconds < self.at else self.after

    def records(self, seconds: float) -> float:
        """Records due up to this moment."""
        return self.before * min(seconds, self.at) + self.after * max(0.0, seconds - self.at)


class Ramp(_Profile, frozen=True, tag="ramp"):
    """From one rate to another in a straight line, and then that.

    >>> Ramp(0.0, 100.0, over=10.0).records(10), Ramp(0.0, 100.0, over=10.0).records(12)
    (500.0, 700.0)
    """

    start: float
    end: float
    over: float

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        return self.start + (self.end - self.start) * min(seconds, self.over) / self.over

    def records(self, seconds: float) -> float:
        """Records due up to this moment."""
        climbing = min(seconds, self.over)
        climbed = climbing * (self.start + self.rate(climbing)) / 2
        return climbed + self.end * max(0.0, seconds - self.over)


class Sine(_Profile, frozen=True, tag="sine"):
    """A wave about a mean.

    >>> round(Sine(100.0, 50.0, period=60.0).records(60), 6)
    6000.0
    """

    mean: float
    amplitude: float
    period: float

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        return self.mean + self.amplitude * math.sin(2 * math.pi * seconds / self.period)

    def records(self, seconds: float) -> float:
        """Records due up to this moment."""
        turns = 2 * math.pi / self.period
        return self.mean * seconds + self.amplitude * (1 - math.cos(turns * seconds)) / turns

    def __post_init__(self) -> None:
        """Refuse a wave that dips below zero."""
        if self.amplitude > self.mean:
            raise InputError(
                f"sine: amplitude {self.amplitude:g} is above the mean {self.mean:g}; a rate cannot be negative"
            )
        if not self.period > 0:
            raise InputError(f"sine: period is {self.period:g}; give a number of seconds above 0")


class Sum(_Profile, frozen=True, tag="sum"):
    """Several profiles at once; `a + b` makes one.

    >>> (Constant(10.0) + Step(0.0, 5.0, at=1.0)).rate(2.0)
    15.0
    """

    parts: tuple["Load", ...]

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        return sum(part.rate(seconds) for part in self.parts)

    def records(self, seconds: float) -> float:
        """Records due up to this moment."""
        return sum(part.records(seconds) for part in self.parts)


Load: TypeAlias = Constant | Step | Ramp | Sine | Sum


def load_to_text(load: Load) -> str:
    """As text that an option of a data source can carry."""
    return msgspec.json.encode(load).decode()


def load_from_text(text: str) -> Load:
    """From that text.

    >>> load_from_text(load_to_text(Constant(5.0)))
    Constant(per_second=5.0)
    """
    try:
        load: Load = msgspec.json.decode(text, type=Load)
    except msgspec.MsgspecError as error:
        raise InputError(f"load {text!r} cannot be read ({error}); make it with load_to_text") from None
    return load
