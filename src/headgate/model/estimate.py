"""An estimate: what one observation says about each operator, with what had to be assumed to say it.

Rates are sums over an operator's instances, as in DS2. The work here is in the instances that say nothing: those
that did not report, those that reported NaN or infinity, and those that processed nothing. By default they are
taken to be like their siblings; counting them as zero, as the original does, inflates the answer by the same
factor by which they are missing.

An operator of which nothing usable is known is marked unknown, never given a made-up number.
"""

import math
from collections.abc import Mapping
from typing import Literal, Self, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from headgate.model.columns import Bools, Floats, Ints, float_column, read_only
from headgate.model.dataflow import Dataflow
from headgate.model.errors import InputError
from headgate.model.observation import Observation, Rates
from headgate.model.reasons import (
    IdleInstances,
    InstancesCountedAsZero,
    InstancesInferred,
    RatesNotFinite,
    Reason,
)
from headgate.model.signals import Signals

Silence: TypeAlias = Literal["infer", "zero"]
"""How to read an instance that says nothing: like its siblings, or as one that can do nothing."""


class Estimate(msgspec.Struct, frozen=True, eq=False):
    """Per operator of a dataflow, by position: summed rates in records per second, and whether they are known.

    >>> flow = Dataflow.of({"lines": 1, "split": 2}, [("lines", "split")])
    >>> seen = Estimate.of_rates(flow, {"lines": (0, 300), "split": (200, 2000)})
    >>> seen.known.tolist(), seen.true_processing.tolist()
    ([True, True], [0.0, 200.0])
    """

    dataflow: Dataflow
    known: Bools
    """False where nothing usable was measured; the rates of such an operator are zero and mean nothing."""
    true_processing: Floats
    true_output: Floats
    observed_processing: Floats
    observed_output: Floats
    """NaN, of both, where true rates are known and no instance told what was observed: that is not nothing."""
    roundings: Ints
    """How many roundings each sum may have gone through: what its last digits are worth."""
    at: float = 0.0
    reasons: tuple[Reason, ...] = ()
    signals: tuple[Signals, ...] = ()
    """What an engine tells beyond rates, one an operator; empty where it tells nothing."""

    @classmethod
    def of_rates(cls, dataflow: Dataflow, rates: Mapping[str, tuple[float, ...]], *, at: float = 0.0) -> Self:
        """From rates summed per operator: (true processing, true output), then optionally the observed ones.

        An observed rate that is not given is taken to equal the true one: busy all the time.
        """
        size = len(dataflow.operators)
        known = np.zeros(size, np.bool_)
        columns = np.zeros((4, size))
        for id, given in rates.items():
            if not (isinstance(given, tuple | list) and len(given) in (2, 4)):
                raise InputError(
                    f'rates of operator "{id}" are {given!r}; give (true processing, true output), '
                    "or these and the two observed ones"
                )
            at_position = dataflow.position(id)
            known[at_position] = True
            columns[:, at_position] = (*given, *given[:2])[:4]
        names = ("true processing", "true output", "observed processing", "observed output")
        p, o, seen_p, seen_o = (float_column(*named, size) for named in zip(names, columns, strict=True))
        finite = np.isfinite(columns).all(axis=0)
        idle = (columns[0] == 0) & ~dataflow.is_source
        return cls(
            dataflow,
            read_only(known & finite & ~idle),
            p,
            o,
            seen_p,
            seen_o,
            roundings=read_only(np.ones(size, np.int64)),
            at=at,
        )

    def seen(self, at: int) -> Signals:
        """What is known of the operator at this position: what the engine tells, or what rates alone say.

        >>> flow = Dataflow.of({"lines": 1, "split": 2}, [("lines", "split")])
        >>> Estimate.of_rates(flow, {"lines": (0, 300), "split": (200, 2000, 150, 1500)}).seen(1).busy
        0.75
        """
        if self.signals:
            return self.signals[at]
        instances = int(self.dataflow.instances[at])
        if not self.known[at]:
            return Signals(instances)
        source = bool(self.dataflow.is_source[at])
        true = float((self.true_output if source else self.true_processing)[at])
        observed = float((self.observed_output if source else self.observed_processing)[at])
        taken = None if math.isnan(observed) else observed
        busy = min(1.0, taken / true) if taken is not None and true > 0 else None
        return Signals(instances, came=true if source else None, taken=taken, busy=busy)

    def because(self, *reasons: Reason) -> Self:
        """The same estimate with more to say for itself."""
        return replace(self, reasons=(*self.reasons, *reasons)) if reasons else self


def estimate(observation: Observation, *, missing: Silence = "infer", idle: Silence = "infer") -> Estimate:
    """Sum the rates of an observation per operator.

    `missing` is about instances that did not report or reported no number, `idle` about those that processed
    nothing while their siblings did.

    >>> flow = Dataflow.of({"lines": 1, "split": 2}, [("lines", "split")])
    >>> seen = Observation.of_rates(flow, operator=["lines", "split"], instance=[0, 0], true_processing=[0, 50],
    ...     true_output=[100, 50], observed_processing=[0, 40], observed_output=[80, 40])
    >>> estimate(seen).true_processing.tolist()  # one of two instances reported
    [0.0, 100.0]
    """
    for name, value in (("missing", missing), ("idle", idle)):
        if value not in ("infer", "zero"):
            raise InputError(f'{name} is "{value}"; give infer or zero')
    flow, operator, columns = observation.dataflow, observation.operator, observation.rates
    size, runs = len(flow.operators), observation.runs
    no_number, still = _silent_rows(flow, operator, columns)
    left_out = np.concatenate((no_number, still)) if idle == "infer" else no_number
    reported = np.zeros(size, np.int64)
    reported[runs.operator] = runs.length
    not_finite = np.bincount(operator[no_number], minlength=size)
    idle_rows = np.bincount(operator[still], minlength=size)
    counted = reported - not_finite - idle_rows
    # Silent instances that are to be like the others: all of them, less those that are to count as zero.
    inferred = flow.instances - counted
    if idle == "zero":
        inferred = inferred - idle_rows
    if missing == "zero":
        inferred = inferred - not_finite - (flow.instances - reported)
    inferred = np.where(counted > 0, inferred, 0)
    stand_for = np.where(inferred > 0, (counted + inferred) / np.maximum(counted, 1), 1.0)

    def summed(column: Floats, left_out: npt.NDArray[np.intp]) -> Floats:
        finite = np.isfinite(column)
        if left_out.size or not finite.all():
            column = np.where(finite, column, 0.0)
            column[left_out] = 0.0
        sums = np.zeros(size)
        with np.errstate(over="ignore"):
            sums[runs.operator] = np.add.reduceat(column, runs.first) if column.size else 0.0
        return sums

    def observed(column: Floats) -> Floats:
        # An idle instance was observed to do nothing, which is a fact; one that did not report was not observed.
        heard = reported - np.bincount(operator[~np.isfinite(column)], minlength=size)
        unheard = flow.instances / np.maximum(heard, 1) if missing == "infer" else 1.0
        with np.errstate(over="ignore"):
            sums = summed(column, no_rows) * unheard
        # Of an operator that is known and of which this was not heard, zero would be made up: it would read as idle.
        return np.where((heard > 0) & np.isfinite(sums), sums, np.where(known, np.nan, 0.0))

    no_rows = np.empty(0, np.intp)
    with np.errstate(over="ignore"):
        p = summed(columns.true_processing, left_out) * stand_for
        o = summed(columns.true_output, left_out) * stand_for
    # Rates whose sum is beyond a float are no measurement either.
    known = (counted > 0) & np.isfinite(p) & np.isfinite(o)
    estimated = Estimate(
        flow,
        read_only(known),
        read_only(np.where(known, p, 0.0)),
        read_only(np.where(known, o, 0.0)),
        read_only(observed(columns.observed_processing)),
        read_only(observed(columns.observed_output)),
        # One for each number read, one for each addition, two for scaling, two where counts were divided by times.
        roundings=read_only(counted + 5),
        at=observation.at,
    )
    return estimated.because(*_silences(flow, counted, not_finite, idle_rows, inferred, idle))


def _silent_rows(
    flow: Dataflow, operator: npt.NDArray[np.int32], rates: Rates
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows that report no number, and rows of instances that processed nothing.

    What a source processes and what a sink emits enters no formula, and observed rates only explain: they cannot
    spoil a row. Sums are looked at first: a million rows without a NaN among them is the usual case, and a sum
    shows it fastest.
    """
    still = np.flatnonzero(rates.true_processing == 0)
    still = still[~flow.is_source[operator[still]]]
    with np.errstate(invalid="ignore", over="ignore"):
        if np.isfinite(rates.true_processing.sum()) and np.isfinite(rates.true_output.sum()):
            return np.empty(0, np.intp), still
    finite = (np.isfinite(rates.true_processing) | flow.is_source[operator]) & (
        np.isfinite(rates.true_output) | flow.is_sink[operator]
    )
    return np.flatnonzero(~finite), still[finite[still]]


def _silences(
    flow: Dataflow,
    counted: Ints,
    not_finite: Ints,
    idle_rows: Ints,
    inferred: Ints,
    idle: Silence,
) -> list[Reason]:
    """A reason for every operator of which some instances said nothing."""
    ids = flow.ids
    reasons: list[Reason] = [RatesNotFinite(ids[at], int(not_finite[at])) for at in np.flatnonzero(not_finite)]
    if idle == "infer":
        reasons += [IdleInstances(ids[at], int(idle_rows[at])) for at in np.flatnonzero(idle_rows)]
    for at in np.flatnonzero((counted > 0) & (counted < flow.instances)):
        heard, instances = int(counted[at]), int(flow.instances[at])
        if inferred[at] > 0:
            reasons.append(InstancesInferred(ids[at], heard, instances))
        if heard + inferred[at] < instances:
            reasons.append(InstancesCountedAsZero(ids[at], heard, instances))
    return reasons
