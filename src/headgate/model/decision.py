"""A decision: how many instances each operator should have, and why. A value: print, store, replay, compare it."""

from collections.abc import Mapping
from numbers import Integral
from typing import Self

import msgspec

from headgate.model.dataflow import MAX_INSTANCES
from headgate.model.errors import InputError, did_you_mean
from headgate.model.estimate import Estimate
from headgate.model.reasons import Reason

KEEPS_UP = 1 + 1e-9
"""A load up to which an operator keeps up: all that it has, and the rounding of floats."""


def whole(count: object) -> int | None:
    """A number of instances as a plain integer, whatever kind of integer it is; None if it is none.

    >>> import numpy as np
    >>> whole(np.int64(3)), whole(2.0), whole(0), whole(True)
    (3, None, None, None)
    """
    if isinstance(count, bool) or not isinstance(count, int | Integral):
        return None
    return int(count) if 1 <= int(count) <= MAX_INSTANCES else None


class Sizing(msgspec.Struct, frozen=True, gc=False):
    """One operator's part of a decision. Rates are in records per second; None where they are not known.

    >>> Sizing("count", now=2, instances=3, need=2.5).load
    1.25
    """

    operator: str
    now: int
    instances: int
    """The answer."""
    need: float | None = None
    """The fractional number of instances that would just keep up, before headroom, rounding and bounds."""
    true_rate: float | None = None
    """What all present instances together can process (a source: emit)."""
    demand: float | None = None
    """What reaches the operator when everything upstream keeps up."""
    output: float | None = None
    """What it then passes on."""
    utilisation: float | None = None
    """The share of time the present instances were useful."""
    source: bool = False
    """Sources are measured, never resized."""

    @property
    def load(self) -> float | None:
        """Need over what is there now: above 1 the operator cannot keep up."""
        return None if self.need is None else self.need / self.now


class Decision(msgspec.Struct, frozen=True):
    """Desired parallelism with typed reasons.

    >>> decision = Decision("by hand", (Sizing("count", now=1, instances=3, need=2.5),))
    >>> decision.parallelism
    {'count': 3}
    >>> Decision.from_json(decision.to_json()) == decision
    True
    """

    policy: str
    sizings: tuple[Sizing, ...]
    """One an operator, upstream before downstream."""
    reasons: tuple[Reason, ...] = ()
    workers: int | None = None
    """Where all operators share one pool of workers (Timely, Spark): how many it needs."""
    workers_need: float | None = None
    """The fractional number of workers behind it."""
    at: float = 0.0

    @classmethod
    def resize(
        cls, policy: str, estimate: Estimate, instances: Mapping[str, int], reasons: tuple[Reason, ...] = ()
    ) -> Self:
        """The short form for policies of your own: these operators get so many, the others stay as they are.

        >>> from headgate.model.dataflow import Dataflow
        >>> flow = Dataflow.of({"lines": 1, "split": 2}, [("lines", "split")])
        >>> seen = Estimate.of_rates(flow, {"lines": (0, 300), "split": (200, 2000)})
        >>> Decision.resize("mine", seen, {"split": 3}).parallelism
        {'split': 3}
        """
        flow = estimate.dataflow
        for id, count in instances.items():
            if flow.is_source[flow.position(id)]:
                raise InputError(f'policy {policy}: operator "{id}" is a source, which is never resized')
            if whole(count) is None:
                raise InputError(
                    f'policy {policy}: operator "{id}" would get {count!r} instances; give a whole number from 1 up'
                )
        rows = []
        for at, operator in enumerate(flow.operators):
            source = bool(flow.is_source[at])
            rates = estimate.true_output if source else estimate.true_processing
            rows.append(
                Sizing(
                    operator.id,
                    now=operator.instances,
                    instances=int(instances.get(operator.id, operator.instances)),
                    true_rate=float(rates[at]) if estimate.known[at] else None,
                    source=source,
                )
            )
        return cls(policy, tuple(rows), (*estimate.reasons, *reasons), at=estimate.at)

    @property
    def parallelism(self) -> dict[str, int]:
        """Operator -> instances, upstream first, sources left out."""
        return {s.operator: s.instances for s in self.sizings if not s.source}

    @property
    def tightest(self) -> Sizing | None:
        """The operator with the highest load, where any load is known; the first of them on a tie."""
        return max(
            (s for s in self.sizings if s.load is not None and not s.source),
            key=lambda s: s.load or 0.0,
            default=None,
        )

    @property
    def bottleneck(self) -> Sizing | None:
        """The tightest operator, if it cannot keep up."""
        tightest = self.tightest
        return tightest if tightest is not None and (tightest.load or 0.0) > KEEPS_UP else None

    def sizing(self, operator: str) -> Sizing:
        """One operator's part."""
        for sizing in self.sizings:
            if sizing.operator == operator:
                return sizing
        hint = did_you_mean(operator, (s.operator for s in self.sizings))
        raise InputError(f'operator "{operator}" is not in the topology{hint}')

    def because(self, *reasons: Reason) -> Self:
        """The same decision with more to say for itself."""
        return msgspec.structs.replace(self, reasons=(*self.reasons, *reasons)) if reasons else self

    def to_json(self) -> bytes:
        """As JSON; `from_json` gives back an equal value."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, text: bytes | str) -> Self:
        """From what `to_json` wrote."""
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.MsgspecError as error:
            raise InputError(f"not a decision in JSON: {error}") from None
