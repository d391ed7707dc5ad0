"""The arithmetic behind one operator's answer, in words and numbers."""

import math

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
    return lines


def _source(sizing: Sizing) -> list[str]:
    emits = "an unknown number of" if sizing.output is None else number(sizing.output)
    return [f"  emits     {emits} records/s over {sizing.now:,} instances; sources are never resized"]


def _demand(decision: Decision, dataflow: Dataflow, sizing: Sizing) -> list[str]:
    if sizing.demand is None:
        return ["  demand    not known: not everything that arrives was measured"]
    target = dataflow.position(sizing.operator)
    terms, total = [], 0.0
    for up in dataflow.incoming[target]:
        share = dict(dataflow.outgoing[up]).get(target, 0.0)
        output = decision.sizing(dataflow.ids[up]).output or 0.0
        part = number(output) if share == 1 else f"{number(share)} x {number(output)}"
        terms.append(f"{part} from {dataflow.ids[up]}")
        total += share * output
    if abs(total - sizing.demand) > 1e-9 * total:
        # Combined from several windows, upstream operators may come from another one.
        return [f"  demand    {number(sizing.demand)} records/s in the window this answer is from"]
    equals = f" = {number(sizing.demand)}" if len(terms) > 1 else ""
    return [f"  demand    records/s: {' + '.join(terms)}{equals}, when everything upstream keeps up"]


def _need(sizing: Sizing, objective: KeepUp) -> list[str]:
    if sizing.need is None or sizing.true_rate is None or sizing.demand is None:
        return [f"  answer    {sizing.instances:,}; the reasons say why"]
    each = sizing.true_rate / sizing.now
    over = "1 instance" if sizing.now == 1 else f"{sizing.now:,} instances"
    lines = [
        f"  capacity  {number(sizing.true_rate)} records/s of useful time over {over} = {number(each)} each",
        f"  need      {number(sizing.demand)} / {number(each)} = {_in_full(sizing.need)}",
    ]
    wanted = sizing.need * (1 + objective.headroom)
    if objective.headroom:
        lines.append(f"  headroom  {number(sizing.need)} x {number(1 + objective.headroom)} = {number(wanted)}")
    if sizing.instances in (max(1, math.ceil(wanted)), max(1, math.ceil(wanted * (1 - 1e-9)))):
        lines.append(f"  answer    {sizing.instances:,}, the whole instances that cover it")
    else:
        lines.append(f"  answer    {sizing.instances:,} instead of {number(math.ceil(wanted))}; the reasons say why")
    if sizing.output and sizing.demand:
        ratio = sizing.output / sizing.demand
        lines.append(f"  passes on {number(sizing.output)} records/s, {number(ratio)} for each record that arrives")
    return lines


def _in_full(need: float) -> str:
    """A need that is an integer but for its last digits is shown with them: they may decide the answer."""
    near = abs(need - round(need)) < 1e-4 * need if need < 1e15 else False
    return repr(need) if near and need != round(need) else number(need)
