"""All that is said of one query: its profile, what limits it, whether it keeps up, and what would be if."""

from collections.abc import Sequence

import msgspec

from headgate.model.arrivals import Arrivals
from headgate.model.capacity import Capacity, Pool, Setting
from headgate.model.keeping_up import Prospect, Wish, least_pool, prospect
from headgate.model.learned_capacity import capacity
from headgate.model.limits import Finding, limits
from headgate.model.microbatch import MicroBatch
from headgate.model.profile import QueryProfile, profile
from headgate.model.silence import Silence, silence


class Rate(msgspec.Struct, frozen=True):
    """A rate to ask about: records per second, or so many times the present one."""

    value: float
    times: bool = False

    def of(self, present: float) -> float:
        """In records per second."""
        return self.value * present if self.times else self.value


class Question(msgspec.Struct, frozen=True):
    """What if; what is None stays as it is."""

    rate: Rate | None = None
    slots: int | None = None
    partitions: int | None = None
    freshness: float | None = None
    trigger: float | None = None

    @property
    def asked(self) -> bool:
        """Whether anything is asked at all; the trigger alone only says what a log does not."""
        return any(one is not None for one in (self.rate, self.slots, self.partitions, self.freshness))


class Answer(msgspec.Struct, frozen=True):
    """What would be if."""

    question: Question
    prospect: Prospect
    where_state_lies: Prospect | None
    """The same with all state left where it is, where that makes a difference; `prospect` has it spread evenly."""
    least_slots: int | None
    """The fewest slots that do it, at any number of executors; None where none do."""
    guessed: tuple[str, ...]
    """Operators whose fixed cost and cost per record could not be told apart: the cautious reading was taken."""


class Inspection(msgspec.Struct, frozen=True):
    """One query."""

    profile: QueryProfile
    limits: tuple[Finding, ...]
    now: Prospect
    least_slots: int | None
    reproduced: float
    """What the model makes of the batches it learned from, against what they took: 1 is right."""
    answer: Answer | None
    silence: Silence | None = None
    """Where nothing has come out of it, though it reads and its state grows."""


def inspection(seen: Sequence[MicroBatch], question: Question) -> Inspection:
    """What there is to say of one query."""
    known, model = profile(seen), capacity(seen)
    come = known.arrivals
    if question.trigger is not None:
        come = msgspec.structs.replace(come, trigger=question.trigger)
        known = msgspec.structs.replace(known, arrivals=come)
    wish = Wish(come.rate)
    least = least_pool(model, come, wish)
    return Inspection(
        known,
        limits(known, model),
        prospect(model, come, wish),
        least.total if least else None,
        model.predict().batch.value / known.seconds if known.seconds else 1.0,
        _answer(model, come, question) if question.asked else None,
        silence(seen),
    )


def _answer(model: Capacity, come: Arrivals, question: Question) -> Answer:
    wish = Wish(question.rate.of(come.rate) if question.rate else come.rate, question.freshness)
    each = max(model.pool.slots)
    pool = Pool.of(question.slots, each) if question.slots is not None else model.pool
    setting = Setting(pool=pool, partitions=question.partitions)
    spread = prospect(model, come, wish, msgspec.structs.replace(setting, spread_bins=True))
    lying = prospect(model, come, wish, setting)
    least = least_pool(model, come, wish, setting)
    changes_size = question.rate is not None or question.partitions is not None
    return Answer(
        question,
        spread,
        lying if _differ(spread, lying) else None,
        least.total if least else None,
        tuple(one.name for one in model.operators if one.line is None) if changes_size else (),
    )


def _differ(one: Prospect, other: Prospect) -> bool:
    if one.batch is None or other.batch is None:
        return one.batch is not other.batch
    return abs(one.batch.value / max(other.batch.value, 1e-9) - 1) > 0.05
