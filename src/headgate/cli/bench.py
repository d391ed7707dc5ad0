"""`headgate bench`: how fast a workload's queries run on this machine, and whether that is better than last time."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from headgate.cli.bench_comparison import compared
from headgate.cli.options import WORKLOADS, Once, count, name_and_value
from headgate.cli.page.bench_page import bench_page
from headgate.cli.page.scales import short
from headgate.cli.text_table import aligned_rows
from headgate.formats.files import cannot_read
from headgate.formats.whole_file import see_that_it_can_be_written, write_whole
from headgate.jobs.bench_result import BenchPlan, BenchResult, Measured
from headgate.model.durations import seconds
from headgate.model.errors import InputError
from headgate.workloads.load import load_from_text

DESCRIPTION = """\
Run queries of a workload one after the other on a cluster on this machine, and measure each: events a second that it
sustains, time of a batch, age of events, state, processor time. Or compare two results.
"""

EPILOG = """\
examples:
  headgate bench nexmark --queries 1,2,3,5,8,11 --slots 2
  headgate bench nexmark --queries 5 --load 'step(20k -> 60k @ 30s)' --seconds 60s
  headgate bench psm --output before.json
  headgate bench compare before.json after.json

Without --load a query is fed as fast as it reads. Its rows go nowhere (Spark's `noop`), but for those of NexMark's q10,
which are written to files; its state is kept in RocksDB. With --load, event time is as fast as the load is on average,
unless --option event_rate=N says otherwise. What --output names is replaced once something is measured. Results without
a load are compared by events a second, those with one by the age of events, the time of batches and processor time.

exit codes: 0 done, 1 some query could not be measured, 2 something wrong with the input; one line on standard error
says what
"""

_COMPARE = "compare"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.register("action", None, Once)
    parser.add_argument(
        "what",
        choices=[*WORKLOADS, _COMPARE],
        metavar="WORKLOAD | compare",
        help=f"a workload ({', '.join(WORKLOADS)}), or two results of one",
    )
    parser.add_argument("files", nargs="*", default=[], metavar="FILE", help="for compare: the two results")
    parser.add_argument("--queries", metavar="LIST", help="for example 1,2,5 (default: all)")
    parser.add_argument("--slots", type=count, default=2, metavar="N", help="tasks at a time (default: 2)")
    parser.add_argument("--load", metavar="LOAD", help="for example 'constant(20k)' (default: as fast as it reads)")
    parser.add_argument("--seconds", default="30s", metavar="TIME", help="how long to measure each (default: 30s)")
    parser.add_argument("--warm-up", default="20s", metavar="TIME", help="how long not to, before (default: 20s)")
    parser.add_argument("--rows-per-batch", type=count, metavar="N", help="the most a batch takes")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="of the source, for example padding=false"
    )
    parser.add_argument("--format", choices=["table", "json", "html"], default="table", help="on standard output")
    parser.add_argument("--output", metavar="FILE", help="write the result as JSON here too, for `compare`")


def run(given: argparse.Namespace) -> int:
    """Run them, or compare."""
    if given.what == _COMPARE:
        if len(given.files) != 2:
            raise InputError("compare takes two files, as `headgate bench WORKLOAD --output FILE` writes them")
        print("\n".join(compared(*map(_read, given.files))))
        return 0
    from headgate.jobs.workload_bench import chosen, run_bench, source_options
    from headgate.workloads.registry import rows_of

    if given.files:
        raise InputError(f"{' '.join(given.files)}: files are for `headgate bench compare`")
    for name, value in (("--slots", given.slots), ("--rows-per-batch", given.rows_per_batch)):
        if value is not None and value < 1:
            raise InputError(f"{name} is {value}; give a whole number from 1 on")
    options = dict(name_and_value(text) for text in given.option)
    rows_of(given.what, options, "--load, --rows-per-batch and --slots")  # the same for options
    warm_up, lasting = seconds(given.warm_up), seconds(given.seconds)
    if given.load is not None and load_from_text(given.load).records(warm_up + lasting) < 1:
        raise InputError(
            f"--load {given.load} brings no event within the {warm_up + lasting:g} s of --warm-up and --seconds; "
            "give a load that does, or more time"
        )
    plan = BenchPlan(
        given.what,
        chosen(given.what, [name.strip() for name in given.queries.split(",")] if given.queries else []),
        given.slots,
        given.load,
        lasting,
        warm_up,
        given.rows_per_batch,
        source_options(given.what, given.load, warm_up + lasting, options),
    )
    if given.output is not None:
        see_that_it_can_be_written(given.output)  # before anything starts; what is there stays until there is more
    measured: list[Measured] = []
    for one in run_bench(plan, _tell):
        measured.append(one)
        _tell(in_a_line(one))
        if given.output is not None:  # after each: what is measured is not lost
            write_whole(given.output, _json(BenchResult(plan, tuple(measured))))
    result = BenchResult(plan, tuple(measured))
    if given.format == "json":
        print(_json(result).decode())
    elif given.format == "html":
        print(bench_page(result))
    else:
        print("\n".join(table(result)))
    return 0 if len(measured) == len(plan.queries) else 1


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def in_a_line(one: Measured) -> str:
    """As soon as it is known: who stops the rest has this."""
    behind = ", falls behind its load" if one.falls_behind else ""
    return f"{one.query}: {short(one.events_per_second)} events/s, batches of {one.batch.p50:.2f} s{behind}"


def _json(result: BenchResult) -> bytes:
    return msgspec.json.format(msgspec.json.encode(result))


def table(result: BenchResult) -> Iterator[str]:
    """A line for each query."""
    aged = result.plan.load is not None
    published = any(one.flink_per_core is not None for one in result.measured)
    speeds = ["events/s", "per core", *(["Flink per core"] if published else [])]
    head = ["query", *speeds, "batch p50", "p95", *(["age p50", "p95", "p99"] if aged else [])]
    rows = [(*head, "state rows", "state MB", "CPU s/M events", "")]
    for one in result.measured:
        speed = [short(one.events_per_second), _or_not(one.per_core)]
        flink = [_or_not(one.flink_per_core)] if published else []
        age = one.freshness
        ages = [f"{age.p50:.2f} s", f"{age.p95:.2f} s", f"{age.p99:.2f} s"] if age is not None else []
        cpu = "?" if one.cpu_seconds_per_million is None else f"{one.cpu_seconds_per_million:.2f}"
        state = f"{one.state_bytes / 1e6:.1f}"
        batch = (f"{one.batch.p50:.2f} s", f"{one.batch.p95:.2f} s")
        rows.append((one.query, *speed, *flink, *batch, *ages, f"{one.state_rows:,}", state, cpu, one.asks))
    yield from aligned_rows(rows, left=(0, len(rows[0]) - 1))
    yield result.plan.in_words
    if published:
        yield "Flink: published figures, on other hardware"
    for one in result.measured:
        if one.falls_behind and one.asked_per_second is not None:
            yield (
                f"{one.query} falls behind: it reads {short(one.events_per_second)} of the "
                f"{short(one.asked_per_second)} events/s that come{_waiting(one)}"
            )
        if one.missing:
            numbers = ", ".join(map(str, one.missing))
            yield f"{one.query}: not seen: batches {numbers}; their events are counted, their times and ages are not"


def _waiting(one: Measured) -> str:
    later = one.later_each_second
    return "" if later is None else f", and events wait {later:.2f} s longer each second"


def _or_not(value: float | None) -> str:
    return "" if value is None else short(value)


def _read(path: str) -> BenchResult:
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=BenchResult)
    except OSError as error:
        raise cannot_read(path, error) from None
    except msgspec.MsgspecError as error:
        raise InputError(f"{path}: no result of `headgate bench` ({error})") from None
