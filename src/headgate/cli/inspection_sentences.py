"""What is said of an inspected query, sentence by sentence: the terminal and the page say it in the same words."""

from collections.abc import Iterator

from headgate.model.arrivals import Arrivals
from headgate.model.inspection import Answer, Inspection
from headgate.model.keeping_up import Prospect
from headgate.model.limits import Finding
from headgate.model.line import Figure
from headgate.model.profile import OperatorProfile, QueryProfile
from headgate.model.reasons import many, number

_FEW = 5
"""Fewer batches than this are a hint, not evidence."""
_LARGER = 1.25
"""Batches larger than the largest that was seen by more than this are beyond what was measured."""

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
    rate = number(round(come.rate, 1))
    if untold(come):
        return f"{rate} records/s are taken; sources do not say how many arrive or wait; batches begin {_cut_by(come)}"
    waiting = "" if come.waiting is None else f", {come.waiting:,} waiting"
    return f"{rate} records/s arrive{waiting}; batches begin {_cut_by(come)}"


def fares(one: Inspection) -> str:
    """Whether it keeps up, with how much to spare, and with how many slots it would."""
    now, profile = one.now, one.profile
    least = "no number of executors" if one.least_slots is None else f"at least {many(one.least_slots, 'slot')}"
    carried = f"it carries {_rate(now.carries)} records/s and {_rate(now.rate)} come ({_part(now)})"
    if not now.keeps_up:
        return f"it falls behind on {_pool(profile)}: {carried}; {least} would keep up"
    if not now.in_time:
        # Where no batch is short enough for the interval, what is carried is carried by one after the other.
        how = "in time" if now.carries < now.rate else f"at {_batch(now)} each, one after the other,"
        return f"it keeps up on {_pool(profile)} but batches overrun their interval: {how} {carried}; {least} would do"
    if untold(profile.arrivals):
        return (
            f"whether it keeps up on {_pool(profile)} cannot be told, since it never rests and nobody says what waits: "
            f"it takes {_rate(now.rate)} records/s and could carry {_rate(now.carries)}; if no more come, {least} "
            f"would do"
        )
    return (
        f"it keeps up on {_pool(profile)}: {_rate(now.rate)} records/s come and it carries {_rate(now.carries)} "
        f"({now.utilisation:.0%} used); {least} would do{_age(now, profile)}"
    )


def _batch(now: Prospect) -> str:
    return "" if now.batch is None else f"{now.batch.value:.2f} s"


def untold(come: Arrivals) -> bool:
    """Batches that follow one another without rest, of sources that do not say what they have: it may be behind."""
    return come.waiting is None and come.trigger is None


def _pool(profile: QueryProfile) -> str:
    if not profile.executors:
        return f"{many(profile.slots, 'slot')} or more (so many were seen at work)"
    return f"{many(profile.slots, 'slot')} ({many(len(profile.executors), 'executor')})"


def _rate(records: float) -> str:
    return "any number of" if records == float("inf") else number(float(f"{records:.3g}"))


def _part(now: Prospect) -> str:
    return f"{min(now.carries / now.rate, 9.99):.0%}" if now.rate else "all"


def _age(fares: Prospect, profile: QueryProfile) -> str:
    """How old results are at the most; what waits beyond the next batch makes them older."""
    if fares.freshness is None:
        return ""
    waiting = profile.arrivals.waiting or 0
    fresh = f"; results are {fares.freshness:.1f} s old at the most"
    if not piled_up(profile):
        return fresh
    after = fares.drained_after(waiting)
    if after is not None:
        return f"{fresh}, once the {waiting:,} that wait are worked off, in about {_span(after)}"
    older = fares.freshness + waiting / max(fares.rate, 1e-9)
    return f"; results are about {_span(older)} old: the {waiting:,} that wait are never worked off"


def piled_up(profile: QueryProfile) -> bool:
    """Whether more waits than the next batch takes."""
    return (profile.arrivals.waiting or 0) > 1.5 * max(profile.records, 1.0)


def _span(seconds: float) -> str:
    """A time as people say it.

    >>> _span(45), _span(600), _span(8000)
    ('45 s', '10 min', '2.2 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def limit_heading(one: Inspection) -> str:
    """What the first finding is called: of a query that is as it should be, what would come next."""
    return "limit" if not (one.now.keeps_up and one.now.in_time) else "next limit"


def findings(one: Inspection) -> list[str]:
    """The limit, then what else holds batches back; never empty."""
    return [f"{finding.limit}{_gain(finding, one.now)}" for finding in one.limits]


def _gain(finding: Finding, now: Prospect) -> str:
    if finding.gain is None:
        return ""
    enough = not now.keeps_up and now.carries / max(1 - finding.gain, 1e-9) >= now.rate
    return f" [without it: -{finding.gain:.0%}{', and it would keep up' if enough else ''}]"


def notes(one: Inspection) -> Iterator[str]:
    """What to keep in mind about all the rest."""
    if one.silence is not None:
        quiet = one.silence
        yield (
            f"it has read {quiet.records:,} records in {_span(quiet.seconds)} and emitted none, while state of it grew "
            f"from {quiet.rows_before:,} to {quiet.rows_now:,} rows and lost none; if its windows are shorter than "
            f"that, it never will: look at its watermark, and whether it joins a stream with itself"
        )
    if one.profile.counted < _FEW:
        cold_too = " cold ones among them," if one.profile.counted == one.profile.batches else ""
        yield f"only {many(one.profile.counted, 'batch', 'batches')} to go by,{cold_too} so all this is a hint"
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
            f"cold executors: the first tasks took {profile.cold.seconds:.1f} s longer than usual "
            f"({many(profile.cold.executors, 'executor')} seen to start)"
        )


def what_if(one: Inspection) -> Iterator[str]:
    """What would be, if anything was asked; the first sentence is the answer, the others what goes with it."""
    answer = one.answer
    if answer is None:
        return
    asked, few = answer.prospect, one.profile.counted < _FEW
    yield f"{_asked(answer)}: {_outcome(asked, one.profile, few=few)}"
    if answer.where_state_lies is not None:
        lying = _outcome(answer.where_state_lies, one.profile, few=few)
        yield f"that is with state spread evenly; where it lies now: {lying}"
    if answer.least_slots is not None:
        yield f"the least that does it: {many(answer.least_slots, 'slot')}, in whole executors"
    else:
        yield f"no number of slots does it{_why_not(one)}"
    if answer.question.partitions is not None:
        yield "what the largest partition has beyond the middle one was taken as one hot key, which stays together"
    if asked.unseen:
        yield "more tasks at once than were seen: if they share cores or a disk it takes longer; not known yet"
    most = one.profile.most_records
    if asked.records is not None and asked.records > _LARGER * most:
        yield (
            f"batches of {_rate(asked.records)} records were never seen ({most:,} at the most); that they cost as much "
            f"for each record is taken for granted"
        )
    for name in answer.guessed:
        yield f"{name}: tasks were too alike to tell fixed cost from cost per record; the cautious reading"


def _asked(answer: Answer) -> str:
    question, asked = answer.question, answer.prospect
    said = [f"{_rate(asked.rate)} records/s on {many(asked.slots, 'slot')}"]
    if question.partitions is not None:
        said.append(many(question.partitions, "partition"))
    if question.freshness is not None:
        said.append(f"results within {number(question.freshness)} s")
    return ", ".join(said)


def _why_not(one: Inspection) -> str:
    """What stands in the way, where it is plain."""
    come, answer = one.profile.arrivals, one.answer
    freshness = answer.question.freshness if answer else None
    if freshness is not None and come.trigger is not None and come.trigger >= freshness:
        return f": batches begin every {number(come.trigger)} s, which alone is as old as that"
    rate = answer.prospect.rate if answer else 0.0
    if come.limit is not None and come.trigger is not None and rate > 1.005 * come.limit / come.trigger:
        return f": at most {come.limit:,} records are taken every {number(come.trigger)} s"
    if freshness is not None and come.trigger is not None:
        return f": batches begin every {number(come.trigger)} s, and even with a slot for every task take too long"
    return ": with a slot for every task it is still too slow, so cut the work finer (--partitions), or mend the limit"


def row(operator: OperatorProfile) -> tuple[str, ...]:
    """An operator's cells under `COLUMNS`."""
    return (
        operator.name,
        f"{operator.tasks:,}",
        number(round(operator.records_in, 1)),
        number(round(operator.records_out, 1)),
        "" if operator.fan_out is None else number(float(f"{operator.fan_out:.3g}")),
        f"{operator.busy:.2f}",
        f"{operator.cpu / operator.busy:.0%}" if operator.busy else "",
        _cost(operator.fixed_cost, 1e3),
        _cost(operator.record_cost, 1e6),
        f"{operator.largest_share:.0%} (#{operator.largest_partition})" if operator.largest_partition >= 0 else "",
    )


def _cut_by(come: Arrivals) -> str:
    begin = "as soon as possible" if come.trigger is None else f"every {number(come.trigger)} s"
    return begin if come.limit is None else f"{begin} and take {come.limit:,} records at the most"


def _outcome(fares: Prospect, profile: QueryProfile, *, few: bool) -> str:
    if fares.batch is None:
        # What it carries is told from somewhat larger batches; where those that are larger still cost more, by less.
        carried = f": it would carry {_rate(fares.carries)} records/s" if fares.carries < fares.rate else ""
        return f"falls behind, batches grow without end{carried}"
    spread = "" if few else f" ({fares.batch.low:.2f} to {fares.batch.high:.2f})"
    took = f"a batch takes {fares.batch.value:.2f} s{spread}"
    carried = f"it carries {_rate(fares.carries)} records/s"
    if not fares.keeps_up:
        return f"{took} and it falls behind: {carried}"
    late = "" if fares.in_time else ", batches overrun their interval"
    stale = "" if fares.fresh_enough else ", not as fresh as asked"
    return f"{took}, {carried}{late}{_age(fares, profile)}{stale}"


def _cost(cost: Figure | None, unit: float) -> str:
    return "?" if cost is None else f"{cost.value * unit:.0f} ({cost.low * unit:.0f} to {cost.high * unit:.0f})"
