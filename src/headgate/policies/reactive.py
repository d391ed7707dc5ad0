"""The `reactive` policy: Flink's reactive mode. The job uses what is there, and Kubernetes says what is there.

    desired = ceil(n * busy / 0.35), with the tolerance, the window and the limits of `hpa`

Source: Flink's reactive mode with the horizontal pod autoscaler at the 35 % of its documentation.
Changed: utilisation is slot time or useful time, not CPU time. Looks that a long batch has kept from it are made up for
as in `hpa`; as 1 / 0.35 is more than two, each of them doubles. Its timing is that of `hpa`; Headgate's controller adds
its guards when it runs it. Fault: 35 % is a factor of almost three over what is needed, all day.
"""

from headgate.policies.hpa import Hpa


class Reactive(Hpa, frozen=True):
    """The same settings as `Hpa`.

    >>> from headgate.model.signals import Signals
    >>> rule = Reactive()
    >>> rule.answer(rule.fresh(), Signals(4, busy=0.7), None, now=0.0)[1]
    8
    """

    target: float = 0.35

    @property
    def name(self) -> str:
        """`reactive`."""
        return "reactive"
