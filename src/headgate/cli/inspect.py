"""`headgate inspect`: what Spark event logs say about the streaming queries in them."""

import argparse
import sys
from collections.abc import Sequence

import msgspec

from headgate.cli.inspection_csv import inspection_rows
from headgate.cli.inspection_table import inspection_lines
from headgate.cli.log_reading import read_log
from headgate.cli.options import Once, count, duration, file, number
from headgate.cli.page.page import Subject, page
from headgate.formats.eventlog.found import event_logs
from headgate.model.errors import InputError
from headgate.model.inspection import Question, Rate, inspection
from headgate.spark.application_url import event_log_at, is_url

DESCRIPTION = """\
What the streaming queries of a Spark application did, from the event log it left behind or is still writing: their
operators (stages), how many records each took and gave, where the time of a batch went, what limits it, whether it
keeps up and with how many slots it would; and what would be at another rate, with other slots or partitions.
"""

EPILOG = """\
columns, on average over the batches counted (not the first three of a run, nor the first three after executors came
or went, unless they began half a minute after the first of them that had records; and only on as many slots as there
were last):
  tasks, in, out     tasks of the operator, records that came in and went out
  fan-out            rows its busiest plan node made of each record: what a partial aggregation hides again
  busy s, cpu        time its tasks held slots, and the part of it that was CPU of the JVM (Python not included)
  fixed ms           slot time of a task without records      } a line through all tasks by medians, with its 95 %
  record us          slot time for each further record        } interval; ? if tasks are too few or too alike to tell
  largest            share of the largest partition, and which it is

PATH is a log file (plain, zstd, lz4 or snappy), a rolling log's folder (eventlog_v2_…), a folder of logs, or the URL of
a running application (http://host:4040) or history server whose logs this machine can reach.

examples:
  headgate inspect app-20261116000919-0000.zstd
  headgate inspect LOG --rate 2x                   twice the records
  headgate inspect LOG --rate 50000 --slots 8      so many records a second, on so many slots
  headgate inspect LOG --freshness 10s             the least slots for results that are at most 10 s old
  headgate inspect LOG --format html > job.html    one page with the graph and plots

what JSON and CSV have, field by field: docs/inspect-output.md

exit codes: 0 an answer, 1 an answer, but not from every log that was named, 2 something wrong with the input (one
line on standard error says what and where)
"""

_MOST_ASKED = 20_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.register("action", None, Once)
    parser.add_argument("paths", type=file, metavar="PATH", nargs="+", help="event logs of Spark 3.5 to 4.3")
    parser.add_argument("--query", metavar="NAME", help="only the query of this name or id")
    parser.add_argument("--format", choices=("table", "json", "csv", "html"), default="table", help="(default: table)")
    asked = parser.add_argument_group("what if")
    asked.add_argument("--rate", type=rate, metavar="R", help="records per second, or 2x: twice as many as now")
    asked.add_argument("--slots", type=positive, metavar="N", help="so many slots, on executors of the size there is")
    asked.add_argument("--partitions", type=positive, metavar="N", help="so many partitions behind each shuffle")
    asked.add_argument("--freshness", type=duration, metavar="T", help="results at most so old: 10s, 500ms, 2m")
    asked.add_argument(
        "--trigger", type=duration, metavar="T", help="batches begin every so often, if the log misleads"
    )


def positive(text: str) -> int:
    """A whole number from 1 up."""
    value = count(text)
    if not 1 <= value <= _MOST_ASKED:
        raise argparse.ArgumentTypeError(f"{text} is not from 1 to {_MOST_ASKED:,}")
    return value


def rate(text: str) -> Rate:
    """`50000`, or `2x` for twice the present rate."""
    times = text.endswith("x")
    try:
        value = number(text.removesuffix("x"))
    except argparse.ArgumentTypeError:
        value = 0.0
    if not 0 < value <= 1e15:
        raise argparse.ArgumentTypeError(f'"{text}" is no rate; give records per second (50000) or a factor (2x)')
    return Rate(value, times)


def run(given: argparse.Namespace) -> int:
    """Read, sum up, print."""
    question = Question(given.rate, given.slots, given.partitions, given.freshness, given.trigger)
    if given.format == "csv" and question.asked:
        raise InputError("--format csv has one row an operator and no room for what if; ask for table, json or html")
    found: list[Subject] = []
    others: set[str] = set()
    unreported, unread = 0, 0
    logs = [log for path in given.paths for log in event_logs(event_log_at(path) if is_url(path) else path)]
    for log in logs:
        try:
            read = read_log(log)
        except InputError as problem:
            if len(logs) == 1:
                raise
            print(f"headgate: {problem}", file=sys.stderr)  # the others are still told of
            unread += log in given.paths  # in a folder, other files may lie about
            continue
        unreported += read.left_out
        for query, seen in read.queries.items():
            if given.query in (None, query, seen[-1].name):
                # Only the page draws batches: of a thousand logs they would be too many to keep.
                drawn = seen if given.format == "html" else ()
                found.append(Subject(log, inspection(seen, question), drawn, read.notes))
            else:
                others.add(seen[-1].name)
    if not found:
        raise InputError(_nothing_found(given.paths[0], given.query, sorted(others), unreported))
    _print(given.format, found, several=len(logs) > 1)
    return 1 if unread else 0


def _nothing_found(path: str, query: str | None, others: Sequence[str], unreported: int) -> str:
    if others:
        return f'{path}: no query "{query}" in it; there is {", ".join(others[:10])}'
    if unreported:
        return f"{path}: no batch in it is over and whole; wait for one, or give a log that has more of them"
    return f"{path}: no batch of a streaming query in it; give the log of a streaming application"


def _print(form: str, found: Sequence[Subject], *, several: bool) -> None:
    if form == "json":
        said = [{"log": one.log, "notes": one.notes, **msgspec.to_builtins(one.inspection)} for one in found]
        print(msgspec.json.format(msgspec.json.encode(said), indent=2).decode())
    elif form == "csv":
        print("\n".join(inspection_rows([(one.log, one.inspection) for one in found])))
    elif form == "html":
        print(page(found))
    else:
        blocks = ["\n".join([*([one.log] if several else []), *inspection_lines(one.inspection)]) for one in found]
        print("\n\n".join(blocks))
