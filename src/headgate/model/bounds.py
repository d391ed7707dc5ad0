"""Limits a user puts on the answer: per operator, and in total over everything that is resized."""

from collections.abc import Mapping

import msgspec
import numpy as np

from headgate.model.columns import Floats, Ints
from headgate.model.dataflow import Dataflow
from headgate.model.decision import Decision
from headgate.model.errors import InputError
from headgate.model.reasons import LoweredToBound, RaisedToBound, Reason, TotalLimited


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
        for name, (least, most) in {"every operator": (self.least, self.most), **self.of}.items():
            if least < 1:
                raise InputError(f"bounds of {name}: the minimum is {least}; give at least 1")
            if most is not None and most < least:
                raise InputError(f"bounds of {name}: the maximum {most} is below the minimum {least}")
        if self.total is not None and self.total < 1:
            raise InputError(f"the total bound is {self.total}; give at least 1")

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
    sized = [s for s in decision.sizings if not s.source]
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
    workers = decision.workers
    if bounds.total is not None and workers is not None:
        if workers > bounds.total:
            reasons.append(TotalLimited(workers, bounds.total, bounds.total / workers))
            workers = bounds.total
    elif bounds.total is not None and sum(answers.values()) > bounds.total:
        least_of = np.array([bounds.range(s.operator)[0] for s in sized])
        if least_of.sum() > bounds.total:
            raise InputError(
                f"the total bound is {bounds.total}, but the minimum of all {len(sized)} operators "
                f"together is {least_of.sum()}; raise the total or lower the minimum"
            )
        asked = np.array(list(answers.values()))
        need = np.array([a if s.need is None else s.need for s, a in zip(sized, asked.tolist(), strict=True)])
        given = share_out(need, least_of, asked, bounds.total)
        carried = float(np.min(np.where(need > 0, given / np.maximum(need, 1e-300), np.inf), initial=1.0))
        reasons.append(TotalLimited(int(asked.sum()), bounds.total, carried))
        answers = dict(zip(answers, given.tolist(), strict=True))
    sizings = tuple(
        s if s.source else msgspec.structs.replace(s, instances=answers[s.operator]) for s in decision.sizings
    )
    return msgspec.structs.replace(decision, sizings=sizings, workers=workers, reasons=(*decision.reasons, *reasons))


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

    low, high = 1.0, max(1.0, float(need.max(initial=1.0)))
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if cost(middle).sum() <= total else (middle, high)
    given = cost(high)
    for _ in range(total - int(given.sum())):
        room = given < most
        if not room.any():
            break
        given[int(np.argmax(np.where(room, need / given, -1.0)))] += 1
    return given
