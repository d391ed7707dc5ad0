"""`headgate inspect`: what a Spark event log says about the streaming queries in it."""

import argparse
import sys
from collections.abc import Sequence

import msgspec

from headgate.cli.options import Once, file
from headgate.cli.text_table import aligned_rows
from headgate.formats.eventlog.batches import WANTED, read_batches
from headgate.formats.eventlog.reader import read_events
from headgate.model.errors import InputError
from headgate.model.profile import Cost, OperatorProfile, QueryProfile, profiles
from headgate.model.reasons import number

DESCRIPTION = """\
What the streaming queries of a Spark application did, from the event log it left behind: their operators (stages), how
many records each took and gave, where the time of a batch went, and how uneven the partitions are.
"""

EPILOG = """\
columns, on average over the batches counted (not the first three of a run, where there are more):
  tasks, in, out     tasks of the operator, records that came in and went out
  fan-out            rows its busiest plan node made of each record: what a partial aggregation hides again
  busy s, cpu        time its tasks held slots, and the part of it that was CPU of the JVM (Python not included)
  fixed ms           slot time of a task without records      } the middle of all pairs of batches, with the middle
  record us          slot time for each further record        } half of them; ? if they are too few or too alike to tell
  largest            share of the largest partition, and which it is

PATH is a log file (plain, zstd, lz4 or snappy) or a rolling log's folder (eventlog_v2_…).

exit codes: 0 an answer, 2 something wrong with the input (one line on standard error says what and where)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.register("action", None, Once)
    parser.add_argument("path", type=file, metavar="PATH", help="an event log of Spark 3.5 to 4.3")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="(default: table)")


def run(given: argparse.Namespace) -> int:
    """Read, sum up, print."""
    log = read_events(given.path, wanted=WANTED)
    batches = read_batches(log)
    found = profiles(list(batches))
    for note in map(str, (*log.notes, *batches.gaps)):
        print(
            f"headgate: {note}" if note.startswith(given.path) else f"headgate: {given.path}: {note}", file=sys.stderr
        )
    if not found:
        raise InputError(f"{given.path}: no batch of a streaming query in it; give the log of a streaming application")
    if given.format == "json":
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        print("\n\n".join("\n".join(_lines(profile)) for profile in found))
    return 0


def _lines(profile: QueryProfile) -> Sequence[str]:
    heading = ("operator", "tasks", "in", "out", "fan-out", "busy s", "cpu", "fixed ms", "record us", "largest")
    rows = [heading, *(_row(operator) for operator in profile.operators)]
    lost = f", {profile.attempts_lost:,} task attempts lost" if profile.attempts_lost else ""
    return [
        f"query {profile.name}: {profile.batches:,} batches, {profile.counted:,} counted{lost}",
        f"a batch takes {profile.seconds:.2f} s (median) for {number(round(profile.records, 1))} records (mean), "
        f"{profile.driver:.2f} s of it with no task running",
        *aligned_rows(rows),
    ]


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


def _cost(cost: Cost | None, unit: float) -> str:
    return "?" if cost is None else f"{cost.value * unit:.0f} ({cost.low * unit:.0f} to {cost.high * unit:.0f})"
