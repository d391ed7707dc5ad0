"""Whether a demonstration went as it should: what happened under each load, and what must hold of it."""

import statistics
from typing import NamedTuple

from headgate.jobs.demo import STAGES, TRIGGER, Outcome
from headgate.model.arrivals import records_between
from headgate.model.microbatch import MicroBatch

_LAST = 3


class Stretch(NamedTuple):
    """What happened under one load."""

    rate: float
    begins: float
    ends: float
    moves: int
    executors: int
    """At the end of it."""
    least: int
    batch: float
    """Seconds, median of the last batches."""
    waiting: int
    """Sentences that were due and not taken when its last batch began."""


def summary(outcome: Outcome) -> list[Stretch]:
    """One for each stage."""
    found, begins = [], 0.0
    for stage in STAGES:
        mine = [one for one in outcome.batches if begins <= one.began / 1000 - outcome.began < stage.until]
        last = mine[-_LAST:] if mine else [outcome.batches[-1]]
        moves = [count for at, count in outcome.moves if begins <= at < stage.until]
        found.append(
            Stretch(
                stage.rate,
                begins,
                stage.until,
                len(moves),
                len(last[-1].executors),
                stage.least,
                statistics.median(one.duration / 1000 for one in last),
                _waiting(last[-1]),
            )
        )
        begins = stage.until
    return found


class Verdict(NamedTuple):
    """Something that must hold."""

    what: str
    held: bool


def verdicts(outcome: Outcome) -> list[Verdict]:
    """All that must hold."""
    stretches = summary(outcome)
    changes = stretches[1:]
    return [
        Verdict(
            f"all counts are exact ({outcome.sentences:,} sentences, {len(outcome.counts):,} words)", outcome.exact
        ),
        Verdict("each change of the load took one move", all(one.moves == 1 for one in changes)),
        Verdict("nothing moved before the first change", stretches[0].moves == 0),
        Verdict(
            "the least executors that do, or one more",
            all(one.least <= one.executors <= one.least + 1 for one in changes),
        ),
        Verdict("no backlog in the end", stretches[-1].waiting == 0 and stretches[-1].batch <= TRIGGER),
    ]


def _waiting(batch: MicroBatch) -> int:
    return sum(records_between(source.end, source.latest) or 0 for source in batch.sources)
