"""From observations to one decision: estimate each, ask the policy in order of time, combine, keep within bounds."""

from collections.abc import Iterable, Sequence

from headgate.model.bounds import Bounds, bounded
from headgate.model.combination import Combination, combined
from headgate.model.decision import Decision
from headgate.model.errors import InputError, PolicyError
from headgate.model.estimate import Estimate, Silence, estimate
from headgate.model.objective import KeepUp
from headgate.model.observation import Observation
from headgate.model.reasons import Bottleneck
from headgate.policies.protocol import Policy
from headgate.policies.registry import policy as policy_by_name


def decide(
    observations: Observation | Estimate | Sequence[Observation | Estimate],
    *,
    policy: str | Policy = "ds2",
    objective: KeepUp = KeepUp(),  # noqa: B008 - a frozen value
    combine: str | Combination = "last",
    bounds: Bounds = Bounds(),  # noqa: B008 - a frozen value
    missing: Silence = "infer",
    idle: Silence = "infer",
) -> Decision:
    """How many instances each operator needs, from what was observed.

    `observations` are those of one dataflow, oldest first, or estimates where rates are summed already. With
    several, `combine` says how they become one answer: `last`, `median`, `maximum` or `agree:K`.

    >>> from headgate import Dataflow, Estimate
    >>> flow = Dataflow.of({"lines": 1, "split": 2}, [("lines", "split")])
    >>> decision = decide(Estimate.of_rates(flow, {"lines": (0, 300), "split": (200, 2000)}))
    >>> decision.parallelism
    {'split': 3}
    >>> print(decision.reasons[0])
    split is the bottleneck: it needs 3 instances and has 2, so the dataflow runs at 66.67 % of its input
    """
    if isinstance(observations, Observation | Estimate):
        observations = [observations]
    if not observations:
        raise InputError("there are no observations to decide on; give at least one")
    seen = [one if isinstance(one, Estimate) else estimate(one, missing=missing, idle=idle) for one in observations]
    chosen = policy_by_name(policy) if isinstance(policy, str) else policy
    how = Combination.parse(combine) if isinstance(combine, str) else combine
    return finished(combined(decisions(chosen, seen, objective), how), bounds, seen[-1])


def decisions(policy: Policy, estimates: Iterable[Estimate], objective: KeepUp) -> list[Decision]:
    """Ask a policy about one estimate after the other, handing on what it remembers."""
    memory, answers = policy.start(), []
    for one in estimates:
        try:
            returned = policy.decide(memory, one, objective, one.at)
        except InputError:
            raise
        except Exception as error:
            raise PolicyError(f"policy {policy.name} failed: {_in_one_line(error)}") from error
        if not (isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], Decision)):
            raise PolicyError(f"policy {policy.name} returned {type(returned).__name__}; return (memory, Decision)")
        memory, decision = returned
        answers.append(decision)
    return answers


def _in_one_line(error: Exception) -> str:
    """What went wrong and on which line of whose file: policies are often someone else's."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = "" if at is None else f" ({at.tb_frame.f_code.co_filename.rpartition('/')[2]}:{at.tb_lineno})"
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}{where}"


def finished(decision: Decision, bounds: Bounds, seen: Estimate) -> Decision:
    """Within bounds, and with the bottleneck named first."""
    bounds.check(seen.dataflow)
    within = bounded(decision, bounds)
    worst = within.bottleneck
    if worst is None or worst.need is None:
        return within
    return Decision(
        within.policy,
        within.sizings,
        (Bottleneck(worst.operator, worst.now, worst.need), *within.reasons),
        within.workers,
        within.at,
    )
