"""Reasons to leave things as they are: each guard a small function that gives a typed reason or nothing."""

from collections.abc import Callable, Sequence

from headgate.control.said import Gathering, Held, Said, Stale
from headgate.control.settings import Settings
from headgate.control.state import State
from headgate.model.microbatch import MicroBatch
from headgate.model.objective import CatchUp
from headgate.model.warm import WARM_AFTER, present_pool, warm_of_one_pool

HOUR = 3600.0
_MUCH_LONGER = 1.3
_SHRINKING = 0.97
_FEW = 2
_INTERVALS = 3

Guard = Callable[[State, float, Settings], Said | None]


def paused(state: State, now: float, settings: Settings) -> Said | None:
    """A person said so."""
    del now, settings
    return Held("paused") if state.paused else None


def off_period(state: State, now: float, settings: Settings) -> Said | None:
    """The calendar says so."""
    del state
    for period in settings.off:
        if period.begins <= now < period.ends:
            return Held("an excluded period", period.ends)
    return None


def nothing_known(state: State, now: float, settings: Settings) -> Said | None:
    """No look at the cluster yet, or no batch."""
    del now, settings
    if state.executors is None or not state.executors:
        return Held("the executors that are there are not known")
    if not state.batches:
        return Held("no batch was seen yet")
    return Held("no query runs of which a batch was seen") if not state.live else None


def stale(state: State, now: float, settings: Settings) -> Said | None:
    """Silence: a query that is stuck, stopped, or no longer measured. Missing metrics never scale anything."""
    if not state.heard or len(silent_for_long(state, now, settings.stale)) < len(state.live):
        return None
    return Stale(now - max(state.heard.values()))


def silent_for_long(state: State, now: float, seconds: float) -> list[str]:
    """Queries of which nothing was heard for so long, and for three times as long as from one batch to the next."""
    return [
        query
        for query, seen in state.live.items()
        if now - state.heard.get(query, now) > max(seconds, _INTERVALS * _interval(seen, state.triggers.get(query)))
    ]


def _interval(seen: Sequence[MicroBatch], trigger: float | None) -> float:
    """Seconds from one batch to the next, the last time."""
    apart = (seen[-1].began - seen[-2].began) / 1000 if len(seen) > 1 else 0.0
    return max(trigger or 0.0, apart, seen[-1].duration / 1000)


def restarting(state: State, now: float, settings: Settings) -> Said | None:
    """The query is about to be another one."""
    asked = state.restarting
    if asked is None or now - asked.at > settings.judging:
        return None
    return Held(f"restart {asked.plan} is under way")


def under_way(state: State, now: float, settings: Settings) -> Said | None:
    """One plan at a time."""
    del now, settings
    return Held(f"plan {state.plan.id} is under way") if state.plan is not None else None


def cooling_down(state: State, now: float, settings: Settings) -> Said | None:
    """A plan has just come to its end."""
    del settings
    return Held("cooling down after the last plan", state.cool_until) if now < state.cool_until else None


def gathering(state: State, now: float, settings: Settings) -> Said | None:
    """Some query must have warm batches on the executors that are there."""
    del now
    lacking = lacking_evidence(state, settings)
    return next(iter(lacking.values())) if lacking and len(lacking) == len(state.live) else None


def lacking_evidence(state: State, settings: Settings) -> dict[str, Gathering]:
    """Queries that have too few of them, and what is said of each: they may need any number."""
    found = {}
    for query, seen in state.live.items():
        warm, needed = warm_on_present_pool(seen), evidence_needed(seen, settings)
        if warm < needed and not _running_away(seen):
            found[query] = Gathering(seen[-1].name or query, warm, needed)
    return found


def quota(state: State, now: float, settings: Settings) -> Said | None:
    """So many changes an hour and no more."""
    recent = [at for at in state.changes if at > now - HOUR]
    return (
        Held(f"{len(recent)} changes within the hour, no more are allowed") if len(recent) >= settings.quota else None
    )


def catching_up(state: State, now: float, settings: Settings) -> Said | None:
    """Batches shrink: what had piled up is being worked off, and how long it takes was not asked for.

    Such batches are many times as large as those to come, and say little about them.
    """
    del now
    if isinstance(settings.objective, CatchUp):
        return None
    for seen in state.live.values():
        sizes = [batch.input_rows for batch in seen[-3:]]
        if len(sizes) == 3 and sizes[1] < _SHRINKING * sizes[0] and sizes[2] < _SHRINKING * sizes[1]:
            return Held("what had piled up is being worked off")
    return None


GUARDS: Sequence[Guard] = (
    paused,
    off_period,
    nothing_known,
    stale,
    restarting,
    under_way,
    cooling_down,
    gathering,
    catching_up,
    quota,
)
"""In the order in which they are asked; the first that objects is the reason."""
BLIND: Sequence[Guard] = (paused, off_period, restarting, quota)
"""While one of these objects, which may be for long, nobody asks what is needed."""


def warm_on_present_pool(seen: Sequence[MicroBatch]) -> int:
    """Warm batches since the last change of run or executors."""
    return len(warm_of_one_pool(present_pool(seen)))


def evidence_needed(seen: Sequence[MicroBatch], settings: Settings) -> int:
    """Warm batches; one is enough where each further one is longer in coming."""
    return 1 if falling_behind(seen) else settings.evidence


def _running_away(seen: Sequence[MicroBatch]) -> bool:
    """It fell behind from the start, and has run for long enough to be warm although few batches are over.

    Each further batch would be as long as all those before it together.
    """
    pool = present_pool(seen)
    lasted = pool[-1].began + pool[-1].duration - pool[0].began
    return len(pool) > _FEW and lasted >= WARM_AFTER and falling_behind(pool[-2:]) and falling_behind(pool[-3:-1])


def falling_behind(seen: Sequence[MicroBatch]) -> bool:
    """Each batch is much longer than the one before: whoever waits for more of them waits ever longer."""
    return len(seen) > 1 and seen[-1].duration > _MUCH_LONGER * seen[-2].duration
