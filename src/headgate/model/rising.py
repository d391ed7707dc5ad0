"""A load that grows: the rate it will have when what is asked for now has come and the next question can be answered.

Only what has risen all along is believed to go on: the last batches are cut into three parts, and each must have come
at a higher rate than the one before it. It is drawn out by the slower of the two rises. A step of the load is none: the
batches before it are not among those that came at about one rate (`arrivals.lately`), and those after it are level.
"""

from collections.abc import Sequence
from statistics import fmean, median

from headgate.model.arrivals import lately, rates
from headgate.model.microbatch import MicroBatch

_PARTS = 3
_LEAST_OF_A_PART = 2
"""Batches: the rate of a single one may be noise."""


def rate_ahead(batches: Sequence[MicroBatch], seconds: float) -> float | None:
    """Records a second in so many seconds, if they go on to rise; None where they do not rise."""
    recent = lately(batches)
    known = [(recent[place].began / 1000, rate) for place, rate in sorted(rates(recent).items())]
    each = len(known) // _PARTS
    if each < _LEAST_OF_A_PART or seconds <= 0:
        return None
    known = known[-_PARTS * each :]
    parts = [known[place : place + each] for place in range(0, len(known), each)]
    (then, first), (later, middle), (now, last) = ((fmean(at for at, _ in p), median(r for _, r in p)) for p in parts)
    slope = min((middle - first) / (later - then), (last - middle) / (now - later))
    return last + slope * (known[-1][0] - now + seconds) if slope > 0 else None
