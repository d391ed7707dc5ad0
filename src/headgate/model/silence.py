"""A query that reads and does not emit while its state grows.

Rates look healthy then: records come in, batches end in time. What gives it away is that nothing comes out, and that
of at least one of its states nothing is ever taken out. That is what a window looks like before it ends; and what a
query looks like whose windows never end, such as an aggregation joined with itself on one source, which Spark accepts.

Only sinks that count what they take show it: not `foreachBatch`, which may do anything with its rows, and not files.
"""

from collections.abc import Sequence

import msgspec

from headgate.model.microbatch import MicroBatch

_ENOUGH = 5
"""Batches with input: fewer say nothing."""


class Silence(msgspec.Struct, frozen=True):
    """What went in while nothing came out."""

    batches: int
    """With input."""
    seconds: float
    """From the first of them to the end of the last."""
    records: int
    rows_before: int
    """Of its states that only grow, after the first of them."""
    rows_now: int


def silence(seen: Sequence[MicroBatch]) -> Silence | None:
    """Of one query; None where rows came out, or nobody says whether, or it has no state that only grows."""
    reading = [batch for batch in seen if batch.input_rows > 0]
    if len(reading) < _ENOUGH or any(batch.emitted != 0 for batch in seen):
        return None
    first, last = reading[0], reading[-1]
    hoards = [
        place
        for place, (before, now) in enumerate(zip(first.state, last.state, strict=False))
        if now.rows > before.rows and not any(batch.state[place].rows_removed for batch in seen if batch.state[place:])
    ]
    if not hoards:
        return None
    before, now = (sum(batch.state[place].rows for place in hoards) for batch in (first, last))
    seconds = (last.began + last.duration - first.began) / 1000
    return Silence(len(reading), seconds, sum(batch.input_rows for batch in reading), before, now)
