"""Limits a user puts on the answer: per operator, and in total over everything that is resized."""

from collections.abc import Mapping

import msgspec
import numpy as np

from headgate.model.columns import Floats, Ints
from headgate.model.dataflow import Dataflow
from headgate.model.decision import Decision
from headgate.model.errors import InputError
from headgate.model.reasons import LoweredToBound, RaisedToBound, Reason, TotalLimited, WorkersLimited


class Bounds(msgspec.Struct, frozen=True):
    """Least and most instances: for all operators, for some by name, and together. Sources are not counted.

    >>> Bounds(least=2, most=8, of={"count": (1, 4)}).range("count")
    (1, 4)
    """

    least: int = 1
    most: int | None = None
    of: Mapping[str, tuple[int, int | None]] = {}
    total: int | None = None

    def __post_init__(self) -> None:
        """Refuse bounds that nothing can satisfy."""
        spans = {"every operator (--min, --max)": (self.least, self.most), **self.of}
        for name, (least, most) in spans.items():
            if not isinstance(least, int) or least < 1:
                raise InputError(f"bounds of {name}: the minimum is {least}; give a whole number from 1 up")
            if most is not None and (not isinstance(most, int) or most < least):
                raise InputError(f"bounds of {name}: the maximum {most} is below the minimum {least}")
        if self.total is not None and (not isinstance(self.total, int) or self.total < 1):
            raise InputError(f"the total bound (--max-total) is {self.total}; give a whole number from 1 up")

    def range(self, operator: str) -> tuple[int, int | None]:
        """Least and most for one operator."""
        return self.of.get(operator, (self.least, self.most))

    def check(self, dataflow: Dataflow) -> None:
        """Refuse bounds on operators that are not there or are never resized."""
        for id in self.of:
            if dataflow.is_source[dataflow.position(id)]:
                raise InputError(f'bounds: operator "{id}" is a source, which is never resized; remove the bound')


def bounded(decision: Decision, bounds: Bounds) -> Decision:
    """The decision brought within bounds, with a reason for everything that was changed."""
    if bounds == Bounds():
        return decision
    return _bounded_pool(decision, bounds) if decision.workers is not None else _bounded_operators(decision, bounds)


def _bounded_pool(decision: Decision, bounds: Bounds) -> Decision:
    """Where all operators share one pool, its size is what bounds are about."""
    if bounds.of:
        raise InputError("bounds of single operators have no meaning where all share one pool of workers; use --max")
    asked, need = decision.workers or 1, decision.workers_need or 0.0
    if bounds.total is not None and bounds.total < bounds.least:
        raise InputError(
            f"the total bound (--max-total) is {bounds.total}, below the minimum (--min) of {bounds.least}"
        )
    limits = [limit for limit in (bounds.most, bounds.total) if limit is not None]
    workers = max(bounds.least, min([asked, *limits]))
    within = msgspec.structs.replace(decision, workers=workers)
    if workers > asked:
        return within.because(RaisedToBound("workers", asked, workers))
    return within if workers == asked else within.because(WorkersLimited(asked, workers, need))


def _bounded_operators(decision: Decision, bounds: Bounds) -> Decision:
    # By id, so that who gets the odd one of a total does not depend on the order of the topology.
    sized = sorted((s for s in decision.sizings if not s.source), key=lambda s: s.operator)
    reasons: list[Reason] = []
    answers: dict[str, int] = {}
    for sizing in sized:
        least, most = bounds.range(sizing.operator)
        answer = sizing.instances
        if answer < least:
            reasons.append(RaisedToBound(sizing.operator, answer, least))
            answer = least
        elif most is not None and answer > most:
            reasons.append(LoweredToBound(sizing.operator, answer, most))
            answer = most
        answers[sizing.operator] = answer
    if bounds.total is not None and sum(answers.values()) > bounds.total:
        least_of = np.array([bounds.range(s.operator)[0] for s in sized])
        if least_of.sum() > bounds.total:
            raise InputError(
                f"the total bound (--max-total) is {bounds.total}, but the minimum of all {len(sized)} operators "
                f"together is {least_of.sum()}; raise the total or lower the minimum"
            )
        asked = np.array(list(answers.values()))
        known = np.array([s.need is not None for s in sized])
        need = np.array([a if s.need is None else s.need for s, a in zip(sized, asked.tolist(), strict=True)])
        # What has no known need keeps what it has, as long as the others can still have their least.
        kept = np.where(known, least_of, asked)
        given = share_out(need, kept if kept.sum() <= bounds.total else least_of, asked, bounds.total)
        busy = known & (need > 0)
        carried = min(1.0, float((given[busy] / need[busy]).min(initial=1.0)))
        reasons.append(TotalLimited(int(asked.sum()), bounds.total, carried))
        answers = dict(zip(answers, given.tolist(), strict=True))
    sizings = tuple(
        s if s.source else msgspec.structs.replace(s, instances=answers[s.operator]) for s in decision.sizings
    )
    return msgspec.structs.replace(decision, sizings=sizings).because(*reasons)


def share_out(need: Floats, least: Ints, most: Ints, total: int) -> Ints:
    """Spread `total` instances so that the slowest operator is as fast as it can be.

    A dataflow is as fast as its slowest operator, so the thing to make small is the largest need / instances.
    For a given ratio r the cheapest way to stay under it is ceil(need / r) each; the least r that fits is found
    by halving, and instances left over go, one at a time, to whoever is slowest then.

    >>> share_out(np.array([8.0, 4.0, 1.0]), np.array([1, 1, 1]), np.array([8, 4, 1]), total=7).tolist()
    [4, 2, 1]
    """

    def cost(ratio: float) -> Ints:
        return np.clip(np.ceil(need / ratio), least, most).astype(np.int64)

    # At the lower end everyone gets all that was asked for, at the upper end the least.
    low = max(float((need / most).min(initial=1.0)), 1e-300) / 2
    high = max(1.0, float(need.max(initial=1.0)))
    for _ in range(2000):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if cost(middle).sum() <= total else (middle, high)
    given = cost(high)
    # What is left over is less than one each: just below this ratio it would not have been enough.
    for _ in range(min(total - int(given.sum()), need.size)):
        room = given < most
        if not room.any():
            break
        given[int(np.argmax(np.where(room, need / given, -1.0)))] += 1
    return given
