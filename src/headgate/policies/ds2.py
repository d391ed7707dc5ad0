"""DS2 (Kalavri et al., OSDI'18): size the whole dataflow in one step from true processing rates.

For each operator, summed over its n instances: true processing rate p and true output rate o, in records per
second of useful time. Upstream first, with demand d the sum of what its upstream operators pass on:

    need     x = d / (p / n)            instances that would just keep up
    answer   ceil(x * (1 + headroom))
    passes   o * (x / n)                down every edge (times the edge's share, 1 by default)

Sources pass on their true output rate and are never resized. If no operator has to grow and yet a source's true
output is more than `threshold` times what was observed of it, the model has missed a cost that grows with the
load; all answers are then multiplied by that ratio (the largest, over the sources).

Differences from the original program, none of them silent: no answer is below 1 or too large to count; an operator
without usable rates stays as it is, and what it feeds may grow but not shrink; an integer within rounding is that
integer, unless `plain_ceil` asks for the original's arithmetic to the bit.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from headgate.model.columns import Bools, Floats, Ints
from headgate.model.dataflow import MAX_INSTANCES, Dataflow
from headgate.model.decision import Decision, Sizing
from headgate.model.errors import InputError
from headgate.model.estimate import Estimate
from headgate.model.objective import KeepUp
from headgate.model.reasons import (
    AtLeastOne,
    BeyondCounting,
    DemandIncomplete,
    KeptWithoutRates,
    Reason,
    TargetRateMissed,
    TargetRatioUnknown,
    WithinRounding,
)
from headgate.model.rounding import original_instances, whole_instances


class Ds2(msgspec.Struct, frozen=True):
    """The policy and its settings.

    `threshold`: the target-rate ratio from which the final adjustment applies; None turns it off.
    `shared_workers`: all operators run on one pool (Timely), so the answer is also a number of workers.
    `plain_ceil`: round up as the original does, the last bit of a float included.

    >>> from headgate.model.dataflow import Dataflow
    >>> flow = Dataflow.of({"o1": 1, "o2": 2, "o3": 3}, [("o1", "o2"), ("o2", "o3")])
    >>> seen = Estimate.of_rates(flow, {"o1": (0, 2000), "o2": (1000, 3800), "o3": (2930, 0)})
    >>> _, decision = Ds2().decide(None, seen, KeepUp(), now=0.0)
    >>> decision.parallelism
    {'o2': 4, 'o3': 8}
    """

    threshold: float | None = None
    shared_workers: bool = False
    plain_ceil: bool = False

    def __post_init__(self) -> None:
        """Refuse a threshold that every source would pass."""
        if self.threshold is not None and not self.threshold >= 1.0:
            raise InputError(f"threshold is {self.threshold}; give a target-rate ratio of 1 or more")

    @property
    def name(self) -> str:
        """`ds2`."""
        return "ds2"

    def start(self) -> None:
        """DS2 remembers nothing."""

    def decide(self, memory: None, estimate: Estimate, objective: KeepUp, now: float) -> tuple[None, Decision]:
        """Size every operator from one estimate."""
        del memory, now
        flow = estimate.dataflow
        flows = _propagate(estimate)
        wanted = flows.need * (1.0 + objective.headroom)
        answers, rounded = self._whole(wanted, flows.roundings + 3)
        sized = ~flow.is_source
        certain = estimate.known & sized
        # What is not known is not made smaller; what has no demand keeps one instance.
        grown_only = np.maximum(answers, flow.instances)
        answers = np.where(certain, np.where(flows.incomplete, grown_only, np.maximum(answers, 1)), flow.instances)
        reasons = _reasons(estimate, flows, wanted, answers, rounded & certain)
        ratio, ratio_reasons = self._target_ratio(estimate, answers)
        reasons += ratio_reasons
        if ratio is not None:
            adjusted, _ = self._whole(ratio * answers, estimate.roundings.max() * np.ones_like(answers) + 2)
            answers = np.where(certain, adjusted, answers)
        return None, Decision(
            self.name,
            _sizings(estimate, flows, answers),
            (*estimate.reasons, *reasons),
            workers=self._workers(wanted, flows, certain, flow) if self.shared_workers else None,
            at=estimate.at,
        )

    def _whole(self, need: Floats, roundings: Ints) -> tuple[Ints, Bools]:
        if self.plain_ceil:
            return original_instances(need), np.zeros(need.shape, np.bool_)
        return whole_instances(need, roundings)

    def _target_ratio(self, estimate: Estimate, answers: Ints) -> tuple[float | None, list[Reason]]:
        """By how much to multiply all answers, if at all."""
        flow = estimate.dataflow
        if self.threshold is None or (answers > flow.instances).any():
            return None, []
        reasons: list[Reason] = []
        worst, worst_source = 0.0, ""
        for at in np.flatnonzero(flow.is_source & estimate.known).tolist():
            true, observed = float(estimate.true_output[at]), float(estimate.observed_output[at])
            if observed > 0 and true / observed > worst:
                worst, worst_source = true / observed, flow.operators[at].id
            elif observed == 0 and true > 0:
                reasons.append(TargetRatioUnknown(flow.operators[at].id))
        if worst > self.threshold and worst != float("inf"):
            reasons.append(TargetRateMissed(worst_source, worst, self.threshold))
            return worst, reasons
        return None, reasons

    def _workers(self, wanted: Floats, flows: "_Flows", certain: Bools, flow: Dataflow) -> int:
        """A pool that all operators share needs the sum of what each needs."""
        total = np.array([wanted[certain].sum()])
        workers, _ = self._whole(total, np.array([flows.roundings.max() + len(flow.operators)]))
        present = int(flow.instances.max())
        unsure = (flows.incomplete | ~certain) & ~flow.is_source
        return max(int(workers[0]), present if unsure.any() else 1)


class _Flows(NamedTuple):
    """What runs through the dataflow when every operator keeps up, by position."""

    need: Floats
    demand: Floats
    output: Floats
    incomplete: Bools
    """Part of the demand is unknown: need and demand are at least what is said."""
    unknown_inputs: Sequence[tuple[int, ...]]
    """Per operator, the upstream positions that make it so."""
    roundings: Ints


def _propagate(estimate: Estimate) -> _Flows:
    """Visit operators upstream first.

    A plain loop over Python floats, which are the same float64: one operator depends on the one before, so there
    is nothing to vectorise in a chain, and at ten thousand operators this takes a few milliseconds. The order
    of operations is the original program's, so sums agree with it to the last bit.
    """
    flow = estimate.dataflow
    size = len(flow.operators)
    known, is_source = estimate.known.tolist(), flow.is_source.tolist()
    instances = flow.instances.astype(np.float64)
    capacity = (estimate.true_processing / instances).tolist()
    counts, true_output = instances.tolist(), estimate.true_output.tolist()
    sum_roundings = estimate.roundings.tolist()
    need, demand, output = [0.0] * size, [0.0] * size, [0.0] * size
    roundings = [0] * size
    unknown_inputs: list[tuple[int, ...]] = [()] * size
    for at in flow.order:
        if is_source[at]:
            passes = true_output[at]
            depth = sum_roundings[at]
        else:
            arriving, one = demand[at], capacity[at]
            # Rates are never negative, so a demand of zero or a capacity too small for a float are the only
            # cases in which the division says nothing.
            x = arriving / one if one > 0.0 else (float("inf") if arriving > 0.0 else 0.0)
            need[at] = x
            roundings[at] += sum_roundings[at] + 2
            passes = true_output[at] * (x / counts[at]) if true_output[at] > 0.0 else 0.0
            depth = roundings[at] + sum_roundings[at] + 2
        output[at] = passes
        unsure = not known[at] or unknown_inputs[at]
        for target, share in flow.outgoing[at]:
            if unsure:
                unknown_inputs[target] = (*unknown_inputs[target], at)
            if known[at] and share > 0.0:
                demand[target] += passes * share
            roundings[target] = max(roundings[target], depth) + 2
    return _Flows(
        np.where(estimate.known, need, 0.0),
        np.array(demand),
        np.array(output),
        np.array([bool(inputs) for inputs in unknown_inputs]),
        unknown_inputs,
        np.array(roundings, np.int64),
    )


def _reasons(estimate: Estimate, flows: _Flows, wanted: Floats, answers: Ints, rounded: Bools) -> list[Reason]:
    flow = estimate.dataflow
    ids = flow.ids
    sized = estimate.known & ~flow.is_source

    def chosen(rows: Bools) -> list[int]:
        return np.flatnonzero(rows).tolist()  # type: ignore[no-any-return]

    return [
        *(KeptWithoutRates(ids[at], flow.operators[at].instances) for at in chosen(~estimate.known)),
        *(
            DemandIncomplete(ids[at], tuple(ids[up] for up in flows.unknown_inputs[at]))
            for at in chosen(sized & flows.incomplete)
        ),
        *(AtLeastOne(ids[at]) for at in chosen(sized & (wanted == 0) & ~flows.incomplete)),
        *(BeyondCounting(ids[at], MAX_INSTANCES) for at in chosen(sized & (wanted > MAX_INSTANCES))),
        *(WithinRounding(ids[at], float(wanted[at]), int(answers[at])) for at in chosen(rounded)),
    ]


def _sizings(estimate: Estimate, flows: _Flows, answers: Ints) -> tuple[Sizing, ...]:
    """Rows in upstream-first order; numbers that are not known, or not finite, are None.

    A need that rests on part of the demand is shown where even that part is more than there are instances for.
    """
    flow = estimate.dataflow
    order = np.array(flow.order)
    known, source = estimate.known, flow.is_source
    rate = np.where(source, estimate.true_output, estimate.true_processing)
    observed = np.where(source, estimate.observed_output, estimate.observed_processing)
    with np.errstate(divide="ignore", invalid="ignore"):
        utilisation = observed / rate

    def column(values: Floats, shown: Bools) -> list[float | None]:
        values, shown = values[order], (shown & np.isfinite(values))[order]
        if shown.all():
            return values.tolist()  # type: ignore[no-any-return]
        return [value if show else None for value, show in zip(values.tolist(), shown.tolist(), strict=True)]

    return tuple(
        map(
            Sizing,
            [flow.operators[at].id for at in flow.order],
            flow.instances[order].tolist(),
            answers[order].tolist(),
            column(flows.need, known & ~source & (~flows.incomplete | (flows.need > flow.instances))),
            column(rate, known),
            column(flows.demand, ~source & ~flows.incomplete),
            column(flows.output, known),
            column(utilisation, known),
            source[order].tolist(),
        )
    )
