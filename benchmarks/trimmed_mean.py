"""A mean that neither end of its samples moves by much, and how far it may be off."""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

TRIMMED = 0.2
"""The part of the samples that is left out on each side, rounded down."""


class Mean(NamedTuple):
    """Of samples, and its standard error; nothing is known of none."""

    value: float
    error: float

    def __str__(self) -> str:
        """In seconds."""
        return f"{self.value:.2f} +- {self.error:.2f} s"


def trimmed_mean(samples: Sequence[float]) -> Mean:
    """The error goes by the deviation of samples whose ends are pulled in to what was kept (Tukey and McLaughlin)."""
    ordered, count = sorted(samples), len(samples)
    cut = math.floor(TRIMMED * count)
    kept = ordered[cut : count - cut]
    if not kept:
        return Mean(math.nan, math.inf)
    if len(kept) == 1:
        return Mean(kept[0], math.inf)
    pulled = [min(max(one, kept[0]), kept[-1]) for one in ordered]
    error = math.sqrt((count - 1) * statistics.variance(pulled) / (len(kept) * (len(kept) - 1)))
    return Mean(statistics.mean(kept), error)
