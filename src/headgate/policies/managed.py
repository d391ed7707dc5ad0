"""The `managed` policy: the rule of a managed Flink service. Doubles what stays busy, halves what stays idle.

    busy >= 0.75 for 15 minutes  ->  2 n
    busy < 0.1 for 6 hours       ->  n / 2

Source: the documented default of a managed service, as in POLICIES.md. It is `threshold` with patience.
Changed: utilisation is slot time or useful time, not CPU time. Its patience is its own; Headgate's controller adds its
guards when it runs it.
"""

from typing import Literal

from headgate.policies.threshold import Threshold


class Managed(Threshold, frozen=True):
    """Shares of 1, seconds.

    >>> from headgate.model.signals import Signals
    >>> rule = Managed()
    >>> memory, n = rule.answer(rule.fresh(), Signals(4, busy=0.8), None, now=0.0)
    >>> n, rule.answer(memory, Signals(4, busy=0.8), None, now=900.0)[1]
    (4, 8)
    """

    high: float = 0.75
    low: float = 0.1
    busy_for: float = 900.0
    idle_for: float = 6 * 3600.0
    step: Literal["one", "double"] = "double"

    @property
    def name(self) -> str:
        """`managed`."""
        return "managed"
