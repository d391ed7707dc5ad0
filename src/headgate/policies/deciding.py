"""From observations to one decision: estimate each, ask the policy in order of time, combine, keep within bounds."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from headgate.model.bounds import Bounds, bounded
from headgate.model.combination import Combination, combined
from headgate.model.dataflow import Dataflow
from headgate.model.decision import KEEPS_UP, Decision
from headgate.model.errors import InputError, PolicyError
from headgate.model.estimate import Estimate
from headgate.model.objective import KeepUp
from headgate.model.observation import Observation
from headgate.model.reading import Reading
from headgate.model.reasons import Bottleneck, PoolTooSmall
from headgate.policies.foreign import checked_decision, in_one_line
from headgate.policies.protocol import Policy
from headgate.policies.registry import policy as policy_by_name


def decide(
    observations: Observation | Estimate | Sequence[Observation | Estimate],
    *,
    policy: str | Policy = "ds2",
    objective: KeepUp = KeepUp(),  # noqa: B008 - a frozen value
    reading: Reading = Reading(),  # noqa: B008 - a frozen value
    combine: str | Combination = "last",
    bounds: Bounds = Bounds(),  # noqa: B008 - a frozen value
) -> Decision:
    """How many instances each operator needs, from what was observed.

    `observations` are those of one dataflow, oldest first, or estimates where rates are summed already. With
    several, `combine` says how they become one answer: `last`, `median`, `maximum` or `agree:K`. `reading` says
    what silent instances mean and which rates are known better.

    >>> from headgate import Dataflow, Estimate
    >>> flow = Dataflow.of({"lines": 1, "split": 2}, [("lines", "split")])
    >>> decision = decide(Estimate.of_rates(flow, {"lines": (0, 300), "split": (200, 2000)}))
    >>> decision.parallelism
    {'split': 3}
    >>> print(decision.reasons[0])
    split is the bottleneck: it needs 3 instances and has 2, so the dataflow runs at 66.67 % of its input
    """
    how = Combination.parse(combine) if isinstance(combine, str) else combine
    each = decide_each(observations, policy=policy, objective=objective, reading=reading)
    dataflow = (observations if isinstance(observations, Observation | Estimate) else observations[0]).dataflow
    return finished(combined_within(each, how, bounds), bounds, dataflow)


def combined_within(each: Sequence[Decision], how: Combination, bounds: Bounds) -> Decision:
    """One decision of several. Windows agree if their answers within bounds do: those are what would be done."""
    return combined([bounded(one, bounds) for one in each] if how.rule == "agree" else each, how)


def decide_each(
    observations: Observation | Estimate | Sequence[Observation | Estimate],
    *,
    policy: str | Policy,
    objective: KeepUp,
    reading: Reading,
) -> list[Decision]:
    """One decision for each observation, neither combined nor bounded."""
    if isinstance(observations, Observation | Estimate):
        observations = [observations]
    if not observations:
        raise InputError("there are no observations to decide on; give at least one")
    for one in observations:
        if not isinstance(one, Observation | Estimate):
            raise InputError(f"{type(one).__name__} is no observation; give an Observation or an Estimate")
        if one.dataflow != observations[0].dataflow:
            raise InputError("the observations are of different dataflows; decide on each dataflow by itself")
    chosen = policy_by_name(policy) if isinstance(policy, str) else policy
    if isinstance(chosen, type):
        raise InputError(f"policy is the class {chosen.__name__}; give an instance of it: {chosen.__name__}()")
    return decisions(chosen, (reading.of(one) for one in observations), objective)


def decisions(policy: Policy, estimates: Iterable[Estimate], objective: KeepUp) -> list[Decision]:
    """Ask a policy about one estimate after the other, handing on what it remembers."""
    answers: list[Decision] = []
    try:
        memory = policy.start()
        for one in estimates:
            returned = policy.decide(memory, one, objective, one.at)
            if not (isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], Decision)):
                raise PolicyError(f"policy {policy.name} returned {type(returned).__name__}; return (memory, Decision)")
            memory, decision = returned
            answers.append(checked_decision(decision, one.dataflow))
    except (InputError, PolicyError):
        raise
    except (Exception, SystemExit) as error:
        raise PolicyError(f"policy {policy.name} failed: {in_one_line(error)}") from error
    return answers


def finished(decision: Decision, bounds: Bounds, dataflow: Dataflow) -> Decision:
    """Within bounds, and with what limits the dataflow named first."""
    bounds.check(dataflow)
    within = bounded(decision, bounds)
    worst = within.bottleneck
    if within.workers_need is not None:
        pool = int(dataflow.instances.max())
        limits: Bottleneck | PoolTooSmall | None = (
            PoolTooSmall(pool, within.workers_need) if within.workers_need > pool * KEEPS_UP else None
        )
    else:
        limits = Bottleneck(worst.operator, worst.now, worst.need) if worst and worst.need is not None else None
    return within if limits is None else replace(within, reasons=(limits, *within.reasons))
