"""Several decisions about one dataflow, one an observation, made into one.

Each operator is taken for itself, whole (need, rates and answer from one observation, never a mixture):
from the last observation, from the one with its median or its largest answer, or from the last if the
last k agree, and otherwise left as it is.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from headgate.model.decision import Decision, Sizing
from headgate.model.errors import InputError
from headgate.model.reasons import ObservationsDisagree, Reason


class Combination(msgspec.Struct, frozen=True):
    """How to combine; `agree` is how many must agree, for that rule only."""

    rule: Literal["last", "median", "maximum", "agree"] = "last"
    agree: int = 0

    @classmethod
    def parse(cls, text: str) -> "Combination":
        """From `last`, `median`, `maximum` or `agree:K`.

        >>> Combination.parse("agree:3")
        Combination(rule='agree', agree=3)
        """
        if text in ("last", "median", "maximum"):
            return msgspec.convert({"rule": text}, cls)
        counted = re.fullmatch(r"agree:([1-9]\d{0,6})", text)
        if counted:
            return cls("agree", int(counted[1]))
        raise InputError(
            f'combination "{text}" is not known; give last, median, maximum, agree:K (such as agree:3) or all'
        )


def combined(decisions: Sequence[Decision], how: Combination) -> Decision:
    """One decision from several, oldest first; it keeps the reasons of the windows its parts come from."""
    last = decisions[-1]
    if how.rule == "last" or (len(decisions) == 1 and how.rule != "agree"):
        return last
    chosen: dict[str, int] = {}
    sizings: list[Sizing] = []
    disagreements: list[Reason] = []
    for position, newest in enumerate(last.sizings):
        history = [decision.sizings[position] for decision in decisions]
        window = len(history) - 1
        if how.rule == "agree":
            answers = tuple(sizing.instances for sizing in history[-how.agree :])
            agreed = len(answers) == how.agree and len(set(answers)) == 1
            sizings.append(newest if agreed else msgspec.structs.replace(newest, instances=newest.now))
            if not agreed and not newest.source:
                disagreements.append(ObservationsDisagree(newest.operator, how.agree, answers))
        else:
            ranked = sorted(range(len(history)), key=lambda at: (history[at].instances, history[at].need or 0.0, at))
            # Of an even number of windows the upper median: a need that really was seen, on the safe side.
            window = ranked[-1 if how.rule == "maximum" else len(ranked) // 2]
            sizings.append(history[window])
        chosen[newest.operator] = window
    workers, need = _workers(decisions, how)
    return msgspec.structs.replace(
        last,
        sizings=tuple(sizings),
        workers=workers,
        workers_need=need,
        reasons=(*_reasons(decisions, chosen), *disagreements),
    )


def _workers(decisions: Sequence[Decision], how: Combination) -> tuple[int | None, float | None]:
    """The pool that all operators share, where they do, and the need behind it."""
    pools = [(d.workers, d.workers_need or 0.0) for d in decisions if d.workers is not None]
    if not pools:
        return None, None
    if how.rule == "agree":
        counts = [workers for workers, _ in pools[-how.agree :]]
        agreed = len(counts) == how.agree and len(set(counts)) == 1
        return counts[-1] if agreed else max(s.now for s in decisions[-1].sizings), pools[-1][1]
    return max(pools) if how.rule == "maximum" else sorted(pools)[len(pools) // 2]


def _reasons(decisions: Sequence[Decision], chosen: Mapping[str, int]) -> tuple[Reason, ...]:
    """What the windows used had to say, once each: about an operator, only the window it was taken from."""
    used = set(chosen.values())
    said: dict[Reason, None] = {}
    for window, decision in enumerate(decisions):
        for reason in decision.reasons:
            about: str = getattr(reason, "operator", "") or getattr(reason, "source", "")
            if window in used and chosen.get(about, window) == window:
                said.setdefault(reason)
    return tuple(said)
