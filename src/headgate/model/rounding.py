"""From a fractional need to whole instances, without being fooled by the last bit.

A need is computed from rates that were rounded when they were read and at every step since. All of them are
positive and only added, multiplied and divided, so relative errors merely add up: after k roundings the
result is within about k * 2^-53 of the exact one. An integer inside that margin is taken to be the exact need.
Anything wider would swallow real differences; a plain `ceil` makes 3 x 0.1 / 0.3 two instances.
"""

import math
from collections.abc import Callable

import numpy as np

from headgate.model.columns import Bools, Floats, Ints
from headgate.model.dataflow import MAX_INSTANCES

UNIT = 2.0**-53
"""The largest relative error of one rounding of a float64."""
_NEAR = 1e-7
"""Wider than any margin that could be right; what is farther from an integer needs no closer look."""


def whole_instances(need: Floats, roundings: Callable[[], Ints]) -> tuple[Ints, Bools]:
    """The least whole number that covers each need, and where rounding was allowed for to get it.

    `roundings` is asked for only if a need lies so near above an integer that the answer may depend on it. Needs
    too large to count come out as `MAX_INSTANCES`. Zero stays zero: who may have none is not for arithmetic to say.

    >>> counts, forgiven = whole_instances(np.array([3 * 0.1 / 0.3, 2.01, 0.0]), lambda: np.array([6, 6, 6]))
    >>> counts.tolist(), forgiven.tolist()
    ([1, 3, 0], [True, False, False])
    """
    up = np.ceil(need)
    with np.errstate(invalid="ignore", over="ignore"):
        below = up - 1
        excess = need - below
        forgiven = (excess <= _NEAR * need) & (below >= 1) & (need <= MAX_INSTANCES)
        if forgiven.any():
            # Twice the bound: the product of k factors (1 + u) is a little more than 1 + k u.
            # Of needs so large that the margin spans integers, the nearest one is the best guess.
            forgiven &= excess <= np.minimum(2 * UNIT * roundings() * need, 0.5)
    return countable(np.where(forgiven, below, up)), forgiven


def at_least_one(need: float) -> int:
    """The least whole number from 1 up that covers a need, give or take rounding; one where the need is no number.

    For policies whose answer is a rule of thumb: the margin is a billionth, not counted in roundings.

    >>> at_least_one(3 * 0.1 / 0.3), at_least_one(2.01), at_least_one(-5.0), at_least_one(float("inf")) == 2**53
    (1, 3, 1, True)
    """
    if not need > 1.0:
        return 1
    return math.ceil(need * (1 - 1e-9)) if need < MAX_INSTANCES else MAX_INSTANCES


def original_instances(need: Floats) -> Ints:
    """The plain `ceil` of the original program, kept within what can be counted."""
    return countable(np.ceil(need))


def countable(counts: Floats) -> Ints:
    """Counts as integers; what is larger than any engine can count becomes `MAX_INSTANCES`."""
    return np.minimum(counts, float(MAX_INSTANCES)).astype(np.int64)
