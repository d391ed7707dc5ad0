"""An inspection as text: what a person reads in a terminal."""

from collections.abc import Iterator

from headgate.cli.text_table import aligned_rows
from headgate.model.arrivals import Arrivals
from headgate.model.inspection import Answer, Inspection
from headgate.model.keeping_up import Prospect
from headgate.model.line import Figure
from headgate.model.profile import OperatorProfile, QueryProfile
from headgate.model.reasons import number

_HEADING = ("operator", "tasks", "in", "out", "fan-out", "busy s", "cpu", "fixed ms", "record us", "largest")


def inspection_lines(one: Inspection) -> Iterator[str]:
    """All that is said of a query."""
    profile = one.profile
    lost = f", {profile.attempts_lost:,} task attempts lost" if profile.attempts_lost else ""
    yield f"query {profile.name}: {profile.batches:,} batches, {profile.counted:,} counted{lost}"
    yield (
        f"a batch takes {profile.seconds:.2f} s (median) for {number(round(profile.records, 1))} records (mean), "
        f"{profile.driver:.2f} s of it with no task running"
    )
    yield _load(profile)
    yield _fares(one)
    for place, finding in enumerate(one.limits):
        gain = "" if finding.gain is None else f" [without it: -{finding.gain:.0%}]"
        yield f"{'limit' if not place else 'also'}: {finding.limit}{gain}"
    if abs(one.reproduced - 1) > 0.1:
        yield f"note: run again in the model, these batches take {one.reproduced:.2f} times as long; trust it that far"
    yield from aligned_rows([_HEADING, *(_row(operator) for operator in profile.operators)])
    for operator in profile.operators:
        if operator.state is not None:
            state = operator.state
            yield (
                f"state of {operator.name}: {state.rows:,} rows, {number(round(state.bytes / 1e6, 2))} MB in "
                f"{state.bins:,} bins on {len(state.bins_on):,} of {len(profile.executors) or '?'} executors; "
                f"{state.updating:.2f} s updating and {state.committing:.2f} s committing a batch, over all tasks"
            )
    if profile.cold is not None:
        yield (
            f"cold executors: the first tasks took {profile.cold.seconds:.1f} s longer than usual, median of the "
            f"{profile.cold.executors:,} that were seen to start"
        )
    if one.answer is not None:
        yield from _what_if(one.answer)


def _load(profile: QueryProfile) -> str:
    come = profile.arrivals
    waiting = "" if come.waiting is None else f", {come.waiting:,} waiting"
    return f"{number(round(come.rate, 1))} records/s arrive{waiting}; batches begin {_cut_by(come)}"


def _cut_by(come: Arrivals) -> str:
    if come.trigger is not None:
        return f"every {number(come.trigger)} s"
    if come.limit is not None:
        return f"as soon as possible and take {come.limit:,} records at the most"
    return "as soon as possible"


def _fares(one: Inspection) -> str:
    now, slots = one.now, one.profile.slots
    on = f"on {_slots(slots)}" + (f" ({len(one.profile.executors):,} executors)" if one.profile.executors else "")
    least = "no number of executors" if one.least_slots is None else f"at least {_slots(one.least_slots)}"
    if not now.keeps_up:
        return f"it falls behind {on}: it can carry {one.headroom:.0%} of what comes; {least} would keep up"
    return (
        f"it keeps up {on} and uses {now.utilisation:.0%} of what it can carry (up to {one.headroom:.2g} times the "
        f"rate); {least} would do{_freshness(now)}"
    )


def _slots(count: int) -> str:
    return f"{count:,} slot" if count == 1 else f"{count:,} slots"


def _freshness(fares: Prospect) -> str:
    return "" if fares.freshness is None else f"; results are {fares.freshness:.1f} s old at the most"


def _what_if(answer: Answer) -> Iterator[str]:
    asked = answer.prospect
    yield f"what if: {number(round(asked.rate, 1))} records/s on {_slots(asked.slots)}: {_outcome(asked)}"
    if answer.where_state_lies is not None:
        yield f"         that is with state spread evenly; where it lies now: {_outcome(answer.where_state_lies)}"
    if answer.least_slots is None:
        yield "         no number of slots does it: the limit is another"
    else:
        yield f"         the least that does it: {_slots(answer.least_slots)}"
    if asked.unseen:
        yield "         more tasks at once than were seen: if they share cores or a disk it takes longer; not known yet"
    for name in answer.guessed:
        yield f"         {name}: tasks were too alike to tell fixed cost from cost per record; the cautious reading"


def _outcome(fares: Prospect) -> str:
    if fares.batch is None:
        return "falls behind, batches grow without end"
    took = f"a batch takes {fares.batch.value:.2f} s ({fares.batch.low:.2f} to {fares.batch.high:.2f})"
    if not fares.keeps_up:
        return f"{took} and falls behind: {fares.utilisation:.0%} of what it can carry"
    stale = "" if fares.fresh_enough else ", not as fresh as asked"
    return f"{took}, {fares.utilisation:.0%} of what it can carry{_freshness(fares)}{stale}"


def _row(operator: OperatorProfile) -> tuple[str, ...]:
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


def _cost(cost: Figure | None, unit: float) -> str:
    return "?" if cost is None else f"{cost.value * unit:.0f} ({cost.low * unit:.0f} to {cost.high * unit:.0f})"
