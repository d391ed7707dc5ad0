"""Steps to the right size on NexMark: the six queries that DS2 was tried on, each as a job under `headgate run`.

Every run is the command itself with a job file of its own (examples/jobs/workload.py), once from too few executors and
once from too many, with a fresh checkpoint. In front of each query stands an operator that takes a known time for each
event and waits meanwhile, so that two real cores are enough for eight slots:

    source (2 tasks) -> exchange `events` (8 tasks) -> throttle -> the query, its state in 4 bins

q3 and q8 take two streams out of one, persons and auctions: both share source and exchange and go through a throttle of
their own, so that there are 16 tasks that wait, for half the time each. q5 and q8 are those of DS2 (a count in sliding
windows; a join by window).

A run keeps up where all batches end before the next is due, from when the executors of its last move are there (the
journal says when): all that begin from then on, at least five. After a move up those may be late that work off what had
piled up, but none after them. A run is over when a move was followed by 80 s without another and it keeps up, which is
waited for up to four minutes; or after five minutes without any move. Reported are the moves, the executors in the end
beside the least that do by trying (`right_size.py`), and when it had settled: the end of the first of those batches
that was in time, in seconds after the first batch began. A run ended well where it keeps up, has the least executors
that do or one more, and the median of its last five batches is no longer than the trigger.
Beside them stands what DS2's paper (OSDI'18) reports of the same queries on Flink: other rates, another machine,
operators that compute.

A sweep or a run that fails is a line of the table and the others go on. Job files, journals and logs stay in a folder
that is named at the beginning. The exit code is 1 where something that we hold ourselves to was missed.

    make bench-nexmark-convergence      (or: python benchmarks/nexmark_convergence.py --queries q1,q5 --sides under)
"""

import argparse
import itertools
import math
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.control.actions import Layout
from headgate.jobs.applications import applications
from headgate.jobs.build_function import load_build
from headgate.jobs.job_file import Job, read_job
from headgate.jobs.job_settings import STATE, JobSettings
from headgate.model.errors import InputError, in_brief
from headgate.model.microbatch import MicroBatch
from headgate.runtime.entries import Cluster, Entry, Seen
from headgate.runtime.journal import Journal
from right_size import HEADROOM, MOST, ONE_STEP, SETTLING, SIDES, TRIGGER, Outcome, least_that_does, moves_in
from verdicts import exit_code, verdict

T = TypeVar("T")
BUILD = Path(__file__).parents[1] / "examples" / "jobs" / "workload.py"
QUIET = 80.0
"""Seconds after the last move, at least."""
BACKLOG = 240.0
"""Seconds after the last move, at most: what had piled up before it has been worked off by then, or never will be."""
WATCHED = 300.0
"""Seconds after the first batch began, where nothing moves."""
MOVES = 6
"""Whatever comes after so many moves changes no verdict."""
PATIENCE = 180.0
"""Seconds until the first batch, and for the end."""
STEADY = 5
"""Batches in time that keeping up takes at least, and of which the median time is told."""
EXPECTED = 4
"""Executors, by hand (`Tried`); it says what is tried first."""
DS2_RUNS = {1: 19, 2: 14, 3: 3}
"""Steps -> runs, of 36."""

JOB = """
name = "nexmark {query}"
build = "{build}:build"
checkpoint = "checkpoint"
journal = "journal.db"
[cluster]
slots = {most}
memory = "512m"
conf = {{ "spark.ui.enabled" = false }}
[executors]
least = 1
most = {most}
start = {start}
[objective]
keep-up = {headroom}
[control]
{control}
[parallelism]
state = 4
events = 8
[options]
workload = "nexmark"
query = "{query}"
load = "constant({rate})"
trigger = "{trigger:g} seconds"
seconds_per_event = {seconds}
"source.event_rate" = {rate}
"""


class Tried(NamedTuple):
    """A query, and how much is asked of it.

    With the headroom a batch has 9.6 times the rate. Where eight tasks wait, three executors need three waves of them
    and four need two; where sixteen do, six and four. At 25 ms an event (12.5 ms where all go through twice) that is
    0.09 and 0.06 s for each event a second. At 88 a second that makes 7.9 and 5.3 s of the 8 s there are; driver and
    source take about a second more. State takes another half to one and a half, so that there 76 and 70 a second do.
    """

    query: str
    rate: float
    seconds: float
    ds2: int
    """Instances of its main operator in the end, in DS2's paper."""


QUERIES = {
    "q1": Tried("q1", 88, 0.025, 16),
    "q2": Tried("q2", 88, 0.025, 14),
    "q3": Tried("q3", 70, 0.0125, 20),
    "q5": Tried("q5-ds2", 76, 0.025, 16),
    "q8": Tried("q8-ds2", 70, 0.0125, 10),
    "q11": Tried("q11", 76, 0.025, 28),
}


def fresh(folder: Path) -> Path:
    """A new folder of this name, or with a number behind it where there is one already."""
    names = itertools.chain([folder], (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2)))
    found = next(name for name in names if not name.exists())
    found.mkdir(parents=True)
    return found


def job(folder: Path, tried: Tried, start: int, rate: float) -> Path:
    """The job file of one run, in its folder."""
    text = JOB.format(
        build=BUILD, most=MOST, start=start, headroom=HEADROOM, trigger=TRIGGER, query=tried.query, rate=f"{rate:g}",
        seconds=tried.seconds, control="\n".join(f"{name} = {value}" for name, value in SETTLING.items()),
    )  # fmt: skip
    (folder / "job.toml").write_text(text)
    return folder / "job.toml"


def least(folder: Path, tried: Tried) -> int:
    """Executors that do, by trying: the same job in one application, without a controller."""
    fixed = read_job(job(folder, tried, MOST, tried.rate * (1 + HEADROOM)))
    with applications(fixed) as cluster:
        spark = cluster.session(MOST, Layout())
        spark.sparkContext.setLogLevel("OFF")
        spark.conf.set("spark.sql.shuffle.partitions", str(fixed.parallelism[STATE]))
        numbers = itertools.count()
        try:
            return least_that_does(spark, lambda: started(spark, fixed, next(numbers)), EXPECTED)
        finally:
            spark.stop()


def started(spark: SparkSession, fixed: Job, number: int) -> StreamingQuery:
    """The query of a job, on a checkpoint of its own."""
    settings = JobSettings(str(fixed.file.parent), fixed.options, fixed.parallelism, {})
    writer = load_build(fixed)(spark, settings).queryName(fixed.name)
    return writer.option("checkpointLocation", f"{fixed.checkpoint}-{number}").start()


class Run(NamedTuple):
    """What a run came to, and when."""

    outcome: Outcome
    settled: float | None
    """Seconds after the first batch began; None where it does not keep up."""


def run(folder: Path, tried: Tried, executors: int) -> Run:
    """`headgate run`, left alone until it has settled."""
    file = job(folder, tried, executors, tried.rate)
    with (folder / "run.log").open("wb") as log:
        command = [sys.executable, "-m", "headgate", "run", str(file)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait(process, folder)
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise SystemExit(f"it had not ended {PATIENCE:.0f} s after Ctrl-C; {folder}/run.log says more") from None
        finally:
            if process.poll() is None:
                process.kill()  # what it has started ends by itself
                process.wait()
    return came_to(everything(folder), executors)


def wait(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    """Until nothing has moved for a while."""
    launched = time.time()
    while True:
        time.sleep(2)
        if process.poll() is not None:
            said = (folder / "run.log").read_text(errors="replace").strip().splitlines()
            raise SystemExit(f"the job ended with {process.returncode}: {said[-1] if said else 'without a word'}")
        entries = everything(folder)
        began = beginning(entries)
        if began is None:
            if time.time() > launched + PATIENCE:
                raise SystemExit(f"no batch within {PATIENCE:.0f} s")
            continue
        if over(entries, began, time.time()):
            return


def over(entries: Sequence[Entry | Seen], began: float, now: float) -> bool:
    """Whether a run has been watched for long enough: it has moved and keeps up, or will not."""
    moves = moves_in(entries, began)
    if not moves or len(moves) >= MOVES:
        return bool(moves) or now - began > WATCHED
    since = now - began - moves[-1][0]
    return since > BACKLOG or (since > QUIET and settled(entries, began) is not None)


def settled(entries: Sequence[Entry | Seen], began: float) -> float | None:
    """The end of the first batch in time on the executors of the last move; None where one after it is late."""
    moves = moves_in(entries, began)
    counts = [(entry.at - began, len(entry.executors)) for entry in entries if isinstance(entry, Cluster)]
    there, up = last_move(moves, counts)
    batches = [entry.batch for entry in entries if isinstance(entry, Seen) and entry.batch.began / 1000 - began > there]
    if up:  # what had piled up before is worked off first
        batches = list(itertools.dropwhile(late, batches))
    if len(batches) < STEADY or any(map(late, batches)):
        return None
    return (batches[0].began + batches[0].duration) / 1000 - began


def last_move(moves: Sequence[tuple[float, int]], counts: Sequence[tuple[float, int]]) -> tuple[float, bool]:
    """When the executors that were last asked for were there, which may be never; and whether they were to be more.

    Without a move: from the beginning, when all are cold, which is as if they had just come.
    """
    if not moves:
        return 0.0, True
    asked_at, asked = moves[-1]
    before = [count for at, count in counts if at <= asked_at]
    there = next((at for at, count in counts if at > asked_at and count == asked), math.inf)
    return there, not before or asked > before[-1]


def late(batch: MicroBatch) -> bool:
    """Whether it ended after the next was due."""
    return batch.duration / 1000 > TRIGGER


def everything(folder: Path) -> list[Entry | Seen]:
    """What the journal has, so far."""
    try:
        with Journal(folder / "journal.db", read_only=True) as journal:
            return list(journal.everything())
    except InputError:  # not made yet
        return []


def beginning(entries: Sequence[Entry | Seen]) -> float | None:
    """When the first batch began."""
    return next((entry.batch.began / 1000 for entry in entries if isinstance(entry, Seen)), None)


def came_to(entries: Sequence[Entry | Seen], executors: int) -> Run:
    """From the journal alone."""
    began = beginning(entries)
    if began is None:
        raise SystemExit("the journal has no batch")
    moves = moves_in(entries, began)
    batches = [entry.batch for entry in entries if isinstance(entry, Seen)]
    there = [len(entry.executors) for entry in entries if isinstance(entry, Cluster)]
    took = statistics.median(batch.duration / 1000 for batch in batches[-STEADY:])
    return Run(Outcome(executors, moves, there[-1] if there else executors, took), settled(entries, began))


class Row(NamedTuple):
    """A line of the table."""

    name: str
    side: str
    fewest: int | None
    """None where the sweep failed."""
    run: Run | str
    """Or why there is none."""

    @property
    def steps(self) -> int | None:
        """None where it failed."""
        return None if isinstance(self.run, str) else len(self.run.outcome.moves)

    @property
    def right(self) -> bool:
        """Whether it ended with the least or one more, and keeps up with that."""
        if self.fewest is None or isinstance(self.run, str):
            return False
        outcome, end = self.run
        return self.fewest <= outcome.executors <= self.fewest + 1 and end is not None and outcome.batch <= TRIGGER


def told(row: Row) -> str:
    """In a line."""
    if isinstance(row.run, str):
        return f"{row.name:5}  {row.side:5}  FAILED: {row.run}"
    outcome, end = row.run
    when = f"{end:.0f}" if end is not None else "not"
    fewest = "?" if row.fewest is None else str(row.fewest)
    return (
        f"{row.name:5}  {row.side:5}  {outcome.way:28}  {len(outcome.moves):>5}  {outcome.executors:>10}  "
        f"{fewest:>5}  {when:>9}  {outcome.batch:>7.2f}  {QUERIES[row.name].ds2:>12}"
    )


def wanted(rows: Sequence[Row]) -> list[tuple[str, bool]]:
    """What we hold ourselves to, and whether it was met. A run that failed is in none of the counts."""
    steps = [row.steps for row in rows if row.steps is not None]
    once, most, right = steps.count(1), max(steps, default=0), sum(row.right for row in rows)
    failed = len(rows) - len(steps)
    return [
        (f"one step in {once} of {len(rows)} runs, at least 10 of 12", once >= ONE_STEP * len(rows)),
        (f"most steps {most}, never more than 2", most <= 2),
        (f"{right} of {len(rows)} ended with the least that do or one more, and keep up with it", right == len(rows)),
        (f"{failed} of {len(rows)} failed", not failed),
    ]


def or_why_not(measure: Callable[[], T]) -> T | str:
    """What it measures; where it fails, why in a line: the runs before and after it are worth having."""
    try:
        return measure()
    except (Exception, SystemExit) as problem:
        return in_brief(problem)


def chosen(text: str, known: Sequence[str]) -> list[str]:
    """Names out of a list with commas."""
    names = text.split(",")
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"there is no {name}; give some of {','.join(known)}")
    return names


def by_query(text: str, number: Callable[[str], T]) -> dict[str, T]:
    """Such as q5=72,q8=64."""
    found = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        chosen(name, list(QUERIES))
        try:
            found[name] = number(value)
        except ValueError:
            raise argparse.ArgumentTypeError(f'"{part}" has no such number; give it as q5=4') from None
    return found


def arguments() -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=lambda text: chosen(text, list(QUERIES)), default=list(QUERIES))
    parser.add_argument("--sides", type=lambda text: chosen(text, list(SIDES)), default=list(SIDES))
    parser.add_argument(
        "--rates",
        type=lambda text: by_query(text, float),
        default={},
        metavar="NAME=R,…",
        help="events a second instead of ours, as q5=72,q8=64",
    )
    parser.add_argument(
        "--least",
        type=lambda text: by_query(text, int),
        default={},
        metavar="NAME=N,…",
        help="what the sweep of a run before found, instead of another one",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        metavar="DIR",
        help="for job files, journals and logs (default: a new one here, nexmark-convergence)",
    )
    return parser.parse_args()


def main() -> int:
    """All of it."""
    given = arguments()
    top = (given.folder or fresh(Path("nexmark-convergence"))).resolve()
    print(f"job files, journals and logs: {top}", flush=True)
    rows = []
    for name in given.queries:
        tried = QUERIES[name]._replace(rate=given.rates.get(name, QUERIES[name].rate))
        print(f"{tried.query}, {tried.rate:g} events/s every {TRIGGER:g} s, {HEADROOM:.0%} headroom", flush=True)
        fewest = given.least.get(name) or or_why_not(partial(least, fresh(top / f"{name}-sweep"), tried))
        failed = "not known, " if isinstance(fewest, str) else ""
        print(f"  least that does: {failed}{fewest}{' (given)' if name in given.least else ''}", flush=True)
        for side in given.sides:
            came = or_why_not(partial(run, fresh(top / f"{name}-{side}"), tried, SIDES[side]))
            rows.append(Row(name, side, None if isinstance(fewest, str) else fewest, came))
            print(f"  {told(rows[-1])}", flush=True)
    print()
    print(f"query  from   {'executors':28}  steps  in the end  least  settled s  batch s  DS2 on Flink")
    for row in rows:
        print(told(row))
    ours = [sum(row.steps == count for row in rows) for count in DS2_RUNS]
    print(f"runs in one, two, three steps: {', '.join(map(str, ours))} of {len(rows)}", end="; ")
    print(f"DS2's paper: {', '.join(map(str, DS2_RUNS.values()))} of {sum(DS2_RUNS.values())}")
    for what, met in wanted(rows):
        print(verdict(what, met))
    return exit_code()


if __name__ == "__main__":
    sys.exit(main())
