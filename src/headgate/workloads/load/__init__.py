"""Load profiles: how many records per second a source emits, as a function of the time since it began.

As text (`load_from_text("step(2k -> 8k @ 60s) + sine(500 +- 200 every 5m)")`) or as values
(`Step(2000, 8000, at=60) + Sine(500, 200, period=300)`); `str` of a value is its text.

A profile knows how many records are due by any moment, so two runs of one profile emit the same rows, however often
the source is asked.
"""

from headgate.workloads.load.climb import Climb
from headgate.workloads.load.combined import Product, Sum
from headgate.workloads.load.language import LoadError, load_from_text
from headgate.workloads.load.profile import Load, due_at
from headgate.workloads.load.shapes import Constant, Ramp, Sine, Spike, Square, Step
from headgate.workloads.load.trace import Trace
from headgate.workloads.load.walk import Walk

__all__ = [
    "Climb",
    "Constant",
    "Load",
    "LoadError",
    "Product",
    "Ramp",
    "Sine",
    "Spike",
    "Square",
    "Step",
    "Sum",
    "Trace",
    "Walk",
    "due_at",
    "load_from_text",
]
