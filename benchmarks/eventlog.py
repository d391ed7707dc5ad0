"""Speed and memory of reading event logs, beside what everybody would write first: json.loads on every line.

The log is that of a real word count on a cluster, its four batches over and over: once as recorded, with 8 tasks a
batch, and once with each batch's tasks repeated, as tasks of other partitions, until there are about 100, as larger
jobs have. Three programs read it:

    events      `read_events` with every event type; plans and accumulables stay bytes until somebody asks for them
    batches     `read_batches` over the events it wants, which is all that `headgate inspect` does with a log
    json.loads  parses every line, and does nothing with it

Both are set beside five times the speed of json.loads on every log, and judged by it on a large one: a process takes
some hundredths of a second to begin (first plans, first memory), as long as a tenth of reading 100 MB, and json.loads
has nothing to begin with (docs/decisions/0014-five-times-json-loads.md).

All read the same file in fresh processes, in turn, and it is the processor's time that counts, because these machines
are shared: what is reported is the ratio of each round and its spread. A large log is read in fewer rounds.

    make bench-eventlog                 (or: python benchmarks/eventlog.py --sizes 100 --large 0 --tasks 100)
"""

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

SAMPLE = Path(__file__).parent.parent / "tests" / "data" / "eventlogs" / "wordcount-4.3.0.zstd"
BATCHES, PARTITIONS = 4, 4
ROUNDS_OF_A_LARGE_ONE = 3
TASK_START, TASK_END = b'{"Event":"SparkListenerTaskStart"', b'{"Event":"SparkListenerTaskEnd"'

# The kernel's figure for a finished child counts what it held before it became this program, so it is asked itself.
PEAK = """
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""

EVENTS = (
    """
import sys, time
from headgate.formats.eventlog.reader import read_events
started = time.process_time()
events = 0
log = read_events(sys.argv[1])
for event in log:
    events += 1
print(time.process_time() - started, events, 0, 0)
assert not log.notes, log.notes
"""
    + PEAK
)

MICRO_BATCHES = (
    """
import sys, time
from headgate.formats.eventlog.batches import WANTED, read_batches
from headgate.formats.eventlog.reader import read_events
started = time.process_time()
batches = tasks = 0
log = read_events(sys.argv[1], wanted=WANTED)
for batch in read_batches(log):
    batches += 1
    tasks += batch.tasks.partition.size
print(time.process_time() - started, 0, batches, tasks)
assert not log.notes, log.notes
"""
    + PEAK
)

JSON = (
    """
import json, sys, time
started = time.process_time()
events = 0
with open(sys.argv[1], "rb") as file:
    for line in file:
        json.loads(line)
        events += 1
print(time.process_time() - started, events, 0, 0)
"""
    + PEAK
)


class Run(NamedTuple):
    """One process: seconds of processor time spent reading, what it counted, and the memory it held at most."""

    seconds: float
    events: int
    batches: int
    tasks: int
    megabytes: float


def run(program: str, path: Path) -> Run:
    """Run a program in a fresh process."""
    done = subprocess.run([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True, check=True)
    seconds, *counted, kilobytes = done.stdout.split()
    return Run(float(seconds), *map(int, counted), int(kilobytes) / 1024)


def sample_lines() -> list[bytes]:
    """The lines of the real log."""
    with pa.CompressedInputStream(pa.OSFile(str(SAMPLE)), "zstd") as stream:
        return stream.read().splitlines(keepends=True)


def other_partition(line: bytes, copy: int) -> bytes:
    """The same task for another partition; what is no task, or the original, is left as it is."""

    def moved(found: re.Match[bytes]) -> bytes:
        return b"%s%d" % (found[1], int(found[2]) + copy * PARTITIONS)

    return re.sub(rb'("(?:Index|Partition ID)":)(\d+)', moved, line, count=2) if copy else line


def write_log(path: Path, lines: Sequence[bytes], megabytes: int, tasks: int) -> float:
    """A log of about this size with about so many tasks a batch. Gives its size in MB."""
    recorded = sum(line.startswith(TASK_END) for line in lines) // BATCHES
    times = max(1, tasks // recorded)
    body = b"".join(
        other_partition(line, copy)
        for line in lines[1:-1]
        for copy in range(times if line.startswith((TASK_START, TASK_END)) else 1)
    )
    with path.open("wb") as file:
        file.write(lines[0])
        for _ in range(max(1, megabytes * 1_000_000 // len(body))):
            file.write(body)
        file.write(lines[-1])
    return path.stat().st_size / 1e6


def spread(values: Sequence[float]) -> str:
    """Median, least and most."""
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def verdict(met: bool) -> str:
    """How a figure stands to what we hold ourselves to."""
    return "met" if met else "MISSED"


def in_turn(log: Path, lines: Sequence[bytes], sizes: Sequence[tuple[int, int]], tasks: int) -> bool:
    """All programs on logs of several sizes, each so many rounds; whether all was met on the last."""
    print(f"\nabout {tasks} tasks a batch, programs in turn")
    print(f"{'MB':>6}  {'rounds':>6}  {'program':10}  {'MB/s':>25}  {'times json.loads':>18}  {'memory MB':>9}")
    times: list[tuple[float, float]] = []
    for size, rounds in sizes:
        held = True  # of each size anew: the last one is what counts
        megabytes = write_log(log, lines, size, tasks)
        run(EVENTS, log)  # does not count: it fills the file cache
        runs = [(run(EVENTS, log), run(MICRO_BATCHES, log), run(JSON, log)) for _ in range(rounds)]
        events, batches, plain = zip(*runs, strict=True)
        for program, ran in (("events", events), ("batches", batches), ("json.loads", plain)):
            ratios = [theirs.seconds / ours.seconds for ours, theirs in zip(ran, plain, strict=True)]
            memory = max(one.megabytes for one in ran)
            speed = spread([megabytes / one.seconds for one in ran])
            print(
                f"{megabytes:>6.0f}  {rounds:>6}  {program:10}  {speed:>25}  {spread(ratios):>18}  {memory:>9.0f}",
                end="" if ran is not plain else "\n",
            )
            if ran is not plain:
                fast, small = statistics.median(ratios) >= 5, memory < 300
                print(f"  at least 5 times: {verdict(fast)}; under 300 MB: {verdict(small)}")
                held = held and fast and small
        print(
            f"        {events[0].events:,} of {plain[0].events:,} events read; "
            f"{batches[0].batches:,} batches of {batches[0].tasks:,} tasks"
        )
        times.append((megabytes, statistics.median(one.seconds for one in batches)))
    if len(times) > 1:
        (least, fast), (most, slow) = times[0], times[-1]
        print(f"  growth: {most / least:.1f} times the bytes take {slow / fast:.1f} times as long to make batches of")
    return held


def compressed(log: Path, packed: Path) -> None:
    """The same text in one zstd stream."""
    with pa.OSFile(str(log)) as source, pa.CompressedOutputStream(str(packed), "zstd") as sink:
        sink.upload(source)
    took, text = run(MICRO_BATCHES, packed), log.stat().st_size / 1e6
    print(f"\nbatches from zstd: {text / took.seconds:,.0f} MB of text a second, {took.megabytes:.0f} MB of memory")


def numbers(text: str) -> list[int]:
    """Numbers between commas."""
    return [int(number) for number in text.split(",")]


def main() -> int:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=numbers, default="100,300", help="sizes of the logs in MB")
    parser.add_argument("--large", type=int, default=2000, help="size in MB of one more log, the judge; 0 for none")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", type=numbers, default="8,100", help="tasks a batch; 8 is the log as recorded")
    given = parser.parse_args()
    sizes = [(size, given.rounds) for size in given.sizes]
    large = [(given.large, ROUNDS_OF_A_LARGE_ONE)] if given.large else []
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        held = [in_turn(log, sample_lines(), sizes + large, tasks) for tasks in given.tasks]
        compressed(log, log.with_suffix(".zstd"))
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
