"""Loads made of loads."""

import bisect
import heapq
import math
from array import array
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

import numpy as np

from headgate.model.errors import InputError
from headgate.workloads.load.profile import Load, at_least_zero
from headgate.workloads.load.shapes import Constant

_NODES, _WEIGHTS = (part.tolist() for part in np.polynomial.legendre.leggauss(8))
_MOST_CORNERS = 10_000_000
"""Of an area that is added up: 160 MB."""


class Sum(Load, frozen=True):
    """Several at once; `a + b` makes one.

    >>> (Constant(10.0) + Constant(5.0)).rate(2.0)
    15.0
    """

    parts: tuple[Load, ...]

    def __post_init__(self) -> None:
        """Refuse what comes to more than a rate may be."""
        at_least_zero("sum", "rate", self.highest())

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        return sum(part.rate(seconds) for part in self.parts)

    def records(self, seconds: float) -> float:
        """Records due up to this moment."""
        return sum(part.records(seconds) for part in self.parts)

    def highest(self) -> float:
        """Records per second that it never exceeds."""
        return sum(part.highest() for part in self.parts)

    def corners(self, until: float) -> Iterator[float]:
        """Of all parts."""
        return heapq.merge(*(part.corners(until) for part in self.parts))

    def worth_seeing(self) -> float:
        """Seconds after which nothing new comes; of what never ends a good part."""
        return max(part.worth_seeing() for part in self.parts)

    def __str__(self) -> str:
        return " + ".join(map(str, self.parts))


class Product(Load, frozen=True):
    """One times the other; `a * b` makes one.

    The rate of one part is a factor for the other: `sine(1 +- 0.5 every 1d) * trace(week.csv)`. Where all parts but one
    are constant, what is due is exact; else it is the area under the rate, stretch by stretch between its corners, by
    Gauss' rule of eight points: the same on every machine, and within a billionth or so of the truth.

    >>> str(Constant(2.0) * (Constant(10.0) + Constant(5.0)))
    'constant(2) * (constant(10) + constant(5))'
    """

    parts: tuple[Load, ...]

    def __post_init__(self) -> None:
        """Refuse what comes to more than a rate may be."""
        at_least_zero("product", "rate", self.highest())

    def rate(self, seconds: float) -> float:
        """Records per second at this moment."""
        return math.prod(part.rate(seconds) for part in self.parts)

    def records(self, seconds: float) -> float:
        """Records due up to this moment."""
        varying = [part for part in self.parts if not isinstance(part, Constant)]
        if len(varying) > 1:
            return _area(self).up_to(seconds)
        factor = math.prod(part.per_second for part in self.parts if isinstance(part, Constant))
        return factor * (varying[0].records(seconds) if varying else seconds)

    def highest(self) -> float:
        """Records per second that it never exceeds."""
        return math.prod(part.highest() for part in self.parts)

    def corners(self, until: float) -> Iterator[float]:
        """Of all parts."""
        return heapq.merge(*(part.corners(until) for part in self.parts))

    def worth_seeing(self) -> float:
        """Seconds after which nothing new comes; of what never ends a good part."""
        return max(part.worth_seeing() for part in self.parts)

    def __str__(self) -> str:
        return " * ".join(f"({part})" if isinstance(part, Sum) else str(part) for part in self.parts)


class _Area:
    """The area under a rate; what lies before the last corner that was asked for is added up once."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._corners, self._sums = array("d", [0.0]), array("d", [0.0])
        self._reached = 0.0

    def up_to(self, seconds: float) -> float:
        """From the beginning."""
        if seconds > self._reached:
            # Ahead of time and in doubling steps: a source asks for a little more each time.
            reached = max(2 * seconds, 60.0)
            if next(islice(self._load.corners(reached), _MOST_CORNERS, None), None) is not None:
                raise InputError(
                    f"product: its rates change more than {_MOST_CORNERS:,} times, too often to add up {seconds:g} s "
                    "of it; give less time, or parts that change less often"
                )
            self._reached = reached
            for corner in self._load.corners(self._reached):
                if corner > self._corners[-1]:
                    self._sums.append(self._sums[-1] + self._piece(self._corners[-1], corner))
                    self._corners.append(corner)
        before = max(bisect.bisect_right(self._corners, seconds) - 1, 0)
        return self._sums[before] + self._piece(self._corners[before], seconds)

    def _piece(self, begin: float, end: float) -> float:
        half = (end - begin) / 2
        middle = begin + half
        rates = (self._load.rate(middle + half * node) for node in _NODES)
        return half * sum(weight * rate for weight, rate in zip(_WEIGHTS, rates, strict=True))


@lru_cache(maxsize=32)
def _area(load: Load) -> _Area:
    return _Area(load)
