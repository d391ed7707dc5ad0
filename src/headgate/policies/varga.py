"""The `varga` policy: Kubernetes' autoscaler on utilisation and on the growth of the lag, whichever asks for more.

    factor = max(busy / 0.7, 1 + growth of the lag / input rate, where there is a lag)
    desired = ceil(n * factor), with the tolerance, the window and the limits of `hpa`

While the lag grows, utilisation says nothing about how much is lacking: a job that is busy all the time may lack a
tenth or nine tenths. The growth does: of the records that come, this part is not taken.

Source: Varga, Balassi, Kiss, "Towards autoscaling of Apache Flink jobs" (2021), as in POLICIES.md.
Changed: the growth counts only while there is a lag (a second of input); without one it is zero, its factor 1, and
the larger of the two would never let anything shrink. Fault: a lag that stays, without growing, is never worked off.
Its timing is that of `hpa`; Headgate's controller adds its guards when it runs it.
"""

from typing import ClassVar

from headgate.model.signals import Signals
from headgate.policies.hpa import Hpa, Recommended


class Varga(Hpa, frozen=True):
    """The same settings as `Hpa`.

    >>> rule = Varga()
    >>> rule.answer(rule.fresh(), Signals(4, busy=1.0, came=300.0, waiting=900.0, growth=300.0), None, now=0.0)[1]
    8
    """

    needs: ClassVar[tuple[str, ...]] = ("busy", "came", "waiting", "growth")

    target: float = 0.7
    lagging: float = 1.0
    """Seconds of input that are a lag."""

    @property
    def name(self) -> str:
        """`varga`."""
        return "varga"

    def ratio(self, seen: Signals) -> float | None:
        """The larger of the two factors that are known."""
        factors = []
        if seen.busy is not None:
            factors.append(seen.busy / self.target)
        if seen.growth is not None and seen.came and (seen.waiting or 0.0) > self.lagging * seen.came:
            factors.append(1 + seen.growth / seen.came)
        return max(factors, default=None)

    def looks(self, memory: Recommended, seen: Signals, now: float) -> int:
        """One: once what was lacking is there the lag no longer grows, and that is seen only then."""
        del memory, seen, now
        return 1
