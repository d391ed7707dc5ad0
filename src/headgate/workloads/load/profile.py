"""What every load profile can say."""

import bisect
from collections.abc import Iterator

import msgspec

from headgate.formats.load_trace import MOST
from headgate.model.errors import InputError


class Load(msgspec.Struct, frozen=True):
    """A rate over time, and how many records it has come to by a moment."""

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        raise NotImplementedError

    def records(self, seconds: float) -> float:
        """Records due from the beginning up to this moment."""
        raise NotImplementedError

    def highest(self) -> float:
        """Records per second that it never exceeds."""
        raise NotImplementedError

    def corners(self, until: float) -> Iterator[float]:
        """Moments in between, in order, where the rate jumps or bends; from one to the next it is smooth."""
        raise NotImplementedError

    def worth_seeing(self) -> float:
        """Seconds after which nothing new comes; of what never ends a good part."""
        return 60.0

    def __add__(self, other: "Load") -> "Load":
        from headgate.workloads.load.combined import Sum  # noqa: PLC0415 - a sum is a load itself

        return Sum((self, other))

    def __mul__(self, other: "Load | float") -> "Load":
        from headgate.workloads.load.combined import Product  # noqa: PLC0415 - as above
        from headgate.workloads.load.shapes import Constant  # noqa: PLC0415

        return Product((self, other if isinstance(other, Load) else Constant(float(other))))

    __rmul__ = __mul__


def due_at(load: Load, number: float, latest: float) -> float:
    """The second at which so many records were due, to a millisecond; not after `latest`.

    >>> from headgate.workloads.load import load_from_text
    >>> round(due_at(load_from_text("constant(100)"), 250, 60.0), 2)
    2.5
    """
    milliseconds = range(max(1, round(latest * 1000)))
    return bisect.bisect_left(milliseconds, number, key=lambda moment: load.records(moment / 1000)) / 1000


def at_least_zero(shape: str, name: str, *values: float) -> None:
    """`InputError` for a rate or a moment that is none."""
    for value in values:
        if not 0 <= value <= MOST:
            raise InputError(f"{shape}: {name} is {value:g}; give a number from 0 to {MOST:g}")


def above_zero(shape: str, name: str, value: float) -> None:
    """`InputError` for a stretch of time without length."""
    if not 0 < value <= MOST:
        raise InputError(f"{shape}: {name} is {value:g}; give a number above 0, up to {MOST:g}")
