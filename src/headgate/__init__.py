"""Headgate: how many instances does each operator of a streaming dataflow need, and why.

    import headgate

    flow = headgate.Dataflow.of({"lines": 1, "split": 2}, [("lines", "split")])
    seen = headgate.Estimate.of_rates(flow, {"lines": (0, 300), "split": (200, 2000)})
    headgate.decide(seen).parallelism        # {'split': 3}

A name is imported when it is first used, so `import headgate` costs next to nothing and brings in neither Spark nor
anything else that is not needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headgate.jobs.attach import attach
    from headgate.model.bounds import Bounds
    from headgate.model.dataflow import Dataflow, Edge, Operator
    from headgate.model.decision import Decision, Sizing
    from headgate.model.errors import HeadgateError, InputError
    from headgate.model.estimate import Estimate, estimate
    from headgate.model.objective import CatchUp, Freshness, KeepUp
    from headgate.model.observation import Observation
    from headgate.model.reading import Reading
    from headgate.policies.deciding import decide
    from headgate.policies.protocol import Policy
    from headgate.policies.registry import policy

__version__ = "0.1.0"

__all__ = [
    "Bounds",
    "CatchUp",
    "Dataflow",
    "Decision",
    "Edge",
    "Estimate",
    "Freshness",
    "HeadgateError",
    "InputError",
    "KeepUp",
    "Observation",
    "Operator",
    "Policy",
    "Reading",
    "Sizing",
    "attach",
    "decide",
    "estimate",
    "policy",
]

_HOME = {
    "Bounds": "model.bounds",
    "CatchUp": "model.objective",
    "Dataflow": "model.dataflow",
    "Decision": "model.decision",
    "Edge": "model.dataflow",
    "Estimate": "model.estimate",
    "Freshness": "model.objective",
    "HeadgateError": "model.errors",
    "InputError": "model.errors",
    "KeepUp": "model.objective",
    "Observation": "model.observation",
    "Operator": "model.dataflow",
    "Policy": "policies.protocol",
    "Reading": "model.reading",
    "Sizing": "model.decision",
    "attach": "jobs.attach",
    "decide": "policies.deciding",
    "estimate": "model.estimate",
    "policy": "policies.registry",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'headgate' has no attribute {name!r}")
    value = getattr(import_module(f"headgate.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
