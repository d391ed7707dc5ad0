"""Headgate: how many instances does each operator of a streaming dataflow need, and why.

    import headgate

    flow = headgate.Dataflow.of({"lines": 1, "split": 2}, [("lines", "split")])
    seen = headgate.Estimate.of_rates(flow, {"lines": (0, 300), "split": (200, 2000)})
    headgate.decide(seen).parallelism        # {'split': 3}

No Spark is imported until something needs it.
"""

from headgate.model.bounds import Bounds
from headgate.model.dataflow import Dataflow, Edge, Operator
from headgate.model.decision import Decision, Sizing
from headgate.model.errors import HeadgateError, InputError
from headgate.model.estimate import Estimate, estimate
from headgate.model.objective import KeepUp
from headgate.model.observation import Observation
from headgate.model.reading import Reading
from headgate.policies.deciding import decide
from headgate.policies.protocol import Policy
from headgate.policies.registry import policy

__version__ = "0.1.0"

__all__ = [
    "Bounds",
    "Dataflow",
    "Decision",
    "Edge",
    "Estimate",
    "HeadgateError",
    "InputError",
    "KeepUp",
    "Observation",
    "Operator",
    "Policy",
    "Reading",
    "Sizing",
    "decide",
    "estimate",
    "policy",
]
