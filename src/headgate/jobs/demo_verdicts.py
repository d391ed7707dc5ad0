"""Whether a demonstration went as it should: what happened under each load, and what must hold of it."""

import statistics
from typing import NamedTuple

from headgate.jobs.demo import STAGES, TRIGGER, Outcome
from headgate.model.arrivals import records_between
from headgate.model.microbatch import MicroBatch

_LAST = 3
"""Batches under a load that its batch time is the median of; fewer say little."""


class Stretch(NamedTuple):
    """What happened under one load; None where no batch began under it, and so nothing was measured."""

    rate: float
    begins: float
    ends: float
    moves: int
    batches: int
    least: int
    executors: int | None
    """At the end of it."""
    batch: float | None
    """Seconds, median of the last batches."""
    waiting: int | None
    """Sentences that were due and not taken when its last batch began."""


def summary(outcome: Outcome) -> list[Stretch]:
    """One for each stage."""
    found, begins = [], 0.0
    for stage in STAGES:
        mine = [one for one in outcome.batches if begins <= one.began / 1000 - outcome.began < stage.until]
        moves = sum(begins <= at < stage.until for at, _ in outcome.moves)
        measured: tuple[int | None, float | None, int | None] = (None, None, None)
        if mine:
            took = statistics.median(one.duration / 1000 for one in mine[-_LAST:])
            measured = (len(mine[-1].executors), took, _waiting(mine[-1]))
        found.append(Stretch(stage.rate, begins, stage.until, moves, len(mine), stage.least, *measured))
        begins = stage.until
    return found


class Verdict(NamedTuple):
    """Something that must hold."""

    what: str
    held: bool


def verdicts(outcome: Outcome) -> list[Verdict]:
    """All that must hold; where too little was measured to say, that instead of it."""
    stretches = summary(outcome)
    changes, last = stretches[1:], stretches[-1]
    exact = Verdict(
        f"all counts are exact ({outcome.sentences:,} sentences, {len(outcome.counts):,} words)", outcome.exact
    )
    late = last.batch is not None and last.batch > TRIGGER
    judged = [
        Verdict("each change of the load took one move", all(one.moves == 1 for one in changes)),
        Verdict("nothing moved before the first change", stretches[0].moves == 0),
        Verdict(
            "the least executors that do, or one more",
            all(one.executors is not None and one.least <= one.executors <= one.least + 1 for one in changes),
        ),
        Verdict(
            f"no backlog in the end{f': a batch takes {last.batch:.1f} s of {TRIGGER} s' if late else ''}",
            last.waiting == 0 and not late,
        ),
    ]
    fewest = min(stretches, key=lambda one: one.batches)
    if fewest.batches < _LAST and not all(verdict.held for verdict in judged):
        return [exact, Verdict(_too_busy(fewest, len(outcome.batches)), held=False)]
    return [exact, *judged]


def _too_busy(fewest: Stretch, batches: int) -> str:
    began = f"only {fewest.batches}" if fewest.batches else "none"
    return (
        f"enough batches to judge by: {began} began from second {fewest.begins:.0f} to {fewest.ends:.0f} "
        f"({batches:,} in all ended); this machine is too busy for the demonstration"
    )


def _waiting(batch: MicroBatch) -> int:
    return sum(records_between(source.end, source.latest) or 0 for source in batch.sources)
