"""Outcomes summed up: a row for each policy under each load, the Pareto front, and whether the targets are met.

Regret is what a policy cost beyond the oracle with the same job, load and seed, changes at their price, as a part of
the oracle's cost. It is below 0 where a policy is cheaper: late, or with less in reserve than the objective asks for.
There is none where the policy or the oracle failed.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import mean
from typing import NamedTuple

from headgate.lab.cell import Outcome
from headgate.lab.scenario import ORACLE

OURS = "capacity"
MOST_LATE = 0.01
MOST_REGRET = {True: 0.10, False: 0.20}
"""On jobs that fit the capacity model, and on others."""


class Row(NamedTuple):
    """A policy under a load: means over jobs and seeds."""

    load: str
    policy: str
    slot_hours: float
    regret: float | None
    """None: it failed everywhere, or the oracle did."""
    late_time: float
    late_records: float
    worst_age: float
    rescales: float
    steps_to_settle: float | None
    over: float
    under: float
    cells: int
    failed: int


class Verdict(NamedTuple):
    """A target, whether it is met, and what was found."""

    met: bool
    target: str
    found: str


def summed_up(outcomes: Sequence[Outcome]) -> list[Row]:
    """By load, and within a load by regret."""
    oracle = _oracle(outcomes)
    rows = []
    for load in dict.fromkeys(one.load for one in outcomes):
        of_load = [
            _row(load, policy, [one for one in outcomes if (one.load, one.policy) == (load, policy)], oracle)
            for policy in dict.fromkeys(one.policy for one in outcomes)
        ]
        rows += sorted(of_load, key=lambda row: math.inf if row.regret is None else row.regret)
    return rows


def _row(load: str, policy: str, of_it: Sequence[Outcome], oracle: dict[tuple[str, str, int], float]) -> Row:
    good = [one for one in of_it if not one.failed] or list(of_it)
    steps = [one.steps_to_settle for one in good if one.steps_to_settle is not None]
    regrets = _regrets(good, oracle)

    def average(figure: Callable[[Outcome], float]) -> float:
        return mean(map(figure, good))

    return Row(
        load, policy, average(lambda one: one.slot_hours), mean(regrets) if regrets else None,
        average(lambda one: one.late_time), average(lambda one: one.late_records),
        max(one.worst_age for one in good), average(lambda one: one.rescales), mean(steps) if steps else None,
        average(lambda one: one.over), average(lambda one: one.under), len(of_it),
        sum(bool(one.failed) for one in of_it),
    )  # fmt: skip


def _oracle(outcomes: Iterable[Outcome]) -> dict[tuple[str, str, int], float]:
    return {(one.job, one.load, one.seed): one.cost for one in outcomes if one.policy == ORACLE and not one.failed}


def regret(one: Outcome, oracle: dict[tuple[str, str, int], float]) -> float | None:
    """Of one cell; None where it failed, or nothing is known that it could be compared with."""
    least = oracle.get((one.job, one.load, one.seed))
    return one.cost / least - 1 if least and not one.failed else None


def _regrets(outcomes: Iterable[Outcome], oracle: dict[tuple[str, str, int], float]) -> list[float]:
    return [beyond for one in outcomes if (beyond := regret(one, oracle)) is not None]


def by_regret(rows: Iterable[Row]) -> list[tuple[float, Row]]:
    """Those that can be compared, since none of their runs failed, with their regrets; the cheapest first."""
    known = [(row.regret, row) for row in rows if row.regret is not None and not row.failed]
    return sorted(known, key=lambda one: (one[0], one[1].late_time))


def front(rows: Iterable[Row]) -> list[tuple[float, Row]]:
    """Those of one load that no other beats in both cost and lateness, with their regrets; the cheapest first."""
    best: list[tuple[float, Row]] = []
    for beyond, row in by_regret(rows):
        if not best or row.late_time < best[-1][1].late_time:
            best.append((beyond, row))
    return best


def verdicts(outcomes: Sequence[Outcome]) -> list[Verdict]:
    """The targets, for `capacity` under the loads that are judged; none where it was not run, or nothing is judged."""
    oracle = _oracle(outcomes)
    judged = [one for one in outcomes if one.judged]
    found: list[Verdict] = []
    for load, job, fits in dict.fromkeys((one.load, one.job, one.fits) for one in judged):
        here = [one for one in judged if (one.load, one.job) == (load, job)]
        found.extend(_failed(f"{load}, {job}", [one for one in here if one.policy == OURS]))
        good = [one for one in here if not one.failed]
        ours = [one for one in good if one.policy == OURS]
        if ours:
            found.extend(_judged(f"{load}, {job}", fits, ours, good, oracle))
    return found


def _failed(where: str, ours: Sequence[Outcome]) -> Iterator[Verdict]:
    """A run that did not end is a target that is missed, whatever the others came to."""
    failed = [one.failed for one in ours if one.failed]
    if failed:
        yield Verdict(False, f"{where}: no run fails", f"{len(failed)} of {len(ours)} failed: {failed[0]}")


def _judged(
    where: str, fits: bool, ours: Sequence[Outcome], here: Sequence[Outcome], oracle: dict[tuple[str, str, int], float]
) -> Iterator[Verdict]:
    late, cost = mean(one.late_time for one in ours), mean(one.cost for one in ours)
    latest = max(one.late_time for one in ours)
    regrets = _regrets(ours, oracle)
    yield Verdict(latest <= MOST_LATE, f"{where}: late at most {MOST_LATE:.0%} of the time", f"{latest:.2%}")
    allowed = MOST_REGRET[fits]
    within = f"{where}: within {allowed:.0%} of the oracle"
    if regrets:
        yield Verdict(mean(regrets) <= allowed, within, f"{mean(regrets):+.1%}")
    else:
        yield Verdict(False, within, "no run of the oracle to compare with")
    better, later = [], []
    for policy in dict.fromkeys(one.policy for one in here if one.policy not in (OURS, ORACLE)):
        theirs = [one for one in here if one.policy == policy]
        saves, lateness = 1 - mean(one.cost for one in theirs) / cost, mean(one.late_time for one in theirs)
        if saves > 0 and lateness <= late:
            better.append(f"{policy} costs {saves:.1%} less")
        elif saves > 0 and lateness <= MOST_LATE:
            later.append(f"{policy} {saves:.1%} (late {lateness:.2%} of the time)")
    found = "; ".join(better) or "nobody"
    if later:  # as punctual as anybody need be, and cheaper: whoever reads "nobody" should know of them
        found += f"; cheaper and later than {late:.2%}: {', '.join(later)}"
    yield Verdict(not better, f"{where}: nobody as punctual is cheaper", found)
