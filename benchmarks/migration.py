"""What moving state does to the batches of a running query, by strategy; beside it a restart, and Spark left alone.

The query is that of `migrating_query.py`: state of a known size in 16 bins, a normal batch of about 2 s on two
executors of one slot. Four executors are there and warm all the time; what migrates is the state: from two of them to
all four, and back.

What a strategy adds to a batch, and what loading one bin takes, is measured step by step, in several rounds
(`moves_step_by_step.py`), and judged: what `fluid` adds should be no more than 1.3 times what loading one bin takes its
task, and no more than half of what `sudden` adds; `batched` should lie in between, with fewer steps. These are means
without the longest and the shortest fifth, since now and then a batch is longer by more than a load takes, moves or
not. Going back tells more than growing: an executor that has just joined has few bins, and what it loads hides behind
the work of others.

Then each strategy migrates once each way as users have it, one step at each batch (to all four by the plan that a
controller makes; back to where this benchmark says, since nobody really leaves): the longest batch, less the longest
that as many batches have without it; batches and seconds that took; bins that changed their executor from one batch to
the next, by where tasks ran, beside the fewest that must for an even share each; and what those bins' files in the
checkpoint come to. Executors let go of bins that they no longer hold within 10 s here, instead of a minute, and a
migration begins no sooner than that after the one before: so a bin that comes back is loaded like any other. Beside
them, in the same run:

* stop and restart, in the same application, which is still warm: the query is drained and started again with all bins
  to be loaded; what that adds to a batch is the time without results, less a normal batch;
* Spark left alone: two executors, two more join, the scheduler's own patience (3 s), no placement: the time of the
  stage with state before and after.

    make bench-migration            (or: python benchmarks/migration.py --megabytes 200)
"""

import argparse
import math
import statistics
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import mul
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pyspark.sql import SparkSession

from batch_time_picture import Panel, picture
from headgate.control.actions import SetExecutors
from headgate.model.bins import homes
from headgate.model.microbatch import Executor, MicroBatch
from headgate.model.migration import STRATEGIES, LoadTime, Strategy
from headgate.model.placement import Bin, placement
from headgate.spark.local_cluster import LocalCluster
from migrating_query import BINS, NORMAL, MigratingQuery, session
from moves_step_by_step import Steps, step_by_step
from trimmed_mean import Mean, trimmed_mean
from verdicts import exit_code, verdict

FEW, MANY = 2, 4
JUDGED: tuple[Strategy, ...] = ("fluid", "batched", "sudden", "sudden")
"""The strategies of a round, step by step; `sudden` has a single step and is carried out twice."""
LATER_BY = 0.5
"""A batch may be longer by this part of it, as where nobody says otherwise: it is what `batched` goes by."""
AROUND = 3
"""Batches before a migration that a picture shows."""
RESTARTS = 3
SEEN = 0.8
"""Of steps, or what is said of them is said of too few."""
USUAL, APART = 2.0, 0.2
"""Seconds of a normal batch, and the part by which it may differ."""


class Migrated(NamedTuple):
    """What a migration did."""

    strategy: str
    executors: int
    """It went to so many."""
    adds: float
    """Seconds, to the longest batch."""
    batches: int
    seconds: float
    bins: int
    """Moves, by where tasks ran."""
    least: int
    bytes: int
    """Of the files of those bins."""
    shown: list[tuple[float, float]]
    """When a batch ended, in seconds from the first step on, and how long it took; some from before, too."""


def even(bench: MigratingQuery, executors: list[Executor]) -> dict[int, str]:
    """Where bins should be on these, by count, with as few moves as that takes."""
    now = homes(bench.batches[-1])
    return placement([Bin(number) for number in now], now, executors)


def fewest(now: Mapping[int, str], executors: list[Executor]) -> int:
    """Moves without which no even share is possible: what each executor lacks."""
    held = Counter(now.values())
    share = len(now) // len(executors)
    return sum(max(0, share - held[one.id]) for one in executors)


def loaded(before: Mapping[int, str], seen: list[MicroBatch]) -> list[int]:
    """Bins that a batch had elsewhere than the one before it, each as often as that happened."""
    moved: list[int] = []
    for batch in seen:
        now = homes(batch)
        moved += [number for number, home in now.items() if before[number] != home]
        before = now
    return moved


def longest_of(count: int, seconds: Sequence[float]) -> float:
    """The longest of so many batches, on average over all ways to choose them.

    >>> longest_of(1, [1.0, 2.0, 6.0]), longest_of(2, [1.0, 2.0, 6.0]), longest_of(9, [1.0, 2.0, 6.0])
    (3.0, 4.666666666666667, 6.0)
    """
    chosen = min(count, len(seconds))
    ways = [math.comb(below, chosen - 1) for below in range(len(seconds))]
    return sum(map(mul, sorted(seconds), ways)) / sum(ways)


def migrate(
    bench: MigratingQuery, strategy: Strategy, executors: list[Executor], before: Sequence[float]
) -> tuple[Migrated, Sequence[float]]:
    """To these executors, from wherever it is; `before` are batches just before, and those just after are given."""
    bench.let_go()
    now = homes(bench.batches[-1])
    earlier = bench.batches[-AROUND:]
    target = {number: home for number, home in even(bench, executors).items() if now[number] != home}
    seen = bench.move(strategy, {} if len(executors) == MANY else target) or bench.more(1)
    # Without the batch that ran when it was asked for: nothing moves in its middle.
    seen = seen[next((place for place, batch in enumerate(seen) if loaded(now, [batch])), 0) :]
    moved = loaded(now, seen)
    size = {one.number: one.bytes for one in bench.bins()}
    began = seen[0].began / 1000
    after = bench.normal()
    # On fewer executors a batch is longer anyway, so that is what is normal in between.
    usual = longest_of(len(seen), before if len(executors) == MANY else after)
    done = Migrated(
        strategy,
        len(executors),
        max(batch.duration for batch in seen) / 1000 - usual,
        len(seen),
        sum(batch.duration for batch in seen) / 1000,
        len(moved),
        fewest(now, executors),
        sum(size[number] for number in moved),
        [((one.began + one.duration) / 1000 - began, one.duration / 1000) for one in (*earlier, *seen)],
    )
    return done, after


def restarted(bench: MigratingQuery) -> float:
    """Seconds that a restart adds to a batch: from the last results before it to the first after it."""
    normal = statistics.median(bench.normal())
    bench.drain()
    last = bench.query.lastProgress
    ended = datetime.fromisoformat(last.timestamp).timestamp() + last.durationMs["triggerExecution"] / 1000
    before = len(bench.batches)
    bench.start()
    bench.more(1)
    first = bench.batches[before]
    return (first.began + first.duration) / 1000 - ended - normal


def show(one: Migrated) -> None:
    """A line."""
    print(
        f"  {one.strategy:14} to {one.executors} adds {one.adds:5.2f} s to the longest batch; {one.batches:3} batches, "
        f"{one.seconds:5.1f} s; {one.bins} bins moved (least {one.least}), {one.bytes / 1e6:,.0f} MB",
        flush=True,
    )


def strategies(spark: SparkSession, megabytes: int, rounds: int) -> list[Migrated]:
    """All of them on state of one size, growing and shrinking; whole migrations, as users have them."""
    bench = MigratingQuery(spark, megabytes)
    bench.fill()
    executors = list(bench.engine.executors())[:MANY]
    few = executors[:FEW]
    bench.move("sudden", even(bench, few))
    bench.more(2)
    kept = sum(one.bytes for one in bench.bins()) / 1e6
    normal = statistics.median(bench.normal())
    print(f"{megabytes} MB of values, {kept:,.0f} MB of files in {BINS} bins")
    say(
        f"a normal batch on {FEW} executors takes {normal:.2f} s, {USUAL:g} s +- {APART:.0%}",
        abs(normal / USUAL - 1) <= APART,
    )
    measured = rounds_of_steps(bench, executors, rounds, LATER_BY * normal)
    for size in (MANY, FEW):
        judge({strategy: measured[strategy, size] for strategy in JUDGED}, size)
    done: list[Migrated] = []
    usual: Sequence[float] = bench.normal()
    for strategy in STRATEGIES:
        for target in (executors, few):
            one, usual = migrate(bench, strategy, target, usual)
            done.append(one)
            show(one)
        if set(homes(bench.batches[-1]).values()) != {one.id for one in few}:  # hottest-first empties nobody
            bench.let_go()
            bench.move("sudden", even(bench, few))
            usual = bench.normal()
    times = sorted(restarted(bench) for _ in range(RESTARTS))
    print(f"  stop and restart adds {statistics.median(times):.2f} s to a batch ({times[0]:.2f} to {times[-1]:.2f})")
    bench.stop()
    even_ones = [one for one in done if one.strategy != "hottest-first"]
    say("no bin moved that need not", all(one.bins == one.least for one in even_ones))
    batches = {(one.strategy, one.executors): one.batches for one in done}
    fewer = all(batches["batched", size] < batches["fluid", size] for size in (MANY, FEW))
    say("a whole migration by batched takes fewer batches than one by fluid", fewer)
    return done


Measured = dict[tuple[Strategy, int], list[Steps]]
"""Strategy and executors it went to -> every migration."""


def rounds_of_steps(bench: MigratingQuery, executors: list[Executor], rounds: int, allowed: float) -> Measured:
    """Every strategy there and back in each round, in another order each time."""
    few, others = executors[:FEW], executors[FEW:]
    found: Measured = {(strategy, size): [] for strategy in JUDGED for size in (MANY, FEW)}
    loading = LoadTime()
    for number in range(rounds):
        turn = number % len(JUDGED)
        for strategy in (*JUDGED[turn:], *JUDGED[:turn]):
            there = step_by_step(bench, strategy, executors, (), loading, allowed)
            back = step_by_step(bench, strategy, few, others, loading, allowed)
            found[strategy, MANY].append(there)
            found[strategy, FEW].append(back)
            size = statistics.median(one.bytes for one in bench.bins())
            seen = [load for ran in found.values() for one in ran for step in one.samples for load in step.loads]
            loading = LoadTime().learned([(int(size), max(0.0, load)) for load in seen])
            told = "; ".join(_listed(one) for one in (there, back))
            print(f"  round {number + 1}, {strategy}, there and back, what each step added in s: {told}", flush=True)
    return found


def _listed(ran: Steps) -> str:
    return " ".join(f"{step.adds:.2f}" for step in ran.samples) or "nothing to be seen"


def judge(ran: Mapping[Strategy, list[Steps]], executors: int) -> None:
    """All steps one way; of what has no sample nothing is met."""
    of = {strategy: [step for one in migrations for step in one.samples] for strategy, migrations in ran.items()}
    adds = {strategy: trimmed_mean([one.adds for one in steps]) for strategy, steps in of.items()}
    one_bin = trimmed_mean([load for one in of["fluid"] for load in one.loads])
    chance = trimmed_mean([one.chance for steps in of.values() for one in steps if one.chance is not None])
    told = ", ".join(f"{strategy} {adds[strategy]} ({len(of[strategy])} steps)" for strategy in of)
    print(f"  to {executors}, what a step adds to its batch: {told}; with nothing moving {chance}")
    fluid, sudden, batched = adds["fluid"], adds["sudden"], adds["batched"]
    say(
        f"fluid adds {fluid}, at most 1.3 times what loading one bin takes, {one_bin}",
        fluid.value <= 1.3 * one_bin.value,
    )
    say(f"and at most half of what sudden adds, {sudden}", fluid.value <= 0.5 * sudden.value)
    say(f"batched, {batched}, in between", no_more(fluid, batched) and no_more(batched, sudden))
    steps = {strategy: [one.planned for one in migrations] for strategy, migrations in ran.items()}
    say("with fewer steps than fluid", max(steps["batched"]) < min(steps["fluid"]))
    whole, planned = sum(map(len, of.values())), sum(map(sum, steps.values()))
    say(f"{whole} of {planned} steps had all their bins in one batch, at least {SEEN:.0%}", whole >= SEEN * planned)


def no_more(one: Mean, other: Mean) -> bool:
    """As far as their errors can tell; where nothing is known of an error, that is not at all."""
    error = math.hypot(one.error, other.error)
    return math.isfinite(error) and one.value - other.value <= 2 * error


def say(what: str, held: bool) -> None:
    """A line."""
    print("  " + verdict(what, held), flush=True)


def rows_of(done: dict[int, list[Migrated]]) -> list[tuple[str, list[Panel]]]:
    """A row of the picture for each size and way: every strategy that moved something."""
    return [
        (
            f"{megabytes:,} MB, to {executors}",
            [Panel(one.strategy, one.shown) for one in ran if one.executors == executors and one.bins],
        )
        for megabytes, ran in done.items()
        for executors in (MANY, FEW)
    ]


def stateful_stage(batches: list[MicroBatch]) -> float:
    """Seconds of the stage with state, median."""
    lasted = []
    for batch in batches:
        mine = [batch.dataflow.index[name] for name in batch.stateful]
        rows = np.isin(batch.tasks.operator, mine)
        lasted.append(float(batch.tasks.finished[rows].max() - batch.tasks.launched[rows].min()) / 1000)
    return statistics.median(lasted)


def left_alone(cluster: LocalCluster, megabytes: int) -> None:
    """Two executors join, and nobody places anything; then somebody does."""
    spark = session(cluster, FEW, MANY)
    bench = MigratingQuery(spark, megabytes)
    bench.fill()
    before, held = stateful_stage(bench.more(NORMAL)), [_shares(bench)]
    bench.engine.carry_out(SetExecutors(1, MANY))
    bench.until(lambda: len(bench.engine.executors()) == MANY)
    alone = stateful_stage(bench.more(2 * NORMAL)[NORMAL:])
    held.append(_shares(bench))
    bench.move("sudden", even(bench, list(bench.engine.executors())))
    placed = stateful_stage(bench.more(NORMAL))
    held.append(_shares(bench))
    print(
        f"  Spark left alone: the stage with state took {before:.2f} s on {FEW} executors (bins: {held[0]}), "
        f"{alone:.2f} s on {MANY} (bins: {held[1]}; {before / alone:.2f} times as fast); with bins placed "
        f"{placed:.2f} s (bins: {held[2]}; {before / placed:.2f} times)"
    )
    bench.stop()
    spark.stop()


def _shares(bench: MigratingQuery) -> str:
    """How many bins each executor has, the most first."""
    return "+".join(str(count) for _, count in Counter(homes(bench.batches[-1]).values()).most_common())


def main() -> int:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", default="200,1000", help="sizes of the state")
    parser.add_argument("--rounds", type=int, default=3, help="of each strategy step by step, growing and shrinking")
    parser.add_argument("--no-comparison", action="store_true", help="without Spark left alone")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="batch times of every strategy, as SVG")
    given = parser.parse_args()
    done: dict[int, list[Migrated]] = {}
    for megabytes in map(int, given.megabytes.split(",")):
        with LocalCluster(workers=1, slots=MANY, memory="8g", late=True) as cluster:
            began = time.monotonic()
            spark = session(cluster, MANY, MANY)
            done[megabytes] = strategies(spark, megabytes, given.rounds)
            spark.stop()
            print(f"  ({time.monotonic() - began:.0f} s)")
        if not given.no_comparison:
            with LocalCluster(workers=1, slots=MANY, memory="8g", late=True) as cluster:
                left_alone(cluster, megabytes)
    if given.picture is not None:
        given.picture.write_text(picture(rows_of(done)), encoding="utf-8")
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
