"""`headgate produce`: a workload's events into a topic of Kafka, at the rate of a load."""

import argparse
import signal
import sys
from collections.abc import Callable

from headgate.cli.options import SOURCES, Once, count, name_and_value
from headgate.kafka.address import Address, address_from_text
from headgate.kafka.produce_plan import ProducePlan, Progress
from headgate.model.durations import seconds
from headgate.model.errors import InputError
from headgate.workloads.load import due_at, load_from_text

DESCRIPTION = """\
Write the events of a workload to a topic of Kafka as JSON, keyed, each once, as they become due by a load.
"""

EPILOG = """\
examples:
  headgate produce nexmark --to kafka://127.0.0.1:9092/nexmark --load 'step(2k -> 8k @ 60s)' --for 5m
  headgate produce nexmark --to kafka://127.0.0.1:9092/nexmark --events 1000000 --processes 2
  headgate produce sentences --to kafka://127.0.0.1:9092/text --load 'constant(60)' --option words=10
  headgate produce psm --to kafka://127.0.0.1:9092/clicks --load 'constant(5k)' --option products=100
  headgate produce nexmark --to kafka://127.0.0.1:9092/nexmark --append --first 400000 --events 600000

A topic that is not there is made. Without --for and --events it goes on until Ctrl-C. `make kafka` starts a broker on
this machine. Events begin with number 0 each time, with --append too; --first goes on where an earlier run ended. One
process that is stopped after 400,000 events has written 0 to 399,999; of several, some are further than others.

exit codes: 0 all that was due is written, 1 it was stopped before, 2 something wrong with the input or the broker; one
line on standard error says what
"""

_FURTHEST = 10**15
"""Further on, the time of an event is one that Spark does not know."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.register("action", None, Once)
    parser.add_argument("workload", choices=SOURCES)
    parser.add_argument("--to", required=True, metavar="ADDRESS", help="kafka://HOST:PORT/TOPIC")
    parser.add_argument("--load", metavar="LOAD", help="for example 'constant(5k)' (default: as fast as it goes)")
    parser.add_argument("--events", type=count, metavar="N", help="so many and no more")
    parser.add_argument("--for", dest="lasting", metavar="TIME", help="what is due within this time and no more")
    parser.add_argument("--processes", type=count, default=1, metavar="N", help="that write (default: 1)")
    parser.add_argument(
        "--partitions", type=count, default=4, metavar="N", help="of a topic that is not there (default: 4)"
    )
    parser.add_argument(
        "--append",
        action="store_true",
        help="write to a topic that has records; from event 0 on, unless --first is given",
    )
    parser.add_argument(
        "--first", type=count, default=0, metavar="N", help="begin with event number N, when the load does (default: 0)"
    )
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="of the workload, for example padding=false"
    )


def run(given: argparse.Namespace) -> int:
    """Write them."""
    try:
        from headgate.kafka.producing import plan_rows, produce
        from headgate.kafka.topic import make_topic, records_in
    except ModuleNotFoundError as missing:
        raise InputError(f'{missing.name} is not installed; get it with: pip install "headgate[kafka,spark]"') from None
    for name in ("processes", "partitions", "events"):
        value = getattr(given, name)
        if value is not None and value < 1:
            raise InputError(f"--{name} is {value}; give a whole number from 1 on")
    if not 0 <= given.first <= _FURTHEST:
        raise InputError(f"--first is {given.first}; give a whole number from 0 to {_FURTHEST:,}")
    to = address_from_text(given.to)
    options = dict(name_and_value(text) for text in given.option)
    plan = ProducePlan(given.workload, to, given.load, _events(given), given.processes, options, given.first)
    plan_rows(plan)  # says what is wrong with the options before a topic is made
    if not make_topic(to, given.partitions) and not given.append and (there := records_in(to)):
        raise InputError(f"{to} has {there:,} records; name another topic, or give --append to add to them")
    told, stopped = _telling(), _stopping()
    done = produce(plan, told, stopped)
    print(summary(done, given.load, to))
    return 0 if plan.events is not None and done.delivered >= plan.events else 1


def summary(done: Progress, load: str | None, to: Address) -> str:
    """What was written and how fast, beside how fast the load had asked for what was due by then.

    What it would ask for after the last event of all is no part of that.

    >>> done = Progress(seconds=20.0, delivered=1900, due=2000)
    >>> summary(done, "step(50 -> 150 @ 10s)", Address("127.0.0.1:9092", "all"))
    '1,900 events in 20.0 s, 95 a second of 100 asked for, to kafka://127.0.0.1:9092/all'
    """
    rate = done.delivered / done.seconds if done.seconds else 0.0
    asked = done.due / due_at(load_from_text(load), done.due, done.seconds) if load is not None and done.due else None
    of = "" if asked is None else f" of {asked:,.0f} asked for"
    return f"{done.delivered:,} events in {done.seconds:.1f} s, {rate:,.0f} a second{of}, to {to}"


def _events(given: argparse.Namespace) -> int | None:
    """How many are to be written, whichever way that is said."""
    load = load_from_text(given.load) if given.load is not None else None
    limits = [] if given.events is None else [given.events]
    if given.lasting is not None:
        if load is None:
            raise InputError("--for is the time of a load; give --load too, or --events instead")
        limits.append(int(load.records(seconds(given.lasting))))
        if not limits[-1]:
            raise InputError(f"--load {given.load} brings no event within {given.lasting}; give another, or more time")
    if load is not None and not load.highest():
        raise InputError(f"--load {given.load} never brings an event; give another")
    return min(limits) if limits else None


def _telling() -> Callable[[Progress], None]:
    """A line a second; over the last one on a terminal."""
    end = "\r" if sys.stderr.isatty() else "\n"

    def told(progress: Progress) -> None:
        due = "" if progress.due is None else f" of {progress.due:,} due"
        line = f"{progress.seconds:6.0f} s  {progress.delivered:,}{due} written"
        print(f"{line:<60}", end=end, file=sys.stderr, flush=True)

    return told


def _stopping() -> Callable[[], bool]:
    """Whether Ctrl-C was pressed, or somebody asked it to end."""
    asked: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda one, _: asked.append(one))
    return lambda: bool(asked)
