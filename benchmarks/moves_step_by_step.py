"""What each step of a migration adds to its batch, beside a batch with the same bins in the same places.

A step is carried out by itself. The batch in which its bins are loaded, less those after it, in which nothing is
loaded and everything else is the same, is what the step adds; and the task of each of its bins, taken in the same way,
is what loading that bin takes. There are two batches after it, so their difference is what chance makes of such a
difference. The next step is asked for while the second one runs.

All of it lies between two snapshots of the state (`MigratingQuery.rested`). What that leaves out: snapshots and uploads
that fall together with a move; and what one step of a migration does to the next, since users' migrations have no batch
in between. The migrations that are drawn and timed beside these are whole ones.
"""

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import NamedTuple

from headgate.model.bins import homes, task_seconds
from headgate.model.microbatch import Executor, MicroBatch
from headgate.model.migration import LoadTime, Strategy, migration
from headgate.model.placement import Bin
from migrating_query import MigratingQuery

A_STEP = 4
"""Batches: with the loads, without, and the one in which the next step is asked for; and one that begins too early."""


class Sample(NamedTuple):
    """One step."""

    adds: float
    """Seconds to its batch."""
    loads: tuple[float, ...]
    """Seconds to the task of each of its bins."""
    chance: float | None
    """Seconds between two batches after it, in which nothing moved; None where the next step was there already."""


class Steps(NamedTuple):
    """A migration, step by step."""

    planned: int
    samples: list[Sample]
    """Of steps whose bins all came in one batch."""


def step_by_step(
    query: MigratingQuery,
    strategy: Strategy,
    executors: Sequence[Executor],
    leaving: Sequence[Executor],
    loading: LoadTime,
    allowed: float,
) -> Steps:
    """Migrate to these executors, between two snapshots."""

    def planned() -> list[dict[int, str]]:
        bins = [Bin(one.number, bytes=one.bytes) for one in query.bins()]
        steps = migration(bins, homes(query.batches[-1]), executors, strategy, loading, allowed, leaving).steps
        return [{move.bin.number: move.target for move in step.moves} for step in steps]

    query.let_go()
    query.rested(A_STEP * (len(planned()) + 1))
    wanted = planned()  # anew: bins may have gone elsewhere while it rested
    steps = [step for to in wanted if (step := carried_out(query, to)) is not None]
    query.more(1)
    found, ends = [], [*(place for place, _ in steps[1:]), len(query.batches)]
    for (place, to), end in zip(steps, ends, strict=False):  # without a step there is one end too many
        now = homes(query.batches[place])
        if all(now.get(number) == home for number, home in to.items()):
            found.append(sample(query.batches[place:end], to))
    return Steps(len(wanted), found)


def carried_out(query: MigratingQuery, to: Mapping[int, str]) -> tuple[int, Mapping[int, str]] | None:
    """Move these bins, and wait for the batch after it; the place of the first batch that had one of them there.

    None where no batch shows it.
    """
    before = len(query.batches)
    query.move("sudden", to)
    for place, batch in enumerate(query.batches[before:], before):
        if any(homes(batch).get(moved) == home for moved, home in to.items()):
            query.until(lambda: len(query.batches) > place + 1)  # noqa: B023 - it is waited for right here
            return place, to
    return None


def sample(batches: Sequence[MicroBatch], to: Mapping[int, str]) -> Sample:
    """From the batch with the loads on, until the next step."""
    loaded, control, *further = batches
    controls = [control, *further[:1]]
    tasks, usual = task_seconds(loaded), [task_seconds(one) for one in controls]
    return Sample(
        seconds(loaded) - mean(map(seconds, controls)),
        tuple(tasks[number] - mean(took[number] for took in usual) for number in to),
        seconds(control) - seconds(further[0]) if further else None,
    )


def seconds(batch: MicroBatch) -> float:
    """That it took."""
    return batch.duration / 1000
