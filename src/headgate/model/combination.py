"""Several decisions about one dataflow, one an observation, made into one.

Each operator is taken for itself, whole (need, rates and answer from one observation, never a mixture):
from the last observation, from the one with its median or its largest answer, or from the last if the
last k agree, and otherwise left as it is.
"""

import re
from collections.abc import Sequence
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
        raise InputError(f'combination "{text}" is not known; give last, median, maximum or agree:K (such as agree:3)')


def combined(decisions: Sequence[Decision], how: Combination) -> Decision:
    """One decision from several, oldest first."""
    last = decisions[-1]
    if how.rule == "last" or (len(decisions) == 1 and how.rule != "agree"):
        return last
    disagreements: list[Reason] = []
    sizings: list[Sizing] = []
    for position, newest in enumerate(last.sizings):
        history = [decision.sizings[position] for decision in decisions]
        if how.rule == "agree":
            recent = history[-how.agree :]
            answers = tuple(sizing.instances for sizing in recent)
            if len(recent) == how.agree and len(set(answers)) == 1:
                sizings.append(newest)
            else:
                sizings.append(msgspec.structs.replace(newest, instances=newest.now))
                if not newest.source:
                    disagreements.append(ObservationsDisagree(newest.operator, how.agree, answers))
        else:
            ranked = sorted(history, key=lambda s: (s.instances, s.need or 0.0))
            # Of an even number of observations the upper median: a need that really was seen, on the safe side.
            sizings.append(ranked[-1 if how.rule == "maximum" else len(ranked) // 2])
    return msgspec.structs.replace(
        last,
        sizings=tuple(sizings),
        workers=_workers(decisions, how),
        reasons=_reasons(decisions, how, tuple(disagreements)),
    )


def _workers(decisions: Sequence[Decision], how: Combination) -> int | None:
    counts = [decision.workers for decision in decisions if decision.workers is not None]
    if not counts:
        return None
    if how.rule == "agree":
        recent = counts[-how.agree :]
        agreed = len(recent) == how.agree and len(set(recent)) == 1
        return recent[-1] if agreed else max(sizing.now for sizing in decisions[-1].sizings)
    return max(counts) if how.rule == "maximum" else sorted(counts)[len(counts) // 2]


def _reasons(decisions: Sequence[Decision], how: Combination, disagreements: tuple[Reason, ...]) -> tuple[Reason, ...]:
    """What any of the observations used had to say, once each."""
    used = decisions[-how.agree :] if how.rule == "agree" else decisions
    said = dict.fromkeys(reason for decision in used for reason in decision.reasons)
    return (*said, *disagreements)
