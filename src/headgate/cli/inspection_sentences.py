"""What is said of an inspected query, sentence by sentence: the terminal and the page say it in the same words."""

from collections.abc import Iterator

from headgate.model.arrivals import Arrivals
from headgate.model.inspection import Answer, Inspection
from headgate.model.keeping_up import Prospect
from headgate.model.line import Figure
from headgate.model.profile import OperatorProfile, QueryProfile
from headgate.model.reasons import number

COLUMNS = ("operator", "tasks", "in", "out", "fan-out", "busy s", "cpu", "fixed ms", "record us", "largest")
"""Of the table of operators; `row` has a cell for each."""


def counted(profile: QueryProfile) -> str:
    """How many batches there were, and on how many of them the rest is based."""
    lost = f", {profile.attempts_lost:,} task attempts lost" if profile.attempts_lost else ""
    batches = f"{profile.batches:,} batch" if profile.batches == 1 else f"{profile.batches:,} batches"
    return f"{batches}, {profile.counted:,} counted{lost}"


def took(profile: QueryProfile) -> str:
    """How long a batch takes."""
    return (
        f"a batch takes {profile.seconds:.2f} s (median) for {number(round(profile.records, 1))} records (mean), "
        f"{profile.driver:.2f} s of it with no task running"
    )


def load(profile: QueryProfile) -> str:
    """What comes in, and when batches begin."""
    come = profile.arrivals
    waiting = "" if come.waiting is None else f", {come.waiting:,} waiting"
    return f"{number(round(come.rate, 1))} records/s arrive{waiting}; batches begin {_cut_by(come)}"


def fares(one: Inspection) -> str:
    """Whether it keeps up, with how much to spare, and with how many slots it would."""
    now, present = one.now, one.profile.slots
    on = f"on {many(present, 'slot')}" + (
        f" ({many(len(one.profile.executors), 'executor')})" if one.profile.executors else ""
    )
    least = "no number of executors" if one.least_slots is None else f"at least {many(one.least_slots, 'slot')}"
    if not now.keeps_up:
        return f"it falls behind {on}: it can carry {one.headroom:.0%} of what comes; {least} would keep up"
    times = number(float(f"{one.headroom:.2g}"))  # two digits, but never as a power of ten
    return (
        f"it keeps up {on} and uses {now.utilisation:.0%} of what it can carry (up to {times} times the rate); "
        f"{least} would do{_freshness(now)}"
    )


def findings(one: Inspection) -> list[str]:
    """The limit, then what else holds batches back; never empty."""
    return [
        f"{finding.limit}" + ("" if finding.gain is None else f" [without it: -{finding.gain:.0%}]")
        for finding in one.limits
    ]


def notes(one: Inspection) -> Iterator[str]:
    """What to keep in mind about all the rest."""
    if abs(one.reproduced - 1) > 0.1:
        yield f"run again in the model, these batches take {one.reproduced:.2f} times as long; trust it that far"


def states(profile: QueryProfile) -> Iterator[str]:
    """What each stateful operator keeps, and where."""
    for operator in profile.operators:
        state = operator.state
        if state is not None:
            yield (
                f"state of {operator.name}: {state.rows:,} rows, {number(round(state.bytes / 1e6, 2))} MB in "
                f"{state.bins:,} bins on {len(state.bins_on):,} of {len(profile.executors) or '?'} executors; "
                f"{state.updating:.2f} s updating and {state.committing:.2f} s committing a batch, over all tasks"
            )


def cold(profile: QueryProfile) -> Iterator[str]:
    """What new executors cost, where some were seen to start."""
    if profile.cold is not None:
        yield (
            f"cold executors: the first tasks took {profile.cold.seconds:.1f} s longer than usual, median of the "
            f"{profile.cold.executors:,} that were seen to start"
        )


def what_if(answer: Answer) -> Iterator[str]:
    """What would be; the first sentence is the answer, the others what goes with it."""
    asked = answer.prospect
    yield f"{number(round(asked.rate, 1))} records/s on {many(asked.slots, 'slot')}: {_outcome(asked)}"
    if answer.where_state_lies is not None:
        yield f"that is with state spread evenly; where it lies now: {_outcome(answer.where_state_lies)}"
    if answer.least_slots is None:
        yield "no number of slots does it: the limit is another"
    else:
        yield f"the least that does it: {many(answer.least_slots, 'slot')}"
    if asked.unseen:
        yield "more tasks at once than were seen: if they share cores or a disk it takes longer; not known yet"
    for name in answer.guessed:
        yield f"{name}: tasks were too alike to tell fixed cost from cost per record; the cautious reading"


def row(operator: OperatorProfile) -> tuple[str, ...]:
    """An operator's cells under `COLUMNS`."""
    return (
        operator.name,
        f"{operator.tasks:,}",
        number(round(operator.records_in, 1)),
        number(round(operator.records_out, 1)),
        "" if operator.fan_out is None else number(operator.fan_out),
        f"{operator.busy:.2f}",
        f"{operator.cpu / operator.busy:.0%}" if operator.busy else "",
        _cost(operator.fixed_cost, 1e3),
        _cost(operator.record_cost, 1e6),
        f"{operator.largest_share:.0%} (#{operator.largest_partition})" if operator.largest_partition >= 0 else "",
    )


def many(count: int, of: str) -> str:
    """So many of something, in words.

    >>> many(1, "slot"), many(1200, "slot")
    ('1 slot', '1,200 slots')
    """
    return f"{count:,} {of}" if count == 1 else f"{count:,} {of}s"


def _cut_by(come: Arrivals) -> str:
    if come.trigger is not None:
        return f"every {number(come.trigger)} s"
    if come.limit is not None:
        return f"as soon as possible and take {come.limit:,} records at the most"
    return "as soon as possible"


def _freshness(fares: Prospect) -> str:
    return "" if fares.freshness is None else f"; results are {fares.freshness:.1f} s old at the most"


def _outcome(fares: Prospect) -> str:
    if fares.batch is None:
        return "falls behind, batches grow without end"
    took = f"a batch takes {fares.batch.value:.2f} s ({fares.batch.low:.2f} to {fares.batch.high:.2f})"
    if not fares.keeps_up:
        return f"{took} and falls behind: {fares.utilisation:.0%} of what it can carry"
    stale = "" if fares.fresh_enough else ", not as fresh as asked"
    return f"{took}, {fares.utilisation:.0%} of what it can carry{_freshness(fares)}{stale}"


def _cost(cost: Figure | None, unit: float) -> str:
    return "?" if cost is None else f"{cost.value * unit:.0f} ({cost.low * unit:.0f} to {cost.high * unit:.0f})"
