"""DS2's model by definition, in exact fractions: slow, recursive, sharing no code with the package.

Rates are decimal text, read as the rational numbers they say. An operator's demand is the sum over its inputs of
what they put out; what it puts out is its demand times output per input; its need is demand over what one
instance can do.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple


class ExactJob(NamedTuple):
    instances: Mapping[str, int]
    edges: Sequence[tuple[str, str, str]]
    """(from, to, share as text)."""
    rates: Mapping[str, Sequence[tuple[str, str]]]
    """Per operator, (true processing, true output) of each instance that reported, as text."""


def exact_needs(job: ExactJob) -> dict[str, Fraction]:
    """Operator -> need, for all that have inputs."""
    fed = {target for _, target, _ in job.edges}

    def mean(operator: str, column: int) -> Fraction:
        values = [Fraction(row[column]) for row in job.rates[operator]]
        return sum(values, Fraction(0)) / len(values)

    @cache
    def puts_out(operator: str) -> Fraction:
        if operator not in fed:
            return mean(operator, 1) * job.instances[operator]
        return demand(operator) * mean(operator, 1) / mean(operator, 0)

    @cache
    def demand(operator: str) -> Fraction:
        return sum((puts_out(up) * Fraction(share) for up, to, share in job.edges if to == operator), Fraction(0))

    return {operator: demand(operator) / mean(operator, 0) for operator in fed}


def exact_answers(job: ExactJob, headroom: str = "0") -> dict[str, int]:
    """Operator -> instances."""
    return {operator: max(1, math.ceil(need * (1 + Fraction(headroom)))) for operator, need in exact_needs(job).items()}
