"""Which operator has which colour: the same in the graph, in the Gantt chart and in the table."""

from collections.abc import Sequence

from headgate.model.profile import OperatorProfile

OTHERS = "c-others"
_COLOURS = 6
"""As many as can be told apart at a glance by everyone (Paul Tol's bright scheme, without its red and grey)."""


def colours(operators: Sequence[OperatorProfile]) -> dict[str, str]:
    """Operator -> class of its colour. The busiest have colours of their own; the others share a grey."""
    busiest = sorted(operators, key=lambda one: -one.busy)[:_COLOURS]
    chosen = {one.name for one in busiest}
    # In order of the dataflow, so that neighbours never have the same colour and a page does not flicker with noise.
    named = [one.name for one in operators if one.name in chosen]
    return {one.name: OTHERS for one in operators} | {name: f"c{place}" for place, name in enumerate(named)}
