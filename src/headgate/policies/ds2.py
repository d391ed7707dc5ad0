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

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

import msgspec
import numpy as np

from headgate.model.columns import Bools, Floats, Ints
from headgate.model.dataflow import MAX_INSTANCES
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
from headgate.model.rounding import UNIT, original_instances, whole_instances


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

    needs: ClassVar[tuple[str, ...]] = ()
    """No signals: the rates of the estimate are all it looks at."""

    threshold: float | None = None
    shared_workers: bool = False
    plain_ceil: bool = False

    def __post_init__(self) -> None:
        """Refuse a threshold that every source would pass."""
        if self.threshold is not None and not self.threshold >= 1.0:
            raise InputError(f"threshold (--threshold) is {self.threshold}; give a target-rate ratio of 1 or more")

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
        flows, unknown_inputs = _propagate(estimate), _unknown_inputs(estimate)
        incomplete = np.array(list(map(bool, unknown_inputs)))
        sized = estimate.known & ~flow.is_source
        with np.errstate(over="ignore"):
            wanted = flows.need * (1.0 + objective.headroom)
        # Three for the headroom: reading it, adding one, multiplying.
        enough, forgiven = self._whole(wanted, lambda: _roundings(estimate) + 3)
        # What has no demand keeps one instance; what is not known, or not all of it, is not made smaller.
        answers = np.where(sized, np.maximum(enough, 1), flow.instances)
        answers = np.where(incomplete, np.maximum(answers, flow.instances), answers)
        reasons = _reasons(estimate, unknown_inputs, wanted, sized, incomplete)
        reasons += [
            WithinRounding(flow.operators[at].id, float(wanted[at]), int(enough[at]))
            for at in np.flatnonzero(forgiven & sized).tolist()
        ]
        ratio, ratio_reasons = self._target_ratio(estimate, answers)
        reasons += ratio_reasons
        if ratio is not None:
            scaled = ratio * answers
            raised, forgiven = self._whole(scaled, lambda: np.full(answers.shape, _ratio_roundings(estimate)))
            reasons += [
                WithinRounding(flow.ids[at], float(scaled[at]), int(raised[at]))
                for at in np.flatnonzero(forgiven & sized).tolist()
            ]
            answers = np.where(sized, raised, answers)
        return None, Decision(
            self.name,
            _sizings(estimate, flows, answers, incomplete),
            (*estimate.reasons, *reasons),
            workers=self._workers(wanted[sized], estimate, ratio, bool((incomplete | ~estimate.known).any())),
            workers_need=_finite(float(flows.need[sized].sum())) if self.shared_workers else None,
            at=estimate.at,
        )

    def _whole(self, need: Floats, roundings: Callable[[], Ints]) -> tuple[Ints, Bools]:
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
            elif not observed > 0 and true > 0:  # nothing, or nobody heard what
                reasons.append(TargetRatioUnknown(flow.operators[at].id))
        # A ratio that equals the threshold but for rounding is not above it, except to the original.
        margin = 0.0 if self.plain_ceil else 2 * UNIT * _ratio_roundings(estimate)
        if self.threshold * (1 + margin) < worst < float("inf"):
            reasons.append(TargetRateMissed(worst_source, worst, self.threshold))
            return worst, reasons
        return None, reasons

    def _workers(self, wanted: Floats, estimate: Estimate, ratio: float | None, unsure: bool) -> int | None:
        """A pool that all operators share needs the sum of what each needs."""
        if not self.shared_workers:
            return None
        with np.errstate(over="ignore"):
            total = np.array([wanted.sum()])
        workers, _ = self._whole(total, lambda: np.array([_roundings(estimate).max() + wanted.size + 3]))
        if ratio is not None:
            workers, _ = self._whole(ratio * np.maximum(workers, 1), lambda: np.array([_ratio_roundings(estimate)]))
        present = int(estimate.dataflow.instances.max())
        return max(int(workers[0]), present if unsure else 1)


class _Flows(NamedTuple):
    """What runs through the dataflow when every operator keeps up, by position."""

    need: Floats
    demand: Floats
    output: Floats


def _propagate(estimate: Estimate) -> _Flows:
    """Visit operators upstream first, as they stand; unknown ones need nothing and pass nothing on.

    A plain loop over Python floats, which are the same float64: one operator depends on the one before, so there
    is nothing to vectorise in a chain, and at ten thousand operators this takes a few milliseconds. The order
    of operations is the original program's, so sums agree with it to the last bit.
    """
    flow, known, is_source = estimate.dataflow, estimate.known, estimate.dataflow.is_source
    # A source is made to look like an operator whose demand is 1 and whose one instance can do just that, so
    # that it passes on exactly its output rate and the loop needs no special case.
    instances = np.where(is_source, 1.0, flow.instances)
    demand = is_source.astype(np.float64).tolist()
    # A capacity too small for a float is as good as none: the need comes out beyond counting, not as an error.
    least = np.nextafter(0.0, 1.0)
    with np.errstate(under="ignore"):
        capacity = np.where(known, np.maximum(estimate.true_processing / instances, least), np.inf)
    capacity[is_source] = 1.0
    true_output = np.where(known, estimate.true_output, 0.0)
    need, output = [], []
    columns = zip(true_output.tolist(), capacity.tolist(), instances.tolist(), flow.outgoing, strict=True)
    for at, (passes, each, count, targets) in enumerate(columns):
        x = demand[at] / each
        need.append(x)
        if passes:
            passes *= x / count  # noqa: PLW2901 - becomes what is really passed on
        output.append(passes)
        for target, share in targets:
            demand[target] += passes * share
    return _Flows(np.where(is_source, 0.0, need), np.where(is_source, 0.0, demand), np.array(output))


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _roundings(estimate: Estimate) -> Ints:
    """Per operator, through how many roundings its need may have gone: along its deepest path from a source."""
    flow, sums = estimate.dataflow, estimate.roundings.tolist()
    depth = [0] * len(sums)
    for at, targets in enumerate(flow.outgoing):
        if flow.incoming[at]:
            depth[at] += sums[at] + 2  # the capacity, and the division by it
        passed = depth[at] + sums[at] + 2  # over the instances, times the output
        for target, _ in targets:
            depth[target] = max(depth[target], passed) + 3  # reading the share, multiplying by it, adding up demands
    return np.array(depth, np.int64)


def _ratio_roundings(estimate: Estimate) -> int:
    """Two sums over instances, their ratio, the threshold it is compared with, and a product with it."""
    return 2 * int(estimate.roundings.max()) + 3


def _unknown_inputs(estimate: Estimate) -> list[tuple[int, ...]]:
    """Per operator, the upstream operators of which it is not known what they pass on."""
    inputs: list[tuple[int, ...]] = [()] * len(estimate.known)
    if estimate.known.all():
        return inputs
    for at, (known, targets) in enumerate(zip(estimate.known.tolist(), estimate.dataflow.outgoing, strict=True)):
        if not known or inputs[at]:
            for target, _ in targets:
                inputs[target] = (*inputs[target], at)
    return inputs


def _reasons(
    estimate: Estimate,
    unknown_inputs: Sequence[tuple[int, ...]],
    wanted: Floats,
    sized: Bools,
    incomplete: Bools,
) -> list[Reason]:
    ids, instances = estimate.dataflow.ids, estimate.dataflow.instances

    def chosen(rows: Bools) -> list[int]:
        return np.flatnonzero(rows).tolist()

    return [
        *(KeptWithoutRates(ids[at], int(instances[at])) for at in chosen(~estimate.known)),
        *(DemandIncomplete(ids[at], tuple(ids[up] for up in unknown_inputs[at])) for at in chosen(sized & incomplete)),
        *(AtLeastOne(ids[at]) for at in chosen(sized & (wanted == 0) & ~incomplete)),
        *(BeyondCounting(ids[at], MAX_INSTANCES) for at in chosen(sized & (wanted > MAX_INSTANCES))),
    ]


def _sizings(estimate: Estimate, flows: _Flows, answers: Ints, incomplete: Bools) -> tuple[Sizing, ...]:
    """One row an operator; numbers that are not known, or not finite, are None.

    A need that rests on part of the demand is shown where even that part is more than there are instances for.
    """
    flow, known, source = estimate.dataflow, estimate.known, estimate.dataflow.is_source
    rate = np.where(source, estimate.true_output, estimate.true_processing)
    observed = np.where(source, estimate.observed_output, estimate.observed_processing)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        utilisation = observed / rate
    # A source whose rate was given may never have been observed at all.
    measured = known & ~(source & (observed == 0))

    def column(values: Floats, shown: Bools) -> list[float | None]:
        cells: list[float | None] = values.tolist()
        for at in np.flatnonzero(~(shown & np.isfinite(values))).tolist():
            cells[at] = None
        return cells

    return tuple(
        map(
            Sizing,
            flow.ids,
            flow.instances.tolist(),
            answers.tolist(),
            column(flows.need, known & ~source & (~incomplete | (flows.need > flow.instances))),
            column(rate, known),
            column(flows.demand, ~source & ~incomplete),
            column(flows.output, known),
            column(utilisation, measured),
            source.tolist(),
        )
    )
