"""Rates the user knows better than the measurement: what sources emit, what operators can do at most.

Both are given per instance, as in DS2's files, and both may say "take the observed rate" instead of a number.
"""

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
from msgspec.structs import replace

from headgate.model.columns import read_only
from headgate.model.errors import InputError
from headgate.model.estimate import Estimate
from headgate.model.reasons import OutputRateGiven, ProcessingRateGiven, RateWithoutEffect, Reason

OBSERVED: Final = -1.0
"""In place of a rate: the operator does not wait, so what was observed is what it can do."""


def with_output_rates(estimate: Estimate, per_instance: Mapping[str, float]) -> Estimate:
    """Set what sources emit, for instance as measured at the message broker.

    An operator that is not a source is taken too (the original does): its selectivity changes, and the reason
    says so. A source without any rates becomes known by this.
    """
    flow = estimate.dataflow
    output, known = estimate.true_output.copy(), estimate.known.copy()
    reasons: list[Reason] = []
    for id, rate in per_instance.items():
        at = flow.position(id)
        _check("source rate", id, rate)
        is_source = bool(flow.is_source[at])
        if rate == OBSERVED:
            observed = float(estimate.observed_output[at])
            if not known[at] and observed == 0:
                continue  # nothing was observed either
            if math.isnan(observed):  # its true rate is not what was asked for, and what was is not known
                output[at], known[at] = 0.0, False
                continue
            output[at] = observed
        else:
            with np.errstate(over="ignore"):
                output[at] = rate * flow.instances[at]
            if not np.isfinite(output[at]):
                raise InputError(f'source rate of operator "{id}" times its instances is too large; give less')
        known[at] |= is_source
        reasons.append(OutputRateGiven(id, float(output[at]), is_source, observed=rate == OBSERVED))
    return replace(
        estimate,
        true_output=read_only(output),
        known=read_only(known),
        roundings=read_only(estimate.roundings + 2),
    ).because(*reasons)


def with_processing_rates(
    estimate: Estimate, per_instance: Mapping[str, float], *, scale_output: bool = True
) -> Estimate:
    """Lower true processing rates to what operators are known to manage at most.

    The output rate goes down with it, so selectivity stays what it was. `scale_output=False` leaves it as it
    was measured, as the original does; that inflates the demand on everything downstream.
    """
    flow = estimate.dataflow
    processing, output = estimate.true_processing.copy(), estimate.true_output.copy()
    known = estimate.known.copy()
    reasons: list[Reason] = []
    for id, rate in per_instance.items():
        at = flow.position(id)
        _check("operator rate", id, rate)
        if flow.is_source[at]:
            reasons.append(RateWithoutEffect(id))
            continue
        if rate == 0:
            raise InputError(f'operator rate of operator "{id}" is 0; give what it can do at most, above 0')
        measured = float(processing[at])
        limit = float(estimate.observed_processing[at] if rate == OBSERVED else rate * flow.instances[at])
        if not known[at] or measured == limit or (measured < limit and rate != OBSERVED):
            continue
        if math.isnan(limit):
            processing[at], output[at], known[at] = 0.0, 0.0, False
            continue
        processing[at] = limit
        known[at] = limit > 0
        if scale_output:
            output[at] *= limit / measured
        reasons.append(ProcessingRateGiven(id, measured, limit, observed=rate == OBSERVED, output_scaled=scale_output))
    return replace(
        estimate,
        true_processing=read_only(processing),
        true_output=read_only(output),
        known=read_only(known),
        roundings=read_only(estimate.roundings + 3),
    ).because(*reasons)


def _check(what: str, id: str, rate: float) -> None:
    if rate != OBSERVED and not (rate >= 0 and np.isfinite(rate)):
        raise InputError(f'{what} of operator "{id}" is {rate:g}; give a number from 0 up, or -1 for the observed rate')
