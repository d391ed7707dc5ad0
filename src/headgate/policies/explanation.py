"""The arithmetic behind one operator's answer, in words and numbers."""

from headgate.model.dataflow import Dataflow
from headgate.model.decision import Decision, Sizing
from headgate.model.objective import KeepUp
from headgate.model.reasons import number


def explained(decision: Decision, dataflow: Dataflow, objective: KeepUp, operator: str) -> list[str]:
    """Lines that a person with a pocket calculator can follow, from what arrives to how many are needed."""
    sizing = decision.sizing(operator)
    lines = [f"{operator}: {sizing.instances:,} (now {sizing.now:,})"]
    if sizing.source:
        lines += _source(sizing)
    else:
        lines += _demand(decision, dataflow, sizing)
        lines += _need(sizing, objective)
    lines += [f"  {reason.aspect:<9} {reason}" for reason in decision.reasons if _concerns(reason, operator)]
    return lines


def _concerns(reason: object, operator: str) -> bool:
    return operator in (getattr(reason, "operator", None), getattr(reason, "source", None)) or not hasattr(
        reason, "operator"
    )


def _source(sizing: Sizing) -> list[str]:
    emits = "an unknown number of" if sizing.output is None else number(sizing.output)
    return [f"  emits     {emits} records/s over {sizing.now:,} instances; sources are never resized"]


def _demand(decision: Decision, dataflow: Dataflow, sizing: Sizing) -> list[str]:
    target = dataflow.position(sizing.operator)
    terms = []
    for up in dataflow.incoming[target]:
        id = dataflow.operators[up].id
        share = dict(dataflow.outgoing[up]).get(target, 0.0)
        output = decision.sizing(id).output
        amount = "unknown" if output is None else number(output)
        terms.append(f"{amount} from {id}" if share == 1 else f"{number(share)} of {amount} from {id}")
    if sizing.demand is None:
        return []
    total = f" = {number(sizing.demand)}" if len(terms) > 1 else ""
    return [f"  demand    {' + '.join(terms)}{total} records/s, when everything upstream keeps up"]


def _need(sizing: Sizing, objective: KeepUp) -> list[str]:
    if sizing.need is None or sizing.true_rate is None or sizing.demand is None:
        return []
    each = sizing.true_rate / sizing.now
    over = "1 instance" if sizing.now == 1 else f"{sizing.now:,} instances"
    lines = [
        f"  capacity  {number(sizing.true_rate)} records/s of useful time over {over} = {number(each)} each",
        f"  need      {number(sizing.demand)} / {number(each)} = {number(sizing.need)} instances",
    ]
    if objective.headroom:
        wanted = sizing.need * (1 + objective.headroom)
        lines.append(f"  headroom  {number(sizing.need)} x {number(1 + objective.headroom)} = {number(wanted)}")
    lines.append(f"  answer    {sizing.instances:,}, the whole instances that cover it")
    if sizing.output:
        selectivity = sizing.output / sizing.demand if sizing.demand else 0.0
        lines.append(
            f"  passes on {number(sizing.output)} records/s, {number(selectivity)} for each record that arrives"
        )
    return lines
